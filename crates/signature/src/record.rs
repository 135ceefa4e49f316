//! Records of signatures: of files, and of the bench that measures what an allocator's lock costs.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Absent, Bytes, Ending, Host, Interval, Nanos, Reading, RunKind, Seed, Timestamp, Verdict};
use steady_render::json::{Group, Schema, group};
use steady_workloads::signature::{Allocator, Crew, Waits};

/// JSON schema of [`FilesRecord`] and [`BenchRecord`].
pub const SCHEMA: Schema = Schema { name: "steady.signature/1", what: "signatures" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("signature");

/// Signatures of files. Fields have the names of the JSON export.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename = "files")]
#[schemars(rename = "FilesRecord")]
pub struct FilesRecord {
    /// Allocator of the nodes of the trees.
    #[serde(serialize_with = "allocator")]
    #[schemars(with = "String")]
    pub allocator: Allocator,
    /// Size of each worker's pool, if the allocator has pools.
    #[serde(serialize_with = "pool")]
    #[schemars(with = "Reading<Bytes>")]
    pub pool_bytes: Option<Bytes>,
    /// Size of a block. Another size gives another signature.
    pub block_bytes: Bytes,
    /// Files in the order of the command line.
    pub files: Vec<SignedFile>,
    /// Whether text, Markdown and HTML contain the cost of a signature. JSON and CSV always contain it.
    #[serde(skip)]
    pub stats: bool,
}

/// A file and its signature.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SignedFile {
    /// Name of the file on the command line.
    pub name: String,
    /// Signature of the file, or the reason why it has none.
    #[serde(flatten, serialize_with = "signed")]
    #[schemars(with = "Group<Signed>")]
    pub signed: Reading<Signed>,
}

/// Signature of a file, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Signed {
    /// Signature of the file, below 2,147,483,647.
    pub signature: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Workers that computed the signature.
    #[serde(flatten, serialize_with = "crew")]
    #[schemars(with = "CrewFields")]
    pub crew: Crew,
    /// Wall time from before the first byte was read until the last worker ended.
    pub elapsed_seconds: Nanos,
    /// CPU time of all workers.
    pub cpu_seconds: Nanos,
    /// User time of all workers. Absent if they were too short for the kernel's ticks.
    pub user_seconds: Reading<Nanos>,
    /// System time of all workers; see `user_seconds`.
    pub system_seconds: Reading<Nanos>,
    /// Size of the file divided by `elapsed_seconds`.
    pub bytes_per_second: Reading<f64>,
    /// Number of nodes that were allocated.
    pub allocations: u64,
    /// Use of the allocator's lock.
    #[serde(flatten, serialize_with = "lock")]
    #[schemars(with = "Group<Lock>")]
    pub lock: Reading<Lock>,
    /// Largest resident memory of a process of `steady` so far.
    pub peak_memory_bytes: Reading<Bytes>,
}

/// Use of an allocator's lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lock {
    /// Number of acquisitions of the lock.
    pub lock_acquisitions: u64,
    /// Number of acquisitions while another worker held the lock.
    pub lock_contended: u64,
    /// Time that workers waited for the lock, summed over all workers.
    pub lock_waited_seconds: Nanos,
}

impl Lock {
    /// Returns the use of an allocator's lock.
    ///
    /// # Errors
    /// The lock is one of the C library, which is not measured.
    pub(crate) fn of(allocator: Allocator, waits: Waits) -> Reading<Self> {
        match allocator {
            Allocator::System => Err(Absent::because("the C library does not report the use of its locks")),
            _ => Ok(Lock {
                lock_acquisitions: waits.acquisitions,
                lock_contended: waits.contended,
                lock_waited_seconds: waits.waited,
            }),
        }
    }
}

/// Cost of an allocator's lock: a comparison of allocators, workers and sizes. Fields have the names of the JSON
/// export.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename = "bench")]
#[schemars(rename = "BenchRecord")]
pub struct BenchRecord {
    /// Seed of the random order.
    pub seed: Seed,
    /// Time at which the bench started.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Intended duration of the bench.
    pub budget_seconds: Nanos,
    /// Actual duration of the bench.
    pub elapsed_seconds: Nanos,
    /// Machine of the bench.
    pub host: Host,
    /// Number of available CPUs.
    pub cpus: u32,
    /// Length of the ticks at which the kernel samples user and system time. Absent if both are exact, and in records
    /// of earlier versions.
    pub tick_seconds: Reading<Nanos>,
    /// Data caches of a CPU.
    pub caches: Vec<Cache>,
    /// Source of the bytes.
    pub input: Input,
    /// Number of rounds, including an incomplete last one.
    pub rounds: usize,
    /// Confidence level of all intervals.
    pub confidence: f64,
    /// How the bench ended: its budget was spent, or it was interrupted.
    pub ending: Ending,
    /// Conditions with their measurements.
    pub conditions: Vec<MeasuredCondition>,
    /// Answers to the questions.
    pub answers: Vec<Answer>,
    /// Rounds. The runs of each are in their random order; slow conditions are not in every round.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Vec<BenchRun>>,
}

