//! Dependent loads from one line of each page: the ruler of the first level of cache that cores share.

use super::Kernel;
use super::chase::{cycle, follow};

const WORD: usize = size_of::<usize>();
const PAGE: usize = 4096;
/// How many loads are made between two questions whether there is time for more: some microseconds.
const PIECE: u64 = 256;
/// The first round brings the lines from wherever they are; the second leaves them where the others come to.
const WARMING_ROUNDS: u64 = 2;

/// Loads from the same line of every page of a working set, in random order; all of them are one cycle. A unit is a load.
///
/// Which places of a cache a line may take depends on its address, so these lines can use no more than their share of it:
/// one in 64 of each level. With twice as many pages as a private cache holds, they do not fit into that share, and each
/// load goes on to the next level, as half the loads from a whole set of that size would. But there are few of them, so
/// that it takes tens of microseconds and not many milliseconds to have them where a program that runs on has its own.
#[derive(Clone, Debug)]
pub struct Pages {
    memory: Vec<usize>,
    pages: usize,
    place: usize,
}

impl Pages {
    /// A cycle through the pages of `bytes` of memory, at least one page.
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
    fn one_line_of_every_page_is_loaded_once_a_round() {
        for pages in [1, 2, 3, 300] {
            let mut ruler = Pages::new(pages * PAGE + 100, 7);
            let seen: BTreeSet<u64> = (0..pages).map(|_| ruler.run(1)).collect();
            assert_eq!(seen.len(), pages);
            assert!(seen.iter().all(|place| (*place as usize * WORD).is_multiple_of(PAGE)));
            assert_eq!((ruler.place, ruler.working_set()), (0, Some(pages * PAGE)), "the round ends where it began");
        }
    }

    #[test]
    fn warming_ends_when_told() {
        let mut asked = 0;
        Pages::new(300 * PAGE, 1).warm(&mut || {
            asked += 1;
            asked < 2
        });
        assert_eq!(asked, 2);
        asked = 0;
        Pages::new(300 * PAGE, 1).warm(&mut || {
            asked += 1;
            true
        });
        assert_eq!(asked, 3, "600 loads");
    }
}
