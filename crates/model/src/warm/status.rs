//! What is known of programs that are kept warm.

use std::path::PathBuf;

use crate::{Bytes, Nanos, Reading, Timestamp};

/// What was asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmQuestion {
    /// What is in it.
    Status,
    /// That programs be taken now.
    Snapshot,
    /// Why programs are or are not started from a snapshot.
    Why,
}

impl WarmQuestion {
    /// Its name in reports: `status`, `snapshot`, `why`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WarmQuestion::Status => "status",
            WarmQuestion::Snapshot => "snapshot",
            WarmQuestion::Why => "why",
        }
    }
}

/// How launches went, as the hook counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaunchOutcome {
    /// From a snapshot.
    Warm,
    /// As usual, for the program had not been taken yet.
    NoCard,
    /// As usual, for the program is refused.
    Refused,
    /// As usual, for the program or a file that it loads has changed.
    Changed,
    /// As usual, for a variable of the environment speaks against it.
    Environment,
    /// As usual, for a limit, the personality or the users of the process speak against it.
    Limits,
    /// As usual, for the snapshot could not be executed.
    NotExecuted,
    /// As usual, for what is known of the program could not be read.
    Broken,
    /// As usual, for it was started in a way that snapshots are not made for.
    OtherWay,
    /// As usual, for the program was called by a name or a path that its snapshots do not have.
    OtherName,
}

impl LaunchOutcome {
    /// All of them, in the order of reports.
    pub const ALL: [LaunchOutcome; 10] = [
        LaunchOutcome::Warm,
        LaunchOutcome::NoCard,
        LaunchOutcome::Refused,
        LaunchOutcome::Changed,
        LaunchOutcome::Environment,
        LaunchOutcome::Limits,
        LaunchOutcome::NotExecuted,
        LaunchOutcome::Broken,
        LaunchOutcome::OtherWay,
        LaunchOutcome::OtherName,
    ];

    /// Its name in reports: `warm`, `no_card`, ...
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LaunchOutcome::Warm => "warm",
            LaunchOutcome::NoCard => "no_card",
            LaunchOutcome::Refused => "refused",
            LaunchOutcome::Changed => "changed",
            LaunchOutcome::Environment => "environment",
            LaunchOutcome::Limits => "limits",
            LaunchOutcome::NotExecuted => "not_executed",
            LaunchOutcome::Broken => "broken",
            LaunchOutcome::OtherWay => "other_way",
            LaunchOutcome::OtherName => "other_name",
        }
    }
}

/// What a program is to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarmState {
    /// It has snapshots that can be used.
    Warm,
    /// It has snapshots, but something has changed since: what.
    Stale(String),
    /// It is started as usual, always: why.
    Refused(String),
    /// It is a script: its interpreter, and the argument that its first line gives that.
    Script {
        /// The interpreter.
        interpreter: String,
        /// The argument.
        argument: Option<String>,
    },
    /// Nothing is known of it yet.
    Unknown,
}

impl WarmState {
    /// Its name in reports: `warm`, `stale`, `refused`, `script`, `unknown`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            WarmState::Warm => "warm",
            WarmState::Stale(_) => "stale",
            WarmState::Refused(_) => "refused",
            WarmState::Script { .. } => "script",
            WarmState::Unknown => "unknown",
        }
    }
}

/// A program as a store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptProgram {
    /// Its path; as it was asked for where nothing is known of it.
    pub program: String,
    /// What it is.
    pub state: WarmState,
    /// How many snapshots it has.
    pub copies: u32,
    /// What they take on disk.
    pub size: Bytes,
    /// How often it was started from one.
    pub warm_launches: Reading<u64>,
    /// How often it was started as usual, though it has snapshots.
    pub usual_launches: Reading<u64>,
    /// When it was taken or refused.
    pub taken: Reading<Timestamp>,
    /// Whether it has the hook in it, so that what it starts is warm too.
    pub hook_inside: bool,
    /// What speaks against a snapshot if it were started here and now; nothing where it would be started from one. Asked
    /// for by [`WarmQuestion::Why`] only.
    pub against: Option<Vec<String>>,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmStore {
    /// Its folder.
    pub folder: PathBuf,
    /// What its snapshots take on disk.
    pub size: Bytes,
    /// What they may take.
    pub limit: Bytes,
    /// Whether a keeper works in it now.
    pub keeper: bool,
    /// How many programs are wanted that have not been taken yet.
    pub wanted: usize,
    /// How launches went.
    pub launches: Reading<Vec<(LaunchOutcome, u64)>>,
    /// CPU time that taking programs used.
    pub cpu: Reading<Nanos>,
    /// What kept a program from being taken last, if nothing has been taken since.
    pub trouble: Option<String>,
}

/// What is told of programs that are kept warm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmReport {
    /// What was asked.
    pub question: WarmQuestion,
    /// When.
    pub now: Timestamp,
    /// The store of this user since the last boot; absent where there is none.
    pub store: Reading<WarmStore>,
    /// The programs that were asked about, or all.
    pub programs: Vec<KeptProgram>,
}
