//! Calls of many small functions in random order: the ruler of fetching instructions.

use std::hint::black_box;

use super::Kernel;
use super::functions::{FUNCTIONS, Function};
use crate::Random;

/// Longer functions than this do not stand next to each other; their length is not known.
const LONGEST_BYTES: usize = 256;

/// Calls distinct functions one after the other in random order, each with what the one before returned. Together they
/// are larger than a first level of instruction cache. A unit is a call.
#[derive(Clone, Debug)]
pub struct Fetch {
    order: Vec<Function>,
    next: usize,
    value: u64,
}

impl Fetch {
    /// All functions in the order of the seed.
    pub fn new(seed: u64) -> Self {
        let mut order = FUNCTIONS.as_flattened().as_flattened().to_vec();
        let mut random = Random::new(seed);
        for last in (1..order.len()).rev() {
            order.swap(last, random.between(0, last as u64) as usize);
        }
        Fetch { order, next: 0, value: black_box(1) }
    }
}

/// How many bytes of code the functions are: from each one's start to that of the next behind it.
fn code_bytes(functions: &[Function]) -> usize {
    let mut starts: Vec<usize> = functions.iter().map(|function| *function as usize).collect();
    starts.sort_unstable();
    starts.windows(2).map(|pair| (pair[1] - pair[0]).min(LONGEST_BYTES)).sum()
}

impl Kernel for Fetch {
    fn working_set(&self) -> Option<usize> {
        Some(code_bytes(&self.order))
    }

    /// Calls each function once.
    fn warm(&mut self, _: &mut dyn FnMut() -> bool) {
        self.run(self.order.len() as u64);
    }

    fn run(&mut self, units: u64) -> u64 {
        for _ in 0..units {
            self.value = self.order[self.next](self.value);
            self.next += 1;
            if self.next == self.order.len() {
                self.next = 0;
            }
        }
        black_box(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_distinct_and_larger_than_a_first_level_of_cache() {
        let fetch = Fetch::new(1);
        let starts: std::collections::BTreeSet<usize> = fetch.order.iter().map(|function| *function as usize).collect();
        assert_eq!(starts.len(), fetch.order.len(), "none was merged with another");
        let bytes = fetch.working_set().unwrap();
        assert!(bytes > 48 << 10, "{bytes}");
        let results: std::collections::BTreeSet<u64> = fetch.order.iter().map(|function| function(1)).collect();
        assert_eq!(results.len(), fetch.order.len());
    }

    #[test]
    fn calls_go_round_in_one_order() {
        let mut whole = Fetch::new(9);
        let mut parts = Fetch::new(9);
        let calls = whole.order.len() as u64 + 10;
        let expected = whole.run(calls);
        parts.run(3);
        assert_eq!(parts.run(calls - 3), expected);
        assert_ne!(Fetch::new(10).run(calls), expected);
    }
}
