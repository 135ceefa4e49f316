//! Estimators against known truth: simulated machines, and published tables. One program, so that long simulations run beside each
//! other.

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
