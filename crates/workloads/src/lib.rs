//! Work of known kinds and known amounts: commands whose true cost is set by a count, and neighbours that disturb them.
//!
//! [`alu`], [`cache`] and [`syscalls`] do an amount of work and return a digest of it, the same on every run. [`spin`]
//! and [`stream`] keep a resource busy until they are told to stop. Nothing here reads a clock, and nothing can be
//! optimised away.

mod busy;
mod fixed;
mod random;

pub use busy::{spin, stream};
pub use fixed::{alu, cache, syscalls};
pub use random::Random;
