//! Sixteen blocks: their leaves in line, their heaps, their nodes.

use std::arch::x86_64::*;

use super::nodes::Nodes;
use crate::raw::lanes::{LANES, Row, Rows, column, lay_down, load, widened};
use crate::signature::count::Counts;
use crate::signature::fast::boxed;
use crate::signature::key::{LEAVES, NOTHING};

/// Room for 256 leaves, and for all lanes to be laid down behind the last.
const LINE: usize = 256 + 2 * LANES;

#[derive(Debug)]
pub(super) struct Group {
    /// Positions are counted from one; nothing lies beyond the last.
    pub(super) heap: Box<Rows>,
    pub(super) nodes: Nodes,
    lines: Box<[[u32; LINE]; LANES]>,
    leaves: Row,
}

impl Group {
    pub(super) fn new() -> Self {
        Group { heap: boxed([NOTHING; LANES]), nodes: Nodes::new(), lines: boxed([NOTHING; LINE]), leaves: [0; LANES] }
    }

    /// Puts the leaves of a block into its lane's line, in ascending order of their values.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn line_up(&mut self, lane: usize, counts: &Counts) {
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
            lay_down(line, next, _mm512_maskz_compress_epi32(occur, keys));
            next += occur.count_ones() as usize;
            leaf = _mm512_add_epi32(leaf, _mm512_set1_epi32(LANES as i32));
        }
        line[next..].fill(NOTHING);
        self.leaves[lane] = next as u32;
    }

    /// There is no block for this lane.
    pub(super) fn leave_out(&mut self, lane: usize) {
        if self.leaves[lane] > 0 {
            self.lines[lane].fill(NOTHING);
            self.leaves[lane] = 0;
        }
    }

    /// The leaf of each block at this place in its line, counted from one.
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

    /// The lanes whose blocks have so many leaves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn with_at_least(&self, leaves: usize) -> __mmask16 {
        _mm512_cmpge_epu32_mask(load(&self.leaves), _mm512_set1_epi32(leaves as i32))
    }
}
