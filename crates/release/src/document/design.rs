//! Sentences about the design of the comparison, and about what would lead to a verdict.

use steady_model::{Nanos, Verdict};
use steady_render::document::{Emphasis, Span};
use steady_render::units::{setting, time_setting};

use super::hosts::one_version_each;
use super::versions;
use super::warnings::is_limited_by_allowance;
use crate::record::{ReleaseDesign, ReleaseReport, RestsOn};

/// Beyond this many times the traffic so far, the estimates of the change and of its spread are too rough to say how much
/// more a verdict needs.
const MOST_EXTRAPOLATED: f64 = 10.0;

/// Longer times are reported as more than a week.
const TOO_LONG_MINUTES: f64 = 7.0 * 24.0 * 60.0;

/// Advice if the host is the unit of the comparison.
const BY_HOSTS: &str = "More hosts narrow the interval. More traffic hardly does, because its width comes from the \
                        differences between hosts.";

/// Describes the design, and the assumptions that its interval needs unless the comparison is refused.
pub(super) fn design(report: &ReleaseReport) -> Vec<Span> {
    let [old, new] = versions(report);
    if !report.refused.is_empty() {
        return vec![plain(&format!("Design: one after the other, because {old} and {new} ran at different times."))];
    }
    let mut spans = match report.design {
        ReleaseDesign::RandomPerRequest => vec![plain(
            "Random per request: a coin chose the version of each request, so the interval needs no assumption about \
             load.",
        )],
        ReleaseDesign::Switchback => vec![plain(
            "Switchback: a coin chose the order of the versions in each pair of time slots, so the interval needs no \
             assumption about load.",
        )],
        ReleaseDesign::Canary => vec![
            (Emphasis::Open, "Model-based".to_owned()),
            plain(&format!(
                " (canary): some processes ran {old} while others ran {new}. No coin chose between them, so the \
                 interval rests on a model of how processes differ."
            )),
        ],
        ReleaseDesign::OneAfterTheOther => vec![
            (Emphasis::Open, "Model-based".to_owned()),
            plain(&format!(
                " (one after the other): {old} and {new} ran at different times. No coin chose the times, so the \
                 interval rests on a model of the load."
            )),
        ],
    };
    let adjustment = adjustment(report);
    if !adjustment.is_empty() {
        spans.push(plain(&format!(" {adjustment}")));
    }
    spans
}

fn plain(text: &str) -> Span {
    (Emphasis::Plain, text.to_owned())
}

/// Describes how the estimate is adjusted for load, unless the coins make that unnecessary.
fn adjustment(report: &ReleaseReport) -> String {
    let outside = if report.from_outside {
        "A counter of the service counted the requests, and their CPU time is the CPU time of its processes. "
    } else {
        ""
    };
    let load = match report.rests_on {
        RestsOn::Coins => "",
        RestsOn::WorkerRulers if report.design == ReleaseDesign::OneAfterTheOther => {
            "The estimate is adjusted for load by the agent's ruler of memory or, if the agent did not read it, by rulers \
             that ran before requests."
        }
        RestsOn::WorkerRulers => {
            "The estimate is adjusted for load by rulers that ran before requests, on the same threads."
        }
        RestsOn::AgentRulers if report.from_outside => {
            "The estimate is adjusted for load by the agent's own rulers alone."
        }
        RestsOn::AgentRulers => {
            "The estimate is adjusted for load by the agent's own rulers alone, which measure less of the load than \
             rulers in the workers would."
        }
        RestsOn::SameTime if one_version_each(report) => "Both versions ran at the same time, on different hosts.",
        RestsOn::SameTime => "Both versions ran at the same time, under the same load.",
    };
    format!("{outside}{load}").trim_end().to_owned()
}