impl BenchRecord {
    /// Returns the answers to one question.
    pub fn answers_to(&self, question: Question) -> impl Iterator<Item = &Answer> {
        self.answers.iter().filter(move |answer| answer.question == question)
    }
}

/// A data cache of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Name of its level, such as `L1`.
    pub name: String,
    /// Size of the cache.
    pub size_bytes: Bytes,
}

/// Source of the bytes that signatures are computed of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Pseudo-random bytes, the same on every machine.
    Made,
    /// First bytes of the file with this name.
    File(String),
}

/// One way to compute a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchCondition {
    /// Allocator of the nodes.
    #[serde(serialize_with = "allocator", deserialize_with = "allocator_of")]
    #[schemars(with = "String")]
    pub allocator: Allocator,
    /// Number of threads that work.
    pub workers: u32,
    /// Size of the input.
    pub bytes: u64,
    /// Size of each worker's pool, or of the area of scattered nodes. `None` if the allocator has neither.
    #[serde(serialize_with = "pool", deserialize_with = "pool_of")]
    #[schemars(with = "Reading<Bytes>")]
    pub pool_bytes: Option<Bytes>,
    /// Whether a single worker and its pool are reused by all runs, so that their creation is not part of the time.
    pub kept: bool,
}

/// A condition and its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredCondition {
    /// Condition that was measured.
    #[serde(flatten)]
    pub condition: BenchCondition,
    /// Measurements of the condition.
    #[serde(flatten, serialize_with = "figures")]
    #[schemars(with = "Group<Figures>")]
    pub figures: Reading<Figures>,
}

/// Cost of a signature under a condition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Number of rounds in which the condition ran.
    pub runs: usize,
    /// Wall time of a signature: the median over the rounds.
    pub wall_seconds: f64,
    /// Interval of the median.
    #[serde(flatten, serialize_with = "wall")]
    #[schemars(with = "WallEnds")]
    pub wall_interval: Reading<Interval>,
    /// CPU time of a signature: the mean over all runs.
    pub cpu_seconds: f64,
    /// User time of a signature: the mean over all runs. Absent if all runs together were too short for the kernel's
    /// ticks.
    pub user_seconds: Reading<f64>,
    /// System time of a signature; see `user_seconds`.
    pub system_seconds: Reading<f64>,
    /// Size of the input divided by `wall_seconds`.
    pub bytes_per_second: Reading<f64>,
    /// Number of lock acquisitions per signature.
    pub lock_acquisitions: Reading<f64>,
    /// Share of the time of all workers that they waited for the lock.
    pub lock_waiting_ratio: Reading<f64>,
}

/// Question that a bench answers: a ratio of two wall times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Time of the global list divided by that of a pool.
    Gain,
    /// Time of the global list with a thread for each block divided by that of a pool per block with fewer workers: the two
    /// published programs.
    Published,
    /// Time of the global list with a thread for each block divided by that with fewer workers.
    ThreadPerBlock,
    /// Time of a pool for each block, from the locked list, divided by that of a pool for each worker.
    PoolPerBlock,
    /// Time of the global list divided by that of a free list per worker without a lock.
    Lock,
    /// Time of a free list per worker divided by that of a pool: the cost of searching and of headers.
    List,
    /// Time of the global list divided by that of a pool, with a single worker.
    Alone,
    /// Time of a single worker divided by that of all workers, with pools.
    PoolParallel,
    /// Time of a single worker divided by that of all workers, with the global list.
    GlobalParallel,
    /// Time of a pool whose nodes are far apart divided by that of a pool with adjacent nodes.
    Locality,
    /// Time of a larger pool divided by that of the smallest, if both start over with each block.
    PoolRoom,
    /// Time of a pool that starts over only when it is full, divided by that of one that starts over with each block.
    /// There is an answer for each size.
    PoolSize,
}

/// Answer to a question, by the wall times of rounds in which both conditions ran.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Question that is answered.
    pub question: Question,
    /// Index of the condition in the denominator.
    pub beside: usize,
    /// Index of the condition in the numerator.
    pub condition: usize,
    /// Number of rounds in which both ran.
    pub pairs: usize,
    /// Whether the times differ.
    pub verdict: Verdict,
    /// Time of `condition` divided by that of `beside`.
    pub factor: Reading<f64>,
    /// Interval of the factor.
    #[serde(flatten, serialize_with = "ends")]
    #[schemars(with = "Group<Interval>")]
    pub interval: Reading<Interval>,
}

