//! What an allocator's lock costs: allocators, workers and sizes beside one another.

use crate::{
    Bytes, Ending, Host, Interval, Nanos, Reading, Seed, SignatureAllocator, SignatureLock, Timestamp, Verdict,
};

/// One way to make a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureCondition {
    /// Where nodes come from.
    pub allocator: SignatureAllocator,
    /// How many threads work.
    pub workers: u32,
    /// How much they work on.
    pub bytes: u64,
    /// The size of each worker's pool, or of the area that scattered nodes lie in; nothing where there is none.
    pub pool: Option<Bytes>,
    /// Whether a single worker and its pool are kept from run to run, so that neither is made while the clock runs.
    pub kept: bool,
}

/// What signatures are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureInput {
    /// Bytes of a generator.
    Made,
    /// The first bytes of a file.
    File(String),
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureBenchPlan {
    /// Of what.
    pub input: SignatureInput,
    /// The ways, each beside the others.
    pub conditions: Vec<SignatureCondition>,
    /// The size of the worker's pools where they are not what is varied.
    pub pool: Bytes,
    /// The caches of a CPU: what they are called, and how large they are.
    pub caches: Vec<(String, Bytes)>,
    /// How many CPUs there are to work on.
    pub cpus: u32,
    /// How long it may take.
    pub budget: Nanos,
    /// The seed of the order.
    pub seed: Seed,
}

/// So many signatures in a row, made in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureRun {
    /// Which condition of the plan.
    pub condition: usize,
    /// How many.
    pub times: u32,
    /// Wall time of all.
    pub wall: Nanos,
    /// User time of all.
    pub user: Nanos,
    /// System time of all.
    pub system: Nanos,
    /// What the allocator's lock came to, over all.
    pub lock: Reading<SignatureLock>,
}

impl SignatureRun {
    /// Wall time of one signature, in seconds.
    pub fn seconds(&self) -> f64 {
        self.wall.seconds() / f64::from(self.times.max(1))
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureBenchRecord {
    /// What was to be.
    pub plan: SignatureBenchPlan,
    /// The machine.
    pub host: Host,
    /// The time of day when it was begun.
    pub started: Timestamp,
    /// Rounds, each in an order drawn by coin: all conditions, or those whose turn it was.
    pub rounds: Vec<Vec<SignatureRun>>,
    /// How long it took.
    pub elapsed: Nanos,
    /// How it ended.
    pub ending: Ending,
}

/// What a condition came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureFigures {
    /// In how many rounds it was run.
    pub runs: usize,
    /// Wall time of a signature in seconds: the median over the rounds.
    pub wall: f64,
    /// Where that median lies, at 95 %.
    pub wall_interval: Reading<Interval>,
    /// User time of a signature in seconds, over all runs.
    pub user: f64,
    /// System time likewise.
    pub system: f64,
    /// How often the lock was taken for a signature.
    pub acquisitions: Reading<f64>,
    /// The share of all workers' time that they waited for the lock.
    pub waiting: Reading<f64>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureQuestion {
    /// How many times a pool's time the global list takes.
    Gain,
    /// How many times the time of a free list each, without a lock.
    Lock,
    /// How many times a pool's time that takes: searching, and headers.
    List,
    /// How many times a pool's time the global list takes with a single worker.
    Alone,
    /// How many times the time of all workers a single one takes, with pools.
    PoolParallel,
    /// The same with the global list.
    GlobalParallel,
    /// How many times a pool's time one takes whose nodes lie far apart.
    Locality,
    /// How many times the time of a pool that starts over with each block one takes that is walked through whole: by its size.
    PoolSize,
    /// How many times the time of the smallest pool a larger one takes, where both start over with each block.
    PoolRoom,
}

impl SignatureQuestion {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SignatureQuestion::Gain => "gain",
            SignatureQuestion::Lock => "lock",
            SignatureQuestion::List => "list",
            SignatureQuestion::Alone => "alone",
            SignatureQuestion::PoolParallel => "pool_parallel",
            SignatureQuestion::GlobalParallel => "global_parallel",
            SignatureQuestion::Locality => "locality",
            SignatureQuestion::PoolSize => "pool_size",
            SignatureQuestion::PoolRoom => "pool_room",
        }
    }
}

/// An answer: by wall time, from the rounds in which both were run.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureAnswer {
    /// To what.
    pub question: SignatureQuestion,
    /// What is beside it.
    pub old: usize,
    /// What is told.
    pub new: usize,
    /// How many rounds tell.
    pub pairs: usize,
    /// How many times the time of `old` the other takes.
    pub factor: Reading<f64>,
    /// Where that lies, at 95 %.
    pub interval: Reading<Interval>,
    /// Whether they differ.
    pub verdict: Verdict,
}

/// The whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureBenchReport {
    /// What each condition of the plan came to.
    pub figures: Vec<Reading<SignatureFigures>>,
    /// The answers.
    pub answers: Vec<SignatureAnswer>,
    /// What it rests on.
    pub record: SignatureBenchRecord,
}

impl SignatureBenchReport {
    /// The answers to one question.
    pub fn answers_to(&self, question: SignatureQuestion) -> impl Iterator<Item = &SignatureAnswer> {
        self.answers.iter().filter(move |answer| answer.question == question)
    }
}
