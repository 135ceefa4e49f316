//! Tests without real programs: made-up captures, and simulated launches.

mod bench;
mod maker;
