//! Programs behave the same from snapshots and without them, also if files are replaced, processes are killed, or many
//! programs start concurrently.

#[path = "steady/mod.rs"]
mod steady;

#[path = "sweep/constructors.rs"]
mod constructors;
#[path = "sweep/contexts.rs"]
mod contexts;
#[path = "sweep/debuggers.rs"]
mod debuggers;
#[path = "sweep/key.rs"]
mod key;
#[path = "sweep/lines.rs"]
mod lines;
#[path = "sweep/package.rs"]
mod package;
#[path = "sweep/rights.rs"]
mod rights;
#[path = "sweep/round.rs"]
mod round;
#[path = "sweep/store.rs"]
mod store;
#[path = "sweep/storms.rs"]
mod storms;
#[path = "sweep/swapped.rs"]
mod swapped;
#[path = "sweep/tables.rs"]
mod tables;

/// The path of the `steady` binary.
const STEADY: &str = env!("CARGO_BIN_EXE_steady");
