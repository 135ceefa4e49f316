//! Work of known kinds and known amounts: commands whose true cost is set by a count, and neighbours that disturb them.
//!
//! [`alu`], [`cache`] and [`syscalls`] do an amount of work and return a digest of it, the same on every run; [`Hashes`],
//! [`Sums`] and [`Loads`] do more of it each time that they are asked. [`spin`], [`hash`] and [`stream`] keep a resource
//! busy until they are told to stop. [`rulers`] has the kernels whose time per unit tells how a resource fares, and
//! [`probes`] the primitives of machine and kernel whose cost is measured, each beside the same loop without it. [`signature`]
//! takes signatures of files, by nodes of several allocators or by none. Nothing can be optimised away, and clocks are read by the
//! probes and by who waits for an allocator's lock alone.

mod busy;
mod counted;
mod fixed;
pub mod probes;
mod random;
mod raw;
pub mod rulers;
pub mod signature;

pub use busy::{hash, spin, stream};
pub use counted::{Hashes, Sums};
pub use fixed::{Loads, alu, cache, syscalls};
pub use random::Random;
