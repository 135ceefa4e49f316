//! The record of a command whose locks were watched.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_feature::attended::AttendedCommand;
use steady_model::{Absent, Host, Nanos, Outcome, Reading, RunKind, Timestamp};
use steady_render::json::{self, ReadError, Schema};

/// The schema of [`LocksRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.locks/1", what: "a command's locks" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("locks");

/// The locks of a command that has ended. Its fields are those of its JSON. Fields that refer to threads and processes
/// hold indices into `threads` and `processes`, from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocksRecord {
    /// Time of day at which the command started.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command that was run.
    pub command: AttendedCommand,
    /// The host that it ran on.
    pub host: Host,
    /// Git revision of the directory that it ran in.
    pub revision: Reading<String>,
    /// How the command ended: exit status or signal.
    pub ended: Outcome,
    /// Wall time from its start to its end, without the time that it was stopped (job control).
    pub wall_seconds: Nanos,
    /// CPU time of the whole process tree.
    pub cpu_seconds: Nanos,
    /// Total lifetime of the threads. A thread that is alone in its process and waited for nothing counts only if there
    /// are no others.
    pub thread_seconds: f64,
    /// Total time that these threads waited for locks, including waits that were given up.
    pub wait_seconds: f64,
    /// `wait_seconds` as a share of `thread_seconds`.
    pub wait_ratio: Reading<f64>,
    /// Total time that they waited for conditions and semaphores.
    pub wait_events_seconds: f64,
    /// Total time that they waited for other threads to end.
    pub wait_joins_seconds: f64,
    /// Of uncontended acquisitions, one in so many (on average) has its hold time and call site recorded.
    #[serde(deserialize_with = "positive")]
    pub sampled_one_in: u64,
    /// Of the uncontended acquisitions of each lock, the first so many have their hold times recorded. Records without
    /// this number are of earlier versions, which recorded the first one.
    #[serde(default = "only_the_first")]
    pub timed_first: u64,
    /// The order in which `locks` are sorted.
    pub order: LockOrder,
    /// The locks that were used, in the order of `order`.
    pub locks: Vec<LockUse>,
    /// The threads, sorted by their waiting time, longest first.
    pub threads: Vec<LockThread>,
    /// The processes in which locks were watched, in the order of their starts.
    pub processes: Vec<LockedProcess>,
    /// Number of processes that could not be watched, for lack of room, memory or permissions.
    pub unwatched_processes: u32,
    /// Waits for futexes, including those that belong to no watched lock.
    pub futexes: Reading<FutexWaits>,
    /// Number of processes that the command left behind, and that were killed.
    pub left_behind: u32,
}

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockKind {
    /// A `pthread_mutex_t` of POSIX threads.
    Mutex,
    /// A `pthread_rwlock_t`; counts are of readers and writers together.
    Rwlock,
    /// A `pthread_spinlock_t`. A thread uses its CPU while it waits for one.
    Spinlock,
    /// A `pthread_cond_t`. A thread that waits for one usually waits for an event, not for a lock.
    Condition,
    /// A `sem_t`. It may serve as a lock or count resources; these uses cannot be distinguished.
    Semaphore,
}

impl LockKind {
    /// All kinds of locks.
    pub const ALL: [LockKind; 5] =
        [LockKind::Mutex, LockKind::Rwlock, LockKind::Spinlock, LockKind::Condition, LockKind::Semaphore];

    /// Returns its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "mutex",
            LockKind::Rwlock => "rwlock",
            LockKind::Spinlock => "spinlock",
            LockKind::Condition => "condition",
            LockKind::Semaphore => "semaphore",
        }
    }

    /// Returns whether a thread holds locks of this kind, so that others wait for that thread. Threads that wait for
    /// other kinds may wait for an event.
    pub fn is_held(self) -> bool {
        matches!(self, LockKind::Mutex | LockKind::Rwlock | LockKind::Spinlock)
    }
}

/// How locks are sorted, largest value first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockOrder {
    /// Total time that threads waited for the lock
    #[default]
    Wait,
    /// Acquisitions that had to wait (contended)
    Contended,
    /// All acquisitions, contended or not
    Acquisitions,
}

