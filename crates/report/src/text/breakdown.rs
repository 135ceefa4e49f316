//! Where the time of each command's runs went.

use steady_model::{Absent, Breakdown, CounterMeans, Layout, Reading, Report, Spread};

use super::Page;
use super::absent::Footnotes;
use super::table::{Quantity, Table};
use crate::units::{TIE, count, memory, short, time, time_unit, time_with};
use crate::words::{between, name};

/// The reason of a counter that tells nothing of some run.
const UNCOUNTED: &str = "the CPU does not count them, or not in every run";
/// The reason that stands for a whole column.
const NOTHING: &str = "no run succeeded";

/// The table, one column per command while they fit, else one row per command.
pub(super) fn write(report: &Report, page: &mut Page) {
    let (heading, table, notes) = content(report);
    page.heading(&heading);
    table.write(page);
    notes.write(page);
}

/// The heading, the table and what its marks refer to.
pub(crate) fn content(report: &Report) -> (String, Table, Footnotes) {
    let plan = &report.record.plan;
    let found: Vec<Option<&Breakdown>> = (0..plan.commands.len())
        .map(|command| report.breakdowns.iter().find(|one| one.command == command && one.runs > 0))
        .collect();
    let mut notes = Footnotes::default();
    let quantities = quantities(report, &found, &mut notes);
    let names = (0..plan.commands.len()).map(|command| format!("{}{TIE}{}", command + 1, name(plan, command)));
    (heading(&found), Table { names: names.collect(), quantities }, notes)
}

/// Which runs the table is about.
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

/// Every line of the table.
fn quantities(report: &Report, found: &[Option<&Breakdown>], notes: &mut Footnotes) -> Vec<Quantity> {
    let mut all = Vec::new();
    let mut times = |label, short, pick: fn(&Breakdown) -> Reading<Spread>, notes: &mut Footnotes| {
        let cells = found.iter().map(|one| match one.map(pick) {
            Some(Ok(spread)) => time_cell(&spread, notes),
            Some(Err(absent)) => notes.cell(&absent),
            None => nothing(notes),
        });
        all.push(Quantity { label, short, cells: cells.collect() });
    };
    times("CPU time", "CPU time", |one| Ok(one.cpu), notes);
    times("  user", "user", |one| Ok(one.user), notes);
    times("  system", "system", |one| Ok(one.system), notes);
    times("waiting for a CPU", "waiting", |one| one.run_delay.clone(), notes);
    times("blocked", "blocked", |one| one.blocked.clone(), notes);
    times("wall time", "wall time", |one| Ok(one.wall), notes);
    let peak = found.iter().map(|one| match one.map(|one| &one.peak_memory) {
        Some(Ok(bytes)) => memory(bytes.0 as f64),
        Some(Err(absent)) => notes.cell(absent),
        None => nothing(notes),
    });
    all.push(Quantity { label: "peak memory", short: "peak memory", cells: peak.collect() });
    all.extend(counters(report, found, notes));
    all.extend(counts(report, found, notes));
    all
}

/// What the CPU's counters told, where they were read.
fn counters(report: &Report, found: &[Option<&Breakdown>], notes: &mut Footnotes) -> Vec<Quantity> {
    if report.record.counters.is_err() {
        return vec![];
    }
    let mut row = |label, short, pick: fn(&CounterMeans) -> Option<String>| {
        let cells = found.iter().map(|one| match one {
            Some(one) => {
                one.counters.as_ref().and_then(pick).unwrap_or_else(|| notes.cell(&Absent::because(UNCOUNTED)))
            }
            None => nothing(notes),
        });
        Quantity { label, short, cells: cells.collect() }
    };
    let per_cycle = |means: &CounterMeans| Some(short(means.instructions? / means.cycles?));
    vec![
        row("instructions", "instructions", |means| means.instructions.map(count)),
        row("  per cycle", "per cycle", per_cycle),
        row("cycles", "cycles", |means| means.cycles.map(count)),
        row("branch misses", "branch misses", |means| means.branch_misses.map(count)),
        row("cache misses", "cache misses", |means| means.cache_misses.map(count)),
    ]
}

/// Faults, switches and runs.
fn counts(report: &Report, found: &[Option<&Breakdown>], notes: &mut Footnotes) -> Vec<Quantity> {
    let mut both = |label, brief, pick: fn(&Breakdown) -> (f64, f64)| {
        let cells = found.iter().map(|one| match one.map(pick) {
            Some((one, other)) => format!("{}{TIE}/{TIE}{}", short(one), short(other)),
            None => nothing(notes),
        });
        Quantity { label, short: brief, cells: cells.collect() }
    };
    let faults = both("faults min/major", "faults min/maj", |one| (one.minor_faults, one.major_faults));
    let switches =
        both("switches vol/inv", "switches vol/inv", |one| (one.voluntary_switches, one.involuntary_switches));
    let runs = (0..found.len()).map(|command| {
        let one = report.breakdowns.iter().find(|one| one.command == command);
        let (runs, failures) = one.map_or((0, 0), |one| (one.runs, one.failures));
        if failures == 0 { runs.to_string() } else { format!("{runs}{TIE}+{TIE}{failures}{TIE}failed") }
    });
    vec![faults, switches, Quantity { label: "runs", short: "runs", cells: runs.collect() }]
}

/// A mean time; where too few runs give it no interval, a footnote says so.
fn time_cell(spread: &Spread, notes: &mut Footnotes) -> String {
    let cell = time_with(spread.mean, spread.interval);
    if cell.ends_with('?') { format!("{cell}{TIE}{}", notes.mark("too few runs for an interval")) } else { cell }
}

/// The cell of a command without a successful run.
fn nothing(notes: &mut Footnotes) -> String {
    notes.cell(&Absent::because(NOTHING))
}

/// A mean in a sentence: `12.3 ms a run (12.2 to 12.4, 95 %)`.
pub(super) fn mean_in_words(spread: &Spread) -> String {
    let (unit, scale) = time_unit(spread.mean);
    let interval = steady_model::Interval { low: spread.interval.low * scale, high: spread.interval.high * scale };
    if !interval.half_width().is_finite() {
        return format!("{} a run (too few runs for an interval)", time(spread.mean));
    }
    let mean = time_with(spread.mean, spread.interval);
    let mean = mean.split(TIE).next().unwrap_or_default();
    format!("{mean}{TIE}{unit} a run ({}, 95{TIE}%)", between(interval, ""))
}
