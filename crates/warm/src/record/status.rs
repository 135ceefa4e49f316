//! What is known of programs that are kept warm.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use steady_model::{Bytes, Nanos, Reading, Timestamp};
use steady_render::timestamp;

/// What a store says of programs. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatusRecord {
    /// What was asked.
    #[serde(rename = "kind")]
    pub question: Question,
    /// When.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub now: Timestamp,
    /// The store of this user since the last boot.
    pub store: Reading<StoreFacts>,
    /// The programs that were asked about, or all.
    pub programs: Vec<KeptProgram>,
}

/// What was asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// What is in it.
    Status,
    /// To create snapshots of programs now.
    Snapshot,
    /// Why programs are or are not started from a snapshot.
    Why,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoreFacts {
    /// Its folder.
    pub folder: String,
    /// What its snapshots take on disk.
    pub size_bytes: Bytes,
    /// What they may take.
    pub limit_bytes: Bytes,
    /// Whether a keeper works in it now.
    pub keeper: bool,
    /// How many programs are wanted that have no snapshot yet.
    pub wanted: usize,
    /// How launches went.
    pub launches: Reading<Launches>,
    /// CPU time that creating snapshots used.
    pub taking_cpu_seconds: Reading<Nanos>,
    /// Why a snapshot could not be created last, if none has been created since.
    pub trouble: Option<String>,
}

/// How launches went, as the hook counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Launches {
    /// From a snapshot.
    pub warm: u64,
    /// As usual: the program had no snapshot yet.
    pub no_card: u64,
    /// As usual: the program is refused.
    pub refused: u64,
    /// As usual: the program or a file that it loads has changed.
    pub changed: u64,
    /// As usual: a variable of the environment speaks against it.
    pub environment: u64,
    /// As usual: a limit, the personality or the users of the process speak against it.
    pub limits: u64,
    /// As usual: the snapshot could not be executed.
    pub not_executed: u64,
    /// As usual: what is known of the program could not be read.
    pub broken: u64,
    /// As usual: it was started in a way that snapshots are not made for.
    pub other_way: u64,
    /// As usual: the program was called by a name or a path that its snapshots do not have.
    pub other_name: u64,
}

/// A program as a store knows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KeptProgram {
    /// Its path; as it was asked for if nothing is known of it.
    pub program: String,
    /// What it is.
    #[serde(flatten)]
    pub state: ProgramState,
    /// How many snapshots it has.
    pub copies: u32,
    /// What they take on disk.
    pub size_bytes: Bytes,
    /// How often it was started from one.
    pub warm_launches: Reading<u64>,
    /// How often it was started as usual, though it has snapshots.
    pub usual_launches: Reading<u64>,
    /// When its snapshots were created, or it was refused.
    #[serde(serialize_with = "moment")]
    #[schemars(with = "Reading<String>")]
    pub taken: Reading<Timestamp>,
    /// Whether it has the hook in it, so that what it starts is warm too.
    pub hook_inside: bool,
    /// How it would be started here and now, for [`Question::Why`] only.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// What a program is to a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum ProgramState {
    /// It has snapshots that can be used.
    Warm,
    /// It has snapshots, but something has changed since.
    Stale {
        /// What has changed.
        reason: String,
    },
    /// It is started as usual, always.
    Refused {
        /// Why.
        reason: String,
    },
    /// It is a script.
    Script {
        /// The interpreter.
        interpreter: String,
        /// The argument that its first line gives the interpreter.
        argument: Option<String>,
    },
    /// Nothing is known of it yet.
    Unknown,
}

impl ProgramState {
    /// Its name in reports: `warm`, `stale`, `refused`, `script`, `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            ProgramState::Warm => "warm",
            ProgramState::Stale { .. } => "stale",
            ProgramState::Refused { .. } => "refused",
            ProgramState::Script { .. } => "script",
            ProgramState::Unknown => "unknown",
        }
    }

    /// Why it is not warm, if there is a reason.
    pub fn reason(&self) -> Option<&str> {
        match self {
            ProgramState::Stale { reason } | ProgramState::Refused { reason } => Some(reason),
            _ => None,
        }
    }
}

/// How a program would be started here and now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Whether it would be started from a snapshot.
    pub would_be_warm: bool,
    /// What speaks against that.
    pub against: Vec<String>,
}

impl Answer {
    /// The answer if these reasons speak against a snapshot.
    pub fn new(against: Vec<String>) -> Self {
        Answer { would_be_warm: against.is_empty(), against }
    }
}

fn moment<S: Serializer>(moment: &Reading<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    moment.as_ref().map(|moment| timestamp::text(*moment)).serialize(serializer)
}
