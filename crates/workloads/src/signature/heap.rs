//! The binary min-heap whose form decides ties. Its entries are frequencies with the number of a slot beside them, so that
//! ordering them touches no node.

/// The most entries: one for each value of a byte.
const MOST: usize = 256;
/// Tables that values are counted in.
const TABLES: usize = 4;
/// Above every entry.
const END: u32 = u32::MAX;
/// What of an entry orders it.
const FREQUENCY: u32 = 0xFFFF_0000;

/// A frequency, and which slot it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) frequency: u32,
    pub(super) slot: usize,
}

/// The heap. Its first entry is at 1; what is not in it is [`END`], down to the children of its last.
pub(super) struct Heap {
    entries: [u32; 2 * MOST + 2],
    len: usize,
    counts: [[u16; 256]; TABLES],
}

impl Heap {
    pub(super) fn new() -> Self {
        Heap { entries: [END; 2 * MOST + 2], len: 0, counts: [[0; 256]; TABLES] }
    }

    /// Counts how often each value occurs, and pushes a leaf for each, by value; leaves have slots 0, 1, 2, ... in turn. There
    /// are at most 1,024 bytes.
    pub(super) fn fill(&mut self, bytes: &[u8], mut leaf: impl FnMut(usize, u32, u32)) {
        self.entries = [END; 2 * MOST + 2];
        self.len = 0;
        let (leaves, count) = self.occurring(bytes);
        for (slot, found) in leaves[..count].iter().enumerate() {
            let (frequency, symbol) = (found >> 16, found & !FREQUENCY);
            leaf(slot, symbol, frequency);
            self.push(frequency, slot);
        }
    }

    /// The values that occur, in order, each with how often above it; and how many they are.
    fn occurring(&mut self, bytes: &[u8]) -> ([u32; MOST + 1], usize) {
        self.counts = [[0; 256]; TABLES];
        // Several tables, for to count one value twice in a row is to wait for the first to be stored.
        let (fours, rest) = bytes.as_chunks::<TABLES>();
        for four in fours {
            for (table, value) in self.counts.iter_mut().zip(four) {
                table[usize::from(*value)] += 1;
            }
        }
        rest.iter().for_each(|value| self.counts[0][usize::from(*value)] += 1);
        let (mut leaves, mut count) = ([0; MOST + 1], 0);
        for symbol in 0..MOST {
            let frequency: u32 = self.counts.iter().map(|table| u32::from(table[symbol])).sum();
            // Written where it occurs or not, so that there is nothing to guess; one that does not is written over.
            leaves[count] = frequency << 16 | symbol as u32;
            count += usize::from(frequency > 0);
        }
        (leaves, count)
    }

    /// Pushes an entry: those on the way from the root to its place that are no less move down by one.
    #[inline(always)]
    pub(super) fn push(&mut self, frequency: u32, slot: usize) {
        self.len += 1;
        let place = self.len % (MOST + 1);
        let key = frequency << 16;
        let mut carried = key | slot as u32;
        for level in (1..=place.checked_ilog2().unwrap_or(0)).rev() {
            let at = place >> level;
            let there = self.entries[at];
            let moves = there >= key;
            self.entries[at] = if moves { carried } else { there };
            carried = if moves { there } else { carried };
        }
        self.entries[place] = carried;
    }

    /// Takes the least entry out: the last one takes its place and sinks, below the lesser child each time.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let last = self.len.checked_sub(1)? % MOST;
        self.len = last;
        let least = self.entries[1];
        let mut carried = self.entries[last + 1];
        self.entries[last + 1] = END;
        let key = carried & FREQUENCY;
        let mut at = 1;
        // As many levels as there are: once it is in its place, what follows puts each entry back where it was.
        for _ in 0..last.checked_ilog2().unwrap_or(0) {
            let (left, right) = (self.entries[2 * at], self.entries[2 * at + 1]);
            let below = 2 * at + usize::from(right >> 16 < left >> 16);
            let child = self.entries[below];
            let sinks = child < key;
            self.entries[at] = if sinks { child } else { carried };
            carried = if sinks { carried } else { child };
            at = below;
        }
        if last > 0 {
            self.entries[at] = carried;
        }
        Some(Entry { frequency: least >> 16, slot: (least & !FREQUENCY) as usize % MOST })
    }

    /// Takes the two least out, the lesser first; `None` where there are fewer.
    #[inline(always)]
    pub(super) fn two_least(&mut self) -> Option<(Entry, Entry)> {
        if self.len < 2 {
            return None;
        }
        Some((self.pop()?, self.pop()?))
    }
}