/// A place in the code, named as far as symbols and debug information allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodePlace {
    /// Name of the function, from debug information or symbols.
    pub function: Reading<String>,
    /// Source line as `FILE:LINE`, from debug information.
    pub line: Reading<String>,
    /// Path of the file that the code was mapped from.
    pub module: Reading<String>,
    /// Offset in that file, in bytes; the address in memory if there is no file.
    pub offset: u64,
}

/// A call site that requested a lock, with its counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockSite {
    /// Name of the function, as in [`CodePlace`].
    pub function: Reading<String>,
    /// Source line as `FILE:LINE`, as in [`CodePlace`].
    pub line: Reading<String>,
    /// Path of the mapped file, as in [`CodePlace`].
    pub module: Reading<String>,
    /// Offset in that file, as in [`CodePlace`].
    pub offset: u64,
    /// Acquisitions at this call site. Uncontended ones are estimated from a sample of one in `sampled_one_in`.
    pub acquisitions: u64,
    /// Contended acquisitions at this call site; an exact count.
    pub contended: u64,
    /// Time that threads waited at this call site.
    pub wait_seconds: Nanos,
}

impl LockSite {
    /// Returns the place in the code.
    pub fn place(&self) -> CodePlace {
        CodePlace {
            function: self.function.clone(),
            line: self.line.clone(),
            module: self.module.clone(),
            offset: self.offset,
        }
    }
}

/// A lock of a process, with its counts and times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockUse {
    /// Number of the lock in this record, from 1, in the order of the record.
    pub id: u32,
    /// Kind of the lock.
    pub kind: LockKind,
    /// Whether it is probably a condition of Python's global interpreter lock (GIL), by the functions that initialised or
    /// requested it. Derived.
    #[serde(default)]
    pub probably_gil: bool,
    /// Index of its process in `processes`.
    pub process: usize,
    /// Address of the lock in the memory of that process.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String")]
    pub address: u64,
    /// Whether the program destroyed it, for example by pthread_mutex_destroy(3).
    pub destroyed: bool,
    /// Number of acquisitions; for a condition, of waits that returned.
    pub acquisitions: u64,
    /// Number of acquisitions for which a thread waited.
    pub contended: u64,
    /// Number of waits that ended without the lock: by a timeout, an error (a deadlock, or a mutex that cannot be
    /// recovered), cancellation, or for a semaphore an interruption by a signal.
    pub given_up: u64,
    /// Number of waits, including those that were given up or had not ended when the process ended. Absent if there
    /// were none.
    pub waits: Reading<u64>,
    /// Total time of these waits.
    pub wait_seconds: Reading<Nanos>,
    /// Median wait, with an error of up to 10 %.
    pub wait_median_seconds: Reading<Nanos>,
    /// 99th percentile of the waits, with an error of up to 10 %.
    pub wait_p99_seconds: Reading<Nanos>,
    /// Longest wait, in seconds.
    pub wait_max_seconds: Reading<Nanos>,
    /// Total time that threads held the lock. All contended holds are timed, and those of the first `timed_first` other
    /// acquisitions; a sample represents the rest. Of a mutex or spinlock, at most the lifetime of the process. Absent
    /// if no hold was timed, and for conditions and semaphores.
    pub hold_seconds: Reading<Nanos>,
    /// Mean hold, over all acquisitions.
    pub hold_mean_seconds: Reading<Nanos>,
    /// Median of the timed holds, among which the first `timed_first` ones are, with an error of up to 10 %.
    pub hold_median_seconds: Reading<Nanos>,
    /// 99th percentile of the timed holds, with an error of up to 10 %.
    pub hold_p99_seconds: Reading<Nanos>,
    /// Longest of the timed holds.
    pub hold_max_seconds: Reading<Nanos>,
    /// Number of timed holds of contended acquisitions.
    pub holds_timed_contended: Reading<u64>,
    /// Number of timed holds of uncontended acquisitions: of the first `timed_first`, and of the sample of later ones.
    pub holds_timed_sampled: Reading<u64>,
    /// Number of threads that acquired it or waited for it.
    pub threads: u32,
    /// Upper bound of the time by which the command would end earlier if threads never waited for this lock.
    pub gain_seconds: Reading<Nanos>,
    /// The call that initialised it; absent if that call was not observed.
    pub made_at: Reading<CodePlace>,
    /// Indices of the threads that waited for it when the process ended.
    pub waiting: Vec<usize>,
    /// Index of the thread that held it then (that acquired it last), if other threads waited for it.
    pub held_by: Reading<usize>,
    /// Call sites that requested it, sorted by waiting time, longest first.
    pub sites: Vec<LockSite>,
}

