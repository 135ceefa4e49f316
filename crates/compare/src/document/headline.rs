//! The first sentences of the report: the verdicts.

use steady_model::{
    Candidate, CandidateComparison, FailIf, GateState, Interval, Judgement, Metric, Report, Undecided, Verdict, Warning,
};
use steady_render::document::{Emphasis, Sentence};
use steady_render::effect::condition;
use steady_render::letters::listed;
use steady_render::units::duration;

use super::sentence;
use crate::judge::{state, untested};
use crate::ratchet::improvement;
use crate::units::TIE;
use crate::words::{ELAPSED, Effect, capital, count, effort_for_condition, noun, startups, subject};

/// One sentence per command after the first, or the mean cost of a single command. Sentences that say whether the
/// condition of `--fail-if` holds, explain elapsed time and give the cost of start-up follow if they apply.
pub(crate) fn sentences(report: &Report) -> Vec<Sentence> {
    let further = || wider(report).into_iter().chain(elapsed(report.record.primary)).chain(start_up(report));
    if report.record.plan.commands.len() == 1 {
        return std::iter::once(sentence::alone(report)).chain(further()).collect();
    }
    if report.primary().next().is_none() {
        let (runs, time) = (count(report.runs(), "run", "runs"), duration(report.record.elapsed));
        let rest = format!(" no command could be compared with the first; {runs}, {time}.");
        return vec![vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, rest)]];
    }
    let verdicts = report.primary().map(|judgement| sentence::spans(report, judgement));
    let verdicts = not_tested(report).into_iter().chain(verdicts);
    verdicts.chain(conditions(report)).chain(candidate(report)).chain(further()).collect()
}

/// A sentence before the verdicts if they do not test the change between the revisions.
fn not_tested(report: &Report) -> Option<Sentence> {
    let why = why_not_tested(&untested(&report.record)?);
    let text = format!(" {why}. The verdict below is about runs of the same files.");
    Some(vec![(Emphasis::Open, "The change is not tested:".to_owned()), (Emphasis::Plain, text)])
}

fn why_not_tested(warning: &Warning) -> &'static str {
    match warning {
        Warning::OneRevision => "its revisions are the same commit",
        _ => "no run opened a file of its revision",
    }
}

/// Which comparison of which candidate of a loop this is, and what follows from it.
fn candidate(report: &Report) -> Option<Sentence> {
    let Candidate { number, comparison } = report.record.plan.candidate?;
    let (on, result) = match comparison {
        CandidateComparison::First => ("which accepts nothing", "promising"),
        CandidateComparison::Second => ("on fresh pairs", "accepted"),
    };
    let (emphasis, result) = match improvement(report) {
        Some(_) => (Emphasis::Less, result.to_owned()),
        None => (Emphasis::Open, format!("not {result}")),
    };
    let text = format!(
        "This is the {} comparison of candidate {number} of a loop, {on}: the candidate is ",
        comparison.name()
    );
    Some(vec![(Emphasis::Plain, text), (emphasis, result), (Emphasis::Plain, ".".to_owned())])
}

/// A sentence per command after the first that says whether the condition of `--fail-if` holds, if one was given. An
/// open condition has a remedy for this comparison.
pub(super) fn conditions(report: &Report) -> Vec<Sentence> {
    conditions_with(report, |limit, change, interval| effort_for_condition(&report.record, limit, change, interval))
}

