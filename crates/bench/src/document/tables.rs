//! The tables of benchmarks and the chart of their intervals.

use steady_compare::again::is_error;
use steady_model::{Interval, Verdict};
use steady_render::Chart;
use steady_render::chart::{Axis, Bar, Height, Look, Marks, Series};
use steady_render::document::Emphasis;
use steady_render::effect::{Effect, signed, sized};
use steady_render::letters::{count, one_line};
use steady_render::scale::{Kind, Scale};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{time, with_unit};

use super::{name, what};
use crate::record::{Benchmark, Medians, Quantity, SuiteRecord};

/// The change with its interval: `3.1 % more (2.8 to 3.4 %)`; or without a ratio, both values.
fn change(record: &SuiteRecord, benchmark: &Benchmark) -> Cell {
    match (&benchmark.change, &benchmark.interval) {
        (Err(why), _) if benchmark.verdict.is_difference() && benchmark.zero_side(record.primary()).is_some() => {
            let both = |Medians { old, new }| format!("{} → {}", compared(record, old), compared(record, new));
            let medians = benchmark.medians_of(record.primary());
            Cell::Noted(medians.map_or_else(String::new, both), why.to_string())
        }
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

pub(super) fn table(record: &SuiteRecord, label: &str, rows: &[&Benchmark]) -> Table {
    let what = what(record);
    // There is no column of the new build: the loads of the runs differed, so its median could contradict the change.
    let median = |one: &&Benchmark| {
        let medians = one.medians_of(record.primary());
        medians.map_or(Cell::Nothing, |medians| Cell::from(compared(record, medians.old)))
    };
    let mut columns = vec![
        Column::words("benchmark", rows, |one| one_line(&one.name)),
        Column::words(&format!("change of {what}"), rows, |one| change(record, one)),
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

/// A value of the compared quantity with its unit.
fn compared(record: &SuiteRecord, number: f64) -> String {
    match record.primary() {
        Quantity::Cpu => time(number),
        Quantity::Metric(metric) => value(record, metric, number),
    }
}

/// A value of a metric with its unit.
fn value(record: &SuiteRecord, metric: usize, number: f64) -> String {
    match record.metrics.get(metric).map(|source| source.unit.as_str()) {
        Some("s") => time(number),
        Some(unit) => with_unit(number, unit),
        None => with_unit(number, ""),
    }
}

/// The intervals of the changes as bars, one row for each benchmark: of many, those at both ends of the order.
pub(super) fn chart(record: &SuiteRecord, changed: &[&Benchmark]) -> Option<Chart> {
    const ROWS: usize = 40;
    let finite = |one: &&&Benchmark| {
        one.interval.as_ref().is_ok_and(|interval| interval.low.is_finite() && interval.high.is_finite())
    };
    let mut rows: Vec<&&Benchmark> = changed.iter().filter(finite).collect();
    if rows.len() > ROWS {
        rows.drain(ROWS / 2..rows.len() - ROWS / 2);
    }
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
    let others = match changed.len() - rows.len() {
        0 => String::new(),
        1 => " 1 other benchmark is not drawn.".to_owned(),
        others => format!(" {} are not drawn.", count(others, "other benchmark", "other benchmarks")),
    };
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
        note: Some(format!("A bar is the interval of a change.{others}")),
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
pub(super) fn left_out(record: &SuiteRecord) -> Vec<(String, Vec<String>)> {
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

pub(super) fn not_measured(rows: &[(String, Vec<String>)]) -> Table {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SCHEMA;

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
    fn a_chart_of_many_benchmarks_has_those_at_both_ends() {
        let json = include_str!("../../../../testdata/reports/bench-changed.json");
        let record: SuiteRecord = steady_render::json::record(&SCHEMA, json).unwrap();
        let of = |verdict| record.benchmarks.iter().find(|one| one.verdict == verdict).unwrap();
        let (slower, faster) = (of(Verdict::Slower), of(Verdict::Faster));
        let drawn = |slow: usize, fast: usize| {
            let rows = [vec![slower; slow], vec![faster; fast]].concat();
            let chart = chart(&record, &rows).unwrap();
            let bars = chart.series.iter().map(|series| match &series.marks {
                Marks::Bars(bars) => bars.len(),
                _ => 0,
            });
            (bars.take(2).collect::<Vec<_>>(), chart.note.unwrap_or_default().replace('\u{a0}', " "))
        };
        let note = "A bar is the interval of a change.";
        assert_eq!(drawn(35, 5), (vec![35, 5], note.to_owned()));
        assert_eq!(drawn(36, 5), (vec![35, 5], format!("{note} 1 other benchmark is not drawn.")));
        assert_eq!(drawn(50, 5), (vec![35, 5], format!("{note} 15 other benchmarks are not drawn.")));
        assert_eq!(drawn(50, 30), (vec![20, 20], format!("{note} 40 other benchmarks are not drawn.")));
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
