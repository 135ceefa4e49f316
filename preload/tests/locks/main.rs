//! The watcher, preloaded into programs: its counts match what the programs did, and the programs behave as without it.
//!
//! The programs are compiled by the tests. They print what they did, and how long it took by their own clock. The area
//! is a file.
#![allow(clippy::print_stderr, reason = "skipped tests print their reason")]
#![allow(unsafe_code, reason = "the tests read the area as the structures that are in it")]
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod counted;
mod ends;
mod many;
mod processes;
mod same;
mod times;
mod watched;
