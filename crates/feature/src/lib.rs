//! The interface between features and the rest of `steady`. A feature is a value of type [`Feature`]: its flags, its
//! records and its function. The command line, the history, completions and the manual use nothing else of a feature.
//! This crate does not depend on any feature.
#![forbid(unsafe_code)]

pub mod attended;
mod failure;
mod feature;
pub mod flags;
pub mod help;
pub mod input;
mod interrupt;
mod record;
mod session;
pub mod typed;

pub use failure::Failure;
pub use feature::{Feature, Helper, Run, Status};
pub use flags::values::chosen_cpus;
pub use interrupt::Interrupt;
pub use record::{Join, LogKind, Record, RecordKind, Report};
pub use session::Session;
