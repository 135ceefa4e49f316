//! The report of a search as a document, and as lines of CSV.

use std::borrow::Cow;

use steady_feature::{Record, Report};
use steady_model::{Facts, Interval, Metric, Nanos, Reading};
use steady_render::Chart;
use steady_render::chart::{Axis, Height, Look, Marks, Series, Whisker};
use steady_render::csv::{self, Row};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, origin};
use steady_render::effect::{Effect, noun, sized, verdict_in_words};
use steady_render::json;
use steady_render::letters::{capital, count, one_line};
use steady_render::scale::{Kind, Scale};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{self, TIE, duration, percent, setting, time_setting};

use crate::judge::{confirmations, confirmed, ends, is_incomplete, relative_to_good, with_good};
use crate::record::{BisectOutcome, BisectRecord, Comparison, HistoryCommit, KIND, SCHEMA};

impl Report for BisectRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// A search has no samples, so the JSON is the same with and without them.
    fn json(&self, _samples: bool) -> String {
        json::text(&SCHEMA, self)
    }
}

impl Record for BisectRecord {
    fn facts(&self) -> Facts {
        Facts {
            seed: Ok(self.seed),
            commands: vec![self.command.clone()],
            pairs: Ok(self.comparisons.iter().map(|one| one.pairs).sum()),
            complete: !self.interrupted,
            primary: self.metric.clone(),
            ..Facts::new(KIND, self.started, &self.host, &self.revision, summary(self))
        }
    }

    fn sentences(&self) -> Vec<String> {
        answer(self).into_iter().map(|spans| spans.into_iter().map(|span| span.1).collect()).collect()
    }

    fn status(&self) -> u8 {
        if self.outcome == BisectOutcome::Found { 0 } else { crate::NOT_FOUND }
    }
}

fn document(record: &BisectRecord) -> Document {
    let mut sections = vec![Section::new("The search", vec![Block::Facts(facts(record))])];
    let listed = listed(record);
    if !listed.is_empty() {
        let chart = chart(record, &listed).map(Block::Chart);
        let first = &record.commits[0].short;
        let is_repeated = |row: &Listed<'_>| with_good(record, row.at).count() > 1;
        let several = if listed.iter().any(is_repeated) { " An interval from several is approximate." } else { "" };
        let note = format!(
            "Each row combines all comparisons of the commit with {first}, the good end, with {} intervals.{several} {}",
            setting(record.confidence),
            about_confirmation(record)
        );
        let table = [Block::Table(commits(record, &listed)), Block::Paragraph(vec![plain(note)])];
        let blocks = table.into_iter().chain(chart).collect();
        sections.push(Section::new("Commits", blocks).whole());
    }
    if !record.comparisons.is_empty() {
        let note = "Each row is one comparison alone, at the level in brackets.";
        let blocks = vec![Block::Table(comparisons(record)), Block::Paragraph(vec![plain(note)])];
        sections.push(Section::new("Comparisons", blocks).as_detail().whole());
    }
    sections.extend(origin(record.started, &record.host, &record.revision));
    Document {
        subject: "Steadyhand: which commit changed the cost".to_owned(),
        answer: answer(record),
        sections,
        is_brief: false,
    }
}

/// What the table of commits has to do with the result.
fn about_confirmation(record: &BisectRecord) -> String {
    let Some(confirmation) = confirmed(record) else { return "Only a confirmation names a commit.".to_owned() };
    let [from, to] = [confirmation.from, confirmation.to].map(|at| record.commits[at].short.as_str());
    let parent = if confirmation.to - confirmation.from == 1 { "its parent " } else { "" };
    format!(
        "The change in the first sentence is that of the confirmation, which compared {to} with {parent}{from} on fresh \
         pairs. It is not the difference of two rows."
    )
}

/// A warning if the metric includes much time that the runs waited for a CPU.
fn waiting(record: &BisectRecord) -> Option<Sentence> {
    let ratio = record.comparisons.iter().filter_map(|one| one.waiting_ratio).reduce(f64::max)?;
    let without = if record.metric == Ok(Metric::Wall) { "elapsed" } else { "cpu" };
    let text = format!(
        "The runs of a comparison spent up to {} of their wall time waiting for a CPU. This time is part of the {}, whose \
         change then depends on the load. ",
        percent(ratio),
        quantity(record)
    );
    Some(vec![plain(text), (Emphasis::Code, format!("--metric {without}")), plain(" leaves it out.")])
}

