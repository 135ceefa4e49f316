//! What the machine was doing during the runs, and what that did to the interval.

use steady_model::{Reading, Report};
use steady_render::document::Fact;
use steady_render::units::{TIE, percent};

use crate::words::counted;

/// What the CPU's counters are called here.
const COUNTERS: &str = "CPU counters";

/// What there is to say of the machine.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    super::facts(lines(report))
}

/// A line per reading, its label apart; those that are absent together, by reason.
fn lines(report: &Report) -> Vec<(&'static str, String)> {
    let activity = &report.record.activity;
    let alone = report.record.plan.commands.len() == 1;
    let preempted = if report.load.preempted_ratio.is_finite() {
        Ok(report.load.preempted_ratio)
    } else {
        Err(steady_model::Absent::because("no pairs"))
    };
    let preemption =
        if alone { "of the runs lost their CPU at times" } else { "of the pairs had a run that lost its CPU" };
    let throttled = activity.throttled_ratio.as_ref().is_ok_and(|ratio| *ratio > 0.0);
    let mut readings: Vec<(&str, &Reading<f64>, &str)> = vec![
        ("CPUs busy", &activity.busy_ratio, "of their time"),
        ("steal", &activity.steal_ratio, "of their time went to other guests of the host"),
        ("CPU pressure", &activity.pressure, "of the time something waited for a CPU"),
        ("run delay", &report.load.run_delay_ratio, "of the runs' wall time was waiting for a CPU"),
        ("preemption", &preempted, preemption),
    ];
    if throttled {
        readings.push(("throttling", &activity.throttled_ratio, "of the time the quota held the commands back"));
    }
    let mut lines = Vec::new();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (label, reading, of) in readings {
        match reading {
            Ok(ratio) => lines.push((label, format!("{} {of}", percent(*ratio)))),
            Err(absent) => match reasons.iter_mut().find(|(reason, _)| *reason == absent.0) {
                Some((_, labels)) => labels.push(label),
                None => reasons.push((&absent.0, vec![label])),
            },
        }
    }
    match &report.record.counters {
        Ok(scope) => lines.push((COUNTERS, counted(*scope).to_owned())),
        Err(absent) => reasons.push((&absent.0, vec![COUNTERS])),
    }
    lines.extend(reasons.into_iter().map(|(reason, absent)| ("absent", format!("{}: {reason}", absent.join(", ")))));
    lines.extend(widening(report).map(|text| ("widening", text)));
    lines
}

/// By how much load that moved widened the intervals of the verdicts.
fn widening(report: &Report) -> Option<String> {
    let many = report.record.plan.commands.len() > 2;
    let factors: Vec<String> = report
        .primary()
        .filter_map(|judgement| {
            let factor = judgement.widening.filter(|factor| factor.is_finite())?;
            let whose = if many { format!("{}:{TIE}", judgement.command + 1) } else { String::new() };
            Some(format!("{whose}{factor:.1}x"))
        })
        .collect();
    let text = || format!("{} as wide an interval from load that moved (1.0x: no wider)", factors.join(", "));
    (!factors.is_empty()).then(text)
}
