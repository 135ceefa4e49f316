//! The published allocator: one list of free pieces in the order of their addresses, the first that is large enough is taken,
//! pieces that touch are joined when one is given back, and a lock around it all.
//!
//! A piece begins with a header of two words: its size in words, header included, and, while it is free, where the next free
//! piece begins. Places are numbers of words from the start of the area, so that processes that have it at different
//! addresses share it.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use steady_linux::clock;
use steady_model::Nanos;

use super::MOST_NODES;
use super::tree::{Exhausted, Nodes};
use crate::raw::{Shared, Taken};

/// The words of a header.
const HEADER: u32 = 2;
/// The words of a node: symbol, frequency, and the places of its children.
const NODE: u32 = 4;
/// Where the list's head is: it looks like the header of a piece before all others.
const HEAD: u32 = 0;
/// No place: nobody is given the head.
const NONE: u32 = 0;

/// What taking the lock came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How often it was taken.
    pub acquisitions: u64,
    /// How often somebody else had it.
    pub contended: u64,
    /// How long it was waited for.
    pub waited: Nanos,
}

/// An area that nodes are allocated in, and the lock before it.
pub struct Area(Shared);

impl Area {
    /// One with room for the trees of so many workers at a time, in memory that processes share.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn new(workers: usize) -> io::Result<Self> {
        let pieces = (workers * MOST_NODES) as u32;
        let words = HEADER + pieces * (HEADER + NODE);
        let area = Area(Shared::new(1, 0, words as usize)?);
        let list = area.list();
        list.set_next(HEAD, HEADER);
        list.set_size(HEADER, words - HEADER);
        Ok(area)
    }

    fn list(&self) -> List<'_> {
        List { words: self.0.words() }
    }
}

/// The list as its words say it. Whoever uses it holds the lock, or has it to himself.
#[derive(Clone, Copy)]
struct List<'a> {
    words: &'a [AtomicU32],
}

impl List<'_> {
    #[inline(always)]
    fn word(&self, at: u32) -> u32 {
        self.words[at as usize].load(Relaxed)
    }

    #[inline(always)]
    fn set(&self, at: u32, value: u32) {
        self.words[at as usize].store(value, Relaxed);
    }

    #[inline(always)]
    fn size(&self, piece: u32) -> u32 {
        self.word(piece)
    }

    #[inline(always)]
    fn set_size(&self, piece: u32, size: u32) {
        self.set(piece, size);
    }

    #[inline(always)]
    fn next(&self, piece: u32) -> u32 {
        self.word(piece + 1)
    }

    #[inline(always)]
    fn set_next(&self, piece: u32, next: u32) {
        self.set(piece + 1, next);
    }

    /// Takes `words` out of the first free piece that has them; the place behind the header.
    #[inline(always)]
    fn take(&self, words: u32) -> Result<u32, Exhausted> {
        let need = HEADER + words;
        let (mut before, mut piece) = (HEAD, self.next(HEAD));
        while piece != NONE {
            let size = self.size(piece);
            if size >= need {
                let rest = size - need;
                // A rest without room for a header and a word stays with the piece.
                if rest > HEADER {
                    let behind = piece + need;
                    self.set_size(behind, rest);
                    self.set_next(behind, self.next(piece));
                    self.set_next(before, behind);
                    self.set_size(piece, need);
                } else {
                    self.set_next(before, self.next(piece));
                }
                return Ok(piece + HEADER);
            }
            (before, piece) = (piece, self.next(piece));
        }
        Err(Exhausted)
    }

    /// Puts a piece back where its address belongs, and joins it with those that it touches.
    #[inline(always)]
    fn give_back(&self, place: u32) {
        let piece = place - HEADER;
        let (mut before, mut behind) = (HEAD, self.next(HEAD));
        while behind != NONE && behind < piece {
            (before, behind) = (behind, self.next(behind));
        }
        let mut size = self.size(piece);
        if behind != NONE && piece + size == behind {
            size += self.size(behind);
            behind = self.next(behind);
        }
        if before != HEAD && before + self.size(before) == piece {
            self.set_size(before, self.size(before) + size);
            self.set_next(before, behind);
        } else {
            self.set_size(piece, size);
            self.set_next(piece, behind);
            self.set_next(before, piece);
        }
    }
}

/// One worker's way to an [`Area`].
pub struct FreeList<'a> {
    area: &'a Area,
    locked: bool,
    waits: Waits,
}

impl<'a> FreeList<'a> {
    /// To an area that others use at the same time.
    pub fn behind_the_lock(area: &'a Area) -> Self {
        FreeList { area, locked: true, waits: Waits::default() }
    }

