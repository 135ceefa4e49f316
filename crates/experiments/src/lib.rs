//! The experiments of Steadyhand: what to run, in which random order, when to look and when to stop.
//!
//! An experiment drives a [`runner::Runner`], the one effect it has, and tells what happens as events; it yields a record of
//! raw facts, which [`judge()`] turns into verdicts, now or again later.
#![forbid(unsafe_code)]

mod attended;
mod channel;
mod coins;
mod commands;
pub mod compare;
pub mod costs;
pub mod explain;
pub mod host;
pub mod judge;
pub mod launcher;
pub mod limit;
pub mod load;
pub mod locks;
pub mod log;
pub mod rulers;
pub mod runner;
mod scripts;
pub mod signature;
pub mod simulated;
pub mod unpacked;
pub mod warm;

pub use attended::Unattended;
pub use commands::CommandRunner;
pub use judge::{JoinError, join, judge};
pub use scripts::Scripts;
