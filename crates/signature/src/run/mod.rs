//! Making signatures: of files, and of the same bytes under many conditions.
//!
//! A **round** of a bench makes a signature under every condition, in an order drawn by coin, so that what the machine does
//! during the run affects all of them alike; conditions are compared by pairs out of one round. What takes long has its turn
//! only in every second, fourth, ... round.

mod experiment;
mod file;
mod runner;
#[cfg(test)]
mod simulated;

pub(crate) use experiment::{Done, measure};
pub(crate) use file::{FileError, sign};
pub(crate) use runner::{BenchError, CrewRunner};
#[cfg(test)]
pub(crate) use simulated::SimulatedCrew;
