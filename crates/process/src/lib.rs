//! Runs and supervises the commands of users. Launchers start measured runs. Guardians supervise a command that has the
//! user's own streams. The crate also has the connection to both, the log of their measurements, and questions to git.
//! It names no feature.
#![forbid(unsafe_code)]

pub mod attended;
pub mod channel;
pub mod git;
pub mod launcher;
pub mod log;
pub mod runner;
mod scripts;
pub mod simulated;
pub mod unpacked;
mod values;

pub use attended::Unattended;
pub use scripts::Scripts;
pub use values::Extractor;
