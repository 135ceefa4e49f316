//! The watcher, in the programs that it is preloaded into: what it counts is what they did, and they do what they would without it.
//!
//! Programs are made, and say on their standard output what they did and how long it took by their own clock. The area is a file.
#![allow(clippy::print_stderr, reason = "skips are told aloud")]
#![allow(unsafe_code, reason = "what lies in the area is read as what it is")]
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod counted;
mod ends;
mod many;
mod processes;
mod same;
mod times;
mod watched;
