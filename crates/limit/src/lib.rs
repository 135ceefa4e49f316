//! `steady limit`: a command that is ended when it has used its CPU time or wall time.
#![forbid(unsafe_code)]

mod document;
mod record;

pub use document::{csv, document, summary};
pub use record::{LimitRecord, LimitedCommand, SCHEMA};
