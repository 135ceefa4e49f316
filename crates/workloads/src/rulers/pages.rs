//! Dependent loads from one line of each page: the ruler of the first shared cache level.

use super::Kernel;
use super::chase::{cycle, follow};

const WORD: usize = size_of::<usize>();
const PAGE: usize = 4096;
/// The loads between two checks whether there is time for more: some microseconds.
const PIECE: u64 = 256;
/// The first round loads the lines from anywhere; after the second one they are in their final cache level.
const WARMING_ROUNDS: u64 = 2;

/// Loads the same line of every page of a working set, in random order; they form one cycle. A unit is a load.
///
/// A cache line can be stored only in the cache set of its address. These lines can therefore use only one in 64 sets
/// of each level. With twice as many pages as a private cache holds, the lines do not fit in these sets. Each load then
/// goes to the next level, as half of the loads from a whole working set of that size would. As there are few lines, it
/// takes tens of microseconds instead of milliseconds to load them into the level where a running program has its own
/// data.
#[derive(Clone, Debug)]
pub struct Pages {
    memory: Vec<usize>,
    pages: usize,
    place: usize,
}

impl Pages {
    /// Creates a cycle through the pages of `bytes` of memory, at least one page.
    pub fn new(bytes: usize, seed: u64) -> Self {
        let pages = (bytes / PAGE).max(1);
        let memory = cycle(pages * PAGE / WORD, (0..pages).map(|page| page * PAGE / WORD).collect(), seed);
        Pages { memory, pages, place: 0 }
    }
}

impl Kernel for Pages {
    fn working_set(&self) -> Option<usize> {
        Some(self.pages * PAGE)
    }

    fn warm(&mut self, more: &mut dyn FnMut() -> bool) {
        for _ in 0..(WARMING_ROUNDS * self.pages as u64).div_ceil(PIECE) {
            self.run(PIECE);
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn one_line_of_every_page_is_loaded_once_in_a_round() {
        for pages in [1, 2, 3, 300] {
            let mut ruler = Pages::new(pages * PAGE + 100, 7);
            let seen: BTreeSet<u64> = (0..pages).map(|_| ruler.run(1)).collect();
            assert_eq!(seen.len(), pages);
            assert!(seen.iter().all(|place| (*place as usize * WORD).is_multiple_of(PAGE)));
            assert_eq!((ruler.place, ruler.working_set()), (0, Some(pages * PAGE)), "the round ends at its beginning");
        }
    }

    #[test]
    fn warming_ends_when_there_is_no_time_for_more() {
        let mut calls = 0;
        Pages::new(300 * PAGE, 1).warm(&mut || {
            calls += 1;
            calls < 2
        });
        assert_eq!(calls, 2);
        calls = 0;
        Pages::new(300 * PAGE, 1).warm(&mut || {
            calls += 1;
            true
        });
        assert_eq!(calls, 3, "600 loads");
    }
}
