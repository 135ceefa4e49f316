//! Where the time of a command went: what it did, at the prices of this host.

mod calls;
mod difference;
mod made;
pub mod pair;
mod parts;
mod report;

pub use difference::pair_report;
pub use report::report;
