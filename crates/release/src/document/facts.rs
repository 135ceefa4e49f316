//! Facts about the comparison: window, versions, design, CPUs, settings.

use steady_model::{Interval, Nanos, Reading, Timestamp};
use steady_render::document::Fact;
use steady_render::letters::{numbered, one_line};
use steady_render::timestamp;
use steady_render::units::{decimals, duration, fixed, percent, setting, time};

use super::sentences::cpus_used;
use super::{named_reason, number};
use crate::record::{ReleaseReport, ReleaseSide, UnexplainedCpu};

/// Formats the window: `5.0 min from 2026-11-21T09:05:00Z`.
fn window(report: &ReleaseReport) -> String {
    let (from, to) = (report.question.from, report.question.to);
    let long = Nanos::from_seconds(to.saturating_sub(from) as f64);
    format!("{} from {}", duration(long), timestamp::text(Timestamp(from)))
}

/// Returns the facts below the tables.
pub(super) fn facts(report: &ReleaseReport) -> Vec<Fact> {
    let question = &report.question;
    let mut facts = vec![Fact::new("service", one_line(&question.service)), Fact::new("window", window(report))];
    for (label, side) in ["OLD", "NEW"].into_iter().zip(&report.sides) {
        facts.push(Fact::new(label, of_side(side)));
    }
    facts.push(Fact::new("design", report.design.name()));
    facts.push(Fact::new("CPUs", cpus(report)));
    let unexplained = report.unexplained.as_ref().ok();
    facts.extend(unexplained.map(|unexplained| Fact::new("process CPU", explained(report, unexplained))));
    let settings = format!("resolution ±{}; confidence {}", setting(question.resolution), setting(question.confidence));
    let gate = question.fail_if.map_or(String::new(), |condition| format!("; --fail-if {condition}"));
    facts.push(Fact::new("settings", settings + &gate));
    if let Some(last) = report.looks.last() {
        let looks = numbered(report.looks.len() as u64, "look", "looks");
        facts.push(Fact::new("followed", format!("{looks}, the last at {}", timestamp::text(Timestamp(last.to)))));
    }
    facts
}

/// Formats the share of the processes' CPU time that requests explain: `requests explain 97 % of it`.
fn explained(report: &ReleaseReport, unexplained: &UnexplainedCpu) -> String {
    let sides = unexplained.sides().map_or(String::new(), |[old, new]| {
        let [old_name, new_name] = super::versions(report);
        format!(" ({} of {old_name}, {} of {new_name})", percent(1.0 - old), percent(1.0 - new))
    });
    format!("requests explain {} of it{sides}", percent(1.0 - unexplained.ratio))
}

/// Formats the CPUs used, and the CPUs saved if the first sentence does not report them.
fn cpus(report: &ReleaseReport) -> String {
    let saving = match &report.saving {
        Ok(saving) => saving,
        Err(absent) => return format!("not available: {}", named_reason(&absent.0)),
    };
    let used = format!("{} used by both versions together", cpus_used(saving));
    let Interval { low, high } = saving.interval;
    if low > 0.0 || high < 0.0 {
        return used;
    }
    let half = saving.interval.half_width();
    if !half.is_finite() {
        return format!("{used}; how many all requests would use on NEW instead of OLD is not known");
    }
    let [more, less] = [-low, high].map(|cpus| fixed(cpus, decimals(half)));
    format!(
        "{used}; no saving was shown: on NEW, all requests would use at most {more} CPUs more and at most {less} CPUs less \
         than on OLD"
    )
}

/// Describes a version: `v1: 12,400 requests (3 failed); 8 processes on 1 host, served in 300 seconds; mean 2.31 ms of
/// CPU time, 9.8 ms of wall time`.
fn of_side(side: &ReleaseSide) -> String {
    let failed = if side.failed > 0 { format!(" ({} failed)", number(side.failed)) } else { String::new() };
    let first_requests = if side.first_requests > 0 {
        format!(", not counting {} of processes that were warming up", number(side.first_requests))
    } else {
        String::new()
    };
    let mean = |reading: &Reading<_>, what: &str| match reading {
        Ok(mean) => format!("{} of {what}", time(Nanos::seconds(*mean))),
        Err(absent) => format!("{what} not available: {}", named_reason(&absent.0)),
    };
    let processes = match &side.processes {
        Ok(processes) => format!("{} on ", numbered(*processes as u64, "process", "processes")),
        Err(_) => String::new(),
    };
    format!(
        "{}: {}{failed}{first_requests}; {processes}{}, served in {}; mean {}, {}",
        one_line(&side.version),
        numbered(side.requests, "request", "requests"),
        numbered(side.hosts as u64, "host", "hosts"),
        numbered(side.seconds, "second", "seconds"),
        mean(&side.cpu_mean, "CPU time"),
        mean(&side.wall_mean, "wall time")
    )
}
