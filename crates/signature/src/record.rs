//! What is reported of signatures: those of files, and what an allocator's lock costs.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use steady_model::{Absent, Bytes, Ending, Host, Interval, Nanos, Reading, Seed, Timestamp, Verdict};
use steady_render::json::{Group, Schema, group};
use steady_workloads::signature::{Allocator, Crew, Waits};

/// The schema of [`FilesRecord`] and [`BenchRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.signature/1", what: "signatures" };

/// Files and their signatures. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename = "files")]
#[schemars(rename = "FilesRecord")]
pub struct FilesRecord {
    /// Where the nodes of the trees came from.
    #[serde(serialize_with = "allocator")]
    #[schemars(with = "String")]
    pub allocator: Allocator,
    /// The size of a worker's pool, if there are pools.
    #[serde(serialize_with = "pool")]
    #[schemars(with = "Reading<Bytes>")]
    pub pool_bytes: Option<Bytes>,
    /// The files in the order in which they were given.
    pub files: Vec<SignedFile>,
    /// Whether what a signature took is shown. In text, Markdown and HTML only: JSON and CSV always have it.
    #[serde(skip)]
    pub stats: bool,
}

/// One of the files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SignedFile {
    /// Its name as it was given.
    pub name: String,
    /// Its signature, or why there is none.
    #[serde(flatten, serialize_with = "signed")]
    #[schemars(with = "Group<Signed>")]
    pub signed: Reading<Signed>,
}

/// A file's signature, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Signed {
    /// The signature.
    pub signature: u64,
    /// The file's size.
    pub bytes: u64,
    /// Who worked on it.
    #[serde(flatten, serialize_with = "crew")]
    #[schemars(with = "CrewFields")]
    pub crew: Crew,
    /// From before the first byte was read until the last worker had ended.
    pub elapsed_seconds: Nanos,
    /// User time of all workers.
    pub user_seconds: Nanos,
    /// System time of all workers.
    pub system_seconds: Nanos,
    /// Its size over `elapsed_seconds`.
    pub bytes_per_second: Reading<f64>,
    /// How many nodes were allocated.
    pub allocations: u64,
    /// The allocator's lock.
    #[serde(flatten, serialize_with = "lock")]
    #[schemars(with = "Group<Lock>")]
    pub lock: Reading<Lock>,
    /// The most memory that a process of ours has had.
    pub peak_memory_bytes: Reading<Bytes>,
}

/// How the lock of an allocator was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lock {
    /// How often it was taken.
    pub lock_acquisitions: u64,
    /// How often another worker had it.
    pub lock_contended: u64,
    /// How long workers waited for it, all together.
    pub lock_waited_seconds: Nanos,
}

impl Lock {
    /// What is known of the lock of an allocator.
    ///
    /// # Errors
    /// It is not one of ours.
    pub(crate) fn of(allocator: Allocator, waits: Waits) -> Reading<Self> {
        match allocator {
            Allocator::System => Err(Absent::because("the C library does not tell of its locks")),
            _ => Ok(Lock {
                lock_acquisitions: waits.acquisitions,
                lock_contended: waits.contended,
                lock_waited_seconds: waits.waited,
            }),
        }
    }
}

/// What an allocator's lock costs: allocators, workers and sizes next to one another. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename = "bench")]
#[schemars(rename = "BenchRecord")]
pub struct BenchRecord {
    /// The seed of the order.
    pub seed: Seed,
    /// When it was begun.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// How long it might take.
    pub budget_seconds: Nanos,
    /// How long it took.
    pub elapsed_seconds: Nanos,
    /// The machine.
    pub host: Host,
    /// How many CPUs there were to work on.
    pub cpus: u32,
    /// The caches of a CPU.
    pub caches: Vec<Cache>,
    /// What signatures were made of.
    pub input: Input,
    /// How many rounds there were.
    pub rounds: usize,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// How it ended.
    pub ending: Ending,
    /// The conditions, each with what was measured.
    pub conditions: Vec<MeasuredCondition>,
    /// The answers.
    pub answers: Vec<Answer>,
    /// The rounds, each in an order drawn by coin: all conditions, or those whose turn it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Vec<BenchRun>>,
}

impl BenchRecord {
    /// The answers to one question.
    pub fn answers_to(&self, question: Question) -> impl Iterator<Item = &Answer> {
        self.answers.iter().filter(move |answer| answer.question == question)
    }
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cache {
    /// What it is called: `L1`.
    pub name: String,
    /// Its size.
    pub size_bytes: Bytes,
}

/// What signatures are made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Bytes of a generator.
    Made,
    /// The first bytes of a file.
    File(String),
}

