//! The conditions: which ways are held beside one another.

use steady_model::{Bytes, SignatureAllocator, SignatureCondition};

/// Sizes from where a worker's start costs as much as its work to well above what was published.
pub const SIZES: [u64; 4] = [5_120, 64 << 10, 1 << 20, 4 << 20];
/// Numbers of workers.
pub const WORKERS: [u32; 5] = [1, 2, 4, 8, 16];
/// The workers of the published figures, about which the questions are.
pub(super) const ASKED: u32 = 8;
/// The size of the published figures; of less where there is less.
pub(super) const ASKED_BYTES: u64 = 1 << 20;
/// How far apart scattered nodes lie, so that each is on a line and most on a page of their own.
const SCATTERED: Bytes = Bytes(2 << 20);
/// The largest pool that is walked through.
const LARGEST: u64 = 32 << 20;
/// A tree takes up to so much of a pool.
const TREE: u64 = 8_176;

/// All conditions on so many bytes, for pools of this size and a CPU with these caches.
pub fn conditions(length: u64, pool: Bytes, caches: &[(String, Bytes)]) -> Vec<SignatureCondition> {
    let sizes = sizes(length);
    let asked = asked(&sizes);
    let mut all = Vec::new();
    let pool_of = |allocator| (allocator == SignatureAllocator::Pool).then_some(pool);
    for bytes in sizes {
        for workers in WORKERS {
            let each = [
                SignatureAllocator::None,
                SignatureAllocator::Pool,
                SignatureAllocator::Global,
                SignatureAllocator::System,
            ];
            all.extend(each.map(|allocator| SignatureCondition {
                allocator,
                workers,
                bytes,
                pool: pool_of(allocator),
                kept: false,
            }));
        }
    }
    all.push(SignatureCondition {
        allocator: SignatureAllocator::OwnList,
        workers: ASKED,
        bytes: asked,
        pool: None,
        kept: false,
    });
    let kept =
        |allocator, pool| SignatureCondition { allocator, workers: 1, bytes: asked, pool: Some(pool), kept: true };
    all.push(kept(SignatureAllocator::Pool, Bytes(TREE)));
    all.push(kept(SignatureAllocator::Pool, pool));
    all.push(kept(SignatureAllocator::Scattered, SCATTERED));
    all.extend(pools(caches).into_iter().map(|pool| kept(SignatureAllocator::WalkedPool, pool)));
    all
}

/// The sizes that there are bytes for: of fewer than the least, all.
fn sizes(length: u64) -> Vec<u64> {
    let fitting: Vec<u64> = SIZES.into_iter().filter(|size| *size <= length).collect();
    if fitting.is_empty() { vec![length] } else { fitting }
}

/// The size that the questions are about.
pub(super) fn asked(sizes: &[u64]) -> u64 {
    sizes.iter().copied().filter(|size| *size <= ASKED_BYTES).max().unwrap_or(ASKED_BYTES)
}

/// Which of the conditions questions are about.
pub(super) fn asked_of(conditions: &[SignatureCondition]) -> Vec<bool> {
    let sizes: Vec<u64> = conditions.iter().map(|one| one.bytes).collect();
    let bytes = asked(&sizes);
    let about = |one: &SignatureCondition| match one.allocator {
        SignatureAllocator::Pool | SignatureAllocator::Global => one.kept || [1, ASKED].contains(&one.workers),
        SignatureAllocator::OwnList | SignatureAllocator::Scattered | SignatureAllocator::WalkedPool => true,
        SignatureAllocator::None | SignatureAllocator::System => false,
    };
    conditions.iter().map(|one| one.bytes == bytes && about(one)).collect()
}

/// The conditions that the first sentence of the report compares: a pool and the global list.
pub(super) fn headline(conditions: &[SignatureCondition]) -> Vec<usize> {
    let sizes: Vec<u64> = conditions.iter().map(|one| one.bytes).collect();
    let bytes = asked(&sizes);
    let compared = |one: &SignatureCondition| {
        let allocators = [SignatureAllocator::Pool, SignatureAllocator::Global];
        one.bytes == bytes && one.workers == ASKED && !one.kept && allocators.contains(&one.allocator)
    };
    (0..conditions.len()).filter(|at| compared(&conditions[*at])).collect()
}

/// Sizes of pools that fit into each cache, fill it, and do not fit.
pub fn pools(caches: &[(String, Bytes)]) -> Vec<Bytes> {
    let around = caches.iter().flat_map(|(_, size)| [size.0 / 2, size.0, 2 * size.0, 4 * size.0]);
    let mut sizes: Vec<u64> = around.filter(|size| (2 * TREE..=LARGEST).contains(size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> Vec<(String, Bytes)> {
        [("L1", 32 << 10), ("L2", 1 << 20), ("L3", 256 << 20)].map(|(name, size)| (name.to_owned(), Bytes(size))).into()
    }

    #[test]
    fn pools_lie_around_the_caches() {
        let sizes: Vec<u64> = pools(&caches()).iter().map(|size| size.0 >> 10).collect();
        assert_eq!(sizes, [16, 32, 64, 128, 512, 1_024, 2_048, 4_096]);
        assert!(pools(&[]).is_empty());
    }

    #[test]
    fn every_way_is_there_once() {
        let all = conditions(16 << 20, Bytes(128 << 10), &caches());
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{one:?}");
        }
        assert_eq!(
            all.iter().filter(|one| !one.kept && one.allocator != SignatureAllocator::OwnList).count(),
            4 * 5 * 4
        );
        let few = conditions(3_000, Bytes(128 << 10), &[]);
        assert!(few.iter().all(|one| one.bytes == 3_000));
    }
}
