//! Sentences of the answer.

use steady_model::{FailIf, Interval, Metric, Verdict};
use steady_render::document::{Emphasis, Span};
use steady_render::effect::{Effect, condition, signed, signed_apart, verdict_in_words};
use steady_render::letters::numbered;
use steady_render::units::{TIE, decimals, decimals_of, fixed, setting, time};

use super::{allowed, design, hosts, moved, table, versions, wall, warnings};
use crate::judge;
use crate::record::{ReleaseDesign, ReleaseReport, ReleaseSaving, ReleaseSight, ReleaseWarning};

/// Metric that the verdict is about.
const WHAT: &str = "CPU time per request";

/// Returns the sentences of the answer: the change of the total, the usual request, which requests changed, refusals
/// and advice, the design, the unadjusted means, and hosts.
pub(crate) fn sentences(report: &ReleaseReport) -> Vec<Vec<Span>> {
    let mut all = vec![answer(report)];
    all.extend(report.question.fail_if.map(|fail_if| gate(report, fail_if)));
    all.extend(table::line(report).map(|text| vec![(Emphasis::Plain, text)]));
    all.extend(table::tails(report).map(|text| vec![(Emphasis::Plain, text)]));
    all.extend(warnings::reasons(report).map(|text| vec![(Emphasis::Plain, text)]));
    let settling = design::settling(report).filter(|_| !lacks_traffic(report));
    all.extend(settling.map(|text| vec![(Emphasis::Plain, text)]));
    all.push(design::design(report));
    all.extend(unadjusted(report).map(|text| vec![(Emphasis::Plain, text)]));
    all.extend(hosts::line(report).map(|text| vec![(Emphasis::Plain, text)]));
    all
}

/// Whether the condition of `--fail-if` holds.
fn gate(report: &ReleaseReport, fail_if: FailIf) -> Vec<Span> {
    condition(fail_if, Metric::Cpu, judge::gate(report, fail_if), report.total.interval().ok(), "")
}

/// The verdict with the size of the change, the CPUs saved, and the change of the median wall time.
fn answer(report: &ReleaseReport) -> Vec<Span> {
    let [old, new] = versions(report);
    if !report.refused.is_empty() {
        let rest = format!(": this window cannot show whether {new} needs less {WHAT} than {old}.");
        return vec![(Emphasis::Open, "No answer".to_owned()), (Emphasis::Plain, rest)];
    }
    let mut spans = verdict(report, &old, &new);
    let further = saved(report).into_iter().chain(wall::median_change(report));
    let text: String = further.map(|sentence| format!(" {sentence}.")).collect();
    spans.push((Emphasis::Plain, text));
    spans
}

/// The verdict with the size of the change and its interval.
fn verdict(report: &ReleaseReport, old: &str, new: &str) -> Vec<Span> {
    let level = level(report);
    let limit = setting(report.question.resolution);
    let total = &report.total;
    let (Ok(change), Ok(interval)) = (&total.change, &total.interval()) else {
        let why = match (&total.change, &total.interval()) {
            (Err(absent), _) | (_, Err(absent)) => absent.0.clone(),
            _ => String::new(),
        };
        let rest =
            format!(" the {WHAT} of {new} cannot be compared with that of {old}: {}.", super::named_reason(&why));
        return vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, rest)];
    };
    let (size, range) = signed_apart(*change, *interval, report.question.resolution);
    match total.verdict {
        Verdict::Faster | Verdict::Slower => directed(report, old, new, *change, *interval),
        Verdict::Same => vec![
            (Emphasis::Same, format!("No difference beyond ±{limit} in {WHAT}")),
            (Emphasis::Plain, format!(" between {old} and {new}: {size} ({range}, {level}).")),
        ],
        Verdict::Undecided => {
            let reason = match (contradiction(report), interval.low <= 0.0 && interval.high >= 0.0) {
                (Some(contradiction), _) => format!(", but {contradiction}"),
                (None, true) => {
                    let single = single_units(report).map(|why| format!(": {why}")).unwrap_or_default();
                    format!("; the true change may be zero, or larger than ±{limit}{single}")
                }
                (None, false) => String::new(),
            };
            let text = format!(" {new} differs from {old} by {size} in {WHAT} ({range}, {level}){reason}.");
            vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, text)]
        }
    }
}

/// Returns why the verdict is undecided although the interval alone would give one, if that is so.
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

/// Returns what limits the comparison, if that is a difference between processes or hosts, or if each version had only
/// one of them.
fn single_units(report: &ReleaseReport) -> Option<String> {
    let allowance = warnings::allowance(report)?;
    if !warnings::is_limited_by_allowance(report) {
        return lacks_traffic(report).then(|| "there is too little traffic in the window".to_owned());
    }
    let (who, units) = match (hosts::one_version_each(report), has_single_units(report), report.design) {
        (true, ..) => ("one host per version", "hosts"),
        (false, true, _) => ("one process per version", "processes"),
        (false, false, ReleaseDesign::OneAfterTheOther) => ("versions in different processes", "processes"),
        (false, false, _) => ("processes of the same hosts", "processes"),
    };
    Some(format!("{who} cannot distinguish a change of up to {} from a difference between {units}", allowed(allowance)))
}

fn has_single_units(report: &ReleaseReport) -> bool {
    report.warnings.iter().any(|warning| matches!(warning, ReleaseWarning::OneProcessASide { allowance: Some(_) }))
}

/// Returns whether each version had only one process or host, and most of the interval's width comes from the traffic.
fn lacks_traffic(report: &ReleaseReport) -> bool {
    has_single_units(report) && report.total.interval().is_ok() && !warnings::is_limited_by_allowance(report)
}

