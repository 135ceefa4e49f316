//! The report of a suite as a document, and as lines of CSV.

use std::cmp::Ordering;

use steady_compare::again::is_error;
use steady_compare::{RATIO_MAX, TOO_CLOSE, roughness};
use steady_feature::{Record, Report};
use steady_model::{Ending, Facts, GateState, Interval, Nanos, Reading, Verdict};
use steady_render::Chart;
use steady_render::chart::{Axis, Bar, Height, Look, Marks, Series};
use steady_render::csv::{self, Row};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, activity_facts, origin};
use steady_render::effect::{Effect, noun, signed, sized};
use steady_render::json::{self, ReadError};
use steady_render::letters::{capital, count, listed_with_more, one_line};
use steady_render::scale::{Kind, Scale};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{duration, round_time_up, setting, time, time_option, time_setting, with_unit};

use crate::judge::{FAILED, judged, more_is_better, status};
use crate::record::{Benchmark, Build, Compared, ErrorRate, KIND, Medians, Quantity, SCHEMA, Side, SuiteRecord};

impl SuiteRecord {
    /// Reads a record from its JSON. Verdicts are computed again if it has samples.
    ///
    /// # Errors
    /// The text is not such a record.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: SuiteRecord = json::record(&SCHEMA, text)?;
        let is_share = |share: f64| 0.0 < share && share < 1.0;
        if !is_share(record.resolution_ratio) || !is_share(record.confidence) {
            return Err(ReadError::field("confidence", "it and the resolution must be between 0 and 1"));
        }
        for (at, benchmark) in record.benchmarks.iter().enumerate() {
            let Some(samples) = &benchmark.samples else { return Err(ReadError::WithoutSamples) };
            if !samples.is_valid() {
                return Err(ReadError::Inconsistent {
                    path: format!("benchmarks[{at}].samples"),
                    problem: "its lists have different lengths, or a value is negative".to_owned(),
                });
            }
        }
        Ok(judged(record))
    }
}

impl Report for SuiteRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    fn json(&self, samples: bool) -> String {
        if samples {
            return json::text(&SCHEMA, self);
        }
        let without = |one: &Benchmark| Benchmark { samples: None, looks: vec![], ..one.clone() };
        json::text(&SCHEMA, &SuiteRecord { benchmarks: self.benchmarks.iter().map(without).collect(), ..self.clone() })
    }
}

impl Record for SuiteRecord {
    fn facts(&self) -> Facts {
        Facts {
            seed: Ok(self.seed),
            commands: vec![format!("{} {} {}", self.harness, self.old.name, self.new.name)],
            pairs: Ok(self.benchmarks.iter().map(|one| one.pairs).sum()),
            complete: self.ending != Ending::Interrupted,
            primary: self.metric().ok_or_else(|| steady_model::Absent::because("there is no metric")),
            ..Facts::new(KIND, self.started, &self.host, &self.revision, self.counts().summary())
        }
    }

    fn sentences(&self) -> Vec<String> {
        answer(self).into_iter().map(|spans| spans.into_iter().map(|span| span.1).collect()).collect()
    }

    fn status(&self) -> u8 {
        status(self)
    }
}

/// The numbers of benchmarks by verdict.
struct Counts {
    slower: usize,
    faster: usize,
    same: usize,
    undecided: usize,
    without_result: usize,
}

impl Counts {
    fn measured(&self) -> usize {
        self.slower + self.faster + self.same + self.undecided
    }

    /// The result in a few words, for a list: `1 slower, 2 faster`, or `12 same, 2 undecided, 1 without a result`.
    fn summary(&self) -> String {
        let without = (self.without_result, "without a result");
        let parts = match self.slower + self.faster {
            0 => [(self.same, "same"), (self.undecided, "undecided"), without],
            _ => [(self.slower, "slower"), (self.faster, "faster"), without],
        };
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let words = parts.map(|(number, what)| format!("{number} {what}")).collect::<Vec<_>>().join(", ");
        if words.is_empty() { "nothing measured".to_owned() } else { words }
    }
}

