//! The hook, in programs that start others, with a store made by the test. The program starts from the snapshot, or
//! normally if any condition is not met.
//!
//! The test programs print `cold` if the program itself is started and `warm` if its snapshot is, and their arguments.
#![allow(clippy::print_stderr, reason = "skipped tests print their reason")]
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod calls;
mod fake;
mod fallbacks;
mod own;
mod sandbox;
mod scripts;
mod search;
mod starters;
