//! Workloads of known kinds and amounts: commands whose true cost is set by a count, and neighbours that disturb them.
//!
//! - [`alu`], [`cache`] and [`syscalls`] do an amount of work and return a digest of it, which is the same on every
//!   run.
//! - [`Hashes`], [`NumberSum`] and [`Loads`] continue their work with each call.
//! - [`spin`], [`hash`] and [`stream`] keep a resource busy until they are stopped.
//! - [`rulers`] has the kernels whose time per unit shows how slow a resource is.
//! - [`probes`] has the primitives of machine and kernel whose cost is measured, each with the same loop without it.
//! - [`signature`] computes signatures of files, with nodes from several allocators or without nodes.
//!
//! The compiler cannot remove any of the work. Only the probes, and threads that wait for an allocator's lock, read
//! clocks.

mod busy;
mod counted;
mod fixed;
pub mod probes;
mod random;
mod raw;
pub mod rulers;
pub mod signature;

pub use busy::{hash, spin, stream};
pub use counted::{Hashes, NumberSum};
pub use fixed::{Loads, alu, cache, syscalls};
pub use random::Random;
