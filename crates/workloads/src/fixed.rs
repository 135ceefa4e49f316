//! Fixed amounts of work: the cost is a constant plus an amount proportional to the count.

use std::hint::black_box;
use std::os::unix::process::parent_id;

use crate::random::mix;

/// Runs `steps` dependent integer operations in registers.
pub fn alu(steps: u64) -> u64 {
    let mut value = black_box(1);
    for _ in 0..steps {
        // Adding 1 keeps the chain away from 0, which `mix` maps to itself.
        value = mix(value).wrapping_add(1);
    }
    black_box(value)
}

/// Makes `loads` dependent loads at random addresses in `bytes` of memory (at least one word), after touching all of
/// it.
pub fn cache(bytes: usize, loads: u64) -> u64 {
    Loads::new(bytes).next(loads)
}

/// Dependent loads at random addresses in some memory, in any number.
///
/// Each address depends on the value loaded before, so the full latency of each load counts.
#[derive(Clone, Debug)]
pub struct Loads {
    memory: Vec<u64>,
    state: u64,
}

impl Loads {
    /// Allocates `bytes` of memory (at least one word) and touches all of it.
    pub fn new(bytes: usize) -> Self {
        Loads { memory: vec![1; (bytes / size_of::<u64>()).max(1)], state: 0 }
    }

    /// Makes `count` more loads. Returns a digest of all loads so far.
    pub fn next(&mut self, count: u64) -> u64 {
        // The compiler must not know the values to be loaded.
        let memory = black_box(self.memory.as_slice());
        let words = memory.len() as u128;
        let mut state = self.state;
        for _ in 0..count {
            let place = ((u128::from(state) * words) >> 64) as usize;
            state = (state ^ memory[place]).wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        }
        self.state = black_box(state);
        self.state
    }
}

/// Makes `calls` system calls of the cheapest kind, getppid(2), which no C library answers from a cache.
pub fn syscalls(calls: u64) -> u64 {
    let mut sum = 0_u64;
    for _ in 0..calls {
        sum = sum.wrapping_add(u64::from(black_box(parent_id())));
    }
    black_box(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_amount_gives_the_same_digest() {
        assert_eq!(alu(1000), alu(1000));
        assert_ne!(alu(1000), alu(1001));
        assert_eq!(cache(1 << 16, 1000), cache(1 << 16, 1000));
        assert_ne!(cache(1 << 16, 1000), cache(1 << 16, 1001));
    }

    #[test]
    fn loads_continue_after_the_previous_call() {
        let mut loads = Loads::new(1 << 12);
        loads.next(300);
        assert_eq!(loads.next(700), cache(1 << 12, 1000));
    }

    #[test]
    fn amounts_of_zero_are_allowed() {
        assert_eq!(alu(0), 1);
        assert_eq!(syscalls(0), 0);
        cache(0, 10);
    }

    #[test]
    fn every_call_is_made() {
        assert_eq!(syscalls(3), 3 * u64::from(parent_id()));
    }
}
