//! From a record of raw facts to the report: a pure function, so that the same record always gives the same digits.

mod breakdown;
mod evidence;
pub(crate) mod files;
mod join;
mod load;
mod startups;
mod status;
mod verdicts;
mod warnings;

pub(crate) use evidence::Evidence;
pub use join::{JoinError, join};
pub(crate) use status::status;

use steady_model::{Record, Report};

/// Judges a record.
pub fn judge(record: Record) -> Report {
    let failures = evidence::Failures::of(&record);
    let (judgements, course) = verdicts::judgements(&record, &failures);
    let breakdowns = breakdown::breakdowns(&record);
    let warnings = warnings::warnings(&record, &judgements, &failures);
    let startups = startups::startups(&record);
    Report { load: load::load(&record), startups, judgements, course, breakdowns, warnings, record }
}
