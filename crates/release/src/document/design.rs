//! Which design it rests on, and what would settle what is open.

use steady_model::{Nanos, Verdict};
use steady_render::document::{Emphasis, Span};
use steady_render::units::{duration, round_up, setting, time_setting};

use super::versions;
use crate::record::{ReleaseDesign, ReleaseReport, RestsOn};

/// Longer than this is not worth naming.
const TOO_LONG_MINUTES: f64 = 7.0 * 24.0 * 60.0;

/// How the versions came to be compared, and what the error follows from.
pub(super) fn design(report: &ReleaseReport) -> Vec<Span> {
    let [old, new] = versions(report);
    let mut told = match report.design {
        ReleaseDesign::RandomPerRequest => {
            vec![plain(
                "Random per request: a coin chose the version of each request, and the error follows from that.",
            )]
        }
        ReleaseDesign::Switchback => vec![plain(
            "Switchback: a coin chose the version of each pair of time slots, and the error follows from that.",
        )],
        ReleaseDesign::Canary => vec![
            (Emphasis::Open, "Model-based".to_owned()),
            plain(&format!(
                " (canary): some processes ran {old} while others ran {new}. No coin chose between them, so the error \
                 rests on a model of how processes differ."
            )),
        ],
        ReleaseDesign::OneAfterTheOther => vec![
            (Emphasis::Open, "Model-based".to_owned()),
            plain(&format!(
                " (one after the other): first one of {old} and {new} ran, then the other. No coin chose the times, so \
                 the error rests on a model of the load."
            )),
        ],
    };
    let rests = rests_on(report);
    if !rests.is_empty() {
        told.push(plain(&format!(" {rests}")));
    }
    told
}

fn plain(text: &str) -> Span {
    (Emphasis::Plain, text.to_owned())
}

/// By what the load is taken off, where coins alone do not do it.
fn rests_on(report: &ReleaseReport) -> String {
    let outside = if report.from_outside {
        "Requests were counted from outside, by the service's own counter, and their CPU time is that of its processes. "
    } else {
        ""
    };
    let load = match report.rests_on {
        RestsOn::Coins => "",
        RestsOn::WorkerRulers => "The load is taken off by rulers that ran before requests, on their threads.",
        RestsOn::AgentRulers if report.from_outside => "The load is taken off by the agent's own rulers alone.",
        RestsOn::AgentRulers => {
            "The load is taken off by the agent's own rulers alone, which see less of it than rulers in the workers would."
        }
        RestsOn::SameTime => "Both ran under the same load at the same time.",
    };
    format!("{outside}{load}").trim_end().to_owned()
}

/// What would probably settle what is refused or undecided.
pub(super) fn settling(report: &ReleaseReport) -> Option<String> {
    let resolution = setting(report.question.resolution);
    if let Ok(settle) = &report.settle {
        let how = match settle.design {
            ReleaseDesign::RandomPerRequest => {
                "run both at once and let a coin choose the version of each request (steadyhand.split)"
            }
            ReleaseDesign::Switchback => {
                "switch between both every second or two, as coins say (steadyhand.switchback)"
            }
            ReleaseDesign::Canary => "run both at once, on several processes each",
            ReleaseDesign::OneAfterTheOther => "run one after the other for longer, while the load is alike",
        };
        let time = minutes(settle.seconds / 60.0);
        if report.refused.is_empty() {
            return Some(format!(
                "More of the same traffic will hardly settle it, for the error is that of the model of the load. Better: \
                 {how}; {time} of traffic would probably show a change of {resolution}."
            ));
        }
        return Some(format!(
            "What would settle it: {how}; {time} of the same traffic would probably show a change of {resolution}."
        ));
    }
    let open = report.refused.is_empty() && report.total.verdict == Verdict::Undecided;
    let settled = report.total.settle_seconds.as_ref().ok().map(|seconds| seconds / 60.0);
    let told = settled.filter(|minutes| open && minutes.is_finite() && *minutes > 0.0)?;
    Some(format!("In all {} of the same traffic would probably settle it.", minutes(told)))
}

/// About so many minutes, rounded up.
fn minutes(minutes: f64) -> String {
    if minutes.is_nan() || minutes > TOO_LONG_MINUTES {
        return "more than a week".to_owned();
    }
    let seconds = minutes.max(0.0) * 60.0;
    let rounded = if seconds <= 60.0 { round_up(seconds) } else { 60.0 * round_up(minutes) };
    let time = Nanos::from_seconds(rounded);
    format!("about {}", if rounded < 7200.0 { time_setting(time) } else { duration(time) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_rounded_up_to_what_a_person_says() {
        let told = |value: f64| minutes(value).replace('\u{a0}', " ");
        assert_eq!([told(0.31), told(2.1), told(11.7)], ["about 20 s", "about 3 min", "about 12 min"]);
        assert_eq!([told(170.0), told(1e9), told(f64::NAN)], ["about 3.3 h", "more than a week", "more than a week"]);
    }
}
