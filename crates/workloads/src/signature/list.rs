//! The published allocator: a free list in address order, first fit, with coalescing of adjacent pieces, protected by a
//! lock.
//!
//! A piece begins with a header of two words: its size in words with the header and, while it is free, the position of
//! the next free piece. Positions are numbers of words from the start of the area, so that processes can share it at
//! different addresses.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use steady_linux::clock;
use steady_model::Nanos;

use super::MOST_NODES;
use super::tree::{Exhausted, Nodes};
use crate::raw::{Shared, Taken};

/// The size of a word, in bytes.
const WORD_BYTES: usize = 4;
/// The size of a header, in words.
const HEADER: u32 = 2;
/// The size of a node, in words: symbol, frequency, and the positions of its children.
const NODE: u32 = 4;
/// The position of the list's head, which looks like the header of a piece before all others.
const HEAD: u32 = 0;
/// The position that means "none": it is the head's, which is never allocated.
const NONE: u32 = 0;

/// The use of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// The number of acquisitions that had to wait for another holder.
    pub contended: u64,
    /// The total time of waiting.
    pub waited: Nanos,
}

/// An area for nodes, with its lock.
pub struct Area(Shared);

impl Area {
    /// Creates an area with room for one tree of each worker, in memory that processes share.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(workers: usize) -> io::Result<Self> {
        Area::of_pieces(workers * MOST_NODES, NODE as usize)
    }

    /// Creates an area with room for a pool of `bytes` for each worker, in memory that processes share.
    ///
    /// # Errors
    /// There is not enough memory, or positions in it would exceed 32 bits.
    pub fn of_pools(workers: usize, bytes: usize) -> io::Result<Self> {
        Area::of_pieces(workers, bytes / WORD_BYTES)
    }

    fn of_pieces(pieces: usize, words: usize) -> io::Result<Self> {
        let all = pieces.checked_mul(HEADER as usize + words).map(|all| all + HEADER as usize);
        let all = all.and_then(|all| u32::try_from(all).ok());
        let all = all.ok_or_else(|| io::Error::other("the pools of all workers need more than 16 GiB"))?;
        let area = Area(Shared::new(1, 0, all as usize)?);
        let list = area.list();
        list.set_next(HEAD, HEADER);
        list.set_size(HEADER, all - HEADER);
        Ok(area)
    }

    fn list(&self) -> List<'_> {
        List { words: self.0.words() }
    }
}

