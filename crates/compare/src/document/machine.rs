//! The load of the machine during the runs, and how much it widened the interval.

use steady_model::{Reading, Report};
use steady_render::document::Fact;
use steady_render::units::{TIE, percent};

use crate::words::counted;

/// The label of the CPU's counters.
const COUNTERS: &str = "CPU counters";

/// The load of the machine, as labelled facts.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    super::facts(lines(report))
}

/// One line per reading: its label and its text. Readings that are not available share one line per reason.
fn lines(report: &Report) -> Vec<(&'static str, String)> {
    let activity = &report.record.activity;
    let alone = report.record.plan.commands.len() == 1;
    let preempted = if report.load.preempted_ratio.is_finite() {
        Ok(report.load.preempted_ratio)
    } else {
        Err(steady_model::Absent::because("there is no pair"))
    };
    let preemption = if alone { "of the runs were preempted" } else { "of the pairs had a run that was preempted" };
    let throttled = activity.throttled_ratio.as_ref().is_ok_and(|ratio| *ratio > 0.0);
    let mut readings: Vec<(&str, &Reading<f64>, &str)> = vec![
        ("CPUs busy", &activity.busy_ratio, "of their time"),
        ("steal", &activity.steal_ratio, "of their time went to other guests of the host"),
        ("CPU pressure", &activity.pressure, "of the time some process waited for a CPU"),
        ("run delay", &report.load.run_delay_ratio, "of the runs' wall time was spent waiting for a CPU"),
        ("preemption", &preempted, preemption),
    ];
    if throttled {
        readings.push(("throttling", &activity.throttled_ratio, "of the time the quota throttled the commands"));
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
    let missing = |(reason, labels): (&str, Vec<&str>)| ("not measured", format!("{}: {reason}", labels.join(", ")));
    lines.extend(reasons.into_iter().map(missing));
    lines.extend(widening(report).map(|text| ("widening", text)));
    lines
}

/// How much changing load widened the intervals of the verdicts.
fn widening(report: &Report) -> Option<String> {
    let many = report.record.plan.commands.len() > 2;
    let factors: Vec<String> = report
        .primary()
        .filter_map(|judgement| {
            let factor = judgement.widening.filter(|factor| factor.is_finite())?;
            let whose = if many { format!("{}:{TIE}", judgement.command + 1) } else { String::new() };
            Some(format!("{whose}{factor:.1}"))
        })
        .collect();
    let text = || format!("changing load widened the interval by a factor of {} (1: not at all)", factors.join(", "));
    (!factors.is_empty()).then(text)
}
