//! Dependent loads: over a working set, the ruler of a level of cache; of what no cache holds, the ruler of memory.

use std::hint::black_box;

use super::Kernel;
use crate::Random;
use crate::raw::{CAN_FLUSH, flush};

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

/// One place in each page of this size: prefetchers do not look beyond a page, and find nothing to guess within one.
const PAGE_BYTES: usize = 4096;
/// How far apart the places in their pages are drawn.
const LINE_BYTES: usize = 64;
/// Enough loads to be timed, and few enough to be flushed again for each repetition.
const PLACES: usize = 256;

/// Loads from one place after the other, in random order, that were put out of all caches before. A unit is a load.
///
/// A working set beyond a last level of hundreds of megabytes could neither be held for a reading nor walked within
/// one; the same loads from places that were flushed go to memory just as well.
#[derive(Clone, Debug)]
pub struct Flushed {
    memory: Vec<usize>,
    places: Vec<usize>,
    place: usize,
}

impl Flushed {
    /// The ruler; `None` on kinds of CPUs of which it is not known here how to put something out of their caches.
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

    /// The pages' translations are to be at hand, though the data is not.
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

    #[test]
    fn every_page_is_loaded_from_once_a_round() {
        let Some(mut flushed) = Flushed::new(3) else { return };
        flushed.ready();
        let begin = flushed.place as u64;
        let pages: std::collections::BTreeSet<u64> =
            (0..PLACES).map(|_| flushed.run(1) / (PAGE_BYTES / WORD) as u64).collect();
        assert_eq!(pages.len(), PLACES);
        flushed.warm(&mut || true);
        assert_eq!(flushed.place as u64, begin, "warming goes round once");
        assert_eq!(flushed.most(), PLACES as u64);
    }
}
