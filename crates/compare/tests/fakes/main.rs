//! Comparisons on simulated runners, and their logs and joins. The files form one program, because linking takes longer
//! than running.

mod calibration;
#[path = "../common/mod.rs"]
mod common;
mod comparison;
mod custom;
mod drawn;
mod instructions;
mod joined;
mod log;
mod ranking;
