//! The store: rows of requests, rulers and hosts in a database (SQLite), one file. All rows of a service and a second stand in
//! one blob (`pack`), so that a million of them come out within a second; texts stand once, and blobs name their numbers.
//!
//! One agent writes, one transaction a second; any number of readers look on meanwhile, for the journal is a write-ahead log.

mod bytes;
mod error;
mod fold;
mod pack;
mod reader;
mod retention;
mod schema;
mod sums;
mod writer;

pub use error::StoreError;
pub use reader::{Reader, ServiceFacts, StoreFacts};
pub use retention::Tended;
pub use writer::{Batch, Keep, Writer};
