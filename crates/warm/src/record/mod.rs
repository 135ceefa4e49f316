//! The records of `steady warm` and their JSON: the state of the store, and the bench. The field `kind` says which it
//! is.

mod bench;
mod status;

use schemars::JsonSchema;
use steady_model::RunKind;
use steady_render::json::Schema;

pub use bench::{
    BenchKind, BenchPlan, BenchProgram, BenchRecord, BenchSession, BenchTrial, BreakEven, Effect, LaunchMode, Mean,
    Means, Measure, ModeFigures, PaidBack, SessionCounts, Spent,
};
pub(crate) use bench::{confidence, finite, of_mode};
pub use status::{Answer, KeptProgram, Launches, ProgramState, Question, StatusRecord, StoreFacts};

/// The schema of [`StatusRecord`] and of [`BenchRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.warm/1", what: "programs started from snapshots" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("warm");

/// All records with this schema.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Export {
    /// The programs in the store, and whether they would be started from a snapshot.
    Status(StatusRecord),
    /// What launches from snapshots gain.
    Bench(BenchRecord),
}
