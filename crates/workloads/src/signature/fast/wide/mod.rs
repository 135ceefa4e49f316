//! Thirty-two blocks in parallel: a heap in each lane of two groups. While data of one group is loaded, the other is
//! processed.
//!
//! All heaps shrink in lockstep. A block with fewer leaves waits until the others have as few.

mod group;
mod heap;

use std::arch::x86_64::*;
use std::array;

use group::Group;
use heap::{push, sink};

use crate::raw::lanes::{HasLanes, LANES, load, store, store_some};
use crate::signature::P;
use crate::signature::heap::{LEAVES, NOTHING, count};

const GROUPS: usize = 2;

/// The heaps and nodes of a worker.
#[derive(Debug)]
pub(super) struct Wide {
    has: HasLanes,
    groups: Groups,
}

impl Wide {
    /// Returns none if the CPU has no AVX-512.
    pub(super) fn new() -> Option<Box<Self>> {
        let has = HasLanes::detect()?;
        Some(Box::new(Wide { has, groups: Groups(array::from_fn(|_| Group::new())) }))
    }

    pub(super) fn sum(&mut self, bytes: &[u8], block: usize) -> u64 {
        let batches = bytes.chunks(GROUPS * LANES * block);
        batches.map(|blocks| self.has.sum(&mut self.groups, blocks, block)).sum::<u64>() % P
    }
}

/// The heaps of all blocks that are processed in parallel.
#[derive(Debug)]
pub(crate) struct Groups([Group; GROUPS]);

impl Groups {
    /// Returns the sum of the hashes of the blocks of `bytes`, each of `block` bytes. There must not be more blocks than lanes.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn sum(&mut self, bytes: &[u8], block: usize) -> u64 {
        let mut blocks = bytes.chunks(block);
        for group in &mut self.0 {
            for lane in 0..LANES {
                match blocks.next() {
                    Some(block) => group.set_leaves(lane, &count(block)),
                    None => group.clear_lane(lane),
                }
            }
        }
        assert!(blocks.next().is_none(), "there are more blocks than lanes");
        if bytes.len() <= LANES * block { join_all(array::from_mut(&mut self.0[0])) } else { join_all(&mut self.0) }
    }
}

/// Joins all nodes and returns the sum of the hashes of the blocks whose leaves are set. The heaps are empty
/// afterwards.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn join_all<const GROUPS: usize>(groups: &mut [Group; GROUPS]) -> u64 {
    let most = groups.iter().map(Group::most_leaves).max().unwrap_or(0);
    for group in groups.iter_mut() {
        for at in 1..=most {
            let leaves = group.leaves(at);
            push(&mut group.heap, at, !0, leaves);
        }
    }
    for held in (3..=most).rev() {
        step(groups, held);
    }
    groups.iter_mut().map(|group| last_step(group)).sum()
}

/// Joins two nodes in every heap that contains `held` keys, at least three.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn step<const GROUPS: usize>(groups: &mut [Group; GROUPS], held: usize) {
    let mut on = [0; GROUPS];
    for (on, group) in on.iter_mut().zip(&*groups) {
        *on = group.with_at_least(held);
    }
    let left = pop(groups, held, on);
    let right = pop(groups, held - 1, on);
    for (at, group) in groups.iter_mut().enumerate() {
        let joined = group.nodes.join(left[at], right[at], held - 2);
        push(&mut group.heap, held - 1, on[at], joined);
    }
}

/// Removes the least key from every heap that is in the mask `on` and contains `held` keys, at least two. The last key
/// takes its place and sinks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn pop<const GROUPS: usize>(groups: &mut [Group; GROUPS], held: usize, on: [__mmask16; GROUPS]) -> [__m512i; GROUPS] {
    let nothing = _mm512_set1_epi32(NOTHING as i32);
    let (mut least, mut last) = ([nothing; GROUPS], [nothing; GROUPS]);
    for (at, group) in groups.iter_mut().enumerate() {
        least[at] = load(&group.heap[1]);
        last[at] = load(&group.heap[held]);
        store_some(&mut group.heap[held], on[at], nothing);
    }
    sink(groups, held.ilog2(), on, last);
    least
}

/// Joins the one or two remaining nodes of each heap, and returns the sum of the hashes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn last_step(group: &mut Group) -> u64 {
    let (first, second) = (load(&group.heap[1]), load(&group.heap[2]));
    let nothing = _mm512_set1_epi32(NOTHING as i32);
    store(&mut group.heap[1], nothing);
    store(&mut group.heap[2], nothing);
    group.nodes.join(first, second, 0);
    let mut lone = [0; LANES];
    store(&mut lone, first);
    let hash = |lane: usize| match group.leaf_count(lane) {
        0 => 0,
        1 => u64::from((lone[lane] >> 16) + (lone[lane] & (LEAVES - 1))),
        _ => group.nodes.value(0, lane) % P,
    };
    (0..LANES).map(hash).sum()
}
