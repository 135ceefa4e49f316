//! The parts of the time of each command's runs.

use std::borrow::Cow;

use steady_model::{Absent, Breakdown, CounterMeans, Layout, Metric, Reading, Report, Spread};
use steady_render::document::{Block, Section, Shown};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{
    TIE, TimeAndRange, count, low_to_high, memory, short, time, time_and_range, time_beside, time_unit_beside,
    time_with_beside, with_unit, with_unit_and_interval, with_unit_and_range,
};

use super::{charts, plain};
use crate::words::label;

/// Why a counter has no value.
const UNCOUNTED: &str = "the CPU does not count them, or not in every run";

/// A row of the table: its label, and its cell for a command that has runs.
type Row = (Cow<'static, str>, Box<dyn Fn(&Breakdown) -> Cell>);

/// The table with a column for each command. Pages have a bar chart of the same times too. There are none without runs.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    if report.record.blocks.is_empty() {
        return vec![];
    }
    let plan = &report.record.plan;
    let found: Vec<Option<&Breakdown>> = (0..plan.commands.len())
        .map(|command| report.breakdowns.iter().find(|one| one.command == command && one.runs > 0))
        .collect();
    let rows = rows(report, &found);
    let mut columns = vec![Column::words("", &rows, |row| row.0.replace(' ', TIE))];
    for (command, one) in found.iter().enumerate() {
        let failed = report.breakdowns.iter().find(|one| one.command == command).map_or(0, |one| one.failures);
        let cell = |row: &Row| match one {
            None if row.0 == RUNS => Cell::from(runs_in_words(0, failed)),
            None => Cell::Absent(report.record.no_runs().0),
            Some(one) => row.1(one),
        };
        let head = format!("{}{TIE}{}", command + 1, label(plan, command));
        columns.push(Column::words(&head, &rows, cell));
    }
    let is_short = columns.iter().flat_map(|column| &column.cells).any(|cell| match cell {
        Cell::Text(_, text) => text.ends_with('?'),
        _ => false,
    });
    let label = "Where the time of a run went".to_owned();
    let table = Table { label, rows: ("quantity", "quantities"), columns };
    let mut blocks = vec![Block::Table(table)];
    if is_short {
        blocks.push(Block::Paragraph(plain("±?: too few runs for an interval".to_owned())));
    }
    let chart = Section::new("Where the time went", vec![charts::split(report)]).shown(Shown::OnPages);
    vec![chart, Section::new(&heading(&found), blocks).whole().as_detail()]
}

/// The heading of the table. It names the layout if all commands ran in one.
fn heading(found: &[Option<&Breakdown>]) -> String {
    let mut layouts = found.iter().flatten().map(|breakdown| breakdown.layout);
    match layouts.next() {
        Some(first) if found.len() > 1 && layouts.all(|layout| layout == first) => match first {
            Layout::Turns => "Where the time of a run went (in turns; mean ± 95 %)".to_owned(),
            Layout::Duet => "Where the time of a run went (in duets; mean ± 95 %)".to_owned(),
        },
        _ => "Where the time of a run went (mean ± 95 %)".to_owned(),
    }
}

const RUNS: &str = "runs";

fn rows(report: &Report, found: &[Option<&Breakdown>]) -> Vec<Row> {
    // The times of a row are in one unit, unless they differ much.
    let largest = |pick: &dyn Fn(&Breakdown) -> f64| found.iter().flatten().map(|one| pick(one)).fold(0.0, f64::max);
    let means = |label: &'static str, pick: fn(&Breakdown) -> Reading<Spread>| -> Row {
        let largest = largest(&|one| pick(one).map_or(0.0, |spread| spread.mean));
        let text = move |spread: &Spread| time_with_beside(spread.mean, spread.interval, largest);
        (label.into(), Box::new(move |one: &Breakdown| Cell::reading(&pick(one), text)))
    };
    let times = |label: &'static str, pick: fn(&Breakdown) -> Reading<Spread>, part: fn(&Spread) -> f64| -> Row {
        let largest = largest(&|one| pick(one).as_ref().map_or(0.0, part));
        let text = move |spread: &Spread| time_beside(part(spread), largest);
        (label.into(), Box::new(move |one: &Breakdown| Cell::reading(&pick(one), text)))
    };
    let ranges = |pick: fn(&Breakdown) -> Reading<Spread>| -> Row {
        let largest = largest(&|one| pick(one).map_or(0.0, |spread| spread.max));
        let text = move |spread: &Spread| range(spread, largest);
        ("  range".into(), Box::new(move |one: &Breakdown| Cell::reading(&pick(one), text)))
    };
    let whole = |label: &'static str, pick: fn(&Breakdown) -> Reading<Spread>| {
        let deviation = times("  deviation", pick, |spread| spread.deviation);
        let median = times("  median", pick, |spread| spread.median);
        [means(label, pick), deviation, median, ranges(pick)]
    };
    let both = |label: &'static str, pick: fn(&Breakdown) -> [f64; 2]| -> Row {
        let cell = move |one: &Breakdown| Cell::from(pick(one).map(short).join(&format!("{TIE}/{TIE}")));
        (label.into(), Box::new(cell))
    };
    let mut rows = Vec::from(whole("CPU time", |one| Ok(one.cpu)));
    rows.extend([
        means("  user", |one| one.user.clone()),
        means("  system", |one| one.system.clone()),
        means("waiting for a CPU", |one| one.run_delay.clone()),
        means("blocked", |one| one.blocked.clone()),
    ]);
    rows.extend(whole("wall time", |one| Ok(one.wall)));
    if report.record.primary == Metric::Elapsed {
        rows.extend(whole("elapsed time", |one| one.elapsed.clone()));
    }
    rows.push((
        "peak memory".into(),
        Box::new(|one: &Breakdown| Cell::reading(&one.peak_memory, |bytes| memory(bytes.0 as f64))),
    ));
    if report.record.counters.is_ok() {
        rows.extend(counters());
    }
    let has_unit = |metric: &Metric| matches!(metric, Metric::Energy | Metric::Custom(_));
    let no_runs = report.record.no_runs();
    rows.extend(report.record.metrics().filter(has_unit).flat_map(|metric| values(metric, &no_runs)));
    rows.push(both("faults min/major", |one| [one.minor_faults, one.major_faults]));
    rows.push(both("switches vol/inv", |one| [one.voluntary_switches, one.involuntary_switches]));
    rows.push((RUNS.into(), Box::new(|one: &Breakdown| Cell::from(runs_in_words(one.runs, one.failures)))));
    rows
}

