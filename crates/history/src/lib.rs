//! The history: a SQLite database with the records of runs, which can be listed, shown and evaluated again. A record is
//! the text of its export; this crate does not parse it.
//!
//! Several processes may use one history concurrently. Each change is one transaction, and a process waits some seconds
//! for a lock. The journal is SQLite's rollback journal. Unlike a write-ahead log, it also works in home directories on
//! a network file system, and for histories on a read-only disk.
#![forbid(unsafe_code)]

mod json;
mod row;
mod store;
mod text;
mod which;

pub use json::{SCHEMA, run_json_text_with_sentences, run_json_text_with_verdicts, runs_json_text};
pub use store::{History, HistoryError};
pub use text::{run_text, run_text_with_sentences, runs_text};
pub use which::{Selection, Which};