fn plain(text: impl Into<String>) -> (Emphasis, String) {
    (Emphasis::Plain, text.into())
}

/// The compared quantity: `CPU time`.
fn quantity(record: &BisectRecord) -> Cow<'static, str> {
    record.metric.as_ref().map_or(Cow::Borrowed("cost"), |metric| noun(*metric))
}

/// The answer: the commit, then the change of the whole range, then what to do.
fn answer(record: &BisectRecord) -> Vec<Sentence> {
    let Some(ends) = ends(record) else {
        return vec![vec![(Emphasis::Open, "Nothing was compared.".to_owned())]];
    };
    let what = quantity(record);
    let range = one_line(&record.range);
    let (verb, by) = raised(ends);
    let whole = format!("In {range} together, the {what} was {verb} by {by}.");
    let mut sentences = match (record.outcome, confirmed(record)) {
        (BisectOutcome::Found, Some(confirmation)) => found(record, confirmation, whole),
        (BisectOutcome::Same, _) => {
            let resolution = setting(record.resolution_ratio);
            vec![vec![
                plain("There is no commit to find: "),
                (Emphasis::Same, format!("the {what} of both ends is the same")),
                plain(format!(" within the resolution of ±{resolution}: {}.", change(ends))),
            ]]
        }
        _ if !ends.verdict.is_difference() => vec![vec![
            plain(format!("In {range} it is ")),
            (Emphasis::Open, format!("undecided whether the {what} changed")),
            plain(format!(": {}.", change(ends))),
        ]],
        _ => open(record, whole),
    };
    let further = match (record.outcome, record.interrupted) {
        (_, true) => Some("Interrupted: the same command continues the search."),
        (BisectOutcome::Open, false) => Some("The same command continues the search, with another budget."),
        _ => None,
    };
    sentences.extend(waiting(record));
    sentences.extend(further.map(|text| vec![plain(text)]));
    sentences
}

/// The sentences about a commit that was found.
fn found(record: &BisectRecord, confirmation: &Comparison, whole: String) -> Vec<Sentence> {
    let what = quantity(record);
    let commit = &record.commits[confirmation.to];
    let parent = &record.commits[confirmation.from].short;
    let (verb, by) = raised(confirmation);
    let by = format!(" by {by} relative to {parent}.");
    let mut first = match record.candidates.len() {
        0 | 1 => vec![
            (Emphasis::Heading, format!("{} {verb} the {what}", commit.short)),
            plain(by),
            plain(format!(" Its subject: \u{201c}{}\u{201d}.", one_line(&commit.subject))),
        ],
        several => vec![
            (Emphasis::Heading, format!("One of {several} commits, up to {}, {verb} the {what}", commit.short)),
            plain(by),
            plain(match several {
                2 => " The other one cannot be measured, so it is not known which one it was.",
                _ => " The others cannot be measured, so it is not known which one it was.",
            }),
        ],
    };
    if commit.is_merge && record.candidates.len() == 1 {
        let advice = format!(
            " It is a merge; 'steady bisect {parent}..{}^2' searches its branch, if the branch began there.",
            commit.short
        );
        first.push(plain(advice));
    }
    let mut sentences = vec![first];
    sentences.extend(other_confirmations(record, confirmation).map(|text| vec![plain(text)]));
    sentences.push(vec![plain(whole)]);
    sentences.extend(other_changes(record, confirmation).map(|text| vec![plain(text)]));
    sentences
}

/// The other commits that were confirmed, one sentence each.
fn other_confirmations<'a>(record: &'a BisectRecord, largest: &'a Comparison) -> impl Iterator<Item = String> + 'a {
    let others = confirmations(record).filter(move |one| *one != largest);
    others.map(|one| {
        let [from, to] = [one.from, one.to].map(|at| record.commits[at].short.as_str());
        let (verb, by) = raised(one);
        let up_to = if one.to - one.from > 1 { "One of the commits up to " } else { "" };
        format!("{up_to}{to} also {verb} it by {by} relative to {from}.")
    })
}

