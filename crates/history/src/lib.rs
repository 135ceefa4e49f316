//! The history: the records of runs in a database (SQLite), one file, so that they can be listed, shown and judged
//! again. A record is kept as the text of its export, which this crate does not look into.
//!
//! Several processes may use one history at a time: each change is one transaction, and who finds it locked waits a
//! while. The journal is SQLite's own rollback journal, which, other than a write-ahead log, also serves home
//! directories on a network and histories on a disk that cannot be written.
#![forbid(unsafe_code)]

mod json;
mod row;
mod store;
mod text;
mod which;

pub use json::{SCHEMA, judged_run_json_text, runs_json_text, said_run_json_text};
pub use store::{History, HistoryError};
pub use text::{other_run_text, runs_text, said_run_text};
pub use which::{Selection, Which};