/// Several consecutive signatures under one condition, timed together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BenchRun {
    /// Index of the condition.
    pub condition: usize,
    /// Number of signatures in the run.
    pub times: u32,
    /// Wall time of all signatures of the run.
    pub wall_seconds: Nanos,
    /// User time of all signatures of the run. If the kernel samples it by ticks, only sums over many runs are
    /// meaningful.
    pub user_seconds: Nanos,
    /// System time of all signatures of the run; see `user_seconds`.
    pub system_seconds: Nanos,
    /// Use of the allocator's lock in the whole run.
    #[serde(flatten, serialize_with = "lock")]
    #[schemars(with = "Group<Lock>")]
    pub lock: Reading<Lock>,
}

/// A [`BenchRun`] in JSON.
#[derive(Deserialize)]
struct BenchRunFields {
    condition: usize,
    times: u32,
    wall_seconds: Nanos,
    user_seconds: Nanos,
    system_seconds: Nanos,
    lock_acquisitions: Reading<u64>,
    lock_contended: Reading<u64>,
    lock_waited_seconds: Reading<Nanos>,
}

impl<'de> Deserialize<'de> for BenchRun {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = BenchRunFields::deserialize(deserializer)?;
        let lock = |acquisitions, contended, waited| {
            Ok(Lock { lock_acquisitions: acquisitions?, lock_contended: contended?, lock_waited_seconds: waited? })
        };
        Ok(BenchRun {
            condition: fields.condition,
            times: fields.times,
            wall_seconds: fields.wall_seconds,
            user_seconds: fields.user_seconds,
            system_seconds: fields.system_seconds,
            lock: lock(fields.lock_acquisitions, fields.lock_contended, fields.lock_waited_seconds),
        })
    }
}

impl BenchRun {
    /// Returns the wall time of one signature, in seconds.
    pub fn seconds(&self) -> f64 {
        self.wall_seconds.seconds() / f64::from(self.times.max(1))
    }
}

/// Returns bytes per second, or the reason if no time has passed.
pub(crate) fn rate(bytes: u64, seconds: f64) -> Reading<f64> {
    Some(bytes as f64 / seconds)
        .filter(|rate| rate.is_finite())
        .ok_or_else(|| Absent::because("the time is below the resolution of the clock"))
}

fn allocator<S: Serializer>(allocator: &Allocator, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(allocator.name())
}

fn allocator_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Allocator, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = Allocator::ALL.into_iter().find(|allocator| allocator.name() == name);
    found.ok_or_else(|| D::Error::custom("unknown allocator"))
}

fn pool_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    Ok(Reading::<Bytes>::deserialize(deserializer)?.ok())
}

fn pool<S: Serializer>(pool: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    pool.ok_or("this allocator has no pools").serialize(serializer)
}

#[derive(Serialize, JsonSchema)]
struct CrewFields {
    /// Kind of workers: `threads`, `processes` or `single`.
    crew: &'static str,
    /// Number of threads or processes. If `steady` chose it for a stream: of those that read a part of it.
    workers: u32,
}

fn crew<S: Serializer>(crew: &Crew, serializer: S) -> Result<S::Ok, S::Error> {
    CrewFields { crew: crew.name(), workers: crew.workers() }.serialize(serializer)
}

fn signed<S: Serializer>(signed: &Reading<Signed>, serializer: S) -> Result<S::Ok, S::Error> {
    group(&["signature"], signed, serializer)
}

fn lock<S: Serializer>(lock: &Reading<Lock>, serializer: S) -> Result<S::Ok, S::Error> {
    group(&["lock_acquisitions", "lock_contended", "lock_waited_seconds"], lock, serializer)
}

fn figures<S: Serializer>(figures: &Reading<Figures>, serializer: S) -> Result<S::Ok, S::Error> {
    group(&["wall_seconds"], figures, serializer)
}

#[derive(Serialize, JsonSchema)]
struct WallEnds {
    wall_low_seconds: Reading<f64>,
    wall_high_seconds: Reading<f64>,
}

fn wall<S: Serializer>(interval: &Reading<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    let end = |pick: fn(&Interval) -> f64| interval.as_ref().map(pick).map_err(Clone::clone);
    let ends =
        WallEnds { wall_low_seconds: end(|interval| interval.low), wall_high_seconds: end(|interval| interval.high) };
    ends.serialize(serializer)
}

fn ends<S: Serializer>(interval: &Reading<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    group(&["low", "high"], interval, serializer)
}
