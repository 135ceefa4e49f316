//! `steady warm`: programs started from snapshots of themselves, each taken at the program's entry point.
//!
//! ```text
//! take (the program under ptrace(2), twice) -> Taken -> compose (what differs, and why) -> Snapshot -> image (an ELF file)
//! store (a folder per user and boot) <- keeper (takes what is wanted, in the background); the hook reads it
//! ```
#![forbid(unsafe_code)]

pub mod bench;
pub mod compose;
pub mod identity;
pub mod image;
pub mod images;
pub mod inspect;
pub mod keeper;
pub mod launch;
pub mod make;
pub mod snapshot;
pub mod status;
pub mod store;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub mod take;
pub mod taken;
