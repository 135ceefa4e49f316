//! `steady warm bench`: launches each program as usual, from a snapshot that was captured before, and from a snapshot
//! that is captured while the program is launched.
//!
//! A **session** is one driver process that launches one program repeatedly by posix_spawn(3). This call does not copy
//! the driver, so snapshots gain most with it: the fork of a shell would cost the same in all modes. The driver is this
//! binary, called with [`DRIVER`]. `steady warm` starts it as it starts any command. It discards the programs' output,
//! and reads two clocks between launches.
//!
//! A **stage** ([`STAGE`]) runs the sessions. It is a subreaper, so the kernel makes it the parent of the keeper, and
//! it can read the keeper's CPU time. Each session has a store of its own that is empty at the start. With a shared
//! store, only the first session would pay for a capture.

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
pub(crate) use experiment::sessions;
pub use experiment::{BenchError, Context, Done, Event, SessionLauncher, SessionOrder, measure};
pub use judge::{LEAST_RUNS, judged};
pub use simulated::SimulatedLauncher;
pub use stage::serve;

/// The first argument that makes `steady` a stage.
pub const STAGE: &str = "__warm-stage";
/// The first argument that makes `steady` a driver.
pub const DRIVER: &str = "__warm-driver";