/// What to say if the confirmed commits probably did not cause the whole change: the rest is larger, or their intervals and
/// that of both ends exclude it. A confirmation of the whole range says nothing about parts.
fn other_changes(record: &BisectRecord, confirmation: &Comparison) -> Option<String> {
    let ends = ends(record).filter(|ends| (confirmation.from, confirmation.to) != (ends.from, ends.to))?;
    // Positive in the direction of the whole change.
    let direction = ends.change.as_ref().map_or(1.0, |change| change.signum());
    let log = |value: &Reading<f64>| value.as_ref().map(|value| direction * value.ln_1p()).ok();
    let least = |one: &Comparison| Some(log(&one.low)?.min(log(&one.high)?));
    let most = |one: &Comparison| Some(log(&one.low)?.max(log(&one.high)?));
    let is_less = |one: Option<f64>, other: Option<f64>| one.zip(other).is_some_and(|(one, other)| one < other);
    let (what, is, wrong) = match confirmations(record).count() {
        1 => ("The change of this commit", "is", "this"),
        _ => ("The changes of these commits together", "are", "one of these"),
    };
    if is_incomplete(record) || is_less(confirmations(record).map(most).sum(), least(ends)) {
        return Some(format!(
            "{what} {is} less than that of the whole range. Either other commits changed the cost, too, or {wrong} is one \
             of the wrong confirmations that the confidence allows.{}",
            searches_of_others(record)
        ));
    }
    is_less(most(ends), confirmations(record).map(least).sum()).then(|| {
        format!(
            "{what} {is} more than that of the whole range, so other commits changed the cost in the other direction.{}",
            searches_of_others(record)
        )
    })
}

/// How to search the commits that are not confirmed, as a sentence that begins with a space.
fn searches_of_others(record: &BisectRecord) -> String {
    let mut parts: Vec<(usize, usize)> = confirmations(record).map(|one| (one.from, one.to)).collect();
    parts.sort_unstable();
    let ends = std::iter::once(0).chain(parts.iter().map(|part| part.1));
    let begins = parts.iter().map(|part| part.0).chain([record.commits.len() - 1]);
    let search = |(from, to): (usize, usize)| {
        let [first, last] = [from, to].map(|at| record.commits[at].short.as_str());
        format!("'steady bisect {first}..{last}' searches {}", count(to - from, "commit", "commits"))
    };
    let searches: Vec<String> = ends.zip(begins).filter(|(from, to)| from < to).map(search).collect();
    format!(" With the same command and options, {}.", searches.join(", and "))
}

/// The sentences about a search without a result.
fn open(record: &BisectRecord, whole: String) -> Vec<Sentence> {
    let what = quantity(record);
    let all = record.commits.len() - 1;
    let candidates: Vec<&HistoryCommit> = record.candidates.iter().map(|at| &record.commits[*at]).collect();
    let probability: f64 = candidates.iter().map(|commit| commit.probability).sum();
    let probability = match probability {
        high if high > MOST_SHOWN => format!("more than{TIE}{}", percent(MOST_SHOWN)),
        other => percent(other),
    };
    let (which, among) = match candidates.as_slice() {
        [one] => (
            format!("of {}", count(all, "commit", "commits")),
            format!("It is {} with a probability of {probability}, which was not confirmed.", one.short),
        ),
        [first, .., last] if candidates.len() < all => (
            format!("of {}", count(candidates.len(), "commit", "commits")),
            format!(
                "With a probability of {probability} it is one of the {} most probable ones in the table, the first of \
                 which is {} and the last {}.",
                candidates.len(),
                first.short,
                last.short
            ),
        ),
        _ => (format!("of {}", count(all, "commit", "commits")), "It may be any of them.".to_owned()),
    };
    let claim = format!("open which {which} changed the {what}");
    vec![vec![plain("It is "), (Emphasis::Open, claim), plain(format!(". {among}"))], vec![plain(whole)]]
}

/// The largest probability in reports. That of a model is never certain, however many digits its value has.
const MOST_SHOWN: f64 = 0.99;

/// A probability in a table: `33 %`, `>99 %`, `<1 %`.
fn probability_in_table(probability: f64) -> String {
    match probability {
        high if high > MOST_SHOWN => format!(">99{TIE}%"),
        low if low < 1.0 - MOST_SHOWN => format!("<1{TIE}%"),
        other => format!("{:.0}{TIE}%", other * 100.0),
    }
}

/// What a comparison says as a verb and an amount: (`raised`, `3.1 % (2.2 to 4.0 %, 95 %)`).
fn raised(comparison: &Comparison) -> (&'static str, String) {
    let (Ok(change), Ok(low), Ok(high)) = (&comparison.change, &comparison.low, &comparison.high) else {
        return ("changed", self::change(comparison));
    };
    let effect = Effect::of(*change, Interval { low: *low, high: *high });
    let verb = match (effect.factor, effect.more) {
        (true, _) => "multiplied",
        (false, true) => "raised",
        (false, false) => "lowered",
    };
    (verb, format!("{} ({}, {})", effect.size, effect.range, level(comparison)))
}

