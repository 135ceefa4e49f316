//! Launchers: small processes that start the measured commands. What a command inherits does not depend on the state of
//! `steady`, and no process that it starts outlives `steady`.
//!
//! A launcher is this program with the argument [`ARGUMENT`]. It exchanges JSON lines over a socket, which is its
//! standard input. When the socket closes, for whatever reason `steady` ended, the launcher kills all its descendants
//! and exits.

mod client;
mod custom;
mod prepared;
mod protocol;
mod run;
mod serve;
mod streams;
mod wait;

pub use client::Launcher;
pub use protocol::{Group, Job, NoValue, Reply, Request, RunReply, Setup, Snapshot};
pub use run::run_delay;
pub use serve::{Instrument, serve};
pub use wait::outcome;

/// The first argument that makes `steady` a launcher.
pub const ARGUMENT: &str = "__launcher";

/// Maximal padding of a run's environment, in bytes: one page, after which the position of the stack within a page
/// repeats.
pub const PADDING_MAX: u32 = 4096;
