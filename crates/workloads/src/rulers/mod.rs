//! Rulers: short fixed kernels, one for each resource of a machine. The CPU time per unit shows how slow the resource
//! is now.
//!
//! Each kernel is a dependency chain: every operation, load or call depends on the previous one. Its latency therefore
//! counts, and the width of the CPU does not. [`VERSION`] changes whenever the content of a unit changes, because
//! readings of different versions are not comparable.

mod chase;
mod fetch;
mod pages;

use crate::{alu, syscalls};

pub use chase::{Chase, Flushed};
pub use fetch::Fetch;
pub use pages::Pages;

/// The version of the kernels' units. Debug builds have a version of their own, because they compile differently.
pub const VERSION: &str = if cfg!(debug_assertions) { "2-debug" } else { "2" };

/// A kernel that works in equal units.
pub trait Kernel: Send {
    /// Returns the size of its working set in bytes, if its cost depends on it.
    fn working_set(&self) -> Option<usize>;

    /// Loads the working set into its cache level, piece by piece until all of it is done or `more` returns false.
    fn warm(&mut self, more: &mut dyn FnMut() -> bool);

    /// Prepares a run. It must be called before each [`Kernel::run`], and is not part of the measurement.
    fn ready(&mut self) {}

    /// Returns the maximum number of units for one run.
    fn most(&self) -> u64 {
        u64::MAX
    }

    /// Runs a number of units and returns a digest of them.
    fn run(&mut self, units: u64) -> u64;
}

/// The units that warm a kernel without a working set: its code, and the kernel's code for system calls, are then
/// cached.
const WARMING_UNITS: u64 = 64;

/// A chain of dependent integer operations in registers. A unit is a step of some operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alu;

impl Kernel for Alu {
    fn working_set(&self) -> Option<usize> {
        None
    }

    fn warm(&mut self, _: &mut dyn FnMut() -> bool) {
        alu(WARMING_UNITS);
    }

    fn run(&mut self, units: u64) -> u64 {
        alu(units)
    }
}

/// Repeats the cheapest system call. A unit is a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemCall;

impl Kernel for SystemCall {
    fn working_set(&self) -> Option<usize> {
        None
    }

    fn warm(&mut self, _: &mut dyn FnMut() -> bool) {
        syscalls(WARMING_UNITS);
    }

    fn run(&mut self, units: u64) -> u64 {
        syscalls(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_are_those_of_the_fixed_workloads() {
        assert_eq!(Alu.run(100), alu(100));
        assert_eq!(SystemCall.run(3), syscalls(3));
        assert_eq!((Alu.working_set(), SystemCall.working_set()), (None, None));
    }
}
