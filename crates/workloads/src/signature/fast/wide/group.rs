//! A group of sixteen blocks: their leaves, heaps and nodes.

use std::arch::x86_64::*;

use crate::raw::lanes::{LANES, Pairs, Row, Rows, column, gather_pairs, load, store_at, store_pairs, widened};
use crate::signature::P;
use crate::signature::fast::boxed;
use crate::signature::heap::{Counts, LEAVES, NODE, NOTHING};

/// Room for 256 leaves, and for storing a full register behind the last one.
const LINE: usize = 256 + 2 * LANES;

#[derive(Debug)]
pub(super) struct Group {
    /// The heaps. Positions count from one, and rows beyond the last key contain `NOTHING`.
    pub(super) heap: Box<Rows>,
    pub(super) nodes: Nodes,
    lines: Box<[[u32; LINE]; LANES]>,
    leaves: Row,
}

impl Group {
    pub(super) fn new() -> Self {
        Group { heap: boxed([NOTHING; LANES]), nodes: Nodes::new(), lines: boxed([NOTHING; LINE]), leaves: [0; LANES] }
    }

    /// Writes the leaves of a block into the line of its lane, in ascending order of their values.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn set_leaves(&mut self, lane: usize, counts: &Counts) {
        let line = &mut self.lines[lane];
        let mut leaf = _mm512_add_epi32(
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            _mm512_set1_epi32(LEAVES as i32),
        );
        let mut next = 0;
        for counts in counts.as_chunks::<LANES>().0 {
            let frequencies = widened(counts);
            let occur = _mm512_test_epi32_mask(frequencies, frequencies);
            let keys = _mm512_or_si512(_mm512_slli_epi32::<16>(frequencies), leaf);
            store_at(line, next, _mm512_maskz_compress_epi32(occur, keys));
            next += occur.count_ones() as usize;
            leaf = _mm512_add_epi32(leaf, _mm512_set1_epi32(LANES as i32));
        }
        line[next..].fill(NOTHING);
        self.leaves[lane] = next as u32;
    }

    /// Clears a lane for which there is no block.
    pub(super) fn clear_lane(&mut self, lane: usize) {
        if self.leaves[lane] > 0 {
            self.lines[lane].fill(NOTHING);
            self.leaves[lane] = 0;
        }
    }

    /// Returns the leaf of each block at a position in its line, counted from one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn leaves(&self, at: usize) -> __m512i {
        column(&self.lines, at - 1)
    }

    pub(super) fn leaf_count(&self, lane: usize) -> u32 {
        self.leaves[lane]
    }

    pub(super) fn most_leaves(&self) -> usize {
        self.leaves.into_iter().max().unwrap_or(0) as usize
    }

    /// Returns the lanes whose blocks have at least this number of leaves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn with_at_least(&self, leaves: usize) -> __mmask16 {
        _mm512_cmpge_epu32_mask(load(&self.leaves), _mm512_set1_epi32(leaves as i32))
    }
}

/// Inner nodes: the value in the lower half of 64 bits, and the power of 31 in the upper half. The data of a leaf is in
/// its key.
#[derive(Debug)]
pub(super) struct Nodes(Box<Pairs>);

impl Nodes {
    pub(super) fn new() -> Self {
        Nodes(boxed([0; LANES]))
    }

    /// Creates the node above two others in each lane, with the number `node`. Returns the keys.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn join(&mut self, left: __m512i, right: __m512i, node: usize) -> __m512i {
        let frequency = _mm512_add_epi32(_mm512_srli_epi32::<16>(left), _mm512_srli_epi32::<16>(right));
        self.join_half(half::<0>(left), half::<0>(right), half::<0>(frequency), false, node);
        self.join_half(half::<1>(left), half::<1>(right), half::<1>(frequency), true, node);
        _mm512_or_si512(_mm512_slli_epi32::<16>(frequency), _mm512_set1_epi32(node as i32))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn join_half(&mut self, left: __m512i, right: __m512i, frequency: __m512i, upper: bool, node: usize) {
        let (left, right) = (self.get(left, upper), self.get(right, upper));
        let (left_weight, right_weight) = (_mm512_srli_epi64::<32>(left), _mm512_srli_epi64::<32>(right));
        // The multiplications use only the lower halves of their operands.
        let weight = reduced(_mm512_mul_epu32(left_weight, right_weight));
        let below = _mm512_and_si512(right, _mm512_set1_epi64(u32::MAX.into()));
        let value = _mm512_add_epi64(_mm512_mul_epu32(left, right_weight), below);
        let value = reduced(_mm512_add_epi64(value, _mm512_mul_epu32(frequency, weight)));
        let weight = reduced(_mm512_mul_epu32(weight, _mm512_set1_epi64(31)));
        store_pairs(&mut self.0[node], upper, _mm512_or_si512(value, _mm512_slli_epi64::<32>(weight)));
    }

    /// Returns the nodes of eight keys.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn get(&self, keys: __m512i, upper: bool) -> __m512i {
        let node = _mm512_and_si512(keys, _mm512_set1_epi64(NODE.into()));
        let leaves = _mm512_set1_epi64(LEAVES.into());
        let symbol = _mm512_sub_epi64(node, leaves);
        let value = _mm512_add_epi64(_mm512_srli_epi64::<16>(keys), symbol);
        let leaf = _mm512_or_si512(value, _mm512_set1_epi64(31 << 32));
        gather_pairs(&self.0, upper, _mm512_cmplt_epu64_mask(node, leaves), node, leaf)
    }

    /// Returns the value of a node modulo P; P itself may represent zero.
    pub(super) fn value(&self, node: usize, lane: usize) -> u64 {
        self.0[node][lane] & u64::from(u32::MAX)
    }
}

/// Returns eight of the lanes, extended to 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn half<const HALF: i32>(lanes: __m512i) -> __m512i {
    _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<HALF>(lanes))
}

/// Reduces numbers like [`reduced`](crate::signature::heap::reduced).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn reduced(numbers: __m512i) -> __m512i {
    let p = _mm512_set1_epi64(P as i64);
    let once = _mm512_add_epi64(_mm512_and_si512(numbers, p), _mm512_srli_epi64::<31>(numbers));
    _mm512_add_epi64(_mm512_and_si512(once, p), _mm512_srli_epi64::<31>(once))
}
