//! Helpers for tests of reports: golden files, made-up values, and strategies for property tests. Only tests depend on
//! this crate.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

pub mod goldens;
pub mod made;
pub mod values;
