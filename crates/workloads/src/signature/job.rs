//! What workers are asked to do: who they are, and where the nodes of their trees come from.

/// How a signature is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Where nodes come from.
    pub allocator: Allocator,
    /// Who works.
    pub crew: Crew,
    /// The size of each worker's pool.
    pub pool: usize,
}

/// Where the nodes of the trees come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocator {
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

impl Allocator {
    /// Its name, in options and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::None => "none",
            Allocator::Pool => "pool",
            Allocator::Global => "global",
            Allocator::System => "system",
            Allocator::OwnList => "own-list",
            Allocator::Scattered => "scattered",
            Allocator::WalkedPool => "walked-pool",
        }
    }
}

/// Who works on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crew {
    /// The process itself, without a further thread.
    Single,
    /// So many threads.
    Threads(u32),
    /// So many processes.
    Processes(u32),
}

impl Crew {
    /// How many they are.
    pub fn workers(self) -> u32 {
        match self {
            Crew::Single => 1,
            Crew::Threads(count) | Crew::Processes(count) => count,
        }
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Crew::Single => "single",
            Crew::Threads(_) => "threads",
            Crew::Processes(_) => "processes",
        }
    }
}
