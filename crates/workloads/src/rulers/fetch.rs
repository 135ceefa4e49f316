//! Calls of many small functions in random order: the ruler of instruction fetch.

use std::hint::black_box;

use super::Kernel;
use crate::Random;
use crate::random::mix;

/// The maximum length of a function, in bytes. A larger distance between two starts contains other code.
const LONGEST_BYTES: usize = 256;

/// Calls distinct functions in random order, each with the result of the previous one. Together they are larger than a
/// first-level instruction cache. A unit is a call.
#[derive(Clone, Debug)]
pub struct Fetch {
    order: Vec<Function>,
    next: usize,
    value: u64,
}

impl Fetch {
    /// Creates the ruler with all functions in the order of the seed.
    pub fn new(seed: u64) -> Self {
        let mut order = FUNCTIONS.as_flattened().as_flattened().to_vec();
        let mut random = Random::new(seed);
        for last in (1..order.len()).rev() {
            order.swap(last, random.between(0, last as u64) as usize);
        }
        Fetch { order, next: 0, value: black_box(1) }
    }
}

/// Returns the total size of the functions' code in bytes: the distances from each start to the next one.
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

/// A function with some tens of bytes of code.
pub(super) type Function = fn(u64) -> u64;

/// The function with number `N`. Its constants are unique and part of its code, which is therefore long but takes only
/// a few cycles.
#[inline(never)]
fn function<const N: u64>(value: u64) -> u64 {
    let value = (value ^ const { mix(4 * N + 1) }).rotate_left(19).wrapping_add(const { mix(4 * N + 2) });
    (value ^ const { mix(4 * N + 3) }).rotate_left(29).wrapping_add(const { mix(4 * N + 4) })
}

/// Applies `$each` to sixteen numbers from 16 x `$base` on.
macro_rules! sixteen {
    ($each:ident, $base:expr) => {
        [
            $each!($base * 16),
            $each!($base * 16 + 1),
            $each!($base * 16 + 2),
            $each!($base * 16 + 3),
            $each!($base * 16 + 4),
            $each!($base * 16 + 5),
            $each!($base * 16 + 6),
            $each!($base * 16 + 7),
            $each!($base * 16 + 8),
            $each!($base * 16 + 9),
            $each!($base * 16 + 10),
            $each!($base * 16 + 11),
            $each!($base * 16 + 12),
            $each!($base * 16 + 13),
            $each!($base * 16 + 14),
            $each!($base * 16 + 15),
        ]
    };
}

/// The function with the given number.
macro_rules! one {
    ($number:expr) => {
        function::<{ $number }> as Function
    };
}

/// An array of sixteen functions.
macro_rules! sixteen_functions {
    ($base:expr) => {
        sixteen!(one, $base)
    };
}

/// Sixteen arrays of sixteen functions.
macro_rules! sixteen_rows {
    ($base:expr) => {
        sixteen!(sixteen_functions, $base)
    };
}

/// All functions, in the order of their numbers.
pub(super) static FUNCTIONS: [[[Function; 16]; 16]; 4] =
    [sixteen_rows!(0), sixteen_rows!(1), sixteen_rows!(2), sixteen_rows!(3)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_distinct_and_larger_than_a_first_level_cache() {
        let fetch = Fetch::new(1);
        let starts: std::collections::BTreeSet<usize> = fetch.order.iter().map(|function| *function as usize).collect();
        assert_eq!(starts.len(), fetch.order.len(), "the compiler must not merge functions");
        let bytes = fetch.working_set().unwrap();
        assert!(bytes > 48 << 10, "{bytes}");
        let results: std::collections::BTreeSet<u64> = fetch.order.iter().map(|function| function(1)).collect();
        assert_eq!(results.len(), fetch.order.len());
    }

    #[test]
    fn calls_repeat_in_one_order() {
        let mut whole = Fetch::new(9);
        let mut parts = Fetch::new(9);
        let calls = whole.order.len() as u64 + 10;
        let expected = whole.run(calls);
        parts.run(3);
        assert_eq!(parts.run(calls - 3), expected);
        assert_ne!(Fetch::new(10).run(calls), expected);
    }
}
