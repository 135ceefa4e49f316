//! Running and supervising the commands of users: launchers, which start measured runs; guardians, which attend a command that
//! has the user's own streams; the channel to both; the log of what they measured; questions to git. Knows no feature by name.
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

pub use attended::Unattended;
pub use scripts::Scripts;
