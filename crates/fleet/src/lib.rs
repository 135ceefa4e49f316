//! Reads the rows of a fleet from a store that scrapes its agents: Prometheus, or another store with the same API.
//!
//! The store returns the agents' counters on a grid of time, summed by host, version, route, class and assignment. This
//! crate converts their increases between scrapes to the rows that `steady release` compares.
//!
//! Differences are computed here, not by `rate()` or `increase()`. These extrapolate each series separately to the ends
//! of a window. If a sum over requests is extrapolated differently from their number, the mean is wrong.
#![forbid(unsafe_code)]

mod address;
pub mod answer;
mod client;
mod differences;
mod error;
mod grid;
mod http;
mod matchers;
mod metrics;
mod rows;
mod scrapes;
mod sums;

pub use address::{Address, header};
pub use client::{Client, Gathered, Service, Settings};
pub use error::FleetError;
pub use matchers::{Matchers, label};
pub use rows::MissingIntervals;
