//! The exit status of a comparison.

use steady_model::{Command, FailIf, GateState, Judgement, Plan, Record, Undecided, Verdict, Warning};

/// Why the comparison does not test the change between its revisions, if it does not.
pub(crate) fn untested(record: &Record) -> Option<Warning> {
    if record.unused_revisions {
        return Some(Warning::UnusedRevisions);
    }
    // A revision that is compared with itself has one name.
    let (first, others) = record.plan.commands.split_first()?;
    let is_same = |other: &Command| {
        (&other.revision, &other.argv, &other.environment) == (&first.revision, &first.argv, &first.environment)
    };
    let is_one =
        first.revision.is_some() && others.iter().all(is_same) && others.iter().any(|other| other.name != first.name);
    is_one.then_some(Warning::OneRevision)
}

/// Whether a condition holds for a judgement. That is not known if the change is not tested, if unequal failures make the
/// sample unfair, or if the mean may lie on the other side of the limit than the usual run.
pub(crate) fn state(fail_if: FailIf, judgement: &Judgement, is_tested: bool) -> GateState {
    let of = |interval| fail_if.evaluate(judgement.metric, judgement.verdict, interval);
    match of(&judgement.interval) {
        _ if !is_tested || judgement.undecided == Ok(Undecided::UnequalFailures) => GateState::Open,
        GateState::DoesNotHold if judgement.mean_open && of(&judgement.mean.interval) != GateState::DoesNotHold => {
            GateState::Open
        }
        state => state,
    }
}

/// The exit status for these verdicts under the conditions of the plan. With a condition, the answer that
/// `--require-verdict` requires is whether it holds. Without one, it is a verdict on a change that is tested.
pub(crate) fn status(plan: &Plan, judgements: &[Judgement], is_tested: bool) -> u8 {
    let primary = || judgements.iter().filter(|judgement| judgement.primary);
    let is = |fail_if: FailIf, wanted: GateState| primary().any(|one| state(fail_if, one, is_tested) == wanted);
    let is_open = || match plan.fail_if {
        Some(fail_if) => is(fail_if, GateState::Open),
        None => !is_tested || primary().any(|judgement| judgement.verdict == Verdict::Undecided),
    };
    if primary().any(|judgement| judgement.undecided == Ok(Undecided::UnequalFailures)) {
        3
    } else if plan.fail_if.is_some_and(|fail_if| is(fail_if, GateState::Holds)) {
        1
    } else if plan.require_verdict && is_open() {
        4
    } else {
        0
    }
}
