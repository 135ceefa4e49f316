//! Dependent loads over a working set: the ruler of a level of cache.

use std::hint::black_box;

use super::Kernel;
use crate::Random;

const WORD: usize = size_of::<usize>();
/// One word in each cache line; where lines are longer, two.
const WORDS_PER_LINE: usize = 64 / WORD;
/// How many bytes are read between two questions whether there is time for more: some microseconds.
const PIECE_BYTES: usize = 1 << 16;

/// Loads from one word after the other of a working set, in random order: each word holds the place of the next, and all
/// of them are one cycle. A unit is a load.
///
/// Random order leaves prefetchers nothing to guess. Each cache line is come back to several times a round, at random
/// distances, as programs do; one visit each would be the one order in which a cache that drops what was not used for
/// the longest time never has what is wanted.
#[derive(Clone, Debug)]
pub struct Chase {
    memory: Vec<usize>,
    place: usize,
}

impl Chase {
    /// A cycle through `bytes` of memory, at least one word.
    pub fn new(bytes: usize, seed: u64) -> Self {
        let words = (bytes / WORD).max(1);
        Chase { memory: cycle(words, (0..words).collect(), seed), place: 0 }
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
            black_box(piece.iter().step_by(WORDS_PER_LINE).fold(0_usize, |sum, word| sum.wrapping_add(*word)));
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
    fn every_word_is_loaded_once_a_round() {
        for words in [1, 2, 3, 3072] {
            let mut chase = Chase::new(words * WORD, 7);
            let seen: std::collections::BTreeSet<u64> = (0..words).map(|_| chase.run(1)).collect();
            assert_eq!(seen.len(), words);
            assert_eq!(chase.place, 0, "the round ends where it began");
            assert_eq!(chase.working_set(), Some(words * WORD));
        }
    }

    #[test]
    fn the_order_is_that_of_the_seed() {
        let places = |seed| {
            let mut chase = Chase::new(1 << 16, seed);
            (0..50).map(|_| chase.run(1)).collect::<Vec<_>>()
        };
        assert_eq!(places(1), places(1));
        assert_ne!(places(1), places(2));
    }

    #[test]
    fn warming_ends_when_told() {
        let mut asked = 0;
        let mut more = |most| {
            asked = 0;
            Chase::new(4 * PIECE_BYTES, 1).warm(&mut || {
                asked += 1;
                asked < most
            });
            asked
        };
        assert_eq!((more(2), more(100)), (2, 4));
    }
}
