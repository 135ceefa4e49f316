//! Verdicts on requests with known effects: recorded requests of one code, and simulated services. All tests are in one
//! program, so that slow tests run in parallel.

mod hosts;
mod processes;
mod replays;
mod rollout;
mod same;
mod simulated;
#[path = "../support/mod.rs"]
mod support;
mod unequal;
