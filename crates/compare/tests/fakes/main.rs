//! Experiments on fakes of their runners, without time passing, and what is written of them. One program, for each that is linked
//! costs more than it runs.

mod calibration;
#[path = "../common/mod.rs"]
mod common;
mod comparison;
mod drawn;
mod instructions;
mod joined;
mod log;
