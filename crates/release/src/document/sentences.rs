//! The answer in sentences.

use steady_model::{Interval, Verdict};
use steady_render::document::{Emphasis, Span};
use steady_render::effect::{Effect, signed, verdict_in_words};
use steady_render::letters::capital;
use steady_render::units::{TIE, decimals, decimals_of, fixed, setting, time};

use super::{design, hosts, moved, number, sized, table, versions, wall, warnings};
use crate::record::{ReleaseReport, ReleaseSaving, ReleaseSight, ReleaseWarning};

/// What is judged.
const WHAT: &str = "CPU time per request";

/// The change of the total and what it saves, the change of the usual request, which requests changed, what that rests on, and
/// what the plain means would have said.
pub(crate) fn sentences(report: &ReleaseReport) -> Vec<Vec<Span>> {
    let mut all = vec![answer(report)];
    all.extend(table::line(report).map(|told| vec![(Emphasis::Plain, told)]));
    all.extend(table::tails(report).map(|told| vec![(Emphasis::Plain, told)]));
    all.extend(warnings::reasons(report).map(|why| vec![(Emphasis::Plain, why)]));
    all.extend(design::settling(report).map(|what| vec![(Emphasis::Plain, what)]));
    all.push(design::design(report));
    all.extend(plainly(report).map(|told| vec![(Emphasis::Plain, told)]));
    all.extend(hosts::line(report).map(|told| vec![(Emphasis::Plain, told)]));
    all
}

/// The verdict with its size, and what it comes to.
fn answer(report: &ReleaseReport) -> Vec<Span> {
    let [old, new] = versions(report);
    if !report.refused.is_empty() {
        let rest = format!(": whether {new} needs less {WHAT} than {old} cannot be told from this window.");
        return vec![(Emphasis::Open, "No answer".to_owned()), (Emphasis::Plain, rest)];
    }
    let mut spans = verdict(report, &old, &new);
    let comes_to: Vec<String> = saved(report).into_iter().chain(wall::median_change(report)).collect();
    let told = if comes_to.is_empty() { String::new() } else { format!(" {}.", capital(&comes_to.join("; "))) };
    spans.push((Emphasis::Plain, told));
    spans
}

/// The verdict with its size.
fn verdict(report: &ReleaseReport, old: &str, new: &str) -> Vec<Span> {
    let level = level(report);
    let limit = setting(report.question.resolution);
    let total = &report.total;
    let (Ok(change), Ok(interval)) = (&total.change, &total.interval()) else {
        let why = match (&total.change, &total.interval()) {
            (Err(absent), _) | (_, Err(absent)) => absent.0.clone(),
            _ => String::new(),
        };
        let rest = format!(" nothing is known about the {WHAT} of {new} beside {old}: {}.", super::named_reason(&why));
        return vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, rest)];
    };
    let (size, range) = sized(*change, *interval);
    match total.verdict {
        Verdict::Faster | Verdict::Slower => directed(report, old, new, *change, *interval),
        Verdict::Same => vec![
            (Emphasis::Same, format!("No difference beyond ±{limit} in {WHAT}")),
            (Emphasis::Plain, format!(" between {old} and {new}: {size} ({range}, {level}).")),
        ],
        Verdict::Undecided => {
            let reason = match (contradiction(report), interval.low <= 0.0 && interval.high >= 0.0) {
                (Some(contradiction), _) => format!(", but {contradiction}"),
                (None, true) => format!(", which may be none, or more than ±{limit}"),
                (None, false) => String::new(),
            };
            let told = format!(" the {WHAT} of {new} differs from that of {old} by {size} ({range}, {level}){reason}.");
            vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, told)]
        }
    }
}

/// What contradicts the interval, where the verdict is undecided although the interval alone would decide it.
fn contradiction(report: &ReleaseReport) -> Option<&'static str> {
    let interval = report.total.interval().ok()?;
    let resolution = report.question.resolution;
    let decides =
        interval.low > 0.0 || interval.high < 0.0 || (interval.low > -resolution && interval.high < resolution);
    let of = |warning: &ReleaseWarning| match warning {
        ReleaseWarning::RulersDisagree(_) => Some("the two kinds of rulers disagree"),
        _ => None,
    };
    report.warnings.iter().filter(|_| decides).find_map(of)
}

/// How sure it is: by coins, or by a model of the noise.
fn level(report: &ReleaseReport) -> String {
    let model = if report.design.is_randomised() { "" } else { ", model-based" };
    format!("{}{model}", setting(report.question.confidence))
}

