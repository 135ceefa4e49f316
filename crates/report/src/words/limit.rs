//! A limited command in words.

use steady_model::{LimitOutcome, LimitReport, Nanos, Outcome};

use super::count;
use crate::units::{TIE, percent, time, time_setting};

/// What became of it, in one sentence: first what claims something, then what explains it.
pub(crate) fn limit_sentence(report: &LimitReport) -> (String, String) {
    let plan = &report.plan;
    let used = format!("{} of {} of CPU time", amount(report.cpu), time_setting(plan.cpu));
    match report.outcome {
        LimitOutcome::Ok => {
            let how = match report.ended {
                Outcome::Exited(0) => "The command ended by itself".to_owned(),
                Outcome::Exited(status) => format!("The command ended by itself with status{TIE}{status}"),
                Outcome::Signalled(signal) => format!("Signal{TIE}{signal} ended the command"),
                Outcome::TimedOut => "The command was ended".to_owned(),
            };
            (how, format!(" within its limits: {used}."))
        }
        LimitOutcome::CpuLimit => {
            let beyond = match &report.overshoot {
                Ok(overshoot) => format!(", {} more than the limit of {}", amount(*overshoot), time_setting(plan.cpu)),
                Err(_) => String::new(),
            };
            ("CPU limit reached".to_owned(), format!(": the command used {} of CPU time{beyond}.", amount(report.cpu)))
        }
        LimitOutcome::WallLimit => {
            let limit = time_setting(wall_limit(report));
            let excluded = match &report.waiting {
                Ok(_) => "waiting for a CPU and stops not counted",
                Err(_) => "stops not counted",
            };
            ("Wall limit reached".to_owned(), format!(": {limit} had passed, {excluded}; the command used {used}."))
        }
    }
}

/// The facts below it: a label and what belongs to it.
pub(crate) fn limit_lines(report: &LimitReport) -> Vec<(&'static str, String)> {
    let counted = report.wall - report.stopped - report.waiting.clone().unwrap_or_default();
    let limit = time_setting(wall_limit(report));
    let mut lines = vec![
        ("CPU time", format!("{}, read live from {}", amount(report.cpu), report.source.name())),
        ("wall time", format!("{}; {} of it count towards the limit of {limit}", amount(report.wall), amount(counted))),
    ];
    lines.push(match &report.waiting {
        Ok(waiting) => ("waiting", format!("{} for a CPU, which do not count", amount(*waiting))),
        Err(absent) => ("waiting", format!("absent: {absent}; the wall limit counted it")),
    });
    if report.stopped > Nanos::ZERO {
        lines.push(("stopped", format!("{}, which do not count", amount(report.stopped))));
    }
    lines.push(match &report.steal_ratio {
        Ok(ratio) => ("steal", format!("{} of the CPUs' time went to other guests of the host", percent(*ratio))),
        Err(absent) => ("steal", format!("absent: {absent}")),
    });
    if report.left_behind > 0 {
        let left = count(report.left_behind as usize, "process", "processes");
        lines.push(("left behind", format!("{left}, ended with the command")));
    }
    lines.extend(report.passed_over.iter().map(|why| ("not read from", why.clone())));
    lines
}

/// What became of it in a few words, for a list: `cpu-limit, 5.01 s`, the CPU time that it used.
pub fn limit_summary(report: &LimitReport) -> String {
    format!("{}, {}", report.outcome.name(), amount(report.cpu)).replace(TIE, " ")
}

/// The wall time that was allowed.
pub(crate) fn wall_limit(report: &LimitReport) -> Nanos {
    Nanos::from_seconds(report.plan.wall_factor * report.plan.cpu.seconds())
}

fn amount(span: Nanos) -> String {
    time(span.seconds())
}
