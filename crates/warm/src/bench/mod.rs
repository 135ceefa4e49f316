//! What keeping programs warm gains: each program launched as usual, from a snapshot that was taken before, and from one
//! that is taken meanwhile.
//!
//! A **session** is one driver that launches one program so many times, by posix_spawn(3), which does not copy the driver:
//! of all ways to launch a program that leaves most to be gained, for a shell's own fork is the same in all modes. The driver
//! is this same program, called with [`DRIVER`], and started by `steady warm` as any command is; it keeps no program's
//! output and reads two clocks between launches. A **stage** ([`STAGE`]) runs the sessions. It is a subreaper, so that
//! what takes snapshots beside the driver comes to it in the end, and its CPU time is seen. Each session has a store of
//! its own, empty at its start, or the taking would be missing from all but the first.

mod client;
mod command;
mod driver;
mod experiment;
mod judge;
mod protocol;
mod session;
mod simulated;
mod stage;

pub use client::StageLauncher;
pub(crate) use command::run;
pub use driver::drive;
pub use experiment::{BenchError, Done, Event, SessionLauncher, SessionOrder, Setting, measure};
pub use judge::judged;
pub use simulated::SimulatedLauncher;
pub use stage::serve;

/// The first argument that makes `steady` a stage.
pub const STAGE: &str = "__warm-stage";
/// The first argument that makes `steady` a driver.
pub const DRIVER: &str = "__warm-driver";
