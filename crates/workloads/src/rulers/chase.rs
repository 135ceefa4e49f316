//! Dependent loads over a working set: the ruler of a level of cache.

use std::hint::black_box;

use super::Kernel;
use crate::Random;

const WORD: usize = size_of::<usize>();

/// How many bytes are read between two questions whether there is time for more: some microseconds.
const PIECE_BYTES: usize = 1 << 16;

/// Loads from one place after the other of a working set, one in each cache line, in random order: each place holds
/// the next, and all of them are one cycle. A unit is a load.
///
/// Random order leaves prefetchers nothing to guess, and one cycle through all lines leaves none of them unused.
#[derive(Clone, Debug)]
pub struct Chase {
    memory: Vec<usize>,
    words_per_line: usize,
    place: usize,
}

impl Chase {
    /// A cycle through `bytes` of memory whose cache lines are of `line` bytes; at least one line.
    pub fn new(bytes: usize, line: usize, seed: u64) -> Self {
        let words_per_line = (line / WORD).max(1);
        let lines = (bytes / (words_per_line * WORD)).max(1);
        let places = (0..lines).map(|line| line * words_per_line).collect();
        Chase { memory: cycle(lines * words_per_line, places, seed), words_per_line, place: 0 }
    }
}

/// Memory in which each of `places` holds another of them, all in one cycle of random order.
pub(super) fn cycle(words: usize, mut places: Vec<usize>, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    for last in (1..places.len()).rev() {
        places.swap(last, random.between(0, last as u64) as usize);
    }
    let mut memory = vec![0; words];
    for (at, place) in places.iter().enumerate() {
        memory[*place] = places[(at + 1) % places.len()];
    }
    memory
}

/// The place that so many loads lead to.
pub(super) fn follow(memory: &[usize], mut place: usize, loads: u64) -> usize {
    for _ in 0..loads {
        place = memory[place];
    }
    black_box(place)
}

impl Kernel for Chase {
    fn working_set(&self) -> Option<usize> {
        Some(self.memory.len() * WORD)
    }

    /// Reads every line in the order of their addresses, which takes a fraction of the time that chasing them does.
    fn warm(&mut self, more: &mut dyn FnMut() -> bool) {
        for piece in self.memory.chunks(PIECE_BYTES / WORD) {
            black_box(piece.iter().step_by(self.words_per_line).sum::<usize>());
            if !more() {
                return;
            }
        }
    }

    fn run(&mut self, units: u64) -> u64 {
        self.place = follow(&self.memory, self.place, units);
        self.place as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_loaded_once_a_round() {
        for lines in [1, 2, 3, 384] {
            let mut chase = Chase::new(lines * 64, 64, 7);
            let seen: std::collections::BTreeSet<u64> = (0..lines).map(|_| chase.run(1)).collect();
            assert_eq!(seen.len(), lines);
            assert!(seen.iter().all(|place| place % 8 == 0), "one place a line");
            assert_eq!(chase.run(lines as u64), 0, "the cycle has no other round");
            assert_eq!(chase.working_set(), Some(lines * 64));
        }
    }

    #[test]
    fn the_order_is_that_of_the_seed() {
        let digests = |seed| (1..50).map(|loads| Chase::new(1 << 16, 64, seed).run(loads)).collect::<Vec<_>>();
        assert_eq!(digests(1), digests(1));
        assert_ne!(digests(1), digests(2));
    }

    #[test]
    fn warming_ends_when_told() {
        let mut asked = 0;
        let mut more = |most| {
            asked = 0;
            Chase::new(4 * PIECE_BYTES, 64, 1).warm(&mut || {
                asked += 1;
                asked < most
            });
            asked
        };
        assert_eq!((more(2), more(100)), (2, 4));
    }
}
