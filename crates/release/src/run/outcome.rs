//! The exit status that a report of a release asks for.

use crate::record::ReleaseReport;
use steady_model::{Interval, Verdict};

/// 1 where the condition of the gate surely holds, 4 where a verdict was required and there is none, else 0.
pub(crate) fn status(report: &ReleaseReport, require_verdict: bool) -> u8 {
    let open = !report.refused.is_empty() || report.total.verdict == Verdict::Undecided;
    if fails(report) {
        1
    } else if require_verdict && open {
        4
    } else {
        0
    }
}

/// Whether the condition surely holds: the verdict says so, and the whole interval lies beyond the limit.
fn fails(report: &ReleaseReport) -> bool {
    let Some(condition) = report.question.fail_if else { return false };
    let beyond = |interval: &Interval| match condition.verdict {
        Verdict::Slower => interval.low > condition.limit(),
        _ => interval.high < condition.limit(),
    };
    let total = &report.total;
    report.refused.is_empty() && total.verdict == condition.verdict && total.interval().as_ref().is_ok_and(beyond)
}
