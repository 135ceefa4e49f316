//! The store: rows of requests, rulers and hosts in one SQLite database. docs/agent.md documents its tables and blobs.
//!
//! All rows of a service, a host and a second are one block, whose blob `pack` encodes. So a million rows can be read
//! within a second. Texts are stored once; blobs refer to them by number.
//!
//! One agent writes, with one transaction per second. Any number of readers can read while it writes, because the
//! journal is a write-ahead log.

mod bytes;
mod downsample;
mod error;
mod pack;
mod reader;
mod retention;
mod schema;
mod sums;
mod writer;

pub use error::StoreError;
pub use reader::{Reader, ServiceFacts, StoreFacts, VersionFacts};
pub use retention::Retention;
pub use writer::{Batch, Keep, Writer};
