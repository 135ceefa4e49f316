//! Evaluates a record. This is a pure function: the same record always gives the same digits.

mod breakdown;
mod evidence;
pub(crate) mod files;
mod join;
mod load;
mod ranking;
mod startups;
mod status;
mod verdicts;
mod warnings;

pub(crate) use evidence::Evidence;
pub use join::{JoinError, join};
pub(crate) use status::{state, status};

use steady_model::{Record, Report};

/// Computes the report of a record: verdicts, breakdowns, load and warnings.
pub fn judge(record: Record) -> Report {
    let failures = evidence::Failures::of(&record);
    let (judgements, course) = verdicts::judgements(&record, &failures);
    let ranking = ranking::ranking(&record, &judgements);
    let breakdowns = breakdown::breakdowns(&record);
    let warnings = warnings::warnings(&record, &judgements, &failures);
    let startups = startups::startups(&record);
    Report { load: load::load(&record), startups, judgements, ranking, course, breakdowns, warnings, record }
}
