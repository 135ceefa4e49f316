//! What allocators, pools and numbers of workers are called.

use steady_render::units::{TIE, memory};
use steady_workloads::signature::Allocator;

use crate::plan::asked;
use crate::record::{BenchCondition, BenchRecord, MeasuredCondition};

/// The allocators that every number of workers is measured with.
pub(super) const ALLOCATORS: [Allocator; 4] = [Allocator::None, Allocator::Pool, Allocator::Global, Allocator::System];

/// The size that the questions are about.
pub(super) fn asked_bytes(record: &BenchRecord) -> u64 {
    asked(&record.conditions.iter().map(|one| one.condition).collect::<Vec<_>>())
}

/// A way in a few letters: `pool × 8`.
pub(super) fn name(condition: &BenchCondition) -> String {
    format!("{}{TIE}×{TIE}{}", condition.allocator.name(), condition.workers)
}

/// The size of a condition's pools in words.
pub(super) fn pool(record: &BenchRecord, at: usize) -> String {
    record.conditions[at].condition.pool_bytes.map_or_else(String::new, |pool| memory(pool.0 as f64))
}

/// The ways on so many bytes, allocator by allocator.
pub(super) fn ways(record: &BenchRecord, bytes: u64) -> Vec<&MeasuredCondition> {
    let is_one = |one: &&MeasuredCondition| one.condition.bytes == bytes && !one.condition.kept;
    let mut all: Vec<&MeasuredCondition> = record.conditions.iter().filter(is_one).collect();
    all.sort_by_key(|one| (one.condition.allocator, one.condition.workers));
    all
}

/// The numbers of workers.
pub(super) fn workers(ways: &[&MeasuredCondition]) -> Vec<u32> {
    let mut workers: Vec<u32> = ways.iter().map(|one| one.condition.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    workers
}
