//! The exit status of a comparison.

use steady_model::{FailIf, Interval, Judgement, Plan, Undecided, Verdict};

/// The exit status that these verdicts ask for.
pub(crate) fn status(plan: &Plan, judgements: &[Judgement]) -> u8 {
    let primary = || judgements.iter().filter(|judgement| judgement.primary);
    if primary().any(|judgement| judgement.undecided == Some(Undecided::UnequalFailures)) {
        3
    } else if plan.fail_if.is_some_and(|condition| primary().any(|judgement| met(&condition, judgement))) {
        1
    } else if plan.require_verdict && primary().any(|judgement| judgement.verdict == Verdict::Undecided) {
        4
    } else {
        0
    }
}

/// Whether a condition surely holds: the verdict says so, and the whole interval of the size lies beyond the limit.
fn met(condition: &FailIf, judgement: &Judgement) -> bool {
    let beyond = |interval: &Interval| match condition.verdict {
        Verdict::Slower => interval.low > condition.limit(),
        _ => interval.high < condition.limit(),
    };
    judgement.verdict == condition.verdict && judgement.interval.as_ref().is_ok_and(beyond)
}
