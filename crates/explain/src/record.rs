//! What is kept of an explained command, and of two whose difference was explained: the records and their JSON.
//!
//! Both have one schema: the JSON of one command has `command`, that of two has `commands`.

mod counts;
mod figures;
mod one;
mod pair;

use schemars::JsonSchema;
use serde::Serialize;
use steady_feature::Record;
use steady_model::{Absent, Nanos, Reading};
use steady_render::json::{ReadError, Schema};

pub use counts::{Counts, ProcessUse, Progress};
pub use one::{ExplainRecord, Part};
pub use pair::{Difference, ExplainPairRecord, Line, PairExport};

/// The schema of [`ExplainRecord`] and [`ExplainPairRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.explain/1", what: "an explanation" };

/// No run lasts longer: 97 days. Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);

/// Either kind of record in JSON, for the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Explanation {
    /// One command.
    One(Box<ExplainRecord>),
    /// The difference of two.
    Pair(Box<PairExport<'static>>),
}

/// What could not be priced or counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// What is missing: `forks`, `the price of execs`.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// The record in a JSON text, with what follows from it. A difference needs its samples.
pub(crate) fn read(text: &str) -> Result<Box<dyn Record>, ReadError> {
    if SCHEMA.value(text)?.get("commands").is_some() {
        return Ok(Box::new(ExplainPairRecord::read(text)?));
    }
    Ok(Box::new(ExplainRecord::read(text)?))
}

/// Why user and system time have no tick.
pub(crate) fn exact() -> Absent {
    Absent::because("user and system time are exact")
}

/// The place of what is derived.
pub(crate) fn not_judged<T>() -> Reading<T> {
    Err(Absent::because("it was not judged"))
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}