/// The free list in the words of an area. Its user must hold the lock or own the area.
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

    /// Writes a node to its position.
    #[inline(always)]
    fn set_node(&self, place: u32, symbol: u32, frequency: u32, children: Option<[u32; 2]>) {
        let [left, right] = children.unwrap_or([NONE; 2]);
        [symbol, frequency, left, right].into_iter().zip(place..).for_each(|(word, at)| self.set(at, word));
    }

    /// Returns the content of a node: the sum of symbol and frequency, and its children.
    #[inline(always)]
    fn look(&self, at: u32) -> (u32, Option<[u32; 2]>) {
        let (left, right) = (self.word(at + 2), self.word(at + 3));
        (self.word(at) + self.word(at + 1), (left != NONE).then_some([left, right]))
    }

    /// Allocates `words` from the first free piece that is large enough. Returns the position after the header.
    #[inline(always)]
    fn allocate(&self, words: u32) -> Result<u32, Exhausted> {
        let need = HEADER + words;
        let (mut before, mut piece) = (HEAD, self.next(HEAD));
        while piece != NONE {
            let size = self.size(piece);
            if size >= need {
                let rest = size - need;
                // A remainder without room for a header and a word stays with the piece.
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

    /// Inserts a piece into the list in address order, and merges it with adjacent free pieces.
    #[inline(always)]
    fn free(&self, place: u32) {
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

/// Access of one worker to an [`Area`].
pub struct FreeList<'a> {
    area: &'a Area,
    locked: bool,
    waits: Waits,
}

impl<'a> FreeList<'a> {
    /// Creates access to an area that other workers use concurrently.
    pub fn behind_the_lock(area: &'a Area) -> Self {
        FreeList { area, locked: true, waits: Waits::default() }
    }

    /// Creates access to an area that no other worker uses; it does not use the lock.
    pub fn alone(area: &'a mut Area) -> Self {
        FreeList { area, locked: false, waits: Waits::default() }
    }

    /// Returns the use of the lock so far.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// Acquires the lock, if there is one. It reads clocks only if another worker holds the lock.
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

    fn free(&mut self, place: u32) {
        if let Ok(_taken) = self.enter() {
            self.area.list().free(place);
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
        let place = list.allocate(NODE)?;
        drop(taken);
        list.set_node(place, symbol, frequency, children);
        Ok(place)
    }

    #[inline(always)]
    fn at(&self, node: &u32) -> u32 {
        *node
    }

    #[inline(always)]
    fn look(&self, at: u32) -> (u32, Option<[u32; 2]>) {
        self.area.list().look(at)
    }

    fn release(&mut self, root: u32) {
        let (_, children) = self.look(root);
        if let Some([left, right]) = children {
            self.release(left);
            self.release(right);
        }
        self.free(root);
    }
}

/// Pools of one worker, one after the other: each block takes its pool from the list and returns it, and the nodes of
/// its tree are adjacent in the pool.
pub struct BlockPools<'a> {
    list: FreeList<'a>,
    /// The size of a pool, in words.
    words: u32,
    /// The position of the block's pool, and the number of its words that are in use.
    pool: Option<(u32, u32)>,
}

impl<'a> BlockPools<'a> {
    /// Creates the pools of a worker, of this size in bytes, in an area that other workers use concurrently.
    pub fn new(area: &'a Area, bytes: usize) -> Self {
        BlockPools { list: FreeList::behind_the_lock(area), words: (bytes / WORD_BYTES) as u32, pool: None }
    }

    /// Returns the use of the lock so far.
    pub fn waits(&self) -> Waits {
        self.list.waits()
    }

    fn take(&mut self) -> Result<(u32, u32), Exhausted> {
        let _taken = self.list.enter()?;
        Ok((self.list.area.list().allocate(self.words)?, 0))
    }
}

impl Nodes for BlockPools<'_> {
    type Node = u32;
    type At<'b>
        = u32
    where
        Self: 'b;

    #[inline(always)]
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[u32; 2]>) -> Result<u32, Exhausted> {
        let (pool, used) = self.pool.map_or_else(|| self.take(), Ok)?;
        if used + NODE > self.words {
            return Err(Exhausted);
        }
        self.pool = Some((pool, used + NODE));
        self.list.area.list().set_node(pool + used, symbol, frequency, children);
        Ok(pool + used)
    }

    #[inline(always)]
    fn at(&self, node: &u32) -> u32 {
        *node
    }

    #[inline(always)]
    fn look(&self, at: u32) -> (u32, Option<[u32; 2]>) {
        self.list.area.list().look(at)
    }

    fn release(&mut self, _: u32) {
        if let Some((pool, _)) = self.pool.take() {
            self.list.free(pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the positions and sizes of the free pieces, in list order.
    fn free_pieces(list: List<'_>) -> Vec<(u32, u32)> {
        let places = std::iter::successors(Some(list.next(HEAD)), |piece| Some(list.next(*piece)));
        places.take_while(|piece| *piece != NONE).map(|piece| (piece, list.size(piece))).collect()
    }

    #[test]
    fn allocation_is_first_fit_and_adjacent_pieces_are_merged() {
        let area = Area::new(1).unwrap();
        let list = area.list();
        let whole = free_pieces(list);
        let all: Vec<u32> = (0..4).map(|_| list.allocate(NODE).unwrap()).collect();
        assert_eq!(all, [4, 10, 16, 22]);
        list.free(all[2]);
        list.free(all[0]);
        assert_eq!(free_pieces(list)[..2], [(2, 6), (14, 6)]);
        assert_eq!(list.allocate(NODE), Ok(all[0]), "the first piece fits");
        assert_eq!(list.allocate(10), Ok(28), "the first piece is too small");
        list.free(28);
        for place in [all[1], all[3], all[0]] {
            list.free(place);
        }
        assert_eq!(free_pieces(list), whole, "all pieces are merged into one");
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_disjoint_sorted_and_merged(
            steps in proptest::collection::vec((1_u32..40, proptest::bool::weighted(0.6), 0_usize..64), 0..300),
        ) {
            let area = Area::new(1).unwrap();
            let list = area.list();
            let whole = free_pieces(list);
            let mut held: Vec<(u32, u32)> = Vec::new();
            for (words, allocates, which) in steps {
                if allocates {
                    let all_are_smaller = free_pieces(list).iter().all(|(_, size)| *size < words + HEADER);
                    match list.allocate(words) {
                        Ok(place) => held.push((place, words)),
                        Err(Exhausted) => proptest::prop_assert!(all_are_smaller, "a free piece was large enough"),
                    }
                } else if !held.is_empty() {
                    let (place, _) = held.swap_remove(which % held.len());
                    list.free(place);
                }
                let free = free_pieces(list);
                // Sorted and never adjacent, because adjacent pieces are merged.
                proptest::prop_assert!(free.windows(2).all(|two| two[0].0 + two[0].1 < two[1].0));
                let mut all: Vec<(u32, u32)> = held.iter().map(|(place, words)| (*place, *words)).collect();
                all.extend(&free);
                all.sort_unstable();
                proptest::prop_assert!(all.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{all:?}");
            }
            held.into_iter().for_each(|(place, _)| list.free(place));
            proptest::prop_assert_eq!(free_pieces(list), whole);
        }
    }
}