/// What `timed_first` is in records of versions that did not write it.
fn only_the_first() -> u64 {
    1
}

/// Functions of CPython that initialise or request the semaphores of its locks, such as `threading.Lock`.
const OF_PYTHON: [&str; 2] = ["PyThread_allocate_lock", "PyThread_acquire_lock_timed"];
/// Functions of CPython that initialise or request the conditions of the GIL.
const OF_GIL: [&str; 4] = ["create_gil", "take_gil", "PyCOND_WAIT", "PyCOND_TIMEDWAIT"];

impl LockUse {
    /// Returns whether it is a semaphore or condition that is part of a lock of Python.
    pub(crate) fn is_of_python(&self) -> bool {
        !self.kind.is_held() && (self.is_used_by(&OF_PYTHON) || self.is_used_by(&OF_GIL))
    }

    /// Returns the lock with [`LockUse::probably_gil`] computed from its functions. Other locks of Python are semaphores.
    pub(crate) fn with_probably_gil(self) -> Self {
        let probably_gil = self.kind == LockKind::Condition && self.is_used_by(&OF_GIL);
        LockUse { probably_gil, ..self }
    }

    /// Returns whether one of these functions initialised or requested it.
    fn is_used_by(&self, functions: &[&str]) -> bool {
        let made = self.made_at.as_ref().ok().map(|made| &made.function);
        let mut all = self.sites.iter().map(|site| &site.function).chain(made).flatten();
        all.any(|function| functions.contains(&function.as_str()))
    }

    /// Returns whether its total hold time is an estimate, because not all holds were timed.
    pub(crate) fn has_estimated_holds(&self) -> bool {
        let timed = [&self.holds_timed_contended, &self.holds_timed_sampled];
        let timed = timed.into_iter().flatten().fold(0_u64, |sum, many| sum.saturating_add(*many));
        self.hold_seconds.is_ok() && timed < self.acquisitions
    }

    /// Returns the total time that threads waited for it, in seconds; 0 if none did.
    pub fn waited(&self) -> f64 {
        self.wait_seconds.as_ref().map_or(0.0, |time| time.seconds())
    }
}

/// A thread, and how long it waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockThread {
    /// Index of its process in `processes`.
    pub process: usize,
    /// Thread ID, from gettid(2).
    pub tid: u32,
    /// Start function of the thread; absent for the main thread of a process.
    pub start: Reading<CodePlace>,
    /// The call in which it waited when its process ended; absent if it waited in no watched call.
    pub waits_at: Reading<CodePlace>,
    /// Time from its start, or from when it was first observed, to its end or the end of the process.
    pub life_seconds: Nanos,
    /// Time that it waited for mutexes, rwlocks and spinlocks.
    pub wait_seconds: Nanos,
    /// `wait_seconds` as a share of `life_seconds`.
    pub wait_ratio: Reading<f64>,
    /// Time that it waited for conditions and semaphores.
    pub wait_events_seconds: Nanos,
    /// Time that it waited for other threads to end.
    pub wait_joins_seconds: Nanos,
}

/// A process in which locks were watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockedProcess {
    /// Process ID, from getpid(2).
    pub pid: u32,
    /// Path of its program.
    pub program: Reading<String>,
    /// Whether a watched process created it by fork(2), and it has not executed another program since.
    pub forked: bool,
    /// Time from when it was first observed to its end, or to the end of the command.
    pub life_seconds: Nanos,
    /// Whether the watcher in the process observed its end. If not, it was killed, executed another program or ended
    /// without the C library.
    pub ended_itself: bool,
    /// Number of its threads, including those without an entry in `threads` of the record.
    pub threads: u32,
    /// Number of locks without an entry of their own, as far as known: they were destroyed and never waited for, or
    /// exceeded the limit.
    pub folded_locks: u64,
    /// Acquisitions of those locks.
    pub folded_acquisitions: u64,
    /// Contended acquisitions of those locks.
    pub folded_contended: u64,
    /// Time that threads waited for those locks.
    pub folded_wait_seconds: Nanos,
}

