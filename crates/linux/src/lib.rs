//! Instruments on Linux: clocks, the files of `/proc` and `/sys`, control groups, CPU topology and processes.
//!
//! Readers take a [`Root`], so that they can be tested on recorded trees; what cannot be read is a
//! [`Reading`](steady_model::Reading) with the reason, never zero.

pub mod activity;
pub mod cgroup;
pub mod clock;
pub mod counters;
pub mod datagrams;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub mod debuggee;
pub mod directory;
pub mod exits;
pub mod files;
pub mod host;
pub mod limits;
pub mod private;
pub mod process;
pub mod procfs;
mod root;
pub mod signals;
mod sys;
pub mod syscalls;
pub mod topology;
pub mod tracer;
pub mod tree;
#[cfg(test)]
mod trees;

pub use counters::tracepoints;
pub use root::Root;
