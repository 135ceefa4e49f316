//! The implementation for every CPU. The leaves of eight blocks are pushed in lockstep, which compilers vectorise. Then
//! the eight heaps are processed in turn, so that loads for one heap overlap with work on another.

use super::boxed;
use crate::signature::P;
use crate::signature::heap::{Counts, EMPTY, FREQUENCY, Heap, LEAVES, NODE, NOTHING, count, key, pop, push, reduced};

const LANES: usize = 8;

/// One key for each of the blocks.
type Row = [u32; LANES];

/// The nodes of a tree by number: the value of each, and the number of nodes in its subtree.
#[derive(Clone, Copy, Debug)]
struct Nodes {
    values: [u32; 512],
    sizes: [u16; 512],
}

/// Powers of 31 modulo P, up to the number of nodes in a tree.
static POWERS: [u32; 512] = {
    let (mut powers, mut at) = ([1; 512], 1);
    while at < powers.len() {
        powers[at] = (31 * powers[at - 1] as u64 % P) as u32;
        at += 1;
    }
    powers
};

/// The heaps and nodes of a worker.
#[derive(Debug)]
pub(super) struct Portable {
    rows: Box<[Row; 512]>,
    heaps: Box<[Heap; LANES]>,
    nodes: Box<[Nodes; LANES]>,
    leaves: [usize; LANES],
}

impl Portable {
    pub(super) fn new() -> Box<Self> {
        Box::new(Portable {
            rows: boxed([NOTHING; LANES]),
            heaps: boxed(EMPTY),
            nodes: boxed(Nodes { values: [0; 512], sizes: [1; 512] }),
            leaves: [0; LANES],
        })
    }

    pub(super) fn sum(&mut self, bytes: &[u8], block: usize) -> u64 {
        let mut sum = 0;
        for blocks in bytes.chunks(LANES * block) {
            self.rows.fill([NOTHING; LANES]);
            self.leaves.fill(0);
            for (lane, block) in blocks.chunks(block).enumerate() {
                self.set_leaves(lane, &count(block));
            }
            self.push_leaves();
            sum += self.join_all();
        }
        sum % P
    }

    /// Writes the leaves of a block into its column, in ascending order of their values.
    fn set_leaves(&mut self, lane: usize, counts: &Counts) {
        let mut next = 1;
        for (value, &frequency) in (0..).zip(counts) {
            let leaf = LEAVES + value;
            self.rows[next][lane] = key(u32::from(frequency), leaf);
            self.nodes[lane].values[leaf as usize] = u32::from(frequency) + value;
            // The entry of a value that does not occur is overwritten by the next one.
            next += usize::from(frequency != 0);
        }
        self.rows[next][lane] = NOTHING;
        self.leaves[lane] = next - 1;
    }

    /// Turns the columns into heaps, one push after the other. Beyond the last leaf of a block, the pushed key is
    /// [`NOTHING`], which stays at its position.
    fn push_leaves(&mut self) {
        let most = self.leaves.into_iter().max().unwrap_or(0);
        for at in 1..=most {
            let mut carried = self.rows[at];
            let frequencies = carried.map(|key| key & FREQUENCY);
            for level in (1..=at.ilog2()).rev() {
                let row = &mut self.rows[at >> level];
                for lane in 0..LANES {
                    let other = row[lane];
                    let passes = other >= frequencies[lane];
                    row[lane] = if passes { carried[lane] } else { other };
                    carried[lane] = if passes { other } else { carried[lane] };
                }
            }
            self.rows[at] = carried;
        }
        for (lane, heap) in self.heaps.iter_mut().enumerate() {
            for (key, row) in heap[1..=most].iter_mut().zip(&self.rows[1..=most]) {
                *key = row[lane];
            }
        }
    }

    /// Joins all nodes and returns the sum of the blocks' hashes. The heaps are empty afterwards.
    fn join_all(&mut self) -> u64 {
        let most = self.leaves.into_iter().max().unwrap_or(0);
        for held in (3..=most).rev() {
            for ((heap, nodes), &leaves) in self.heaps.iter_mut().zip(self.nodes.iter_mut()).zip(&self.leaves) {
                if leaves < held {
                    continue;
                }
                let left = pop(heap, held);
                let right = pop(heap, held - 1);
                push(heap, held - 1, nodes.join(left, right, held - 1));
            }
        }
        let mut sum = 0;
        for ((heap, nodes), &leaves) in self.heaps.iter_mut().zip(self.nodes.iter_mut()).zip(&self.leaves) {
            let (first, second) = (heap[1], heap[2]);
            (heap[1], heap[2]) = (NOTHING, NOTHING);
            sum += match leaves {
                0 => 0,
                1 => nodes.value(first),
                _ => {
                    let root = nodes.join(first, second, 1);
                    nodes.value(root)
                }
            };
        }
        sum
    }
}

impl Nodes {
    /// Creates the node above two others, with the number `node`. Returns its key.
    #[inline(always)]
    fn join(&mut self, left: u32, right: u32, node: usize) -> u32 {
        let frequency = (left >> 16) + (right >> 16);
        let (left, right) = ((left & NODE) as usize, (right & NODE) as usize);
        let (left_size, right_size) = (self.sizes[left], self.sizes[right]);
        let value = u64::from(frequency) * power(left_size + right_size)
            + u64::from(self.values[left]) * power(right_size)
            + u64::from(self.values[right]);
        self.values[node & 511] = reduced(value) as u32;
        self.sizes[node & 511] = 1 + left_size + right_size;
        key(frequency, node as u32)
    }

    fn value(&self, key: u32) -> u64 {
        u64::from(self.values[(key & NODE) as usize]) % P
    }
}

#[inline(always)]
fn power(nodes: u16) -> u64 {
    u64::from(POWERS[usize::from(nodes) & 511])
}
