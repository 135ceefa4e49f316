//! Memory areas in which the lock library stores its measurements. Any process of the command may write to them.

use std::collections::BTreeMap;
use std::ops::Range;

use steady_locks::{Bytes, of_area};
use steady_preload::area::{HEAD_BYTES, MAGIC, PLACE_BYTES};

use crate::reports::rendered;

/// The number of process slots in the area.
const PLACES: usize = 2;
/// The size of a word in bytes.
const WORD: usize = 8;

/// An area as a map from offsets in bytes to words. All other bytes are zero.
struct Sparse(BTreeMap<u64, [u8; WORD]>);

impl Bytes for Sparse {
    fn fill(&self, at: u64, into: &mut [u8]) {
        into.fill(0);
        let end = at.saturating_add(into.len() as u64);
        for (start, word) in self.0.range(at.saturating_sub(WORD as u64)..end) {
            for (place, byte) in (*start..).zip(word).filter(|(place, _)| (at..end).contains(place)) {
                into[(place - at) as usize] = *byte;
            }
        }
    }

    fn first_in(&self, range: Range<u64>) -> u64 {
        let from = range.start.saturating_sub(WORD as u64);
        self.0.range(from..range.end.max(from)).next().map_or(range.end, |(start, _)| (*start).max(range.start))
    }

    fn length(&self) -> u64 {
        (HEAD_BYTES + PLACES * PLACE_BYTES) as u64
    }
}

/// Reads an area with any content and renders the report.
///
/// The input is a sequence of records: the index of a word (4 bytes), and its value (8 bytes).
pub fn areas(bytes: &[u8]) {
    let mut area =
        Sparse(BTreeMap::from([(0, MAGIC.to_ne_bytes()), (8, [PLACES as u8, 0, 0, 0, PLACES as u8, 0, 0, 0])]));
    for record in bytes.chunks_exact(4 + WORD) {
        let (place, word) = record.split_at(4);
        let place = u32::from_le_bytes(place.try_into().unwrap_or_default());
        area.0.insert(u64::from(place) * WORD as u64, word.try_into().unwrap_or_default());
    }
    rendered(&of_area(&area));
}