/// The confidence of a comparison. The share of a confirmation is a number with many digits.
fn level(comparison: &Comparison) -> String {
    units::level(comparison.confidence)
}

/// The change of a comparison with its interval, or why there is none: `+3.1 % (2.2 to 4.0 %, 95 %)`.
fn change(comparison: &Comparison) -> String {
    match (&comparison.change, &comparison.low, &comparison.high) {
        (Ok(change), Ok(low), Ok(high)) => {
            let (change, range) = sized(*change, Interval { low: *low, high: *high });
            format!("{change} ({range}, {})", level(comparison))
        }
        (Err(absent), ..) | (_, Err(absent), _) | (_, _, Err(absent)) => format!("an unknown change: {absent}"),
    }
}

/// The interval of a comparison.
fn interval(comparison: &Comparison) -> Reading<Interval> {
    Ok(Interval { low: comparison.low.clone()?, high: comparison.high.clone()? })
}

fn facts(record: &BisectRecord) -> Vec<Fact> {
    let skipped = record.commits.iter().filter(|commit| commit.skipped.is_some()).count();
    let mut facts = vec![
        Fact::new("command", one_line(&record.command)),
        Fact::new("commits", format!("{} in {}", record.commits.len() - 1, one_line(&record.range))),
    ];
    if let Some(build) = &record.build {
        facts.push(Fact::new("build", one_line(build)));
    }
    let comparisons = count(record.comparisons.len(), "comparison", "comparisons");
    let (earlier, of_run) = match record.earlier_seconds {
        Nanos::ZERO => (String::new(), ""),
        earlier => (format!(", {} of them in earlier runs", duration(earlier)), " for this run"),
    };
    facts.push(Fact::new("measured", format!("{} in {comparisons}{earlier}", duration(record.measured()))));
    facts.push(Fact::new("budget", format!("{}{of_run}", time_setting(record.budget_seconds))));
    if let Some(confirmation) = confirmed(record) {
        facts.push(Fact::new(
            "confirmed",
            format!(
                "at {}; with such levels, all confirmations of a search together name a wrong commit with a probability \
                 of {} at most",
                level(confirmation),
                setting(1.0 - record.confidence)
            ),
        ));
    }
    if skipped > 0 {
        facts.push(Fact::new("skipped", format!("{} that cannot be measured", count(skipped, "commit", "commits"))));
    }
    facts
}

/// A row of the table of commits.
struct Listed<'a> {
    at: usize,
    commit: &'a HistoryCommit,
    /// The change relative to GOOD, and its interval.
    change: Option<(f64, Interval)>,
}

/// The commits that were measured or skipped, or that are candidates.
fn listed(record: &BisectRecord) -> Vec<Listed<'_>> {
    let is_compared = |at: usize| record.comparisons.iter().any(|one| one.from == at || one.to == at);
    let each = record.commits.iter().enumerate();
    let listed = each.filter(|(at, commit)| {
        is_compared(*at) || commit.skipped.is_some() || record.candidates.len() <= 20 && record.candidates.contains(at)
    });
    listed.map(|(at, commit)| Listed { at, commit, change: relative_to_good(record, at) }).collect()
}