/// As [`conditions`]. `remedy` says what would decide an open condition, from its limit and the change with its
/// interval.
pub(super) fn conditions_with(report: &Report, remedy: impl Fn(f64, f64, &Interval) -> String) -> Vec<Sentence> {
    let plan = &report.record.plan;
    let of = |command| if plan.commands.len() > 2 { format!(" for {}", subject(plan, command)) } else { String::new() };
    let sentence = |fail_if: FailIf, judgement: &Judgement| {
        let interval = &judgement.interval;
        let of = of(judgement.command);
        let open = |why: &str| {
            vec![
                (Emphasis::Plain, format!("The condition {fail_if} ")),
                (Emphasis::Open, "is open".to_owned()),
                (Emphasis::Plain, format!("{of}: {why}.")),
            ]
        };
        if let Some(warning) = untested(&report.record) {
            return open(why_not_tested(&warning));
        }
        if judgement.undecided == Ok(Undecided::UnequalFailures) {
            return open("failures are unequal");
        }
        let found = state(fail_if, judgement, true);
        if found != fail_if.evaluate(judgement.metric, judgement.verdict, interval) {
            return open("the mean may lie on the other side of the limit");
        }
        let mut sentence = condition(fail_if, judgement.metric, found, interval.as_ref().ok().copied(), &of);
        if let (GateState::Open, Ok(change), Ok(interval)) = (found, &judgement.change, interval) {
            let limit = fail_if.limit(judgement.metric);
            sentence.push((Emphasis::Plain, format!(" {}.", capital(&remedy(limit, *change, interval)))));
        }
        sentence
    };
    let Some(fail_if) = plan.fail_if else { return vec![] };
    report.primary().map(|judgement| sentence(fail_if, judgement)).collect()
}

/// A sentence that explains why the interval of the size is wider than that of the verdict, for the commands for which
/// a reader would wonder about it.
fn wider(report: &Report) -> Option<Sentence> {
    /// The ratio of the two widths from which readers wonder.
    const NOTICEABLE: f64 = 2.0;
    let is_wider = |judgement: &&Judgement| {
        let (Ok(size), Ok(verdict)) = (&judgement.interval, &judgement.verdict_interval) else { return false };
        size.half_width() > NOTICEABLE * verdict.half_width()
    };
    let found = report.primary().filter(is_wider).map(|judgement| subject(&report.record.plan, judgement.command));
    let found: Vec<String> = found.collect();
    if found.is_empty() {
        return None;
    }
    let why = "concurrent runs may show a difference smaller or larger than it is";
    Some(vec![(Emphasis::Plain, format!("The interval of {} is wide, because {why}.", listed(&found)))])
}

/// A sentence that explains elapsed time, if that is the metric of the verdict.
pub(super) fn elapsed(primary: Metric) -> Option<Sentence> {
    (primary == Metric::Elapsed).then(|| vec![(Emphasis::Plain, format!("{ELAPSED}."))])
}

fn start_up(report: &Report) -> Option<Sentence> {
    startups(report).map(|text| vec![(Emphasis::Heading, "Start-up".to_owned()), (Emphasis::Plain, text)])
}

/// Returns whether the size of an effect has the sign of the verdict.
fn agrees(judgement: &Judgement, change: f64, interval: Interval) -> bool {
    if judgement.is_more() { change > 0.0 && interval.low > 0.0 } else { change < 0.0 && interval.high < 0.0 }
}

/// The primary verdicts of a report in a few words, for a list: `5.8 % more`, `same`, `undecided`. There is one for
/// each command after the first.
pub fn summary(report: &Report) -> String {
    if report.record.plan.commands.len() == 1 {
        let all: String = sentence::alone(report).into_iter().map(|(_, text)| text).collect();
        let what = all.split(';').next().unwrap_or_default();
        let size = what.strip_prefix(&capital(&noun(report.record.primary))).unwrap_or("nothing measured");
        return size.trim().replace(TIE, " ");
    }
    if untested(&report.record).is_some() {
        return "not tested".to_owned();
    }
    let words = report.primary().map(|judgement| match (judgement.verdict, &judgement.change, &judgement.interval) {
        (Verdict::Same, ..) => "same".to_owned(),
        (Verdict::Undecided, ..) => "undecided".to_owned(),
        (_, Ok(change), Ok(interval)) if agrees(judgement, *change, *interval) => {
            Effect::of(*change, *interval).relative()
        }
        _ if judgement.is_more() => "more".to_owned(),
        _ => "less".to_owned(),
    });
    let all = words.collect::<Vec<_>>().join("; ").replace(TIE, " ");
    if all.is_empty() { "no verdict".to_owned() } else { all }
}
