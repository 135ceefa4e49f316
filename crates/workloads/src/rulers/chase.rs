//! Dependent loads: over a working set, the ruler of a cache level; over flushed memory, the ruler of memory.

use std::hint::black_box;

use super::Kernel;
use crate::Random;
use crate::raw::{CAN_FLUSH, flush};

const WORD: usize = size_of::<usize>();
/// One word in each cache line of 64 bytes; lines of 128 bytes are read twice.
const WORDS_PER_LINE: usize = 64 / WORD;
/// The bytes read between two checks whether there is time for more: some microseconds.
const PIECE_BYTES: usize = 1 << 16;

/// Loads the words of a working set in random order. Each word contains the position of the next one, and all words
/// form one cycle. A unit is a load.
///
/// The random order is unpredictable for prefetchers. Each cache line is visited several times in a round at random
/// distances, as in real programs. With one visit per round, a least-recently-used cache that is slightly too small
/// would never contain the next line.
#[derive(Clone, Debug)]
pub struct Chase {
    memory: Vec<usize>,
    place: usize,
}

impl Chase {
    /// Creates a cycle through `bytes` of memory, at least one word.
    pub fn new(bytes: usize, seed: u64) -> Self {
        let words = (bytes / WORD).max(1);
        Chase { memory: cycle(words, (0..words).collect(), seed), place: 0 }
    }
}

/// Returns memory in which each of `places` contains another of them. They form one cycle in random order.
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

/// Follows the cycle for a number of loads and returns the position.
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

    /// Reads every line in address order, which takes a fraction of the time of dependent loads.
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

/// The distance of the places: prefetchers do not cross page boundaries, and there is only one place in each page.
const PAGE_BYTES: usize = 4096;
/// The granularity of the random positions within their pages.
const LINE_BYTES: usize = 64;
/// The number of places: enough loads to be timed, and few enough to be flushed before each repetition.
const PLACES: usize = 256;

/// Loads in random order from places that were flushed from all caches before. A unit is a load.
///
/// A working set larger than a last-level cache of hundreds of megabytes would take too much memory and too much time
/// for a reading. Loads from flushed places also go to memory.
#[derive(Clone, Debug)]
pub struct Flushed {
    memory: Vec<usize>,
    places: Vec<usize>,
    place: usize,
}

impl Flushed {
    /// Creates the ruler; `None` on CPU architectures for which flushing is not implemented.
    pub fn new(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed);
        let mut within = || random.between(0, (PAGE_BYTES / LINE_BYTES - 1) as u64) as usize * (LINE_BYTES / WORD);
        let places: Vec<usize> = (0..PLACES).map(|page| page * (PAGE_BYTES / WORD) + within()).collect();
        let memory = cycle(PLACES * PAGE_BYTES / WORD, places.clone(), seed);
        CAN_FLUSH.then(|| Flushed { place: places[0], memory, places })
    }
}

impl Kernel for Flushed {
    fn working_set(&self) -> Option<usize> {
        None
    }

    /// Loads the address translations of the pages into the TLB. The data itself is flushed afterwards.
    fn warm(&mut self, _: &mut dyn FnMut() -> bool) {
        self.place = follow(&self.memory, self.place, PLACES as u64);
    }

    fn ready(&mut self) {
        flush(self.places.iter().map(|place| &self.memory[*place]));
    }

    fn most(&self) -> u64 {
        PLACES as u64
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
    fn every_word_is_loaded_once_in_a_round() {
        for words in [1, 2, 3, 3072] {
            let mut chase = Chase::new(words * WORD, 7);
            let seen: std::collections::BTreeSet<u64> = (0..words).map(|_| chase.run(1)).collect();
            assert_eq!(seen.len(), words);
            assert_eq!(chase.place, 0, "the round ends at its beginning");
            assert_eq!(chase.working_set(), Some(words * WORD));
        }
    }

    #[test]
    fn the_seed_determines_the_order() {
        let places = |seed| {
            let mut chase = Chase::new(1 << 16, seed);
            (0..50).map(|_| chase.run(1)).collect::<Vec<_>>()
        };
        assert_eq!(places(1), places(1));
        assert_ne!(places(1), places(2));
    }

    #[test]
    fn warming_ends_when_there_is_no_time_for_more() {
        let mut calls = 0;
        let mut more = |most| {
            calls = 0;
            Chase::new(4 * PIECE_BYTES, 1).warm(&mut || {
                calls += 1;
                calls < most
            });
            calls
        };
        assert_eq!((more(2), more(100)), (2, 4));
    }

    #[test]
    fn every_page_is_loaded_from_once_in_a_round() {
        let Some(mut flushed) = Flushed::new(3) else { return };
        flushed.ready();
        let begin = flushed.place as u64;
        let pages: std::collections::BTreeSet<u64> =
            (0..PLACES).map(|_| flushed.run(1) / (PAGE_BYTES / WORD) as u64).collect();
        assert_eq!(pages.len(), PLACES);
        flushed.warm(&mut || true);
        assert_eq!(flushed.place as u64, begin, "warming completes one round");
        assert_eq!(flushed.most(), PLACES as u64);
    }
}
