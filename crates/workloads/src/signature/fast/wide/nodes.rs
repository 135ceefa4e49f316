//! The nodes of the trees of sixteen blocks: what each is worth, and the power of 31 that belongs to its size.

use std::arch::x86_64::*;

use crate::raw::lanes::{LANES, Pairs, gather_pairs, store_pairs};
use crate::signature::P;
use crate::signature::fast::boxed;
use crate::signature::key::{LEAVES, NODE};

/// Of each inner node the value in the lower half of 64 bits, the power in the upper. Leaves are known by their keys.
#[derive(Debug)]
pub(super) struct Nodes(Box<Pairs>);

impl Nodes {
    pub(super) fn new() -> Self {
        Nodes(boxed([0; LANES]))
    }

    /// Makes the node over two of each lane, numbered `node`; their keys.
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
        // The products take the lower halves of what they are given.
        let weight = reduced(_mm512_mul_epu32(left_weight, right_weight));
        let below = _mm512_and_si512(right, _mm512_set1_epi64(u32::MAX.into()));
        let value = _mm512_add_epi64(_mm512_mul_epu32(left, right_weight), below);
        let value = reduced(_mm512_add_epi64(value, _mm512_mul_epu32(frequency, weight)));
        let weight = reduced(_mm512_mul_epu32(weight, _mm512_set1_epi64(31)));
        store_pairs(&mut self.0[node], upper, _mm512_or_si512(value, _mm512_slli_epi64::<32>(weight)));
    }

    /// The nodes that eight keys name.
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

    /// What a node is worth, modulo P, though P itself may stand for zero.
    pub(super) fn value(&self, node: usize, lane: usize) -> u64 {
        self.0[node][lane] & u64::from(u32::MAX)
    }
}

/// Eight of the lanes, made wider.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn half<const HALF: i32>(lanes: __m512i) -> __m512i {
    _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<HALF>(lanes))
}

/// As [`reduced`](crate::signature::key::reduced) does.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn reduced(numbers: __m512i) -> __m512i {
    let p = _mm512_set1_epi64(P as i64);
    let once = _mm512_add_epi64(_mm512_and_si512(numbers, p), _mm512_srli_epi64::<31>(numbers));
    _mm512_add_epi64(_mm512_and_si512(once, p), _mm512_srli_epi64::<31>(once))
}
