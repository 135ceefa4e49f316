//! What is kept of a command whose locks were watched.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_feature::attended::AttendedCommand;
use steady_model::{Absent, Host, Nanos, Outcome, Reading, Timestamp};
use steady_render::json::{self, ReadError, Schema};

/// The schema of [`LocksRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.locks/1", what: "a command's locks" };

/// The locks of a command that has ended. Its fields are those of its JSON. Threads and processes are named by their place in
/// `threads` and `processes`, from 0 on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocksRecord {
    /// When it was begun.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command.
    pub command: AttendedCommand,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it ran in.
    pub revision: Reading<String>,
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end, stops not counted.
    pub wall_seconds: Nanos,
    /// CPU time of the whole process tree.
    pub cpu_seconds: Nanos,
    /// How long all threads together lived. Of threads that wait for nobody's lock, being alone in their process and waiting for
    /// nothing, only if there are no others.
    pub thread_seconds: f64,
    /// How long they waited for locks.
    pub wait_seconds: f64,
    /// The same as a share of `thread_seconds`.
    pub wait_ratio: Reading<f64>,
    /// How long they waited for conditions and semaphores.
    pub wait_events_seconds: f64,
    /// How long they waited for other threads to end.
    pub wait_joins_seconds: f64,
    /// The share of uncontended acquisitions whose hold and call site were noted: one in so many.
    #[serde(deserialize_with = "positive")]
    pub sampled_one_in: u64,
    /// By what `locks` are sorted.
    pub order: LockOrder,
    /// The locks.
    pub locks: Vec<LockUse>,
    /// The threads, those that waited longest first.
    pub threads: Vec<LockThread>,
    /// The processes in which locks were watched, in the order in which they began.
    pub processes: Vec<LockedProcess>,
    /// Processes that could not be watched: no room, no memory or no rights.
    pub unwatched_processes: u32,
    /// Waits for futexes that belong to nothing that was watched.
    pub futexes: Reading<FutexWaits>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockKind {
    /// A `pthread_mutex_t`.
    Mutex,
    /// A `pthread_rwlock_t`, for reading and writing together.
    Rwlock,
    /// A `pthread_spinlock_t`: a thread that waits for one uses its CPU meanwhile.
    Spinlock,
    /// A `pthread_cond_t`. Waiting for one is waiting for something to happen, not for a lock.
    Condition,
    /// A `sem_t`: a lock or a count of things, which cannot be told apart.
    Semaphore,
}

impl LockKind {
    /// Every kind.
    pub const ALL: [LockKind; 5] =
        [LockKind::Mutex, LockKind::Rwlock, LockKind::Spinlock, LockKind::Condition, LockKind::Semaphore];

    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "mutex",
            LockKind::Rwlock => "rwlock",
            LockKind::Spinlock => "spinlock",
            LockKind::Condition => "condition",
            LockKind::Semaphore => "semaphore",
        }
    }

    /// Whether a thread that waits for it waits for the thread that holds it; else it may wait for something to happen.
    pub fn is_held(self) -> bool {
        matches!(self, LockKind::Mutex | LockKind::Rwlock | LockKind::Spinlock)
    }
}

/// By what locks are sorted, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockOrder {
    /// The time that all threads together waited
    #[default]
    Wait,
    /// Acquisitions that had to wait
    Contended,
    /// All acquisitions
    Acquisitions,
}

/// A place in the code, as well as it could be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodePlace {
    /// The function, if symbols tell it.
    pub function: Reading<String>,
    /// The line of its source, `FILE:LINE`, if debug information tells it.
    pub line: Reading<String>,
    /// The file that the code was mapped from.
    pub module: Reading<String>,
    /// The offset in that file, in bytes; an address if there is no file.
    pub offset: u64,
}

/// A place from which a lock was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockSite {
    /// As of [`CodePlace`].
    pub function: Reading<String>,
    /// As of [`CodePlace`].
    pub line: Reading<String>,
    /// As of [`CodePlace`].
    pub module: Reading<String>,
    /// As of [`CodePlace`].
    pub offset: u64,
    /// Acquisitions there; those without contention are known from a sample of one in `sampled_one_in`.
    pub acquisitions: u64,
    /// Contended acquisitions there, every one.
    pub contended: u64,
    /// Time that threads waited there.
    pub wait_seconds: Nanos,
}

