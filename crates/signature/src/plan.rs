//! Resolved plans: how to compute signatures of files, and the conditions of a bench.

use steady_model::{Bytes, Nanos, Reading, Seed};
use steady_workloads::signature::{Allocator, BLOCK_BYTES, Crew, MOST_WORKERS};

use crate::record::{BenchCondition, Cache, Input};

/// Sizes of the input, in bytes. At the smallest, starting a worker costs as much as its work; the largest is well
/// above the published size.
pub(crate) const SIZES: [u64; 4] = [5_120, 64 << 10, 1 << 20, 4 << 20];
/// Numbers of workers that are compared.
const WORKERS: [u32; 5] = [1, 2, 4, 8, 16];
/// Allocators that are measured with every number of workers.
pub(crate) const ALLOCATORS: [Allocator; 5] =
    [Allocator::None, Allocator::Pool, Allocator::PoolPerBlock, Allocator::Global, Allocator::System];
/// Number of workers in the published figures. The questions are about this number.
pub(crate) const MAIN_WORKERS: u32 = 8;
/// Size of the input in the published figures, in bytes. The questions are about it, or about the largest smaller size.
pub(crate) const MAIN_BYTES: u64 = 1 << 20;
/// Area over which scattered nodes are spread. Each node has a cache line of its own, and most have a page of their
/// own.
const SCATTERED: Bytes = Bytes(2 << 20);
/// Largest pool that starts over only when it is full, in bytes.
const LARGEST: u64 = 32 << 20;
/// Most bytes of a pool that a tree needs.
const TREE: u64 = 8_176;

/// Workers for a file, as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workers {
    /// This kind and number.
    Crew(Crew),
    /// As many threads as the file has blocks.
    ThreadPerBlock,
}

/// How signatures of files are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilesPlan {
    /// Allocator of the nodes.
    pub(crate) allocator: Allocator,
    /// Workers. `None` chooses a number of threads from the size of the file, up to the number of CPUs.
    pub(crate) workers: Option<Workers>,
    /// Size of each pool, in bytes.
    pub(crate) pool: usize,
    /// Size of a block, in bytes.
    pub(crate) block: usize,
    /// Number of available CPUs.
    pub(crate) cpus: u32,
    /// Length of the ticks at which the kernel samples user and system time, if it does.
    pub(crate) tick: Reading<Nanos>,
}

/// Settings of a bench.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchPlan {
    /// Source of the bytes.
    pub(crate) input: Input,
    /// Conditions that are compared with each other.
    pub(crate) conditions: Vec<BenchCondition>,
    /// Data caches of a CPU.
    pub(crate) caches: Vec<Cache>,
    /// Number of available CPUs.
    pub(crate) cpus: u32,
    /// Length of the ticks at which the kernel samples user and system time, if it does.
    pub(crate) tick: Reading<Nanos>,
    /// Approximate duration of the bench.
    pub(crate) budget: Nanos,
    /// Seed of the random order.
    pub(crate) seed: Seed,
}

/// Returns all conditions on `length` bytes, for pools of size `pool` and a CPU with these caches.
pub(crate) fn conditions(length: u64, pool: Bytes, caches: &[Cache]) -> Vec<BenchCondition> {
    let sizes = sizes(length);
    let main = main_size_of(&sizes);
    let mut all = Vec::new();
    for bytes in sizes {
        for workers in WORKERS {
            for allocator in ALLOCATORS {
                let has_pools = matches!(allocator, Allocator::Pool | Allocator::PoolPerBlock);
                let pool_bytes = has_pools.then_some(pool);
                all.push(BenchCondition { allocator, workers, bytes, pool_bytes, kept: false });
            }
        }
    }
    let workers = thread_per_block(main);
    if workers <= MOST_WORKERS && !WORKERS.contains(&workers) {
        all.push(BenchCondition { allocator: Allocator::Global, workers, bytes: main, pool_bytes: None, kept: false });
    }
    let allocator = Allocator::OwnList;
    all.push(BenchCondition { allocator, workers: MAIN_WORKERS, bytes: main, pool_bytes: None, kept: false });
    let kept =
        |allocator, pool| BenchCondition { allocator, workers: 1, bytes: main, pool_bytes: Some(pool), kept: true };
    all.push(kept(Allocator::Pool, Bytes(TREE)));
    all.push(kept(Allocator::Pool, pool));
    all.push(kept(Allocator::Scattered, SCATTERED));
    all.extend(pools(caches).into_iter().map(|pool| kept(Allocator::WalkedPool, pool)));
    all
}

/// Returns the number of threads if each block of `bytes` has one.
pub(crate) fn thread_per_block(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(BLOCK_BYTES as u64)).unwrap_or(u32::MAX)
}

/// Returns the sizes that fit into `length` bytes, or `length` itself if none fits.
fn sizes(length: u64) -> Vec<u64> {
    let fitting: Vec<u64> = SIZES.into_iter().filter(|size| *size <= length).collect();
    if fitting.is_empty() { vec![length] } else { fitting }
}

fn main_size_of(sizes: &[u64]) -> u64 {
    sizes.iter().copied().filter(|size| *size <= MAIN_BYTES).max().unwrap_or(MAIN_BYTES)
}

/// Returns the size of the input that the questions are about, in bytes.
pub(crate) fn main_size(conditions: &[BenchCondition]) -> u64 {
    main_size_of(&conditions.iter().map(|one| one.bytes).collect::<Vec<_>>())
}

/// Returns for each condition whether a question is about it. Such conditions run in more rounds.
pub(crate) fn have_priority(conditions: &[BenchCondition]) -> Vec<bool> {
    let bytes = main_size(conditions);
    let about = |one: &BenchCondition| match one.allocator {
        Allocator::Pool | Allocator::Global => {
            one.kept || [1, MAIN_WORKERS, thread_per_block(bytes)].contains(&one.workers)
        }
        Allocator::PoolPerBlock => one.workers == MAIN_WORKERS,
        Allocator::OwnList | Allocator::Scattered | Allocator::WalkedPool => true,
        Allocator::None | Allocator::System => false,
    };
    conditions.iter().map(|one| one.bytes == bytes && about(one)).collect()
}

/// Returns the indices of the conditions that the first sentence of the report compares: a pool and the global list.
pub(crate) fn headline(conditions: &[BenchCondition]) -> Vec<usize> {
    let bytes = main_size(conditions);
    let is_compared = |one: &BenchCondition| {
        let allocators = [Allocator::Pool, Allocator::Global];
        one.bytes == bytes && one.workers == MAIN_WORKERS && !one.kept && allocators.contains(&one.allocator)
    };
    (0..conditions.len()).filter(|at| is_compared(&conditions[*at])).collect()
}

/// Returns sizes of pools that fit into each cache, fill it, and exceed it.
fn pools(caches: &[Cache]) -> Vec<Bytes> {
    let around = |size: u64| [size / 2, size, 2 * size, 4 * size];
    let around = caches.iter().flat_map(|cache| around(cache.size_bytes.0));
    let mut sizes: Vec<u64> = around.filter(|size| (2 * TREE..=LARGEST).contains(size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Bytes).collect()
}

/// Creates caches from their names and sizes in bytes.
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
    fn each_condition_occurs_once() {
        let all = conditions(16 << 20, Bytes(128 << 10), &three());
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{one:?}");
        }
        assert_eq!(all.iter().filter(|one| !one.kept && one.allocator != Allocator::OwnList).count(), 4 * 5 * 5 + 1);
        let few = conditions(3_000, Bytes(128 << 10), &[]);
        assert!(few.iter().all(|one| one.bytes == 3_000));
    }
}
