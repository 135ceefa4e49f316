//! What is to be done: how files are signed, and the conditions of a bench.

use steady_model::{Bytes, Nanos, Seed};
use steady_workloads::signature::{Allocator, Crew};

use crate::record::{BenchCondition, Cache, Input};

/// Sizes from where a worker's start costs as much as its work to well above what was published.
pub(crate) const SIZES: [u64; 4] = [5_120, 64 << 10, 1 << 20, 4 << 20];
/// Numbers of workers.
const WORKERS: [u32; 5] = [1, 2, 4, 8, 16];
/// The workers of the published figures, about which the questions are.
pub(crate) const ASKED: u32 = 8;
/// The size of the published figures; of less where there is less.
const ASKED_BYTES: u64 = 1 << 20;
/// How far apart scattered nodes lie, so that each is on a line and most on a page of their own.
const SCATTERED: Bytes = Bytes(2 << 20);
/// The largest pool that is walked through.
const LARGEST: u64 = 32 << 20;
/// A tree takes up to so much of a pool.
const TREE: u64 = 8_176;

/// How files are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilesPlan {
    /// Where nodes come from.
    pub(crate) allocator: Allocator,
    /// Who works; if it is open, as many threads as a file is worth, up to the number of CPUs.
    pub(crate) crew: Option<Crew>,
    /// The size of each worker's pool.
    pub(crate) pool: usize,
    /// The CPUs that there are.
    pub(crate) cpus: u32,
}

/// What a bench measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchPlan {
    /// What signatures are made of.
    pub(crate) input: Input,
    /// The conditions, each next to the others.
    pub(crate) conditions: Vec<BenchCondition>,
    /// The caches of a CPU.
    pub(crate) caches: Vec<Cache>,
    /// How many CPUs there are to work on.
    pub(crate) cpus: u32,
    /// How long it may take.
    pub(crate) budget: Nanos,
    /// The seed of the order.
    pub(crate) seed: Seed,
}

/// All conditions on so many bytes, for pools of this size and a CPU with these caches.
pub(crate) fn conditions(length: u64, pool: Bytes, caches: &[Cache]) -> Vec<BenchCondition> {
    let sizes = sizes(length);
    let asked = asked_size(&sizes);
    let mut all = Vec::new();
    for bytes in sizes {
        for workers in WORKERS {
            for allocator in [Allocator::None, Allocator::Pool, Allocator::Global, Allocator::System] {
                let pool_bytes = (allocator == Allocator::Pool).then_some(pool);
                all.push(BenchCondition { allocator, workers, bytes, pool_bytes, kept: false });
            }
        }
    }
    let allocator = Allocator::OwnList;
    all.push(BenchCondition { allocator, workers: ASKED, bytes: asked, pool_bytes: None, kept: false });
    let kept =
        |allocator, pool| BenchCondition { allocator, workers: 1, bytes: asked, pool_bytes: Some(pool), kept: true };
    all.push(kept(Allocator::Pool, Bytes(TREE)));
    all.push(kept(Allocator::Pool, pool));
    all.push(kept(Allocator::Scattered, SCATTERED));
    all.extend(pools(caches).into_iter().map(|pool| kept(Allocator::WalkedPool, pool)));
    all
}

/// The sizes that there are bytes for; of fewer bytes than the smallest, all.
fn sizes(length: u64) -> Vec<u64> {
    let fitting: Vec<u64> = SIZES.into_iter().filter(|size| *size <= length).collect();
    if fitting.is_empty() { vec![length] } else { fitting }
}

fn asked_size(sizes: &[u64]) -> u64 {
    sizes.iter().copied().filter(|size| *size <= ASKED_BYTES).max().unwrap_or(ASKED_BYTES)
}

/// The size that the questions are about.
pub(crate) fn asked(conditions: &[BenchCondition]) -> u64 {
    asked_size(&conditions.iter().map(|one| one.bytes).collect::<Vec<_>>())
}

/// Which of the conditions questions are about.
pub(crate) fn asked_of(conditions: &[BenchCondition]) -> Vec<bool> {
    let bytes = asked(conditions);
    let about = |one: &BenchCondition| match one.allocator {
        Allocator::Pool | Allocator::Global => one.kept || [1, ASKED].contains(&one.workers),
        Allocator::OwnList | Allocator::Scattered | Allocator::WalkedPool => true,
        Allocator::None | Allocator::System => false,
    };
    conditions.iter().map(|one| one.bytes == bytes && about(one)).collect()
}

/// The numbers of the conditions that the first sentence of the report compares: a pool and the global list.
pub(crate) fn headline(conditions: &[BenchCondition]) -> Vec<usize> {
    let bytes = asked(conditions);
    let is_compared = |one: &BenchCondition| {
        let allocators = [Allocator::Pool, Allocator::Global];
        one.bytes == bytes && one.workers == ASKED && !one.kept && allocators.contains(&one.allocator)
    };
    (0..conditions.len()).filter(|at| is_compared(&conditions[*at])).collect()
}

/// Sizes of pools that fit into each cache, fill it, and do not fit.
fn pools(caches: &[Cache]) -> Vec<Bytes> {
    let around = |size: u64| [size / 2, size, 2 * size, 4 * size];
    let around = caches.iter().flat_map(|cache| around(cache.size_bytes.0));
    let mut sizes: Vec<u64> = around.filter(|size| (2 * TREE..=LARGEST).contains(size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Bytes).collect()
}

/// Caches by their names and sizes.
#[cfg(test)]
pub(crate) fn caches(sizes: &[(&str, u64)]) -> Vec<Cache> {
    sizes.iter().map(|(name, size)| Cache { name: (*name).to_owned(), size_bytes: Bytes(*size) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<Cache> {
        caches(&[("L1", 32 << 10), ("L2", 1 << 20), ("L3", 256 << 20)])
    }

    #[test]
    fn pools_lie_around_the_caches() {
        let sizes: Vec<u64> = pools(&three()).iter().map(|size| size.0 >> 10).collect();
        assert_eq!(sizes, [16, 32, 64, 128, 512, 1_024, 2_048, 4_096]);
        assert!(pools(&[]).is_empty());
    }

    #[test]
    fn every_way_is_there_once() {
        let all = conditions(16 << 20, Bytes(128 << 10), &three());
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{one:?}");
        }
        assert_eq!(all.iter().filter(|one| !one.kept && one.allocator != Allocator::OwnList).count(), 4 * 5 * 4);
        let few = conditions(3_000, Bytes(128 << 10), &[]);
        assert!(few.iter().all(|one| one.bytes == 3_000));
    }
}
