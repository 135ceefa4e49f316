//! Signatures of files: how they are made, and what making them took.

#[path = "../../../signature/src/record.rs"]
mod bench;

use crate::{Bytes, Nanos, Reading};

pub use bench::{
    SignatureAnswer, SignatureBenchPlan, SignatureBenchRecord, SignatureBenchReport, SignatureCondition,
    SignatureFigures, SignatureInput, SignatureQuestion, SignatureRun,
};

/// Where the nodes of the trees come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureAllocator {
    /// There are none: the same number without building them.
    None,
    /// An arena of each worker's own, which starts over with each block.
    Pool,
    /// One free list behind one lock.
    Global,
    /// The C library's malloc.
    System,
    /// The free list of `Global`, but one of each worker's own and without the lock.
    OwnList,
    /// A pool whose nodes lie far apart.
    Scattered,
    /// A pool that starts over only when it is full.
    WalkedPool,
}

impl SignatureAllocator {
    /// All of them.
    pub const ALL: [SignatureAllocator; 7] = [
        SignatureAllocator::None,
        SignatureAllocator::Pool,
        SignatureAllocator::Global,
        SignatureAllocator::System,
        SignatureAllocator::OwnList,
        SignatureAllocator::Scattered,
        SignatureAllocator::WalkedPool,
    ];

    /// Its name, in options and JSON.
    pub fn name(self) -> &'static str {
        match self {
            SignatureAllocator::None => "none",
            SignatureAllocator::Pool => "pool",
            SignatureAllocator::Global => "global",
            SignatureAllocator::System => "system",
            SignatureAllocator::OwnList => "own-list",
            SignatureAllocator::Scattered => "scattered",
            SignatureAllocator::WalkedPool => "walked-pool",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        SignatureAllocator::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Who works on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureCrew {
    /// The process itself, without a thread more.
    Single,
    /// So many threads.
    Threads(u32),
    /// So many processes.
    Processes(u32),
}

impl SignatureCrew {
    /// How many they are.
    pub fn workers(self) -> u32 {
        match self {
            SignatureCrew::Single => 1,
            SignatureCrew::Threads(count) | SignatureCrew::Processes(count) => count,
        }
    }

    /// What they are.
    pub fn name(self) -> &'static str {
        match self {
            SignatureCrew::Single => "single",
            SignatureCrew::Threads(_) => "threads",
            SignatureCrew::Processes(_) => "processes",
        }
    }
}

/// What the lock of an allocator came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignatureLock {
    /// How often it was taken.
    pub acquisitions: u64,
    /// How often another worker had it.
    pub contended: u64,
    /// How long workers waited for it, all together.
    pub waited: Nanos,
}

/// A file's signature, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The signature.
    pub signature: u64,
    /// The file's size.
    pub bytes: u64,
    /// Who worked on it.
    pub crew: SignatureCrew,
    /// The allocator's lock.
    pub lock: Reading<SignatureLock>,
    /// How many nodes were allocated.
    pub allocations: u64,
    /// From before the first byte was read to when the last worker was gone.
    pub elapsed: Nanos,
    /// User time of all workers.
    pub user: Nanos,
    /// System time of all workers.
    pub system: Nanos,
    /// The most memory that a process of ours has had.
    pub peak_memory: Reading<Bytes>,
}

/// One of the files that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureFile {
    /// Its name as it was given.
    pub name: String,
    /// Its signature, or why there is none.
    pub signed: Reading<Signed>,
}

/// The signatures that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureReport {
    /// Where nodes came from.
    pub allocator: SignatureAllocator,
    /// The size of a worker's pool, where there are pools.
    pub pool: Option<Bytes>,
    /// Whether people want to know what it took.
    pub stats: bool,
    /// The files, in the order in which they were given.
    pub files: Vec<SignatureFile>,
}
