//! The experiments of Steadyhand: what to run, in which random order, when to look and when to stop.
//!
//! An experiment drives a [`Runner`](steady_process::runner::Runner), the one effect it has, and tells what happens as events; it yields a record of
//! raw facts, which [`judge()`] turns into verdicts, now or again later.
#![forbid(unsafe_code)]

mod coins;
mod commands;
pub mod compare;
pub mod judge;

pub use commands::CommandRunner;
pub use judge::{JoinError, join, judge};