/// One way to make a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BenchCondition {
    /// Where nodes come from.
    #[serde(serialize_with = "allocator")]
    #[schemars(with = "String")]
    pub allocator: Allocator,
    /// How many threads work.
    pub workers: u32,
    /// How much they work on.
    pub bytes: u64,
    /// The size of each worker's pool, or of the area that scattered nodes lie in; none without either.
    #[serde(serialize_with = "pool")]
    #[schemars(with = "Reading<Bytes>")]
    pub pool_bytes: Option<Bytes>,
    /// Whether a single worker and its pool are kept from run to run, so that neither is made while the clock runs.
    pub kept: bool,
}

/// A condition and what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredCondition {
    /// The condition.
    #[serde(flatten)]
    pub condition: BenchCondition,
    /// Its figures.
    #[serde(flatten, serialize_with = "figures")]
    #[schemars(with = "Group<Figures>")]
    pub figures: Reading<Figures>,
}

/// What a signature takes under a condition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// In how many rounds it was run.
    pub runs: usize,
    /// Wall time of a signature: the median over the rounds.
    pub wall_seconds: f64,
    /// The interval of that median.
    #[serde(flatten, serialize_with = "wall")]
    #[schemars(with = "WallEnds")]
    pub wall_interval: Reading<Interval>,
    /// User time of a signature, over all runs.
    pub user_seconds: f64,
    /// System time likewise.
    pub system_seconds: f64,
    /// The condition's bytes over `wall_seconds`.
    pub bytes_per_second: Reading<f64>,
    /// How often the lock was taken for a signature.
    pub lock_acquisitions: Reading<f64>,
    /// The share of all workers' time that they waited for the lock.
    pub lock_waiting_ratio: Reading<f64>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// How many times a pool's time the global list takes.
    Gain,
    /// How many times the time of a free list for each worker, without a lock, the global list takes.
    Lock,
    /// How many times a pool's time a free list for each worker takes: searching, and headers.
    List,
    /// How many times a pool's time the global list takes with a single worker.
    Alone,
    /// How many times the time of all workers a single one takes, with pools.
    PoolParallel,
    /// The same with the global list.
    GlobalParallel,
    /// How many times a pool's time one takes whose nodes lie far apart.
    Locality,
    /// How many times the time of the smallest pool a larger one takes, if both start over with each block.
    PoolRoom,
    /// How many times the time of a pool that starts over with each block one takes that is walked through whole, by its size.
    PoolSize,
}

/// An answer: by wall time, from the rounds in which both conditions were run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// The number of the condition that the other is compared with.
    pub beside: usize,
    /// The number of the condition that the answer is about.
    pub condition: usize,
    /// How many rounds had both.
    pub pairs: usize,
    /// Whether they differ.
    pub verdict: Verdict,
    /// How many times the time of `beside` the other takes.
    pub factor: Reading<f64>,
    /// The interval of `factor`.
    #[serde(flatten, serialize_with = "ends")]
    #[schemars(with = "Group<Interval>")]
    pub interval: Reading<Interval>,
}

/// Several signatures in a row, made under one condition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BenchRun {
    /// The number of the condition.
    pub condition: usize,
    /// How many signatures were made.
    pub times: u32,
    /// Wall time of all.
    pub wall_seconds: Nanos,
    /// User time of all.
    pub user_seconds: Nanos,
    /// System time of all.
    pub system_seconds: Nanos,
    /// The allocator's lock, over all.
    #[serde(flatten, serialize_with = "lock")]
    #[schemars(with = "Group<Lock>")]
    pub lock: Reading<Lock>,
}

impl BenchRun {
    /// Wall time of one signature, in seconds.
    pub fn seconds(&self) -> f64 {
        self.wall_seconds.seconds() / f64::from(self.times.max(1))
    }
}

/// A rate, unless no time has passed.
pub(crate) fn rate(bytes: u64, seconds: f64) -> Reading<f64> {
    Some(bytes as f64 / seconds)
        .filter(|rate| rate.is_finite())
        .ok_or_else(|| Absent::because("the clock did not move"))
}

fn allocator<S: Serializer>(allocator: &Allocator, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(allocator.name())
}

fn pool<S: Serializer>(pool: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    pool.ok_or("this allocator has no pools").serialize(serializer)
}

#[derive(Serialize, JsonSchema)]
struct CrewFields {
    /// Who worked: `threads`, `processes` or `single`.
    crew: &'static str,
    /// How many.
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
