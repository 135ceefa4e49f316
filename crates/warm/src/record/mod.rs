//! What is known of programs that are kept warm, and what that gains: the records and their JSON. The `kind` says which it is.

mod bench;
mod status;

use schemars::JsonSchema;
use steady_render::json::Schema;

pub use bench::{
    BenchKind, BenchPlan, BenchProgram, BenchRecord, BenchSession, BenchTrial, BreakEven, Effect, LaunchMode, Mean,
    Means, Measure, ModeFigures, PaidBack, SessionCounts, Spent,
};
pub(crate) use bench::{confidence, finite, of_mode};
pub use status::{Answer, KeptProgram, Launches, ProgramState, Question, StatusRecord, StoreFacts};

/// The schema of [`StatusRecord`] and of [`BenchRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.warm/1", what: "programs kept warm" };

/// Everything that has this schema.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Export {
    /// What is kept.
    Status(StatusRecord),
    /// What that gains.
    Bench(BenchRecord),
}
