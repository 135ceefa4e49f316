//! The locks of a command: which it waited for, and where in its code.

use serde::{Deserialize, Serialize};

use crate::{Command, Host, Nanos, Outcome, Reading, Timestamp};

/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockKind {
    /// A `pthread_mutex_t`.
    Mutex,
    /// A `pthread_rwlock_t`, for reading and writing together.
    Rwlock,
    /// A `pthread_spinlock_t`: who waits for one uses its CPU meanwhile.
    Spinlock,
    /// A `pthread_cond_t`. Waiting for one is waiting for something to happen, not for a lock.
    Condition,
    /// A `sem_t`: a lock or a count of things, which cannot be told.
    Semaphore,
}

impl LockKind {
    /// Every kind.
    pub const ALL: [LockKind; 5] =
        [LockKind::Mutex, LockKind::Rwlock, LockKind::Spinlock, LockKind::Condition, LockKind::Semaphore];

    /// Its name in reports: `mutex`, `rwlock`, `spinlock`, `condition`, `semaphore`.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "mutex",
            LockKind::Rwlock => "rwlock",
            LockKind::Spinlock => "spinlock",
            LockKind::Condition => "condition",
            LockKind::Semaphore => "semaphore",
        }
    }

    /// Whether who waits for it waits for somebody who has it; else it may be for something to happen.
    pub fn is_held(self) -> bool {
        matches!(self, LockKind::Mutex | LockKind::Rwlock | LockKind::Spinlock)
    }
}

/// By what locks are put in order, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockOrder {
    /// The time that all threads together waited.
    #[default]
    Wait,
    /// Contended acquisitions.
    Contended,
    /// Acquisitions.
    Acquisitions,
}

impl LockOrder {
    /// Its name: `wait`, `contended`, `acquisitions`.
    pub fn name(self) -> &'static str {
        match self {
            LockOrder::Wait => "wait",
            LockOrder::Contended => "contended",
            LockOrder::Acquisitions => "acquisitions",
        }
    }
}

/// A place in the code, as well as it could be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// The file that the code lies in; absent where that could not be told.
    pub module: Reading<String>,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// The function, where symbols tell it.
    pub function: Reading<String>,
    /// The line of its source, `FILE:LINE`, where debug information tells it.
    pub line: Reading<String>,
}

/// From where a lock was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockSite {
    /// The call.
    pub place: CodePlace,
    /// Acquisitions there; those without contention are known from a sample of one in `sampled_one_in`.
    pub acquisitions: u64,
    /// Contended ones there: each of them.
    pub contended: u64,
    /// Waiting there.
    pub wait: Nanos,
}

/// How long each of many things took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockTimes {
    /// How many were timed.
    pub count: u64,
    /// All together.
    pub total: Nanos,
    /// The median, within a tenth.
    pub median: Nanos,
    /// The 99th percentile, within a tenth.
    pub p99: Nanos,
    /// The longest.
    pub most: Nanos,
}

/// How long a lock was held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockHolds {
    /// All holds together: contended ones were all timed, of the others a sample stands for all.
    pub total: Nanos,
    /// The mean hold.
    pub mean: Nanos,
    /// The median of the holds that were timed, within a tenth.
    pub median: Nanos,
    /// Their 99th percentile, within a tenth.
    pub p99: Nanos,
    /// The longest that was timed.
    pub most: Nanos,
    /// How many holds of contended acquisitions were timed.
    pub timed_contended: u64,
    /// How many of uncontended ones were timed.
    pub timed_sampled: u64,
}

