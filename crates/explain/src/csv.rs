//! CSV output of explained commands and differences.

use std::collections::BTreeSet;

use steady_model::{Interval, Nanos, Reading};
use steady_render::csv::{Column, seconds, table};

use crate::record::{Difference, ExplainPairRecord, ExplainRecord, Missing, Part};

/// One line of the CSV for one command. A field without a reading is empty.
#[derive(Default)]
struct Row {
    line: String,
    depth: u32,
    seconds: String,
    low: String,
    high: String,
    count: String,
    price: String,
    at_least: String,
    absent: String,
}

/// Columns for one command. If a time is not available, the last column has the reason.
const COLUMNS: [Column<Row>; 9] = [
    ("line", |row| row.line.clone()),
    ("depth", |row| row.depth.to_string()),
    ("seconds", |row| row.seconds.clone()),
    ("low_seconds", |row| row.low.clone()),
    ("high_seconds", |row| row.high.clone()),
    ("count", |row| row.count.clone()),
    ("price_seconds", |row| row.price.clone()),
    ("at_least", |row| row.at_least.clone()),
    ("absent", |row| row.absent.clone()),
];

/// CSV of one command: a header line, then one line for each time and each part of the CPU time.
pub(crate) fn one(record: &ExplainRecord) -> String {
    let time = |line: &str, depth: u32, time: &Reading<Nanos>| reading(line, depth, time, |time| seconds(*time));
    let mode = |line: &str, spent: Nanos, interval: &Reading<Interval>| Row {
        low: interval.as_ref().map_or_else(|_| String::new(), |interval| interval.low.to_string()),
        high: interval.as_ref().map_or_else(|_| String::new(), |interval| interval.high.to_string()),
        ..reading(line, 2, interval, |_| seconds(spent))
    };
    let mut rows = vec![
        time("wall time", 0, &Ok(record.wall_seconds)),
        time("thread time", 0, &record.thread_seconds),
        time("CPU time", 1, &Ok(record.cpu())),
        mode("user time", record.user_seconds, &record.user_interval()),
        mode("system time", record.system_seconds, &record.system_interval),
        time("waiting for a CPU", 1, &record.waiting_seconds),
        time("stopped", 1, &Ok(record.stopped_seconds)),
        reading("blocked", 1, &record.blocked_seconds, f64::to_string),
    ];
    rows.extend(record.parts.iter().map(part));
    rows.push(reading("counting", 2, &record.counting_cost_seconds, |cost| cost.seconds().to_string()));
    let interval = record.unexplained.as_ref().map(|(_, interval)| *interval);
    rows.push(Row {
        low: interval.map_or_else(|_| String::new(), |interval| interval.low.to_string()),
        high: interval.map_or_else(|_| String::new(), |interval| interval.high.to_string()),
        ..reading("unexplained", 2, &record.unexplained, |(left, _)| left.to_string())
    });
    rows.extend(record.missing.iter().map(|missing| Row {
        line: missing.what.clone(),
        depth: 2,
        absent: missing.why.clone(),
        ..Row::default()
    }));
    table(&COLUMNS, &rows)
}

fn reading<T>(line: &str, depth: u32, reading: &Reading<T>, text: impl Fn(&T) -> String) -> Row {
    let (seconds, absent) = match reading {
        Ok(value) => (text(value), String::new()),
        Err(absent) => (String::new(), absent.0.clone()),
    };
    Row { line: line.to_owned(), depth, seconds, absent, ..Row::default() }
}

fn part(part: &Part) -> Row {
    Row {
        line: part.name.clone(),
        depth: 2,
        seconds: part.seconds.to_string(),
        low: part.interval.low.to_string(),
        high: part.interval.high.to_string(),
        count: part.count.to_string(),
        price: part.price.seconds.to_string(),
        at_least: part.at_least.to_string(),
        absent: String::new(),
    }
}

/// One line of the CSV for two commands: a line of the difference, or something that was not measured.
enum PairRow<'a> {
    Line(&'a Difference),
    Missing(&'a Missing),
}

impl PairRow<'_> {
    /// Text of a field of a line; empty if the line does not have that field.
    fn field(&self, of: impl Fn(&Difference) -> Option<f64>) -> String {
        match self {
            PairRow::Line(line) => of(line).map_or_else(String::new, |value| value.to_string()),
            PairRow::Missing(_) => String::new(),
        }
    }
}

/// Columns for two commands, with the same rules as [`COLUMNS`].
fn pair_columns<'a>() -> [Column<PairRow<'a>>; 13] {
    [
        ("line", |row| match row {
            PairRow::Line(line) => line.name.clone(),
            PairRow::Missing(missing) => missing.what.clone(),
        }),
        ("depth", |row| match row {
            PairRow::Line(line) => line.depth.to_string(),
            PairRow::Missing(_) => "2".to_owned(),
        }),
        ("old_seconds", |row| row.field(|line| line.seconds[0].clone().ok())),
        ("new_seconds", |row| row.field(|line| line.seconds[1].clone().ok())),
        ("difference_seconds", |row| row.field(|line| Some(line.difference.as_ref().ok()?.0))),
        ("difference_low_seconds", |row| row.field(|line| Some(line.difference.as_ref().ok()?.1.low))),
        ("difference_high_seconds", |row| row.field(|line| Some(line.difference.as_ref().ok()?.1.high))),
        ("old_count", |row| row.field(|line| Some(line.counts?[0]))),
        ("new_count", |row| row.field(|line| Some(line.counts?[1]))),
        ("difference_low_count", |row| row.field(|line| Some(line.more?.1.low))),
        ("difference_high_count", |row| row.field(|line| Some(line.more?.1.high))),
        ("at_least", |row| match row {
            PairRow::Line(line) => line.at_least.unwrap_or(false).to_string(),
            PairRow::Missing(_) => String::new(),
        }),
        ("absent", |row| match row {
            PairRow::Line(line) => reasons(line),
            PairRow::Missing(missing) => missing.why.clone(),
        }),
    ]
}

/// Why times of a line or their difference are absent, each reason once.
fn reasons(line: &Difference) -> String {
    let times = line.seconds.iter().filter_map(|seconds| seconds.as_ref().err());
    let all: BTreeSet<&str> = times.chain(line.difference.as_ref().err()).map(|absent| absent.0.as_str()).collect();
    all.into_iter().collect::<Vec<_>>().join("; ")
}

/// CSV of two commands: a header line, then one line for each time, with the means of both and their difference.
pub(crate) fn pair(record: &ExplainPairRecord) -> String {
    let lines = record.lines.iter().map(PairRow::Line);
    let rows: Vec<PairRow<'_>> = lines.chain(record.missing.iter().map(PairRow::Missing)).collect();
    table(&pair_columns(), &rows)
}
