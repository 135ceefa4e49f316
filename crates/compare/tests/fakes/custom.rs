//! Custom metrics: the verdict is about the numbers that the commands report.

use steady_compare::judge;
use steady_compare::run::compare;
use steady_model::{FailIf, GateState, Judgement, Layout, Metric, Plan, Verdict};
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{plan, setting};

/// A comparison of two commands of which the second one needs `ratio` times the CPU time. The value of the custom metric
/// is proportional to the CPU time.
fn judged(source: &str, ratio: f64, seed: u64) -> (Plan, Judgement) {
    let mut plan = Plan { metrics: vec![source.parse().unwrap()], ..plan(2, 5.0, seed) };
    let primary = plan.custom_metrics().next();
    plan.metric = primary;
    plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond: 0.02 });
    let mut machine = SimulatedMachine::new(&[0.010, 0.010 * ratio], Conditions::QUIET, seed);
    machine.value_per_second = vec![1e5];
    let report = judge(compare(&plan, setting(), &mut machine, &mut |_| {}).unwrap());
    assert!(report.record.blocks.iter().all(|block| block.layout == Layout::Turns));
    let spread = report.breakdowns[1].values[0].1.as_ref().unwrap();
    assert!((spread.mean / (1e3 * ratio) - 1.0).abs() < 0.05, "{spread:?}");
    let primary = report.primary().next().unwrap().clone();
    (plan, primary)
}

#[test]
fn a_larger_value_is_slower_or_faster() {
    for (source, ratio, verdict, state) in [
        ("cost[ms]", 1.1, Verdict::Slower, GateState::Holds),
        ("cost[ms]", 0.9, Verdict::Faster, GateState::DoesNotHold),
        ("rate[1/s,more]", 1.1, Verdict::Faster, GateState::DoesNotHold),
        ("rate[1/s,more]", 0.9, Verdict::Slower, GateState::Holds),
        ("rate[1/s,more]", 1.0, Verdict::Same, GateState::DoesNotHold),
    ] {
        let (plan, judgement) = judged(source, ratio, 7);
        assert_eq!(judgement.verdict, verdict, "{source} {ratio}: {judgement:?}");
        assert!((judgement.change.clone().unwrap() - (ratio - 1.0)).abs() < 0.01, "{judgement:?}");
        assert_eq!(judgement.is_more(), ratio > 1.0 && verdict != Verdict::Same, "{source} {ratio}");
        let condition = plan.fail_if.unwrap();
        let found = condition.evaluate(judgement.metric, judgement.verdict, &judgement.interval);
        assert_eq!(found, state, "{source} {ratio}: {judgement:?}");
    }
}

#[test]
fn a_metric_that_was_read_is_that_of_the_plan() {
    let (plan, judgement) = judged("rate[1/s,more]", 1.1, 8);
    let read: Metric = serde_json::from_str("\"rate\"").unwrap();
    assert!(!read.is_more_better());
    assert_eq!(plan.resolved(read), Some(judgement.metric));
    let unknown: Metric = serde_json::from_str("\"other\"").unwrap();
    assert_eq!(plan.resolved(unknown), None);
}
