//! Verdicts against known truth: recorded requests of one code, and simulated services. One program, so that what takes long
//! runs beside each other.

#[path = "../kept/mod.rs"]
mod kept;
mod processes;
mod replays;
mod rollout;
mod same;
mod simulated;
mod unequal;
