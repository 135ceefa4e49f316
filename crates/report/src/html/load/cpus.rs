//! How busy each logical CPU was in each row, and where the processes ran: a field of squares, the fuller the darker.

use maud::{Markup, html};
use steady_model::{CpuUse, LoadReport, LoadRow, Reading};

use crate::html::svg::{HEIGHT, Plot, WIDTH, sample};
use crate::units::percent;

/// More CPUs than this are drawn as means of several, and of more rows than this not all are.
const MOST_CPUS: usize = 128;
const MOST_ROWS: usize = 64;
/// Squares beyond this number have no words of their own.
const MOST_TITLES: usize = 600;

/// What is drawn of every CPU.
struct Field {
    /// What it is a share of.
    what: &'static str,
    /// The reading.
    pick: fn(&CpuUse) -> &Reading<f64>,
}

/// Both fields.
pub(super) fn draw(report: &LoadReport) -> Markup {
    let busy = Field { what: "Share of time in which a logical CPU was in use", pick: |cpu| &cpu.busy_ratio };
    let ours =
        Field { what: "Share of the looks that found a process running on a logical CPU", pick: |cpu| &cpu.ours_ratio };
    html! {
        h3 { "How busy each logical CPU was" }
        figure { (field(report, &busy)) }
        h3 { "Where the processes ran" }
        figure { (field(report, &ours)) }
    }
}

/// A row of squares for every row; a sentence where there is no reading.
fn field(report: &LoadReport, field: &Field) -> Markup {
    let (what, pick) = (field.what, field.pick);
    let all: Vec<&LoadRow> = report
        .points
        .iter()
        .filter_map(|point| report.record.rows.iter().find(|row| row.procs == point.procs))
        .filter(|row| row.cpus.iter().any(|cpu| pick(cpu).is_ok()))
        .collect();
    if all.is_empty() {
        let reason = report.record.rows.iter().flat_map(|row| &row.cpus).find_map(|cpu| pick(cpu).as_ref().err());
        let reason = reason.map_or_else(|| "no CPU was looked at".to_owned(), ToString::to_string);
        return html! { p.note { "Absent: " (reason) "." } };
    }
    let every = all.len().div_ceil(MOST_ROWS);
    let rows: Vec<&LoadRow> = all.iter().copied().step_by(every).collect();
    let cpus = rows.iter().map(|row| row.cpus.len()).max().unwrap_or(1).max(1);
    let group = cpus.div_ceil(MOST_CPUS);
    let columns = cpus.div_ceil(group);
    let titles = rows.len() * columns <= MOST_TITLES;
    let inside = html! {
        @for (index, row) in rows.iter().enumerate() { (squares(row, (index, rows.len()), (group, columns), titles, field)) }
    };
    let label = format!("{what}, for {} numbers of processes and {cpus} CPUs.", rows.len());
    let (x, y) = (labels_of_cpus(&rows, group, columns), labels_of_rows(&rows));
    html! {
        (Plot { label: &label, height: "tall", x: &x, x_labels: true, y: &y, inside }.draw())
        p.key { span { (sample("heat")) (what) ": from none to all" } }
        p.note {
            "Below: the CPU's number. Left: processes at once."
            @if group > 1 { " Each column is the mean of " (group) " CPUs." }
            @if every > 1 { " One row in " (every) " is drawn." }
        }
    }
}

/// The squares of one row, the first row at the top.
fn squares(
    row: &LoadRow,
    (index, rows): (usize, usize),
    (group, columns): (usize, usize),
    titles: bool,
    field: &Field,
) -> Markup {
    let (width, height) = (WIDTH / columns as f64, HEIGHT / rows as f64);
    html! {
        @for (column, cpus) in row.cpus.chunks(group).enumerate() {
            @if let Some(share) = mean(cpus, field) {
                rect.heat x=(format!("{:.0}", column as f64 * width)) y=(format!("{:.0}", index as f64 * height))
                    width=(format!("{width:.0}")) height=(format!("{height:.0}")) fill-opacity=(format!("{share:.2}")) {
                    @if titles { title { (row.procs) " at once, CPU " (cpus[0].cpu) ": " (percent(share)) } }
                }
            }
        }
    }
}

/// The mean of the readings that there are.
fn mean(cpus: &[CpuUse], field: &Field) -> Option<f64> {
    let told: Vec<f64> = cpus
        .iter()
        .filter_map(|cpu| (field.pick)(cpu).as_ref().ok().copied())
        .filter(|share| share.is_finite())
        .collect();
    (!told.is_empty()).then(|| (told.iter().sum::<f64>() / told.len() as f64).clamp(0.0, 1.0))
}

/// The numbers of the CPUs below the middles of their columns, as many as have room.
fn labels_of_cpus(rows: &[&LoadRow], group: usize, columns: usize) -> Vec<(f64, String)> {
    let Some(longest) = rows.iter().max_by_key(|row| row.cpus.len()) else { return vec![] };
    let middles = longest.cpus.chunks(group).enumerate();
    let all = middles.map(|(column, cpus)| ((column as f64 + 0.5) / columns as f64, cpus[0].cpu.to_string()));
    thinned(all, |text| 0.035 + 0.025 * text.len() as f64)
}

/// The numbers of processes beside the middles of their rows, as many as have room.
fn labels_of_rows(rows: &[&LoadRow]) -> Vec<(f64, String)> {
    let all = rows
        .iter()
        .enumerate()
        .map(|(index, row)| (1.0 - (index as f64 + 0.5) / rows.len() as f64, row.procs.to_string()));
    thinned(all, |_| 0.085)
}

/// Those that are far enough from the one before.
fn thinned(all: impl Iterator<Item = (f64, String)>, apart: impl Fn(&str) -> f64) -> Vec<(f64, String)> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    for (place, text) in all {
        if kept.last().is_none_or(|(before, _)| (place - before).abs() >= apart(&text)) {
            kept.push((place, text));
        }
    }
    kept
}
