//! Did this release make requests cheaper? Rows in, verdict out ([`judge`]). Pure: no clock,
//! no entropy, no files.
#![forbid(unsafe_code)]

mod after;
mod answer;
mod canary;
mod cells;
mod course;
mod design;
mod effect;
mod error;
mod facts;
mod groups;
mod hosts;
mod judge;
mod merge;
mod process_cpu;
mod random;
mod rulers;
mod switchback;
mod tails;
mod wall;
mod watch;
mod window;

pub use error::JudgeError;
pub use judge::judge;
pub use merge::merged;
pub use watch::Watch;