/// Says what would probably lead to a verdict, if the comparison is refused or undecided.
pub(super) fn settling(report: &ReleaseReport) -> Option<String> {
    let resolution = setting(report.question.resolution);
    if let Ok(settle) = &report.settle {
        let how = match settle.design {
            ReleaseDesign::RandomPerRequest => {
                "run both versions concurrently and let a coin choose the version of each request (steadyhand.split)"
            }
            ReleaseDesign::Switchback => {
                "switch between the versions every 1 or 2 s in random order (steadyhand.switchback)"
            }
            ReleaseDesign::Canary => "run both versions concurrently, each on several processes",
            ReleaseDesign::OneAfterTheOther => "run one version after the other for longer, under similar load",
        };
        let time = minutes(settle.seconds / 60.0);
        if report.refused.is_empty() {
            return Some(format!(
                "More of the same traffic would hardly narrow the interval, because its width comes from the model of \
                 the load. For a verdict, {how}; {time} of traffic would probably show a change of {resolution}."
            ));
        }
        return Some(format!(
            "For an answer, {how}; {time} of the same traffic would probably show a change of {resolution}."
        ));
    }
    let open = report.refused.is_empty() && report.total.verdict == Verdict::Undecided;
    if open && report.design == ReleaseDesign::Canary {
        let knows_processes = report.sides.iter().all(|side| side.processes.is_ok());
        let advice = match (report.total.interval().is_ok(), knows_processes) {
            (true, false) => BY_HOSTS,
            (true, true) if one_version_each(report) => BY_HOSTS,
            (true, true) if is_limited_by_allowance(report) => {
                "More hosts narrow the interval. More processes on the same hosts, or more traffic, hardly do, because \
                 its width comes from a difference that the processes of a host may have in common."
            }
            (true, true) => {
                "More processes of each version, or more hosts, narrow the interval. More traffic hardly does, because \
                 its width comes from the differences between processes."
            }
            (false, false) if report.from_outside => BY_HOSTS,
            (false, false) => {
                "An interval needs more hosts, or the store of an agent (--store), which distinguishes processes."
            }
            (false, true) => return None,
        };
        return Some(advice.to_owned());
    }
    let needed = report.total.settle_seconds.as_ref().ok().copied();
    let needed = needed.filter(|seconds| open && seconds.is_finite() && *seconds > 0.0)?;
    let traffic = report.traffic_seconds.as_ref().ok().copied()?;
    if needed > MOST_EXTRAPOLATED * traffic {
        return Some(format!("A verdict probably needs more than {MOST_EXTRAPOLATED} times as much traffic."));
    }
    // A step is at least as long as a time block.
    let more = (needed - traffic).max(report.course.step_seconds as f64);
    Some(format!(
        "If the change is as estimated, a verdict probably needs {} more of the same traffic.",
        minutes(more / 60.0)
    ))
}

/// Formats a number of minutes, rounded up by at most a tenth in the unit that is shown: `about 12 min`.
fn minutes(minutes: f64) -> String {
    if minutes.is_nan() || minutes > TOO_LONG_MINUTES {
        return "more than a week".to_owned();
    }
    let seconds = (minutes * 60.0).max(1.0);
    let unit = match seconds {
        below if below < 120.0 => 1.0,
        below if below < 7200.0 => 60.0,
        _ => 3600.0,
    };
    let value = seconds / unit;
    let scale = 10f64.powf(value.log10().floor());
    let step = match value / scale {
        first if first < 2.0 => 0.1 * scale,
        first if first < 5.0 => 0.2 * scale,
        _ => 0.5 * scale,
    };
    let rounded = unit * step * (value / step - 1e-9).ceil();
    format!("about {}", time_setting(Nanos::from_seconds(rounded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_rounded_up_to_few_digits() {
        let text = |value: f64| minutes(value).replace('\u{a0}', " ");
        assert_eq!([text(0.31), text(2.1), text(11.7)], ["about 19 s", "about 2.2 min", "about 12 min"]);
        assert_eq!([text(68.0 / 60.0), text(119.5 / 60.0), text(61.0)], ["about 70 s", "about 2 min", "about 65 min"]);
        assert_eq!([text(170.0), text(1e9), text(f64::NAN)], ["about 3 h", "more than a week", "more than a week"]);
    }
}
