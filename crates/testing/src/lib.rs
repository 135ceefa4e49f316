//! What the tests of reports share. A dependency of tests only.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

pub mod goldens;
pub mod made;
pub mod values;
