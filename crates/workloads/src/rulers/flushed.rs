//! Dependent loads of what no cache holds: the ruler of memory.

use super::Kernel;
use super::chase::{cycle, follow};
use crate::Random;
use crate::raw::{CAN_FLUSH, flush};

const WORD: usize = size_of::<usize>();

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
