//! Rulers: short fixed kernels, one per resource of a machine, whose CPU time per unit tells how that resource fares.
//!
//! Each is a chain: no operation, load or call can begin before the one before it has ended, so that its latency counts
//! and a CPU's width does not. [`VERSION`] changes whenever what a unit does changes: readings of different versions are
//! not to be compared.

mod chase;
mod fetch;
mod pages;

use crate::{alu, syscalls};

pub use chase::{Chase, Flushed};
pub use fetch::Fetch;
pub use pages::Pages;

/// What a unit of each kernel is; builds that compile differently are told apart as well.
pub const VERSION: &str = if cfg!(debug_assertions) { "2-debug" } else { "2" };

/// A kernel that does its work in units of the same kind.
pub trait Kernel: Send {
    /// How many bytes it goes over, where its cost depends on that.
    fn working_set(&self) -> Option<usize>;

    /// Brings what it goes over to where it belongs, piece by piece until all of it is done or `more` says no.
    fn warm(&mut self, more: &mut dyn FnMut() -> bool);

    /// Has to be called before each [`Kernel::run`], and is no part of what is measured.
    fn ready(&mut self) {}

    /// The most units that one run may be asked for.
    fn most(&self) -> u64 {
        u64::MAX
    }

    /// Does so many units of work; a digest of them.
    fn run(&mut self, units: u64) -> u64;
}

/// Warming such a kernel is running it a little: the code and the way through the kernel are in the caches then.
const WARMING_UNITS: u64 = 64;

/// A chain of dependent integer operations, in registers alone. A unit is a step of some operations.
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

/// The cheapest system call, again and again. A unit is a call.
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
    fn the_units_are_those_of_the_workloads() {
        assert_eq!(Alu.run(100), alu(100));
        assert_eq!(SystemCall.run(3), syscalls(3));
        assert_eq!((Alu.working_set(), SystemCall.working_set()), (None, None));
    }
}
