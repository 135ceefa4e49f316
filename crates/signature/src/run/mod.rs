//! Computes signatures: of files, and of the same bytes under many conditions.
//!
//! A **round** of a bench computes a signature under each condition, in random order. So changes of the machine during
//! the bench affect all conditions alike. Conditions are compared by pairs from the same round. Slow conditions
//! run only in every second, fourth, ... round.

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
