//! The answer of the report of a suite: the verdicts, the condition, and what to do.

use steady_compare::{RATIO_MAX, TOO_CLOSE, roughness};
use steady_model::{Ending, GateState, Nanos, Verdict};
use steady_render::document::{Emphasis, Sentence};
use steady_render::letters::{capital, count, listed_with_more, one_line};
use steady_render::units::{round_time_up, setting, time_option};
use steady_stats::within_resolution;

use super::{Counts, name, plain};
use crate::judge::{FAILED, status};
use crate::record::{Benchmark, Side, SuiteRecord};

/// The first sentence counts the verdicts. Others are about the condition, and about what to do.
pub(super) fn answer(record: &SuiteRecord) -> Vec<Sentence> {
    let counts = record.counts();
    let without = counts.without_result;
    let all = counts.measured() + without;
    let resolution = setting(record.resolution_ratio);
    let mut parts: Vec<(Emphasis, String)> = vec![];
    let mut add = |number: usize, emphasis: Emphasis, text: String| {
        if number > 0 {
            if !parts.is_empty() {
                parts.push(plain(", "));
            }
            parts.push((emphasis, text));
        }
    };
    let of = |number: usize, words: &str| format!("{number} {words}");
    let changed = |number: usize, words: &str, verdict| of(number, words) + &small(record, verdict);
    add(counts.slower, Emphasis::More, changed(counts.slower, "got slower", Verdict::Slower));
    let faster = if counts.slower > 0 { "faster" } else { "got faster" };
    add(counts.faster, Emphasis::Less, changed(counts.faster, faster, Verdict::Faster));
    let same = if counts.slower + counts.faster > 0 { "the same within" } else { "cost the same within" };
    add(counts.same, Emphasis::Same, of(counts.same, &format!("{same} {resolution}")));
    let undecided = match counts.undecided {
        number if number < counts.measured() => "undecided",
        1 => "is undecided",
        _ => "are undecided",
    };
    add(counts.undecided, Emphasis::Open, of(counts.undecided, undecided));
    let mut sentences = vec![match (counts.measured(), &record.benchmarks[..]) {
        (0, _) if !record.is_missing() => vec![plain("This part of the suite has no benchmarks.")],
        (0, _) => vec![plain("No benchmark of both builds was measured.")],
        (1, benchmarks) if without == 0 => only_one(record, benchmarks.iter().find(|one| one.failed.is_none())),
        _ => {
            let mut first: Sentence = vec![plain(format!("Of {all} benchmarks, "))];
            first.extend(parts);
            first.push(plain(relation(record)));
            if without > 0 {
                let were = if without == 1 { "was" } else { "were" };
                first.extend([plain("; "), (Emphasis::Open, format!("{without} {were} not measured"))]);
            }
            first.push(plain("."));
            first
        }
    }];
    sentences.extend(about_means(record));
    sentences.extend(about_condition(record));
    sentences.extend(untested(record));
    sentences.extend(failed_in_one(record, Side::New));
    if record.ending == Ending::Interrupted {
        sentences.push(vec![plain("Interrupted: these results are from a part of the budget.")]);
    }
    sentences.extend(advice(record, &counts));
    let of_one = record.unmeasured.iter().filter(|one| one.is_of_one_build).count();
    if of_one > 0 {
        let verb = if of_one == 1 { "is" } else { "are" };
        sentences.push(vec![plain(format!("{} {verb} in one build only.", count(of_one, "benchmark", "benchmarks")))]);
    }
    sentences.extend(failed_in_one(record, Side::Old));
    sentences
}

/// How many of the benchmarks with this verdict certainly changed by less than the resolution: ` (1 by less than 1 %)`.
/// A clear difference is reported even if it is that small.
fn small(record: &SuiteRecord, verdict: Verdict) -> String {
    match record.benchmarks.iter().filter(|one| one.verdict == verdict && is_small(record, one)).count() {
        0 => String::new(),
        number => format!(" ({number} by less than {})", setting(record.resolution_ratio)),
    }
}

/// Whether a benchmark certainly changed by less than the resolution, if at all.
fn is_small(record: &SuiteRecord, benchmark: &Benchmark) -> bool {
    benchmark.interval.as_ref().is_ok_and(|interval| within_resolution(interval, record.resolution_ratio))
}

