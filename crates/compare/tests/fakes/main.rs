//! Comparisons on simulated runners, and their logs and joins. The files form one program, because linking takes longer
//! than running.

mod calibration;
#[path = "../common/mod.rs"]
mod common;
mod custom;
mod drawn;
mod effort;
mod failures;
mod instructions;
mod joined;
mod layouts;
mod log;
mod ranking;
mod scripts;
mod verdicts;
mod warnings;
