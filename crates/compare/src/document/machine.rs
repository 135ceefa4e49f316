//! The load of the machine during the runs, and how much it widened the interval.

use steady_model::{Absent, Report};
use steady_render::document::{Fact, ReadingFacts};
use steady_render::units::{TIE, percent};

use crate::words::{counted, time_with_run_delay};

/// The load of the machine, as labelled facts. Readings that are not available share one fact per reason.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    let activity = &report.record.activity;
    let alone = report.record.plan.commands.len() == 1;
    let preempted = if report.load.preempted_ratio.is_finite() {
        Ok(report.load.preempted_ratio)
    } else {
        Err(Absent::because("there is no pair"))
    };
    let preemption = match alone {
        true => "of runs were preempted more often than quiet runs",
        false => "of pairs had a run preempted more often than quiet runs",
    };
    let of = time_with_run_delay(&report.record);
    let delay = |ratio: &f64| format!("{} of {of} was spent waiting for a CPU", percent(*ratio));
    let mut facts = ReadingFacts::default();
    facts.add_activity(activity);
    facts.add("run delay", &report.load.run_delay_ratio, delay);
    facts.add("preemption", &preempted, |ratio| format!("{} {preemption}", percent(*ratio)));
    facts.add_throttling(activity);
    facts.add("CPU counters", &report.record.counters, |scope| counted(*scope).to_owned());
    facts.finish().into_iter().chain(widening(report).map(|text| Fact::new("widening", text))).collect()
}

/// How much changing load widened the intervals of the verdicts.
fn widening(report: &Report) -> Option<String> {
    let many = report.record.plan.commands.len() > 2;
    let factors: Vec<String> = report
        .primary()
        .filter_map(|judgement| {
            let factor = judgement.widening.as_ref().ok().filter(|factor| factor.is_finite())?;
            let whose = if many { format!("{}:{TIE}", judgement.command + 1) } else { String::new() };
            Some(format!("{whose}{factor:.1}"))
        })
        .collect();
    let text = || format!("changing load widened the interval by a factor of {} (1: not at all)", factors.join(", "));
    (!factors.is_empty()).then(text)
}
