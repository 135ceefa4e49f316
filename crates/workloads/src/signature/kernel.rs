//! The implementations with which a worker sums blocks.

use std::io;

use steady_model::Nanos;

use super::fast::Blocks;
use super::job::{Allocator, Job};
use super::list::{Area, BlockPools, FreeList, Waits};
use super::{Builder, Exhausted, Malloc, Nodes, Pool, Scattered};

/// An implementation of the sum of blocks.
pub(super) trait Kernel {
    /// Returns the sum of the hashes of these blocks.
    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted>;

    /// Returns the number of allocated nodes, and the use of the lock.
    fn counts(&self) -> (u64, Waits);
}

impl Kernel for Blocks {
    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        Ok(Blocks::sum(self, bytes))
    }

    fn counts(&self) -> (u64, Waits) {
        (0, Waits::default())
    }
}

/// A builder with an allocator that has no lock of this crate.
struct Unlocked<N: Nodes>(Builder<N>);

impl<N: Nodes> Kernel for Unlocked<N> {
    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        self.0.sum(bytes)
    }

    fn counts(&self) -> (u64, Waits) {
        (self.0.made(), Waits::default())
    }
}

impl Kernel for Builder<FreeList<'_>> {
    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        Builder::sum(self, bytes)
    }

    fn counts(&self) -> (u64, Waits) {
        (self.made(), self.nodes().waits())
    }
}

impl Kernel for Builder<BlockPools<'_>> {
    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        Builder::sum(self, bytes)
    }

    fn counts(&self) -> (u64, Waits) {
        (self.made(), self.nodes().waits())
    }
}

/// Calls `work` with the implementation for nodes from the allocator of `job`. For `Global` and `PoolPerBlock`, the
/// nodes are in `area`, which all workers share.
pub(super) fn with<T>(job: &Job, area: Option<&Area>, work: impl FnOnce(&mut dyn Kernel) -> T) -> io::Result<T> {
    let (pool, block) = (job.pool, job.block);
    Ok(match (job.allocator, area) {
        (Allocator::None, _) => work(&mut *Box::new(Blocks::new(block))),
        (Allocator::Pool, _) => work(&mut Unlocked(Builder::new(Pool::new(pool), block))),
        (Allocator::WalkedPool, _) => work(&mut Unlocked(Builder::new(Pool::walked(pool), block))),
        (Allocator::Scattered, _) => work(&mut Unlocked(Builder::new(Scattered::new(pool), block))),
        (Allocator::System, _) => work(&mut Unlocked(Builder::new(Malloc, block))),
        (Allocator::Global, Some(area)) => work(&mut Builder::new(FreeList::behind_the_lock(area), block)),
        (Allocator::PoolPerBlock, Some(area)) => work(&mut Builder::new(BlockPools::new(area, pool), block)),
        (Allocator::PoolPerBlock, None) => {
            let own = Area::of_pools(1, pool)?;
            work(&mut Builder::new(BlockPools::new(&own, pool), block))
        }
        (Allocator::Global | Allocator::OwnList, _) => {
            let mut own = Area::new(1)?;
            work(&mut Builder::new(FreeList::alone(&mut own), block))
        }
    })
}

/// Adds the use of two workers' locks.
pub(super) fn together(one: Waits, other: Waits) -> Waits {
    Waits {
        acquisitions: one.acquisitions + other.acquisitions,
        contended: one.contended + other.contended,
        waited: Nanos(one.waited.0 + other.waited.0),
    }
}
