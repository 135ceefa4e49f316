//! Launchers: small processes that start the measured commands, so that what a command inherits does not depend on
//! what `steady` is doing, and so that nothing it started outlives `steady`.
//!
//! A launcher is this same program, called with [`ARGUMENT`]. It talks JSON lines over the socket that is its standard
//! input; when that closes, however `steady` ended, it kills every process that descends from it and leaves.

mod client;
mod protocol;
mod run;
mod serve;
mod station;
mod streams;
mod wait;

pub use client::Launcher;
pub use protocol::{Group, Job, Reply, Request, RunReply, Setup, Snapshot};
pub use run::run_delay;
pub use serve::{Instrument, serve};
pub use wait::outcome;

/// The first argument that makes `steady` a launcher.
pub const ARGUMENT: &str = "__launcher";

/// The widest padding of a run's environment, in bytes: a page, beyond which the stack's place repeats.
pub const PADDING_MAX: u32 = 4096;
