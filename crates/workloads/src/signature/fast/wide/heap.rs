//! A heap in each of sixteen lanes. All heaps have the same number of keys, so a pushed key takes the same path in
//! each. A sinking key takes a different path in each lane.

use std::arch::x86_64::*;

use super::group::Group;
use crate::raw::lanes::{LANES, Rows, gather, load, scatter, store_some};
use crate::signature::heap::FREQUENCY;

/// Appends a key to each heap in the mask `on`, which then contains `at` keys, and lets it rise above all keys that are
/// not less.
///
/// It works from the top down: at the final position of the new key, the previous key is carried down, and so are all
/// keys below it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn push(heap: &mut Rows, at: usize, on: __mmask16, keys: __m512i) {
    let frequency = _mm512_and_si512(keys, _mm512_set1_epi32(FREQUENCY as i32));
    let mut carried = keys;
    for level in (1..=at.ilog2()).rev() {
        let row = &mut heap[at >> level];
        let other = load(row);
        let passes = _mm512_mask_cmpge_epu32_mask(on, other, frequency);
        store_some(row, passes, carried);
        carried = _mm512_mask_mov_epi32(carried, passes, other);
    }
    store_some(&mut heap[at], on, carried);
}

/// Keys that sink in sixteen heaps, from the top down. While a child is less, the smaller child moves up, the left one
/// if they are equal. Below its final position, keys are rewritten to where they were already, which avoids branches.
#[derive(Clone, Copy)]
struct Sinking {
    on: __mmask16,
    frequency: __m512i,
    carried: __m512i,
    /// The position of each lane's hole, as an index into the heap's rows.
    hole: __m512i,
    /// Whether the path went to the right at the first level, and at the second.
    first: __mmask16,
    second: __mmask16,
}

/// Lets a key sink from the top of each heap in the mask `on`, by `levels` levels, at least one.
///
/// On the first three levels, the hole can only be in a few rows, and all of them are read and written. Below, each
/// lane accesses its own row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn sink<const GROUPS: usize>(
    groups: &mut [Group; GROUPS],
    levels: u32,
    on: [__mmask16; GROUPS],
    keys: [__m512i; GROUPS],
) {
    let mut sinking = [Sinking::new(0, _mm512_setzero_si512()); GROUPS];
    for (at, sinking) in sinking.iter_mut().enumerate() {
        *sinking = Sinking::new(on[at], keys[at]);
    }
    // Each level is processed for all groups, so that one group has work while data of the other is loaded.
    for level in 0..levels {
        for (group, sinking) in groups.iter_mut().zip(&mut sinking) {
            match level {
                0 => sinking.sink_from_first(&mut group.heap),
                1 => sinking.sink_from_second(&mut group.heap),
                2 => sinking.sink_from_third(&mut group.heap),
                _ => sinking.sink_further(&mut group.heap),
            }
        }
    }
    for (group, sinking) in groups.iter_mut().zip(&sinking) {
        scatter(&mut group.heap, sinking.on, sinking.hole, sinking.carried);
    }
}

impl Sinking {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn new(on: __mmask16, keys: __m512i) -> Self {
        Sinking {
            on,
            frequency: _mm512_and_si512(keys, _mm512_set1_epi32(FREQUENCY as i32)),
            carried: keys,
            hole: _mm512_add_epi32(lanes(), _mm512_set1_epi32(LANES as i32)),
            first: 0,
            second: 0,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sink_from_first(&mut self, heap: &mut Rows) {
        let (right, written) = self.choose(load(&heap[2]), load(&heap[3]));
        store_some(&mut heap[1], self.on, written);
        self.first = right;
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sink_from_second(&mut self, heap: &mut Rows) {
        let child = |at: usize| _mm512_mask_mov_epi32(load(&heap[4 + at]), self.first, load(&heap[6 + at]));
        let (left, right) = (child(0), child(1));
        let (right, written) = self.choose(left, right);
        store_some(&mut heap[2], self.on & !self.first, written);
        store_some(&mut heap[3], self.on & self.first, written);
        self.second = right;
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sink_from_third(&mut self, heap: &mut Rows) {
        let below = |at: usize| _mm512_mask_mov_epi32(load(&heap[at]), self.second, load(&heap[at + 2]));
        let child = |at: usize| _mm512_mask_mov_epi32(below(8 + at), self.first, below(12 + at));
        let (left, right) = (child(0), child(1));
        let (_, written) = self.choose(left, right);
        let (on, first, second) = (self.on, self.first, self.second);
        store_some(&mut heap[4], on & !first & !second, written);
        store_some(&mut heap[5], on & !first & second, written);
        store_some(&mut heap[6], on & first & !second, written);
        store_some(&mut heap[7], on & first & second, written);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sink_further(&mut self, heap: &mut Rows) {
        let hole = self.hole;
        let left = left_child(hole);
        let right = _mm512_add_epi32(left, _mm512_set1_epi32(LANES as i32));
        let (_, written) = self.choose(gather(heap, left), gather(heap, right));
        scatter(heap, self.on, hole, written);
    }

    /// Moves the hole down to the smaller child. Returns whether that is the right one, and the keys to write at the
    /// old position.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn choose(&mut self, left: __m512i, right: __m512i) -> (__mmask16, __m512i) {
        // With all lower bits of the right key set, it is less only if its frequency is less.
        let lower = _mm512_set1_epi32(!FREQUENCY as i32);
        let to_the_right = _mm512_cmplt_epu32_mask(_mm512_or_si512(right, lower), left);
        let least = _mm512_mask_mov_epi32(left, to_the_right, right);
        let rises = _mm512_cmplt_epu32_mask(least, self.frequency);
        let written = _mm512_mask_mov_epi32(self.carried, rises, least);
        self.carried = _mm512_mask_mov_epi32(least, rises, self.carried);
        let child = left_child(self.hole);
        self.hole = _mm512_mask_add_epi32(child, to_the_right, child, _mm512_set1_epi32(LANES as i32));
        (to_the_right, written)
    }
}

/// Returns the index of each lane in a row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn lanes() -> __m512i {
    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}

/// Returns the index of the left child of a position: the row with twice the number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn left_child(place: __m512i) -> __m512i {
    _mm512_sub_epi32(_mm512_slli_epi32::<1>(place), lanes())
}
