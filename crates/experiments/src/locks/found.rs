//! What the watchers have written, taken together: facts, before code has names.

use serde::{Deserialize, Serialize};
use steady_model::{FoldedLocks, LockHolds, LockKind, LockTimes, Nanos, Reading};

/// All that was watched of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The processes, in the order in which they began.
    pub processes: Vec<FoundProcess>,
    /// Locks that were used; of more than can be told apart those that were waited for longest.
    pub locks: Vec<FoundLock>,
    /// Threads, those that waited longest first; as many as can be told apart.
    pub threads: Vec<FoundThread>,
    /// The files that code lies in.
    pub modules: Vec<FoundModule>,
    /// Processes that got no place, or could not map it.
    pub unwatched: u32,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundProcess {
    /// Its number.
    pub pid: u32,
    /// The path of its program.
    pub program: Reading<String>,
    /// Whether it was forked.
    pub forked: bool,
    /// From its beginning to its end.
    pub life: Nanos,
    /// Whether its end was seen from inside.
    pub ended_itself: bool,
    /// How many threads it had.
    pub threads: u32,
    /// Locks that are not told apart.
    pub folded: FoldedLocks,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundThread {
    /// Its process, by its number here.
    pub process: usize,
    /// Its number in the kernel.
    pub tid: u32,
    /// What it began with.
    pub start: Option<FoundPlace>,
    /// From where it waited when its process ended, if it did.
    pub waits_at: Option<FoundPlace>,
    /// From its beginning to its end.
    pub life: Nanos,
    /// Waiting for locks.
    pub wait: Nanos,
    /// Waiting for conditions and semaphores.
    pub wait_events: Nanos,
    /// Waiting for other threads to end.
    pub wait_joins: Nanos,
}

/// A lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundLock {
    /// Its process, by its number here.
    pub process: usize,
    /// What it is.
    pub kind: LockKind,
    /// Where it was.
    pub address: u64,
    /// Whether it was destroyed.
    pub destroyed: bool,
    /// As of [`LockUse`](steady_model::LockUse).
    pub acquisitions: u64,
    /// Likewise.
    pub contended: u64,
    /// Likewise.
    pub given_up: u64,
    /// Likewise.
    pub waits: Reading<LockTimes>,
    /// Likewise.
    pub holds: Reading<LockHolds>,
    /// Likewise.
    pub threads: u32,
    /// From where it was taken.
    pub sites: Vec<FoundSite>,
    /// Where it was initialised.
    pub made_at: Option<FoundPlace>,
    /// Who waited for it at the end, by numbers of the threads here.
    pub waiting: Vec<usize>,
    /// Who had it, likewise.
    pub held_by: Reading<usize>,
    /// What a free lock would save.
    pub gain: Reading<Nanos>,
}

impl FoundLock {
    /// For how long it was waited for.
    pub(super) fn waited(&self) -> Nanos {
        self.waits.as_ref().map_or(Nanos::ZERO, |waits| waits.total)
    }
}

/// From where a lock was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSite {
    /// Where the call returns to.
    pub place: FoundPlace,
    /// Acquisitions there.
    pub acquisitions: u64,
    /// Contended ones.
    pub contended: u64,
    /// Waiting there.
    pub wait: Nanos,
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FoundPlace {
    /// The file, by its number here; none where the code lay in no file.
    pub module: Option<usize>,
    /// Where in that file, in bytes; where in memory, where there is no file.
    pub offset: u64,
}

/// A file that code lay in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FoundModule {
    /// Its path.
    pub path: String,
    /// Its inode, as it was mapped.
    pub inode: u64,
}
