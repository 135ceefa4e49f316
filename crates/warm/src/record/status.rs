//! The record of the store: its programs and their snapshots.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use steady_model::{Bytes, Nanos, Reading, Timestamp};
use steady_render::timestamp;

/// The state of a store and of its programs. The fields are those of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatusRecord {
    /// Which subcommand was run.
    #[serde(rename = "kind")]
    pub question: Question,
    /// When the store was read.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub now: Timestamp,
    /// The store of this user, as used since the last boot.
    pub store: Reading<StoreFacts>,
    /// The programs that the user named, or all.
    pub programs: Vec<KeptProgram>,
}

/// The subcommand that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// `status`: list what is in the store.
    Status,
    /// `snapshot`: create snapshots of programs now.
    Snapshot,
    /// `why`: explain why programs are or are not started from a snapshot.
    Why,
}

/// A store and its counters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoreFacts {
    /// The path of its directory.
    pub directory: String,
    /// Disk space that its snapshots use.
    pub size_bytes: Bytes,
    /// Disk space that its snapshots may use.
    pub limit_bytes: Bytes,
    /// Whether a keeper works in it now.
    pub keeper: bool,
    /// Number of programs that wait for a capture.
    pub requested: usize,
    /// Their paths, those that are launched most often first.
    pub requested_programs: Vec<String>,
    /// Numbers of launches, by outcome.
    pub launches: Reading<Launches>,
    /// CPU time that creating snapshots used.
    pub capture_cpu_seconds: Reading<Nanos>,
    /// Why the last capture failed, if none has succeeded since.
    pub trouble: Option<String>,
}

/// Numbers of launches by outcome, as the hook counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Launches {
    /// Started from a snapshot.
    pub warm: u64,
    /// As usual: the program had no snapshot yet.
    pub no_card: u64,
    /// As usual: the program is refused.
    pub refused: u64,
    /// As usual: the program or a file that it loads has changed.
    pub changed: u64,
    /// As usual: a variable of the environment differs from the capture.
    pub environment: u64,
    /// As usual: a limit, the personality or the users of the process do not fit.
    pub limits: u64,
    /// As usual: executing the snapshot failed.
    pub not_executed: u64,
    /// As usual: the card or the snapshot of the program could not be read.
    pub broken: u64,
    /// As usual: it was started by a call that the hook leaves to the real function.
    pub other_way: u64,
    /// As usual: the program was started by a name or a path for which it has no snapshot.
    pub other_name: u64,
}

/// A program in a store.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KeptProgram {
    /// Its path; the path that the user gave if the store has no such program.
    pub program: String,
    /// Its state in the store.
    #[serde(flatten)]
    pub state: ProgramState,
    /// Number of its snapshots.
    pub snapshots: u32,
    /// Disk space that they use.
    pub size_bytes: Bytes,
    /// Number of launches from a snapshot since the first capture of this file. Later captures do not reset it.
    pub warm_launches: Reading<u64>,
    /// Number of launches as usual since then.
    pub missed_launches: Reading<u64>,
    /// When its snapshots were created, or it was refused.
    #[serde(serialize_with = "moment")]
    #[schemars(with = "Reading<String>")]
    pub created: Reading<Timestamp>,
    /// Whether its snapshots contain the hook, so that programs it starts can start from snapshots too.
    pub hook_inside: bool,
    /// How it would be started here and now, for [`Question::Why`] only.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The state of a program in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum ProgramState {
    /// It has snapshots that are current.
    Warm,
    /// It has a card, but the program or a file that it loads has changed since.
    Stale {
        /// What has changed since the capture.
        reason: String,
    },
    /// It is always started as usual.
    Refused {
        /// Why it is refused.
        reason: String,
    },
    /// It is a script; its interpreter can have snapshots.
    Script {
        /// The interpreter that its first line names.
        interpreter: String,
        /// The argument that its first line gives the interpreter.
        argument: Option<String>,
        /// The path of the interpreter without symbolic links.
        interpreter_program: String,
        /// The state of the interpreter.
        interpreter_state: Box<ProgramState>,
    },
    /// The store has no information about it.
    Unknown,
}

impl ProgramState {
    /// The state's name in reports: `warm`, `stale`, `refused`, `script`, `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            ProgramState::Warm => "warm",
            ProgramState::Stale { .. } => "stale",
            ProgramState::Refused { .. } => "refused",
            ProgramState::Script { .. } => "script",
            ProgramState::Unknown => "unknown",
        }
    }

    /// Why the program is stale or refused; `None` in other states.
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
    /// All reasons against a snapshot; empty if there are none.
    pub against: Vec<String>,
}

impl Answer {
    /// Creates the answer from the reasons against a snapshot.
    pub fn new(against: Vec<String>) -> Self {
        Answer { would_be_warm: against.is_empty(), against }
    }
}

fn moment<S: Serializer>(moment: &Reading<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    moment.as_ref().map(|moment| timestamp::text(*moment)).serialize(serializer)
}
