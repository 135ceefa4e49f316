//! What a feature of `steady` is to the rest: a value, [`Feature`], with its flags, its records and how it is run. The command
//! line, the history, completions and the manual know a feature by nothing else. Names no feature.
#![forbid(unsafe_code)]

pub mod attended;
mod failure;
mod feature;
pub mod flags;
mod interrupt;
mod record;
mod session;
pub mod typed;

pub use failure::Failure;
pub use feature::{Feature, Helper, Run, Status};
pub use flags::values::chosen_cpus;
pub use interrupt::Interrupt;
pub use record::{LogKind, Record, RecordKind, Report};
pub use session::Session;
