//! Signatures of files, and what they take.

pub mod bench;
#[path = "../../../signature/src/run/file.rs"]
mod file;

pub use file::{Asked, FileError, sign};
pub use steady_workloads::signature::made;
pub use steady_workloads::signature::{MOST_NODES, MOST_WORKERS, POOL_NODE_BYTES, SignError};