fn commits(record: &BisectRecord, listed: &[Listed<'_>]) -> Table {
    let first = record.commits.first().map_or("", |commit| commit.short.as_str());
    let change = |row: &Listed| match (&row.commit.skipped, row.change) {
        (Some(_), _) => Cell::from("skipped"),
        (None, Some((change, interval))) => {
            let (change, range) = sized(change, interval);
            Cell::from(format!("{change} ({range})"))
        }
        (None, None) => Cell::Nothing,
    };
    let subject = |row: &Listed| match &row.commit.skipped {
        Some(why) => {
            // The output of a failed build has several lines, which the JSON has.
            let why = why.lines().next().unwrap_or_default();
            let why = why.split("; the last lines").next().unwrap_or_default();
            format!("{} – {}", one_line(&row.commit.subject), one_line(why))
        }
        None => one_line(&row.commit.subject),
    };
    let probability = |row: &Listed| {
        if row.at == 0 { Cell::Nothing } else { Cell::from(probability_in_table(row.commit.probability)) }
    };
    let mut columns = vec![
        Column::words("commit", listed, |row| row.commit.short.clone()),
        Column::numbers(&format!("{} relative to {first}", capital(&quantity(record))), listed, change),
    ];
    // The probabilities assume that one of the commits changed the cost, and no other one.
    if ends(record).is_some_and(|ends| ends.verdict.is_difference()) && confirmations(record).count() < 2 {
        columns.push(Column::numbers("probability", listed, probability));
    }
    columns.push(Column::words("subject", listed, subject));
    Table { label: "Commits".to_owned(), rows: ("commit", "commits"), columns }
}

/// The changes relative to GOOD by commit.
fn chart(record: &BisectRecord, listed: &[Listed<'_>]) -> Option<Chart> {
    let points: Vec<(f64, f64, Interval)> = listed
        .iter()
        .filter_map(|row| row.change.map(|(change, interval)| (row.at as f64, change, interval)))
        .filter(|(.., interval)| interval.low > -1.0 && interval.high.is_finite())
        .collect();
    if points.len() < 2 {
        return None;
    }
    let log = |value: f64| value.ln_1p();
    let ends = || points.iter().flat_map(|(.., interval)| [log(interval.low), log(interval.high)]).chain([0.0]);
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
    let dots = points.iter().map(|(at, change, _)| (*at, log(*change))).collect();
    let whisker =
        |(at, _, interval): &(f64, f64, Interval)| Whisker { x: *at, low: log(interval.low), high: log(interval.high) };
    let series = |name: Option<&str>, look, marks| Series { name: name.map(str::to_owned), look, marks };
    let first = record.commits.first().map_or("", |commit| commit.short.as_str());
    Some(Chart {
        label: format!("{} relative to {first}, by commit", capital(&quantity(record))),
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::Count, 0.0, (record.commits.len() - 1) as f64).padded()),
        y: Axis::Scale(Scale::new(Kind::Change, low, high).padded()),
        series: vec![
            series(None, Look::Rest, Marks::Across(0.0)),
            series(None, Look::First, Marks::Intervals(points.iter().map(whisker).collect())),
            series(None, Look::First, Marks::Dots(dots)),
        ],
        note: Some(format!("Horizontally: the number of the commit after {first}.")),
    })
}

fn comparisons(record: &BisectRecord) -> Table {
    let all = &record.comparisons;
    let short = |at: usize| record.commits[at].short.as_str();
    Table {
        label: "Comparisons".to_owned(),
        rows: ("comparison", "comparisons"),
        columns: vec![
            Column::words("purpose", all, |one| one.purpose.name()),
            Column::words("commits", all, |one| format!("{}..{}", short(one.from), short(one.to))),
            Column::words("change", all, change),
            Column::numbers("pairs", all, |one| one.pairs.to_string()),
            Column::numbers("time", all, |one| duration(one.measured_seconds)),
        ],
    }
}

/// The result in a few words, for a list.
fn summary(record: &BisectRecord) -> String {
    match (record.outcome, confirmed(record)) {
        (BisectOutcome::Found, Some(confirmation)) => {
            let change = verdict_in_words(confirmation.verdict, &confirmation.change, &interval(confirmation));
            format!("{} {change}", record.commits[confirmation.to].short).replace(TIE, " ")
        }
        (BisectOutcome::Same, _) => "same".to_owned(),
        _ => "open".to_owned(),
    }
}

/// One line for each commit.
fn csv(record: &BisectRecord) -> String {
    let no_change = || steady_model::Absent::because("not compared with the first commit");
    let rows: Vec<Row> = record
        .commits
        .iter()
        .enumerate()
        .map(|(at, commit)| {
            let found: Reading<(f64, Interval)> = relative_to_good(record, at).ok_or_else(no_change);
            let of = |pick: fn((f64, Interval)) -> f64| found.clone().map(pick);
            Row::new()
                .with("commit", &commit.commit)
                .with("subject", &commit.subject)
                .with("skipped", commit.skipped.as_deref().unwrap_or(""))
                .with_reading("change", &of(|found| found.0), f64::to_string)
                .with_reading("low", &of(|found| found.1.low), f64::to_string)
                .with_reading("high", &of(|found| found.1.high), f64::to_string)
                .with("probability", commit.probability)
        })
        .collect();
    csv::text(&rows)
}