    /// To an area that nobody else uses: the lock is not taken.
    pub fn alone(area: &'a mut Area) -> Self {
        FreeList { area, locked: false, waits: Waits::default() }
    }

    /// What the lock came to so far.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// The lock, and how long it was waited for. Clocks are read only where somebody else has it.
    #[inline(always)]
    fn enter(&mut self) -> Result<Option<Taken<'a>>, Exhausted> {
        if !self.locked {
            return Ok(None);
        }
        self.waits.acquisitions += 1;
        if let Some(taken) = self.area.0.try_lock(0) {
            return Ok(Some(taken));
        }
        let begun = clock::monotonic();
        let taken = self.area.0.lock(0).ok_or(Exhausted)?;
        self.waits.contended += 1;
        self.waits.waited += clock::monotonic() - begun;
        Ok(Some(taken))
    }

    fn give_back(&mut self, place: u32) {
        if let Ok(_taken) = self.enter() {
            self.area.list().give_back(place);
        }
    }
}

impl Nodes for FreeList<'_> {
    type Node = u32;
    type At<'b>
        = u32
    where
        Self: 'b;

    #[inline(always)]
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[u32; 2]>) -> Result<u32, Exhausted> {
        let taken = self.enter()?;
        let list = self.area.list();
        let place = list.take(NODE)?;
        drop(taken);
        let [left, right] = children.unwrap_or([NONE; 2]);
        [symbol, frequency, left, right].into_iter().zip(place..).for_each(|(word, at)| list.set(at, word));
        Ok(place)
    }

    #[inline(always)]
    fn at(&self, node: &u32) -> u32 {
        *node
    }

    #[inline(always)]
    fn look(&self, at: u32) -> (u32, Option<[u32; 2]>) {
        let list = self.area.list();
        let (left, right) = (list.word(at + 2), list.word(at + 3));
        (list.word(at) + list.word(at + 1), (left != NONE).then_some([left, right]))
    }

    fn release(&mut self, root: u32) {
        let (_, children) = self.look(root);
        if let Some([left, right]) = children {
            self.release(left);
            self.release(right);
        }
        self.give_back(root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The free pieces, from the first to the last.
    fn free(list: List<'_>) -> Vec<(u32, u32)> {
        let places = std::iter::successors(Some(list.next(HEAD)), |piece| Some(list.next(*piece)));
        places.take_while(|piece| *piece != NONE).map(|piece| (piece, list.size(piece))).collect()
    }

    #[test]
    fn the_first_that_fits_is_taken_and_neighbours_join() {
        let area = Area::new(1).unwrap();
        let list = area.list();
        let whole = free(list);
        let all: Vec<u32> = (0..4).map(|_| list.take(NODE).unwrap()).collect();
        assert_eq!(all, [4, 10, 16, 22]);
        list.give_back(all[2]);
        list.give_back(all[0]);
        assert_eq!(free(list)[..2], [(2, 6), (14, 6)]);
        assert_eq!(list.take(NODE), Ok(all[0]), "the first that fits");
        assert_eq!(list.take(10), Ok(28), "the first that fits, not the first");
        list.give_back(28);
        for place in [all[1], all[3], all[0]] {
            list.give_back(place);
        }
        assert_eq!(free(list), whole, "all is one piece again");
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_apart_in_order_and_joined(steps in proptest::collection::vec((1_u32..40, proptest::bool::weighted(0.6), 0_usize..64), 0..300)) {
            let area = Area::new(1).unwrap();
            let list = area.list();
            let whole = free(list);
            let mut held: Vec<(u32, u32)> = Vec::new();
            for (words, takes, which) in steps {
                if takes {
                    let smaller = free(list).iter().all(|(_, size)| *size < words + HEADER);
                    match list.take(words) {
                        Ok(place) => held.push((place, words)),
                        Err(Exhausted) => proptest::prop_assert!(smaller, "there was room"),
                    }
                } else if !held.is_empty() {
                    let (place, _) = held.swap_remove(which % held.len());
                    list.give_back(place);
                }
                let free = free(list);
                // In order, and never touching: those that touch are one.
                proptest::prop_assert!(free.windows(2).all(|two| two[0].0 + two[0].1 < two[1].0));
                let mut all: Vec<(u32, u32)> = held.iter().map(|(place, words)| (*place, *words)).collect();
                all.extend(&free);
                all.sort_unstable();
                proptest::prop_assert!(all.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{all:?}");
            }
            held.into_iter().for_each(|(place, _)| list.give_back(place));
            proptest::prop_assert_eq!(free(list), whole);
        }
    }
}
