//! Whether what was read can be true.

use steady_model::{ChangeEstimate, Interval, Reading, ReleaseChange, ReleaseReport};

use super::course::LONGEST;
use crate::json::ReadError;
use crate::json::check::holds;

/// An error where the window ends before it begins, shares are none, or ends of intervals are the wrong way round.
pub(super) fn check(report: &ReleaseReport) -> Result<(), ReadError> {
    let question = &report.question;
    holds(question.from <= question.to, "to", "the window ends before it begins")?;
    let share = |value: f64| value > 0.0 && value < 1.0;
    holds(share(question.confidence), "confidence", "it must lie between 0 and 1")?;
    holds(share(question.resolution), "resolution", "it must lie between 0 and 1")?;
    change(&report.total, "total")?;
    for (at, route) in report.routes.iter().enumerate() {
        change(&route.change, &format!("routes[{at}]"))?;
        estimate(&route.usual, &format!("routes[{at}].usual"))?;
    }
    for (at, host) in report.hosts.iter().enumerate() {
        change(&host.change, &format!("hosts[{at}]"))?;
    }
    estimate(&report.usual, "usual")?;
    for (at, tail) in report.tails.iter().enumerate() {
        estimate(&tail.above, &format!("tails[{at}].above"))?;
        estimate(&tail.below, &format!("tails[{at}].below"))?;
    }
    let steps = report.course.step_seconds > 0 || report.course.moments.is_empty();
    holds(steps, "course.step_seconds", "it must be above zero")?;
    let ordered = report.course.moments.windows(2).all(|pair| pair[0].second < pair[1].second);
    holds(ordered, "course.moments", "they are not in the order of time")?;
    let times = report.course.moments.iter().flat_map(|moment| moment.raw.iter().chain(&moment.adjusted));
    holds(times.flatten().all(|time| *time < LONGEST), "course.moments", "a request took longer than any can")
}

fn change(change: &ReleaseChange, path: &str) -> Result<(), ReadError> {
    in_order(&change.interval, path)
}

fn estimate(estimate: &ChangeEstimate, path: &str) -> Result<(), ReadError> {
    in_order(&estimate.interval, path)
}

fn in_order(interval: &Reading<Interval>, path: &str) -> Result<(), ReadError> {
    let ordered = |interval: &Interval| interval.low <= interval.high;
    holds(interval.as_ref().map_or(true, ordered), &format!("{path}.high"), "it is below the lower end")
}
