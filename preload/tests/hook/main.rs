//! The hook in programs that start others, on a made store: whether what is started is the snapshot, or the program
//! itself where anything speaks against that.
//!
//! Programs are made: the real one says `cold` and its arguments, its snapshot says `warm` and what it is given.
#![allow(clippy::print_stderr, reason = "skips are told aloud")]
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod calls;
mod doubts;
mod fake;
mod own;
mod sandbox;
mod scripts;
mod search;
mod starters;
