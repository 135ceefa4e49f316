//! What the machine was doing meanwhile, and what that did to the interval.

use steady_model::{Reading, Report};

use super::page::{Page, Paint};
use crate::units::{TIE, percent};

/// A line per reading; those that are absent together, by reason.
pub(super) fn write(report: &Report, page: &mut Page) {
    let activity = &report.record.activity;
    let alone = report.record.plan.commands.len() == 1;
    let preempted = if report.load.preempted_ratio.is_finite() {
        Ok(report.load.preempted_ratio)
    } else {
        Err(steady_model::Absent::because("no pairs"))
    };
    let pairs = if alone { "of the runs" } else { "of the pairs" };
    let throttled = activity.throttled_ratio.as_ref().is_ok_and(|ratio| *ratio > 0.0);
    let mut lines: Vec<(&str, &Reading<f64>, &str)> = vec![
        ("CPUs in use", &activity.busy_ratio, ""),
        ("taken by the host", &activity.steal_ratio, ""),
        ("queue for a CPU", &activity.pressure, "of the time"),
        ("runs queued", &report.load.run_delay_ratio, "of their wall time"),
        ("runs interrupted", &preempted, pairs),
    ];
    if throttled {
        lines.push(("held by the quota", &activity.throttled_ratio, "of the time"));
    }
    page.heading("What the machine did meanwhile");
    let labels = lines.iter().map(|(label, ..)| label.len()).max().unwrap_or(0);
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (label, reading, of) in &lines {
        match reading {
            Ok(ratio) => page.item(label, labels, &[(Paint::Plain, format!("{} {of}", percent(*ratio)))]),
            Err(absent) => match reasons.iter_mut().find(|(reason, _)| *reason == absent.0) {
                Some((_, labels)) => labels.push(label),
                None => reasons.push((&absent.0, vec![label])),
            },
        }
    }
    for (reason, absent) in reasons {
        page.item("absent", labels, &[(Paint::Plain, format!("{}: {reason}", absent.join(", ")))]);
    }
    widening(report, page);
}

/// By how much load that moved widened the intervals of the verdicts.
fn widening(report: &Report, page: &mut Page) {
    let many = report.record.plan.commands.len() > 2;
    let factors: Vec<String> = report
        .primary()
        .filter_map(|judgement| {
            let factor = judgement.widening.filter(|factor| factor.is_finite())?;
            let whose = if many { format!("command{TIE}{}: ", judgement.command + 1) } else { String::new() };
            Some(format!("{whose}{factor:.1}x"))
        })
        .collect();
    if !factors.is_empty() {
        let text = format!("Load that moved widened the interval: {} (1.0x: not at all)", factors.join(", "));
        page.paragraph(2, 4, &[(Paint::Plain, text)]);
    }
}
