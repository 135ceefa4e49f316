//! Work of known kinds and known amounts: commands whose true cost is set by a count, and neighbours that disturb them.
//!
//! [`alu`], [`cache`] and [`syscalls`] do an amount of work and return a digest of it, the same on every run; [`Hashes`],
//! [`Sums`] and [`Loads`] do more of it each time that they are asked. [`spin`], [`hash`] and [`stream`] keep a resource
//! busy until they are told to stop. [`rulers`] has the kernels whose time per unit tells how a resource fares. Nothing
//! here reads a clock, and nothing can be optimised away.

mod busy;
mod counted;
mod fixed;
mod random;
mod raw;
pub mod rulers;

pub use busy::{hash, spin, stream};
pub use counted::{Hashes, Sums};
pub use fixed::{Loads, alu, cache, syscalls};
pub use random::Random;
