//! Estimators compared with known truth: simulated machines and published tables. They are one test binary, so that
//! long simulations run in parallel.

mod calibration;
mod discrete;
mod joined;
mod labels;
mod looks;
mod mixtures;
mod modes;
mod published;
mod scaling;
mod shift;
mod simulated;
mod table;