/// The smallest and the largest of the times, in one unit, next to ranges of which `largest` is the end: `0.48 to 1.42
/// ms`.
fn range(spread: &Spread, largest: f64) -> String {
    let (unit, scale) = time_unit_beside(spread.max, largest);
    low_to_high(spread.min * scale, spread.max * scale, unit)
}

fn runs_in_words(runs: usize, failures: usize) -> String {
    if failures == 0 { runs.to_string() } else { format!("{runs}{TIE}+{TIE}{failures}{TIE}failed") }
}

/// The rows of the CPU's counters.
fn counters() -> Vec<Row> {
    fn row(label: &'static str, pick: fn(&CounterMeans) -> Option<String>) -> Row {
        let cell = move |one: &Breakdown| {
            let known = one.counters.as_ref().and_then(pick);
            known.map_or_else(|| Cell::Absent(UNCOUNTED.to_owned()), Cell::from)
        };
        (label.into(), Box::new(cell))
    }
    vec![
        row("instructions", |means| means.instructions.map(count)),
        row("  per cycle", |means| Some(short(means.instructions? / means.cycles?))),
        row("cycles", |means| means.cycles.map(count)),
        row("branch misses", |means| means.branch_misses.map(count)),
        row("cache misses", |means| means.cache_misses.map(count)),
    ]
}

/// The rows of a metric whose values have a unit of their own.
fn values(metric: Metric, no_runs: &Absent) -> Vec<Row> {
    let row = |label: &str, text: fn(&Spread, &str) -> String| -> Row {
        let no_runs = no_runs.clone();
        let cell = move |one: &Breakdown| match one.values.iter().find(|value| value.0 == metric) {
            Some((_, spread)) => Cell::reading(spread, |spread| text(spread, metric.unit())),
            None => Cell::Absent(no_runs.0.clone()),
        };
        (label.to_owned().into(), Box::new(cell))
    };
    vec![
        row(metric.name(), |spread, unit| with_unit_and_interval(spread.mean, spread.interval, unit)),
        row("  deviation", |spread, unit| with_unit(spread.deviation, unit)),
        row("  median", |spread, unit| with_unit(spread.median, unit)),
        row("  range", |spread, unit| low_to_high(spread.min, spread.max, unit)),
    ]
}

/// The mean of a custom metric inside a sentence.
pub(super) fn values_in_words(spread: &Spread, unit: &str) -> String {
    match spread.interval.half_width().is_finite() {
        true => {
            let (mean, range) = with_unit_and_range(spread.mean, spread.interval, unit);
            format!("{mean} ({range}, 95{TIE}%)")
        }
        false => format!("{} (too few runs for an interval)", with_unit(spread.mean, unit)),
    }
}

/// A mean inside a sentence, as in `12.3 ms a run (12.2 to 12.4, 95 %)`.
pub(super) fn mean_in_words(spread: &Spread) -> String {
    if !spread.interval.half_width().is_finite() {
        return format!("{} a run (too few runs for an interval)", time(spread.mean));
    }
    let TimeAndRange { time, range, .. } = time_and_range(spread.mean, spread.interval);
    format!("{time} a run ({range}, 95{TIE}%)")
}
