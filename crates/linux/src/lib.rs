//! Instruments for Linux: clocks, the files of `/proc` and `/sys`, control groups, CPU topology, counters and
//! processes.
//!
//! Functions that read files take a [`Root`], so that tests can run them on recorded trees. A value that cannot be read
//! is a [`Reading`](steady_model::Reading) with the reason, never zero.

pub mod activity;
pub mod cgroup;
pub mod clock;
pub mod counters;
pub mod datagrams;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub mod debuggee;
pub mod directory;
pub mod energy;
pub mod exits;
pub mod files;
pub mod host;
pub mod limits;
pub mod private;
pub mod process;
pub mod procfs;
mod root;
pub mod script;
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