impl SuiteRecord {
    fn counts(&self) -> Counts {
        let of = |verdict| self.benchmarks.iter().filter(|one| one.failed.is_none() && one.verdict == verdict).count();
        Counts {
            slower: of(Verdict::Slower),
            faster: of(Verdict::Faster),
            same: of(Verdict::Same),
            undecided: of(Verdict::Undecided),
            without_result: self.without_result(),
        }
    }
}

fn plain(text: impl Into<String>) -> (Emphasis, String) {
    (Emphasis::Plain, text.into())
}

fn document(record: &SuiteRecord) -> Document {
    let changed = sorted(record, |one| one.verdict.is_difference());
    let undecided = sorted(record, |one| one.verdict == Verdict::Undecided && one.failed.is_none());
    let same = sorted(record, |one| one.verdict == Verdict::Same);
    let mut sections = vec![];
    if !changed.is_empty() {
        let chart = chart(record, &changed).map(Block::Chart);
        let blocks = std::iter::once(Block::Table(table(record, "Changed", &changed))).chain(chart);
        sections.push(Section::new("Changed", blocks.collect()).whole());
    }
    if !undecided.is_empty() {
        sections.push(Section::new("Undecided", vec![Block::Table(table(record, "Undecided", &undecided))]));
    }
    if !same.is_empty() {
        let heading = format!("The same within {}", setting(record.resolution_ratio));
        sections.push(Section::new(&heading, vec![Block::Table(table(record, "Same", &same))]).as_detail());
    }
    let left_out = left_out(record);
    if !left_out.is_empty() {
        sections.push(Section::new("Not measured", vec![Block::Table(not_measured(&left_out))]));
    }
    sections.push(Section::new("The suite", vec![Block::Facts(facts(record))]));
    sections.push(Section::new("The machine", vec![Block::Facts(activity_facts(&record.activity))]).as_detail());
    sections.extend(origin(record.started, &record.host, &record.revision));
    Document {
        subject: "Steadyhand: two builds, compared by their benchmarks".to_owned(),
        answer: answer(record),
        sections,
        is_brief: false,
    }
}

/// The benchmarks that satisfy a condition: those that got slower most first, and those that got faster most last.
fn sorted(record: &SuiteRecord, is_wanted: impl Fn(&Benchmark) -> bool) -> Vec<&Benchmark> {
    let mut chosen: Vec<&Benchmark> = record.benchmarks.iter().filter(|one| is_wanted(one)).collect();
    let worse = if more_is_better(record) { -1.0 } else { 1.0 };
    let change = |one: &Benchmark| one.change.as_ref().map_or(f64::NEG_INFINITY, |change| worse * *change);
    chosen.sort_by(|one, other| change(other).partial_cmp(&change(one)).unwrap_or(Ordering::Equal));
    chosen
}