/// The benchmarks whose usual run does not describe their cost, because their runs vary: those that the mean decides, and
/// those of which the mean may still contradict the verdict.
fn about_means(record: &SuiteRecord) -> impl Iterator<Item = Sentence> {
    let named = |decides: bool| -> Vec<&str> {
        let is_meant = |one: &&Benchmark| one.mean.as_ref().is_some_and(|mean| mean.decides == decides);
        record.benchmarks.iter().filter(is_meant).map(|one| one.name.as_str()).collect()
    };
    let (decided, open) = (named(true), named(false));
    let of_mean = format!("The mean decides for {}, because the runs vary much.", some(&decided));
    let of_usual = format!("For {}, the verdict is about the usual run: the mean is uncertain.", some(&open));
    [(decided, of_mean), (open, of_usual)].into_iter().filter(|one| !one.0.is_empty()).map(|one| vec![plain(one.1)])
}

/// How many benchmarks failed in this build, and not in the other one. It follows the exit status, if that is the
/// reason.
fn failed_in_one(record: &SuiteRecord, side: Side) -> Option<Sentence> {
    let failed = record.failed_only_in(side);
    let (build, other) = match side {
        Side::New => (&record.new, &record.old),
        Side::Old => (&record.old, &record.new),
    };
    let names = some(&failed);
    let is_reason = side == Side::New && record.ending != Ending::Interrupted && status(record) == FAILED;
    let therefore = if is_reason { format!(" The exit status is therefore {FAILED}.") } else { String::new() };
    let rest = format!(" in {}, and not in {}: {names}.{therefore}", name(build), name(other));
    let number = format!("{} failed", count(failed.len(), "benchmark", "benchmarks"));
    (!failed.is_empty()).then(|| vec![(Emphasis::More, number), plain(rest)])
}

/// The first of these names, and the number of the others.
fn some(names: &[&str]) -> String {
    const MOST: usize = 3;
    let first: Vec<String> = names.iter().take(MOST).map(|name| one_line(name)).collect();
    listed_with_more(&first, names.len().saturating_sub(MOST))
}

/// The two builds after a verdict.
fn relation(record: &SuiteRecord) -> String {
    format!(" in {} relative to {}", name(&record.new), name(&record.old))
}

/// The first sentence if there is one result.
fn only_one(record: &SuiteRecord, only: Option<&Benchmark>) -> Sentence {
    let Some(only) = only else { return vec![] };
    let subject = one_line(&only.name);
    let (emphasis, text) = match only.verdict {
        Verdict::Slower => (Emphasis::More, "got slower".to_owned()),
        Verdict::Faster => (Emphasis::Less, "got faster".to_owned()),
        Verdict::Same => (Emphasis::Same, format!("costs the same within {}", setting(record.resolution_ratio))),
        Verdict::Undecided => (Emphasis::Open, "is undecided".to_owned()),
    };
    let by = match only.verdict.is_difference() && is_small(record, only) {
        true => format!(", by less than {}", setting(record.resolution_ratio)),
        false => String::new(),
    };
    vec![plain(format!("{subject} ")), (emphasis, text), plain(format!("{}{by}.", relation(record)))]
}

/// Whether the condition of `--fail-if` holds, and for which benchmarks.
fn about_condition(record: &SuiteRecord) -> Option<Sentence> {
    let fail_if = record.fail_if?;
    let in_state = |state: GateState| -> Vec<&str> {
        let in_state = record.benchmarks.iter().filter(|one| one.condition == Some(state));
        in_state.map(|one| one.name.as_str()).collect()
    };
    let (holds, open) = (in_state(GateState::Holds), in_state(GateState::Open));
    let unknown = match record.without_result() {
        0 => None,
        1 => Some("1 benchmark of both builds was not measured".to_owned()),
        unknown => Some(format!("{unknown} benchmarks of both builds were not measured")),
    };
    Some(match (holds.is_empty(), open.is_empty()) {
        _ if record.is_one_revision() => vec![
            plain(format!("The condition {fail_if} ")),
            (Emphasis::Open, "is open".to_owned()),
            plain(format!(": {SAME_COMMIT}.")),
        ],
        (true, true) if record.is_missing() => vec![
            plain(format!("The condition {fail_if} ")),
            (Emphasis::Open, "is open".to_owned()),
            plain(format!(": {}.", unknown.unwrap_or_else(|| "nothing was compared".to_owned()))),
        ],
        (false, _) => vec![
            plain(format!("The condition {fail_if} ")),
            (Emphasis::More, "holds".to_owned()),
            plain(format!(" for {}.", some(&holds))),
        ],
        (true, false) => vec![
            plain(format!("The condition {fail_if} ")),
            (Emphasis::Open, "is open".to_owned()),
            plain(format!(
                " for {}{}.",
                some(&open),
                unknown.map_or_else(String::new, |unknown| format!("; {unknown}"))
            )),
        ],
        (true, true) => vec![
            plain(format!("The condition {fail_if} ")),
            (Emphasis::Same, "does not hold".to_owned()),
            plain(" for any benchmark."),
        ],
    })
}

