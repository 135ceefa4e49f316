//! Rows of a fleet: a store that scrapes agents (Prometheus, or what speaks its language) is asked for their counters
//! on a grid of time, and what they grew by between scrapes is made into the rows that releases are judged by.
//!
//! The store adds up, within what is told apart; differences are taken here, never by `rate()` or `increase()`: those
//! stretch each series by itself to the ends of a window, and a sum over requests that is stretched otherwise than
//! their number has no mean any more.
#![forbid(unsafe_code)]

mod address;
pub mod answer;
mod client;
mod differences;
mod error;
mod gathering;
mod grid;
mod http;
mod matchers;
mod metrics;
mod scrapes;
mod sums;

pub use address::{Address, header};
pub use client::{Client, Gathered, Service, Settings};
pub use error::FleetError;
pub use gathering::MissingIntervals;
pub use matchers::{Matchers, label};
