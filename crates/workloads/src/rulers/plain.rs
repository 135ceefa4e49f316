//! Rulers that need no memory to speak of: arithmetic and system calls.

use super::Kernel;
use crate::{alu, syscalls};

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