/// One lock of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockUse {
    /// Its number in this report, from 1 on, in the order of the report.
    pub id: u32,
    /// What it is.
    pub kind: LockKind,
    /// Which of the report's processes it is of.
    pub process: usize,
    /// Where in that process's memory it was.
    pub address: u64,
    /// Whether it was destroyed.
    pub destroyed: bool,
    /// How often it was taken; of a condition, how many waits returned.
    pub acquisitions: u64,
    /// Of these, how often it was waited for.
    pub contended: u64,
    /// Waits that ended without it: timeouts, and deadlocks and dead owners that the lock itself found.
    pub given_up: u64,
    /// The waits, with those that were not over when the process ended; absent where there was none.
    pub waits: Reading<LockTimes>,
    /// The holds; absent where none was timed, and for what is not held.
    pub holds: Reading<LockHolds>,
    /// How many threads took it or waited for it.
    pub threads: u32,
    /// From where it was taken, what was waited for most first.
    pub sites: Vec<LockSite>,
    /// Where it was initialised by a call; absent where it was not seen.
    pub made_at: Reading<CodePlace>,
    /// Who waited for it when the process ended: threads of that process, by their place in the report.
    pub waiting: Vec<usize>,
    /// Who had it then, where somebody waited: the thread that took it last, by its place in the report; absent where that
    /// cannot be told.
    pub held_by: Reading<usize>,
    /// By how much the command's wall time would be shorter at most if it never were waited for.
    pub gain: Reading<Nanos>,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockThread {
    /// Which of the report's processes it is of.
    pub process: usize,
    /// Its number in the kernel.
    pub tid: u32,
    /// What it began with; absent for the first of a process.
    pub start: Reading<CodePlace>,
    /// The call that it waited in when its process ended; absent where it waited in none that is watched.
    pub waits_at: Reading<CodePlace>,
    /// From its beginning, or from when it was first seen, to its end or that of the process.
    pub life: Nanos,
    /// Waiting for locks that somebody held.
    pub wait: Nanos,
    /// Waiting for conditions and semaphores.
    pub wait_events: Nanos,
    /// Waiting for other threads to end.
    pub wait_joins: Nanos,
}

/// One process in which locks were watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockedProcess {
    /// Its number.
    pub pid: u32,
    /// Its program, where it could be told.
    pub program: Reading<String>,
    /// Whether it was forked from one that was watched, and has executed nothing since.
    pub forked: bool,
    /// From when it was first seen to its end, or to that of the command.
    pub life: Nanos,
    /// Whether its end was seen from inside; else it was killed, executed another program or left by _exit(2).
    pub ended_itself: bool,
    /// How many threads it had, those included for which `threads` of the report has no entry.
    pub threads: u32,
    /// Locks that are not told apart: destroyed without ever being waited for, or too many.
    pub folded: FoldedLocks,
}

/// Locks that are not told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldedLocks {
    /// How many, as far as that is known.
    pub locks: u64,
    /// How often they were taken.
    pub acquisitions: u64,
    /// How often they were waited for.
    pub contended: u64,
    /// For how long.
    pub wait: Nanos,
}

/// Waits for futexes, as looks at the threads found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FutexWaits {
    /// How long all threads together were seen to wait for futexes, whatever for.
    pub total: Nanos,
    /// Of it, what belongs to no lock, condition or semaphore that was watched, nor to the end of a thread.
    pub other: Nanos,
    /// How far off `other` may be: twice its standard error.
    pub off_by: Nanos,
    /// How many looks there were.
    pub looks: u64,
    /// Programs with threads in which no lock was watched, and why: static ones, other ways to lock.
    pub unwatched: Vec<String>,
}

/// Which locks the threads of a command waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocksReport {
    /// The command.
    pub command: Command,
    /// When it was begun: a label.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end, stops left out.
    pub wall: Nanos,
    /// CPU time of the whole tree.
    pub cpu: Nanos,
    /// The share of uncontended acquisitions whose hold and call site were noted: one in so many.
    pub sampled_one_in: u64,
    /// By what `locks` are put in order.
    pub order: LockOrder,
    /// The processes in which locks were watched, in the order in which they began.
    pub processes: Vec<LockedProcess>,
    /// Processes that could not be watched: for want of room, memory or rights.
    pub unwatched: u32,
    /// The locks.
    pub locks: Vec<LockUse>,
    /// The threads, those that waited longest first.
    pub threads: Vec<LockThread>,
    /// Waits for futexes that belong to nothing that was watched.
    pub futexes: Reading<FutexWaits>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}