impl LockSite {
    /// The place.
    pub fn place(&self) -> CodePlace {
        CodePlace {
            function: self.function.clone(),
            line: self.line.clone(),
            module: self.module.clone(),
            offset: self.offset,
        }
    }
}

/// A lock of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockUse {
    /// Its number in this record, from 1 on, in the order of the record.
    pub id: u32,
    /// What it is.
    pub kind: LockKind,
    /// The process that it is of.
    pub process: usize,
    /// Its address in that process.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String")]
    pub address: u64,
    /// Whether it was destroyed.
    pub destroyed: bool,
    /// How often it was taken; of a condition, how many waits returned.
    pub acquisitions: u64,
    /// Of these, how often a thread waited for it.
    pub contended: u64,
    /// Waits that ended without it: timeouts, and deadlocks and dead owners that the lock itself found.
    pub given_up: u64,
    /// How many waits there were, with those that were not over when the process ended; absent if there was none.
    pub waits: Reading<u64>,
    /// How long all of them took together.
    pub wait_seconds: Reading<Nanos>,
    /// The median wait, within a tenth.
    pub wait_median_seconds: Reading<Nanos>,
    /// The 99th percentile, within a tenth.
    pub wait_p99_seconds: Reading<Nanos>,
    /// The longest wait.
    pub wait_max_seconds: Reading<Nanos>,
    /// How long it was held: contended holds were all timed, a sample stands for the others. Absent if none was timed, and for
    /// what is not held.
    pub hold_seconds: Reading<Nanos>,
    /// The mean hold.
    pub hold_mean_seconds: Reading<Nanos>,
    /// The median of the holds that were timed, within a tenth.
    pub hold_median_seconds: Reading<Nanos>,
    /// Their 99th percentile, within a tenth.
    pub hold_p99_seconds: Reading<Nanos>,
    /// The longest hold that was timed.
    pub hold_max_seconds: Reading<Nanos>,
    /// How many holds of contended acquisitions were timed.
    pub holds_timed_contended: Reading<u64>,
    /// How many holds of uncontended acquisitions were timed.
    pub holds_timed_sampled: Reading<u64>,
    /// How many threads took it or waited for it.
    pub threads: u32,
    /// By how much the command's wall time would be shorter at most if no thread ever waited for it.
    pub gain_seconds: Reading<Nanos>,
    /// The call that initialised it; absent if it was not seen.
    pub made_at: Reading<CodePlace>,
    /// The threads that waited for it when the process ended.
    pub waiting: Vec<usize>,
    /// The thread that held it then, if some waited: the one that took it last.
    pub held_by: Reading<usize>,
    /// From where it was taken, the places where threads waited longest first.
    pub sites: Vec<LockSite>,
}

impl LockUse {
    /// How long threads waited for it together, in seconds.
    pub fn waited(&self) -> f64 {
        self.wait_seconds.as_ref().map_or(0.0, |time| time.seconds())
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockThread {
    /// The process that it is of.
    pub process: usize,
    /// Its number in the kernel.
    pub tid: u32,
    /// The function that it began with; absent for the first of a process.
    pub start: Reading<CodePlace>,
    /// The call that it waited in when its process ended; absent if it waited in none that is watched.
    pub waits_at: Reading<CodePlace>,
    /// From its beginning, or from when it was first seen, to its end or that of the process.
    pub life_seconds: Nanos,
    /// Waiting for locks that some thread held.
    pub wait_seconds: Nanos,
    /// The same as a share of its life.
    pub wait_ratio: Reading<f64>,
    /// Waiting for conditions and semaphores.
    pub wait_events_seconds: Nanos,
    /// Waiting for other threads to end.
    pub wait_joins_seconds: Nanos,
}

/// A process in which locks were watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockedProcess {
    /// Its number.
    pub pid: u32,
    /// The path of its program.
    pub program: Reading<String>,
    /// Whether it was forked from one that was watched, and has executed nothing since.
    pub forked: bool,
    /// From when it was first seen to its end, or to that of the command.
    pub life_seconds: Nanos,
    /// Whether its end was seen from inside; else it was killed, executed another program or left by _exit(2).
    pub ended_itself: bool,
    /// How many threads it had, those included for which `threads` of the record has no entry.
    pub threads: u32,
    /// Locks that are not told apart, as far as their number is known: destroyed and never waited for, or too many.
    pub folded_locks: u64,
    /// How often those were taken.
    pub folded_acquisitions: u64,
    /// How often threads waited for them.
    pub folded_contended: u64,
    /// For how long.
    pub folded_wait_seconds: Nanos,
}

/// Waits for futexes, as samples of the threads found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FutexWaits {
    /// How long all threads together were seen to wait for futexes, whatever for.
    pub wait_seconds: Nanos,
    /// Of it, what belongs to no lock, condition or semaphore that was watched, nor to the end of a thread.
    pub other_seconds: Nanos,
    /// Twice the standard error of `other_seconds`.
    pub other_off_by_seconds: Nanos,
    /// How many samples there were.
    pub looks: u64,
    /// Programs with threads in which no lock was watched, and why: static ones, other ways to lock.
    pub unwatched_programs: Vec<String>,
}

