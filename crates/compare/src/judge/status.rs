//! The exit status of a comparison.

use steady_model::{FailIf, GateState, Judgement, Plan, Undecided, Verdict};

/// The exit status for these verdicts under the conditions of the plan. With a condition, the answer that
/// `--require-verdict` requires is whether it holds.
pub(crate) fn status(plan: &Plan, judgements: &[Judgement]) -> u8 {
    let primary = || judgements.iter().filter(|judgement| judgement.primary);
    let is = |fail_if: FailIf, state: GateState| {
        primary().any(|judgement| fail_if.evaluate(judgement.metric, judgement.verdict, &judgement.interval) == state)
    };
    let is_open = || match plan.fail_if {
        Some(fail_if) => is(fail_if, GateState::Open),
        None => primary().any(|judgement| judgement.verdict == Verdict::Undecided),
    };
    if primary().any(|judgement| judgement.undecided == Some(Undecided::UnequalFailures)) {
        3
    } else if plan.fail_if.is_some_and(|fail_if| is(fail_if, GateState::Holds)) {
        1
    } else if plan.require_verdict && is_open() {
        4
    } else {
        0
    }
}