/// Formats the confidence, and whether it depends on a model: `95 %, model-based`.
fn level(report: &ReleaseReport) -> String {
    let model = if report.design.is_randomised() { "" } else { ", model-based" };
    format!("{}{model}", setting(report.question.confidence))
}

/// The sentence for a verdict of more or less CPU time.
fn directed(report: &ReleaseReport, old: &str, new: &str, change: f64, interval: Interval) -> Vec<Span> {
    let level = level(report);
    let slower = report.total.verdict == Verdict::Slower;
    let paint = if slower { Emphasis::More } else { Emphasis::Less };
    let effect = Effect::of(change, interval);
    let link = if effect.factor { "as" } else { "than" };
    let within = match report.total.within_resolution {
        true => format!(", within ±{}", setting(report.question.resolution)),
        false => String::new(),
    };
    if effect.more != slower {
        // The estimate lies on the other side of zero than the interval. The verdict follows from the interval, so only
        // the interval is reported.
        let (_, range) = signed(change, interval);
        let claim = format!("{new} needs {} {WHAT}", if slower { "more" } else { "less" });
        return vec![(paint, claim), (Emphasis::Plain, format!(" than {old}: {range} ({level}){within}."))];
    }
    vec![
        (paint, format!("{new} needs {} {WHAT}", effect.relative())),
        (Emphasis::Plain, format!(" {link} {old} ({}, {level}){within}.", effect.range)),
    ]
}

/// The change in CPUs: `If all requests of v1 and v2 ran v2, they would use 1.8 CPUs less than on v1 (1.4 to 2.2); they
/// used 24 CPUs from the first request to the last`.
fn saved(report: &ReleaseReport) -> Option<String> {
    let saving = report.saving.as_ref().ok()?;
    match report.total.verdict {
        Verdict::Faster | Verdict::Slower => amount(report, saving),
        Verdict::Same | Verdict::Undecided => None,
    }
}

/// Formats the sentence of [`saved`], with `more` if NEW needs more CPUs than OLD.
fn amount(report: &ReleaseReport, saving: &ReleaseSaving) -> Option<String> {
    let half = saving.interval.half_width();
    if !(saving.cpus_saved.is_finite() && half.is_finite() && saving.cpus_used.is_finite()) {
        return None;
    }
    let [old, new] = versions(report);
    let users = if report.includes_unexplained() { "their processes" } else { "they" };
    let decimals = decimals(half.max(0.001 * saving.cpus_used));
    let used = cpus_used(saving);
    let (sign, low, high, direction) = match saving.cpus_saved < 0.0 {
        true => (-1.0, -saving.interval.high, -saving.interval.low, "more"),
        false => (1.0, saving.interval.low, saving.interval.high, "less"),
    };
    let size = fixed(sign * saving.cpus_saved, decimals);
    let range = format!("{} to {}", fixed(low, decimals), fixed(high, decimals));
    Some(format!(
        "If all requests of {old} and {new} ran {new}, {users} would use {size} CPUs {direction} than on {old} \
         ({range}); they used {used} CPUs from the first request to the last"
    ))
}

/// Formats the CPUs that both versions used.
pub(super) fn cpus_used(saving: &ReleaseSaving) -> String {
    fixed(saving.cpus_used, decimals_of(saving.cpus_used, 2))
}

/// The change of the unadjusted means, and how much of it load and mix caused.
fn unadjusted(report: &ReleaseReport) -> Option<String> {
    let raw = report.total.raw_change.as_ref().ok()?;
    let mean = |side: usize| report.sides[side].cpu_mean.as_ref().ok().map(|mean| time(mean.seconds()));
    let from = match (mean(0), mean(1)) {
        (Some(old), Some(new)) => format!(" ({old} and {new})"),
        _ => String::new(),
    };
    let shift = match &report.total.load_shift {
        Ok(shift) => {
            let mix = match (report.from_outside, report.has_classes) {
                (true, _) => "",
                (false, true) => " and the mix of routes and classes",
                (false, false) => " and the mix of routes",
            };
            format!("; load{mix} alone would make them differ by {}", moved(*shift))
        }
        Err(_) => String::new(),
    };
    Some(format!("The unadjusted means differ by {}{from}{shift}.", moved(*raw)))
}

/// Formats the verdict in a few words: `3.1 % less`, `refused`.
pub(crate) fn summary(report: &ReleaseReport) -> String {
    if !report.refused.is_empty() {
        return "refused".to_owned();
    }
    let total = &report.total;
    verdict_in_words(total.verdict, &total.change, &total.interval()).replace(TIE, " ")
}

/// Formats the result of a look on one line: `12,400 requests: -3.1 % (-3.8 to -2.4 %)`.
pub(crate) fn sight(sight: &ReleaseSight) -> String {
    let requests = sight.requests.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
    let requests = numbered(requests, "request", "requests");
    let estimate = match (&sight.change, sight.interval()) {
        (Ok(change), Some(interval)) => {
            let (size, range) = signed(*change, interval);
            format!("{size} ({range})")
        }
        _ => "too few data so far".to_owned(),
    };
    format!("{requests}: {estimate}").replace(TIE, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_formatted_on_one_line() {
        let look = |change, interval| sight(&ReleaseSight::new(0, [6_000, 6_400], change, interval));
        assert_eq!(look(None, None), "12,400 requests: too few data so far");
        let interval = Interval { low: -0.038, high: -0.024 };
        assert_eq!(look(Some(-0.031), Some(interval)), "12,400 requests: -3.1 % (-3.8 to -2.4 %)");
    }
}