impl LocksRecord {
    /// Returns the record with its sums over threads computed from [`LocksRecord::threads`].
    #[must_use]
    pub fn summed(self) -> Self {
        let mut counted = self.threads_that_matter();
        if counted.is_empty() {
            counted = self.threads.iter().collect();
        }
        let sum = |of: fn(&LockThread) -> Nanos| counted.iter().fold(0.0, |sum, thread| sum + of(thread).seconds());
        let (life, wait) = (sum(|thread| thread.life_seconds), sum(|thread| thread.wait_seconds));
        let events = sum(|thread| thread.wait_events_seconds);
        let joins = sum(|thread| thread.wait_joins_seconds);
        LocksRecord {
            thread_seconds: life,
            wait_seconds: wait,
            wait_ratio: share_of_life(wait, life),
            wait_events_seconds: events,
            wait_joins_seconds: joins,
            ..self
        }
    }

    /// Threads that waited for something, or that are not alone in their process.
    pub(crate) fn threads_that_matter(&self) -> Vec<&LockThread> {
        let has_waited = |thread: &LockThread| {
            thread.wait_seconds + thread.wait_events_seconds + thread.wait_joins_seconds > Nanos::ZERO
        };
        let has_company = |thread: &LockThread| self.processes.get(thread.process).is_some_and(|of| of.threads > 1);
        self.threads.iter().filter(|thread| has_waited(thread) || has_company(thread)).collect()
    }

    /// The record in a JSON text, exactly as it was.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic, and what it returns names no process or thread that there is
    /// not.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: Self = json::record(&SCHEMA, text)?;
        record.check()?;
        Ok(record)
    }

    /// Whether every process and thread that is named is there, and locks are numbered from 1 on.
    fn check(&self) -> Result<(), ReadError> {
        let holds = |is_so: bool, path: String, why: &str| {
            if is_so { Ok(()) } else { Err(ReadError::field(&path, why.to_owned())) }
        };
        let (processes, threads) = (self.processes.len(), self.threads.len());
        for (at, lock) in self.locks.iter().enumerate() {
            let is_numbered = usize::try_from(lock.id) == Ok(at + 1);
            holds(is_numbered, format!("locks[{at}].id"), "they are numbered from 1 on")?;
            holds(lock.process < processes, format!("locks[{at}].process"), "there is no such process")?;
            let are_there = lock.waiting.iter().all(|thread| *thread < threads);
            holds(are_there, format!("locks[{at}].waiting"), "there is no such thread")?;
            let is_there = lock.held_by.as_ref().map_or(true, |thread| *thread < threads);
            holds(is_there, format!("locks[{at}].held_by"), "there is no such thread")?;
        }
        for (at, thread) in self.threads.iter().enumerate() {
            holds(thread.process < processes, format!("threads[{at}].process"), "there is no such process")?;
        }
        Ok(())
    }
}

/// A share of a life; absent if nobody lived.
pub(crate) fn share_of_life(part: f64, life: f64) -> Reading<f64> {
    let ratio = part / life;
    if ratio.is_finite() { Ok(ratio) } else { Err(Absent::because("no thread's life was seen")) }
}

/// Addresses as text, because they are no numbers to count with: `0x55d012345040`.
mod hexadecimal {
    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(super) fn serialize<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{address:#x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").ok_or_else(|| D::Error::custom("it does not begin with 0x"))?;
        u64::from_str_radix(digits, 16).map_err(D::Error::custom)
    }
}

/// A number above zero.
fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if number > 0 { Ok(number) } else { Err(D::Error::custom("it must be above zero")) }
}