/// That it costs more or less.
fn directed(report: &ReleaseReport, old: &str, new: &str, change: f64, interval: Interval) -> Vec<Span> {
    let level = level(report);
    let slower = report.total.verdict == Verdict::Slower;
    let paint = if slower { Emphasis::More } else { Emphasis::Less };
    let effect = Effect::beside_first(change, interval);
    let link = if effect.factor { "as" } else { "than" };
    let within = match report.total.within_resolution {
        true => format!(", within ±{}", setting(report.question.resolution)),
        false => String::new(),
    };
    if effect.more != slower {
        // The estimate lies on the other side of zero than the interval: the interval is what is known.
        let (_, range) = signed(change, interval);
        let claim = format!("{new} needs {} {WHAT}", if slower { "more" } else { "less" });
        return vec![(paint, claim), (Emphasis::Plain, format!(" than {old}: {range} ({level}){within}."))];
    }
    vec![
        (paint, format!("{new} needs {} {WHAT}", effect.relative())),
        (Emphasis::Plain, format!(" {link} {old} ({}, {level}){within}.", effect.range)),
    ]
}

/// What it saves: `That saves 1.8 of 24 CPUs (1.4 to 2.2)`.
fn saved(report: &ReleaseReport) -> Option<String> {
    let saving = report.saving.as_ref().ok()?;
    let told = amount(saving)?;
    let [old, new] = versions(report);
    match report.total.verdict {
        Verdict::Faster => Some(format!("All requests on {new} rather than {old} save {told}")),
        Verdict::Slower => Some(format!("All requests on {new} rather than {old} take {told}")),
        Verdict::Same | Verdict::Undecided => None,
    }
}

/// An amount of CPUs, whichever its sign: `1.8 of 24 CPUs (1.4 to 2.2)`, `0.7 CPUs more (0.4 to 1.0); 12 are in use`.
fn amount(saving: &ReleaseSaving) -> Option<String> {
    let half = saving.interval.half_width();
    if !(saving.cpus_saved.is_finite() && half.is_finite() && saving.cpus_used.is_finite()) {
        return None;
    }
    let decimals = decimals(half.max(0.001 * saving.cpus_used));
    let used = fixed(saving.cpus_used, decimals_of(saving.cpus_used, 2).min(3));
    let (sign, low, high) = match saving.cpus_saved < 0.0 {
        true => (-1.0, -saving.interval.high, -saving.interval.low),
        false => (1.0, saving.interval.low, saving.interval.high),
    };
    let size = fixed(sign * saving.cpus_saved, decimals);
    let range = format!("{} to {}", fixed(low, decimals), fixed(high, decimals));
    Some(match saving.cpus_saved < 0.0 {
        true => format!("{size} CPUs more ({range}); {used} are in use"),
        false => format!("{size} of {used} CPUs ({range})"),
    })
}

/// What the plain means say, and how much of that is not the version's.
fn plainly(report: &ReleaseReport) -> Option<String> {
    let raw = report.total.raw_change.as_ref().ok()?;
    let mean = |side: usize| report.sides[side].cpu_mean.as_ref().ok().map(|mean| time(mean.seconds()));
    let from = match (mean(0), mean(1)) {
        (Some(old), Some(new)) => format!(" ({old} and {new})"),
        _ => String::new(),
    };
    let shift = match &report.total.load_shift {
        Ok(shift) => {
            let mix = if report.has_classes { "routes and classes" } else { "routes" };
            format!("; load and the mix of {mix} moved them by {}", moved(*shift))
        }
        Err(_) => String::new(),
    };
    Some(format!("The plain means differ by {}{from}{shift}.", moved(*raw)))
}

/// The verdict in a few words: `3.1 % less`, `refused`.
pub(crate) fn summary(report: &ReleaseReport) -> String {
    if !report.refused.is_empty() {
        return "refused".to_owned();
    }
    let total = &report.total;
    verdict_in_words(total.verdict, &total.change, &total.interval()).replace(TIE, " ")
}

/// What one look showed, on a line: `12,400 requests: -3.1 % (-3.8 to -2.4 %)`.
pub(crate) fn sight(sight: &ReleaseSight) -> String {
    let requests = number(sight.requests.iter().fold(0, |sum: u64, one| sum.saturating_add(*one)));
    let told = match (&sight.change, sight.interval()) {
        (Ok(change), Some(interval)) => {
            let (size, range) = sized(*change, interval);
            format!("{size} ({range})")
        }
        _ => "nothing can be said yet".to_owned(),
    };
    format!("{requests} requests: {told}").replace(TIE, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_takes_a_line() {
        let look = |change, interval| sight(&ReleaseSight::new(0, [6_000, 6_400], change, interval));
        assert_eq!(look(None, None), "12,400 requests: nothing can be said yet");
        let interval = Interval { low: -0.038, high: -0.024 };
        assert_eq!(look(Some(-0.031), Some(interval)), "12,400 requests: -3.1 % (-3.8 to -2.4 %)");
    }
}