/// Waits for futexes, estimated by sampling all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FutexWaits {
    /// Total time that threads waited for any futex. It may exceed `thread_seconds`, because it includes processes that
    /// are not watched, and because each sample represents the time until the next one.
    pub wait_seconds: Nanos,
    /// The part of `wait_seconds` that belongs to no watched lock, condition or semaphore, nor to the end of a thread.
    pub other_seconds: Nanos,
    /// Twice the standard error of `other_seconds`.
    pub other_off_by_seconds: Nanos,
    /// Number of times that the threads were sampled.
    pub looks: u64,
    /// Programs whose threads waited for futexes that were not watched, each with the reason.
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

    /// Returns the threads that waited for something, or that are not alone in their process.
    pub(crate) fn threads_that_matter(&self) -> Vec<&LockThread> {
        let has_waited = |thread: &LockThread| {
            thread.wait_seconds + thread.wait_events_seconds + thread.wait_joins_seconds > Nanos::ZERO
        };
        let has_company = |thread: &LockThread| self.processes.get(thread.process).is_some_and(|of| of.threads > 1);
        self.threads.iter().filter(|thread| has_waited(thread) || has_company(thread)).collect()
    }

    /// Reads a record from its JSON text.
    ///
    /// # Errors
    /// Returns what is wrong with the text, and where. No input makes it panic. A record that it returns refers only to
    /// processes and threads that exist.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: Self = json::record(&SCHEMA, text)?;
        record.check()?;
        let locks = record.locks.into_iter().map(LockUse::with_probably_gil).collect();
        Ok(LocksRecord { locks, ..record })
    }

    /// Checks that every index of a process or thread exists, and that locks are numbered from 1.
    fn check(&self) -> Result<(), ReadError> {
        let holds = |is_so: bool, path: String, why: &str| {
            if is_so { Ok(()) } else { Err(ReadError::field(&path, why.to_owned())) }
        };
        let (processes, threads) = (self.processes.len(), self.threads.len());
        for (at, lock) in self.locks.iter().enumerate() {
            let is_numbered = usize::try_from(lock.id) == Ok(at + 1);
            holds(is_numbered, format!("locks[{at}].id"), "locks must be numbered from 1")?;
            holds(
                lock.process < processes,
                format!("locks[{at}].process"),
                "the record has no process with this index",
            )?;
            let are_there = lock.waiting.iter().all(|thread| *thread < threads);
            holds(are_there, format!("locks[{at}].waiting"), "the record has no thread with this index")?;
            let is_there = lock.held_by.as_ref().map_or(true, |thread| *thread < threads);
            holds(is_there, format!("locks[{at}].held_by"), "the record has no thread with this index")?;
        }
        for (at, thread) in self.threads.iter().enumerate() {
            holds(
                thread.process < processes,
                format!("threads[{at}].process"),
                "the record has no process with this index",
            )?;
        }
        Ok(())
    }
}

/// Returns a part of a lifetime as a share; absent if the lifetime is zero.
pub(crate) fn share_of_life(part: f64, life: f64) -> Reading<f64> {
    let ratio = part / life;
    if ratio.is_finite() { Ok(ratio) } else { Err(Absent::because("no thread was observed")) }
}

/// Serializes addresses as text: `0x55d012345040`. JSON readers that use doubles would lose digits of a number.
mod hexadecimal {
    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(super) fn serialize<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{address:#x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").ok_or_else(|| D::Error::custom("it must begin with 0x"))?;
        u64::from_str_radix(digits, 16).map_err(D::Error::custom)
    }
}

/// Deserializes a number above zero.
fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if number > 0 { Ok(number) } else { Err(D::Error::custom("it must be above zero")) }
}