const SAME_COMMIT: &str = "both revisions are the same commit, so no change is tested";

/// Says without a condition that no change is tested.
fn untested(record: &SuiteRecord) -> Option<Sentence> {
    (record.fail_if.is_none() && record.is_one_revision()).then(|| vec![plain(format!("{}.", capital(SAME_COMMIT)))])
}

/// The sentences about the exit status as plain text: about the condition of `--fail-if`, if there is one, or about the
/// verdicts that `--require-verdict` does not accept; and about benchmarks that failed in the new build only.
pub(crate) fn about_status(record: &SuiteRecord) -> Vec<String> {
    let is_required = record.require_verdict && record.condition.is_none() && status(record) != 0;
    let verdicts = is_required.then(|| answer(record)).into_iter().flatten().take(1);
    let about = about_condition(record).into_iter().chain(untested(record).filter(|_| is_required));
    let sentences = verdicts.chain(about).chain(failed_in_one(record, Side::New));
    sentences.map(|spans| spans.into_iter().map(|(_, text)| text).collect()).collect()
}

/// The budget that would probably decide most of what is undecided. With a condition, it is the one that would decide
/// it for all benchmarks.
fn advice(record: &SuiteRecord, counts: &Counts) -> Option<Sentence> {
    let mut factors: Vec<f64> = record.benchmarks.iter().filter_map(|one| one.time_factor).collect();
    factors.sort_by(f64::total_cmp);
    let half = factors.get(factors.len().saturating_sub(1) / 2);
    let left_out: Vec<Nanos> = record.unmeasured.iter().filter_map(|one| one.needed_budget_seconds).collect();
    let which_condition = match counts.without_result > left_out.len() {
        true => "the condition for the measured benchmarks",
        false => "the condition",
    };
    let (which, factor) = match (record.condition, counts.undecided) {
        (Some(GateState::Open), _) => (which_condition, factors.last()),
        (Some(_), _) | (None, 0) => return None,
        (None, 1) => ("the undecided benchmark", half),
        (None, 2) => ("one of the undecided benchmarks", half),
        (None, _) => ("half of the undecided benchmarks", half),
    };
    // The condition is about all benchmarks, so the budget must have room for those that were left out.
    let for_all = left_out.iter().max().filter(|_| record.condition.is_some());
    let for_all = for_all.map(|needed| needed.seconds() / record.budget_seconds.seconds());
    if record.ending == Ending::Interrupted || record.is_one_revision() || (factor.is_none() && for_all.is_none()) {
        return None;
    }
    // Those that are decided give their time to the others.
    let is_measured = |one: &&Benchmark| {
        one.failed.is_none() && (one.verdict == Verdict::Undecided || one.condition == Some(GateState::Open))
    };
    let share = record.benchmarks.iter().filter(is_measured).count() as f64 / counts.measured().max(1) as f64;
    let from_data =
        factor.map_or(Some(1.0), |factor| Some(1.0 + (factor - 1.0) * share).filter(|one| *one <= RATIO_MAX));
    let budget = |about: &str, ratio: f64| {
        let text = time_option(round_time_up(record.budget_seconds.seconds() * ratio));
        vec![plain(format!("To decide {which}, use {about} ")), (Emphasis::Code, format!("--budget {text}"))]
    };
    let mut sentence = match (from_data, for_all) {
        (Some(from_data), Some(for_all)) if from_data < for_all => budget("about", for_all),
        (Some(from_data), _) => {
            let rough = plain(roughness(from_data));
            budget("about", from_data).into_iter().chain([rough]).collect()
        }
        (None, Some(for_all)) => budget("more than", for_all),
        (None, None) if record.condition.is_some() => vec![plain(capital(TOO_CLOSE))],
        (None, None) => vec![plain(format!("To decide {which}, much more time is needed"))],
    };
    if record.condition.is_none() {
        sentence.extend([plain(", or a larger "), (Emphasis::Code, "--resolution".to_owned())]);
    }
    sentence.push(plain("."));
    Some(sentence)
}