/// The first sentence counts the verdicts. Others are about the condition, and about what to do.
fn answer(record: &SuiteRecord) -> Vec<Sentence> {
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
    let limit = record.resolution_ratio;
    benchmark.interval.as_ref().is_ok_and(|interval| -limit < interval.low && interval.high < limit)
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

/// The compared quantity: `time`, `CPU time`.
fn what(record: &SuiteRecord) -> String {
    record.metric().map_or_else(|| "value".to_owned(), |metric| noun(metric).into_owned())
}

fn name(build: &Build) -> String {
    one_line(&build.name)
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

/// The change with its interval: `3.1 % more (2.8 to 3.4 %)`.
fn change(benchmark: &Benchmark) -> Cell {
    match (&benchmark.change, &benchmark.interval) {
        (Ok(change), Ok(interval)) if benchmark.verdict.is_difference() => {
            let effect = Effect::of(*change, *interval);
            let emphasis = if benchmark.verdict == Verdict::Slower { Emphasis::More } else { Emphasis::Less };
            Cell::Text(emphasis, format!("{} ({})", effect.relative(), effect.range))
        }
        (Ok(change), Ok(interval)) => {
            let (change, range) = signed(*change, *interval);
            Cell::from(format!("{change} ({range})"))
        }
        (Err(why), _) | (_, Err(why)) => Cell::Absent(why.to_string()),
    }
}

fn table(record: &SuiteRecord, label: &str, rows: &[&Benchmark]) -> Table {
    let what = what(record);
    // There is no column of the new build: the loads of the runs differed, so its median could contradict the change.
    let median = |one: &&Benchmark| match (record.compared, one.medians.first(), &one.cpu) {
        (Compared::Cpu, _, Ok(medians)) => Cell::from(time(medians.old)),
        (Compared::Harness, Some(medians), _) => Cell::from(value(record, 0, medians.old)),
        _ => Cell::Nothing,
    };
    let mut columns = vec![
        Column::words("benchmark", rows, |one| one_line(&one.name)),
        Column::words(&format!("change of {what}"), rows, |one| change(one)),
        Column::numbers(&format!("median of {}", name(&record.old)), rows, median),
    ];
    for (metric, source) in record.metrics.iter().enumerate().skip(1) {
        let differs = |one: &&Benchmark| {
            one.medians.get(metric).is_some_and(|medians| medians.old != medians.new && source.unit != "s")
        };
        if rows.iter().any(differs) {
            columns.push(Column::numbers(&source.name, rows, |one| match one.medians.get(metric) {
                Some(Medians { old, new }) if old == new => Cell::from(value(record, metric, *old)),
                Some(Medians { old, new }) => {
                    Cell::from(format!("{} → {}", value(record, metric, *old), value(record, metric, *new)))
                }
                None => Cell::Nothing,
            }));
        }
    }
    columns.push(Column::numbers("pairs", rows, |one| one.pairs.to_string()));
    Table { label: label.to_owned(), rows: ("benchmark", "benchmarks"), columns }
}

/// A value of a metric with its unit.
fn value(record: &SuiteRecord, metric: usize, number: f64) -> String {
    match record.metrics.get(metric).map(|source| source.unit.as_str()) {
        Some("s") => time(number),
        Some(unit) => with_unit(number, unit),
        None => with_unit(number, ""),
    }
}

/// The intervals of the changes as bars, one row for each benchmark.
fn chart(record: &SuiteRecord, rows: &[&Benchmark]) -> Option<Chart> {
    const ROWS: usize = 40;
    let finite = |one: &&&Benchmark| {
        one.interval.as_ref().is_ok_and(|interval| interval.low.is_finite() && interval.high.is_finite())
    };
    let rows: Vec<&&Benchmark> = rows.iter().filter(finite).take(ROWS).collect();
    let log = |value: f64| value.max(-0.999).ln_1p();
    let interval = |one: &Benchmark| one.interval.clone().unwrap_or(Interval { low: 0.0, high: 0.0 });
    let ends = || rows.iter().flat_map(|one| [log(interval(one).low), log(interval(one).high)]).chain([0.0]);
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
    if rows.len() < 2 {
        return None;
    }
    let bar = |(row, one): (usize, &&&Benchmark)| {
        let range = interval(one);
        let change = one.change.as_ref().copied().unwrap_or(f64::NAN);
        Bar { row, from: log(range.low), to: log(range.high), text: sized(change, range).0 }
    };
    let bars = |verdict: Verdict| {
        let some = rows.iter().enumerate().filter(|(_, one)| one.verdict == verdict);
        Marks::Bars(some.map(bar).collect())
    };
    let series = |name: Option<&str>, look, marks| Series { name: name.map(str::to_owned), look, marks };
    let what = what(record);
    let names: Vec<String> = rows.iter().map(|one| one_line(&one.name)).collect();
    Some(Chart {
        label: format!("Intervals of the change of {what}"),
        height: if rows.len() > 12 { Height::Tall } else { Height::Middle },
        x: Axis::Scale(Scale::new(Kind::Change, low, high).padded()),
        y: Axis::Names(without_common(&names).into_iter().map(str::to_owned).collect()),
        series: vec![
            series(Some("slower"), Look::First, bars(Verdict::Slower)),
            series(Some("faster"), Look::Second, bars(Verdict::Faster)),
            series(Some("no change"), Look::Rest, Marks::Down(0.0)),
        ],
        note: Some("A bar is the interval of a change.".to_owned()),
    })
}

/// Names without the groups that all of them begin with, as in `parse/small` and `parse/large`.
fn without_common(names: &[String]) -> Vec<&str> {
    let Some(first) = names.first() else { return vec![] };
    let is_common = |end: usize| names.iter().all(|name| name.len() > end && name.starts_with(&first[..end]));
    // Brackets contain parameters.
    let group = first.split('[').next().unwrap_or_default();
    let ends = group.match_indices(['/', ':']).map(|(at, _)| at + 1);
    let end = ends.rev().find(|&end| is_common(end)).unwrap_or(0);
    names.iter().map(|name| &name[end..]).collect()
}

/// The benchmarks without a result, by their reasons.
fn left_out(record: &SuiteRecord) -> Vec<(String, Vec<String>)> {
    let failed = record.benchmarks.iter().filter_map(|one| Some((&one.name, one.failed.as_ref()?)));
    let unmeasured = record.unmeasured.iter().map(|one| (&one.name, &one.reason));
    by_reason(failed.chain(unmeasured).map(|(name, reason)| (one_line(name), short(reason))))
}

/// Groups names by their reasons, each in the order in which it occurs first.
pub(crate) fn by_reason(named: impl Iterator<Item = (String, String)>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = vec![];
    for (name, reason) in named {
        match groups.iter_mut().find(|group| group.0 == reason) {
            Some((_, names)) => names.push(name),
            None => groups.push((reason, vec![name])),
        }
    }
    groups
}

fn not_measured(rows: &[(String, Vec<String>)]) -> Table {
    Table {
        label: "Not measured".to_owned(),
        rows: ("reason", "reasons"),
        columns: vec![
            Column::words("benchmark", rows, |row| row.1.join(", ")),
            Column::words("reason", rows, |row| row.0.clone()),
        ],
    }
}

/// A reason in one line. The output of a failed run may have many lines, which the JSON has. The cause is in the line
/// with an error or a panic, or else mostly in the last ones. Lines without a letter are rules.
fn short(reason: &str) -> String {
    let (what, printed) = reason.split_once('\n').unwrap_or((reason, ""));
    let what = what.split("; the last lines").next().unwrap_or_default().trim_end_matches(':');
    let has_letter = |line: &&str| line.chars().any(char::is_alphabetic);
    let printed: Vec<&str> = printed.lines().map(str::trim).filter(has_letter).collect();
    let cause = match printed.iter().position(|line| is_error(line)) {
        Some(at) => &printed[at..=at],
        None => &printed[printed.len().saturating_sub(2)..],
    };
    let cause = if cause.is_empty() { String::new() } else { format!(": {}", cause.join("; ")) };
    one_line(&format!("{what}{cause}"))
}

fn facts(record: &SuiteRecord) -> Vec<Fact> {
    let level = setting(1.0 - record.confidence);
    let of_all = count(record.suite, "benchmark", "benchmarks");
    let error = match record.error {
        ErrorRate::Family => format!("at most {level} that any verdict is wrong, for {of_all}"),
        ErrorRate::Discovery => format!("at most {level} of the reported differences are wrong, on average"),
    };
    let what = what(record);
    let compared = match record.primary() {
        Quantity::Cpu => "the CPU time of the process, for equal iterations".to_owned(),
        Quantity::Metric(_) => format!("the {what} that the harness reports for an undisturbed sample"),
    };
    let pairs: usize = record.benchmarks.iter().map(|one| one.pairs).sum();
    let mut facts = vec![
        Fact::new("harness", one_line(&record.harness)),
        Fact::new("compared", compared),
        Fact::new("error", error),
        Fact::new("pairs", format!("{} of runs, in random order", count(pairs, "pair", "pairs"))),
        Fact::new("time", format!("{} of {}", duration(record.elapsed_seconds), time_setting(record.budget_seconds))),
        Fact::new("seed", record.seed.to_string()),
    ];
    let unshared = record.benchmarks.iter().filter(|one| one.unshared).count();
    if unshared > 0 {
        let who = count(unshared, "benchmark", "benchmarks");
        let text = format!("not shared by {who}, because a shared one had no result");
        facts.insert(4, Fact::new("processes", text));
    }
    if record.draws {
        facts.insert(3, Fact::new("layouts", "for each pair, both builds were linked again in another random order"));
    }
    if let Some(shard) = &record.shard {
        facts.insert(1, Fact::new("part", format!("{shard} of the suite")));
    }
    facts
}

/// One line for each benchmark.
fn csv(record: &SuiteRecord) -> String {
    let rows = record.benchmarks.iter().map(|one| {
        let end =
            |pick: fn(&Interval) -> f64| -> Reading<f64> { one.interval.as_ref().map(pick).map_err(Clone::clone) };
        let mut row = Row::new()
            .with("benchmark", &one.name)
            .with("verdict", if one.failed.is_some() { "failed" } else { one.verdict.name() })
            .with_reading("change", &one.change, f64::to_string)
            .with_reading("low", &end(|interval| interval.low), f64::to_string)
            .with_reading("high", &end(|interval| interval.high), f64::to_string)
            .with("pairs", one.pairs);
        for (metric, source) in record.metrics.iter().enumerate() {
            let unit = match source.unit.as_str() {
                "" => String::new(),
                "s" => "_seconds".to_owned(),
                "B" => "_bytes".to_owned(),
                other => format!("_{other}"),
            };
            let medians: Reading<Medians> =
                one.medians.get(metric).copied().ok_or_else(|| steady_model::Absent::because("there are no pairs"));
            let old = medians.clone().map(|one| one.old);
            let new = medians.map(|one| one.new);
            row = row.with_reading(format!("old_{}{unit}", source.name), &old, f64::to_string).with_reading(
                format!("new_{}{unit}", source.name),
                &new,
                f64::to_string,
            );
        }
        row
    });
    csv::text(&rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_leave_out_what_all_names_begin_with() {
        let shown = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            without_common(&names).join(" ")
        };
        assert_eq!(shown(&["norm/Form/NFC", "norm/Form/NFKC"]), "NFC NFKC");
        assert_eq!(shown(&["test_a.py::test[é/1]", "test_a.py::test[é/2]"]), "test[é/1] test[é/2]");
        assert_eq!(shown(&["a/", "a/b"]), "a/ a/b");
        assert_eq!(shown(&["abc", "abd"]), "abc abd");
        assert_eq!(shown(&[]), "");
    }

    #[test]
    fn a_reason_has_the_line_of_the_error_or_the_last_lines() {
        let failed = "a run in v1 exited with status 1; the last lines of its output:\n  ";
        assert_eq!(short("only v2 has it"), "only v2 has it");
        let usage = format!("{failed}WARNING: x\n  error: no option '--y'\n  \n  For more information try --help");
        assert_eq!(short(&usage), "a run in v1 exited with status 1: error: no option '--y'");
        let assertion =
            format!("{failed}    def test(x):\n  E   assert 1 == 2\n  test_a.py:3: AssertionError\n  1 failed");
        assert_eq!(short(&assertion), "a run in v1 exited with status 1: E   assert 1 == 2");
        let skipped = "no value; it ends with:\n  \"error_message\": \"oh no\",\n  \"cpu_time\": 0.0\n}";
        assert_eq!(short(skipped), "no value; it ends with: \"error_message\": \"oh no\",");
        let panic = format!("{failed}one\n  two\n  three\n  ======");
        assert_eq!(short(&panic), "a run in v1 exited with status 1: two; three");
        let trace = format!("{failed}panic: index out of range [4]\n  ...\n  created by testing\n  benchmark.go:238");
        assert_eq!(short(&trace), "a run in v1 exited with status 1: panic: index out of range [4]");
    }
}
