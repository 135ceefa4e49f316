//! Samples in, estimates out.
#![forbid(unsafe_code)]
