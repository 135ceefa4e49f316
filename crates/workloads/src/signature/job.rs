//! The configuration of workers: their kind and number, and the allocator of their nodes.

/// How to compute a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The allocator of nodes.
    pub allocator: Allocator,
    /// The kind and number of workers.
    pub crew: Crew,
    /// The size of each pool, in bytes.
    pub pool: usize,
    /// The size of a block in bytes, from 1 to [`MOST_BLOCK_BYTES`](super::MOST_BLOCK_BYTES).
    pub block: usize,
}

/// The allocator of the trees' nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocator {
    /// No nodes: the same result is computed without building trees.
    None,
    /// An arena for each worker, which is reset after each block.
    Pool,
    /// One free list protected by one lock.
    Global,
    /// A pool for each block, taken from the free list of `Global` and returned to it: two acquisitions of its lock a
    /// block.
    PoolPerBlock,
    /// The C library's malloc.
    System,
    /// The free list of `Global`, but one for each worker and without a lock.
    OwnList,
    /// A pool whose nodes are far apart.
    Scattered,
    /// A pool that is reset only when it is full.
    WalkedPool,
}

impl Allocator {
    /// All allocators.
    pub const ALL: [Allocator; 8] = [
        Allocator::None,
        Allocator::Pool,
        Allocator::Global,
        Allocator::PoolPerBlock,
        Allocator::System,
        Allocator::OwnList,
        Allocator::Scattered,
        Allocator::WalkedPool,
    ];

    /// Returns the name in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::None => "none",
            Allocator::Pool => "pool",
            Allocator::Global => "global",
            Allocator::PoolPerBlock => "pool-per-block",
            Allocator::System => "system",
            Allocator::OwnList => "own-list",
            Allocator::Scattered => "scattered",
            Allocator::WalkedPool => "walked-pool",
        }
    }
}

/// The workers for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crew {
    /// The calling thread only.
    Single,
    /// This number of threads.
    Threads(u32),
    /// This number of processes.
    Processes(u32),
}

impl Crew {
    /// Returns the number of workers.
    pub fn workers(self) -> u32 {
        match self {
            Crew::Single => 1,
            Crew::Threads(count) | Crew::Processes(count) => count,
        }
    }

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Crew::Single => "single",
            Crew::Threads(_) => "threads",
            Crew::Processes(_) => "processes",
        }
    }
}
