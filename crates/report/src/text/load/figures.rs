//! The rows of a load experiment in columns: those of the published tables first.

use steady_model::{Absent, LoadPoint, LoadReport, LoadWork, Reading, Resource};

use super::cpus;
use crate::text::absent::Footnotes;
use crate::text::grid::{Column, Grid};
use crate::units::{decimals_of, fixed};
use Digits::{Least, Most};

/// One figure of every point.
type Pick = fn(&LoadPoint) -> Reading<f64>;

/// How many decimals the numbers of a column have.
#[derive(Clone, Copy)]
enum Digits {
    /// As many as show so many digits of the least: all are of one size, and held against one another.
    Least(i32),
    /// As many as show so many digits of the most, but no more than so many: the least is as good as nothing.
    Most(i32, usize),
}

/// The columns of the published tables, and what everything else used meanwhile.
pub(crate) fn figures(report: &LoadReport) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let mut number = |head: &str, digits: Digits, scale: f64, pick: Pick| {
        let values: Vec<Reading<f64>> =
            report.points.iter().map(|point| pick(point).map(|value| value * scale)).collect();
        Column { head: head.to_owned(), cells: cells(&values, digits, &mut notes) }
    };
    let columns = match &report.record.plan.work {
        LoadWork::Hash { .. } => vec![
            procs("number of children", report),
            number("mean CPU time (ms)", Least(4), 1e3, |point| Ok(point.cpu_seconds)),
            number("mean wall time (ms)", Least(4), 1e3, |point| Ok(point.wall_seconds)),
            number("mean hashes", Least(1), 1.0, |point| Ok(point.work)),
            number("hashes per CPU ms", Least(3), 1e-3, |point| Ok(point.work_per_cpu_second)),
            number("hashes per wall ms", Least(3), 1e-3, |point| Ok(point.work_per_wall_second)),
            number("CPUs used by others", Most(3, 2), 1.0, |point| point.others_cpus.clone()),
        ],
        LoadWork::Sum { .. } => {
            let mut columns = vec![
                procs("Procs", report),
                number("Time (s)", Least(4), 1.0, |point| Ok(point.wall_seconds)),
                number("User time (s)", Least(4), 1.0, |point| Ok(point.user_seconds)),
                number("numbers per CPU ms", Least(4), 1e-3, |point| Ok(point.work_per_cpu_second)),
                number("numbers per wall ms", Least(4), 1e-3, |point| Ok(point.work_per_wall_second)),
                number("CPUs used by others", Most(3, 2), 1.0, |point| point.others_cpus.clone()),
            ];
            columns.splice(0..0, machine(report, &mut notes));
            columns
        }
        LoadWork::Command { .. } => vec![
            procs("copies at once", report),
            runs(report),
            number("CPU time per run (ms)", Least(4), 1e3, |point| Ok(point.cpu_seconds)),
            number("wall time per run (ms)", Least(4), 1e3, |point| Ok(point.wall_seconds)),
            number("runs per second", Least(4), 1.0, |point| Ok(point.throughput_per_second)),
            number("CPUs used by others", Most(3, 2), 1.0, |point| point.others_cpus.clone()),
        ],
    };
    (Grid(columns), notes)
}

/// Where the processes ran and what they waited for, and what looking at them cost.
pub(crate) fn meanwhile(report: &LoadReport) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let mut columns = vec![procs("procs", report)];
    columns.extend(cpus::columns(report, &mut notes));
    let mut number = |head: &str, digits: Digits, scale: f64, pick: Pick| {
        let values: Vec<Reading<f64>> =
            report.points.iter().map(|point| pick(point).map(|value| value * scale)).collect();
        columns.push(Column { head: head.to_owned(), cells: cells(&values, digits, &mut notes) });
    };
    number("waiting for a CPU (%)", Most(3, 1), 1e2, |point| point.waiting_ratio.clone());
    if matches!(report.record.plan.work, LoadWork::Hash { .. }) {
        number("median overshoot (ms)", Most(3, 3), 1e3, |point| point.overshoot_median_seconds.clone());
        number("worst overshoot (ms)", Most(3, 3), 1e3, |point| point.overshoot_max_seconds.clone());
    }
    number("steady itself (%)", Most(2, 3), 1e2, |point| point.own_ratio.clone());
    let steal = rows(report, |row| row.activity.steal_ratio.clone().map(|ratio| ratio * 1e2));
    columns.push(Column { head: "steal (%)".to_owned(), cells: cells(&steal, Most(3, 1), &mut notes) });
    (Grid(columns), notes)
}

/// What the rulers read beside so many processes: their slowdown; nothing where none was read.
pub(crate) fn rulers(report: &LoadReport) -> Option<Grid> {
    let read =
        |resource: Resource| report.record.rows.iter().any(|row| row.rulers.iter().any(|one| one.resource == resource));
    let resources: Vec<Resource> = Resource::ALL.into_iter().filter(|resource| read(*resource)).collect();
    let column = |resource: &Resource| {
        let cell = |point: &LoadPoint| {
            let row = report.record.rows.iter().find(|row| row.procs == point.procs);
            let found = row.and_then(|row| row.rulers.iter().find(|one| one.resource == *resource));
            found
                .filter(|one| one.slowdown_ratio.is_finite())
                .map_or_else(|| "–".to_owned(), |one| fixed(one.slowdown_ratio, 2))
        };
        Column { head: resource.name().replace('_', " "), cells: report.points.iter().map(cell).collect() }
    };
    let columns = std::iter::once(procs("procs", report)).chain(resources.iter().map(column));
    (!resources.is_empty()).then(|| Grid(columns.collect()))
}

/// The numbers of processes, which name the rows.
fn procs(head: &str, report: &LoadReport) -> Column {
    Column { head: head.to_owned(), cells: report.points.iter().map(|point| point.procs.to_string()).collect() }
}

/// How many runs each row rests on.
fn runs(report: &LoadReport) -> Column {
    Column { head: "runs".to_owned(), cells: report.points.iter().map(|point| point.runs.to_string()).collect() }
}

/// The machine's CPUs and cores, the same in every row, as the published table has them.
fn machine(report: &LoadReport, notes: &mut Footnotes) -> [Column; 2] {
    let machine = &report.record.machine;
    let cores = machine.core_count().map_or_else(|absent| absence(&absent, notes), |cores| cores.to_string());
    let every = |head: &str, cell: String| Column { head: head.to_owned(), cells: vec![cell; report.points.len()] };
    [every("CPUs", machine.allowed.len().to_string()), every("Cores", cores)]
}

/// A reading of each point's row.
pub(super) fn rows(report: &LoadReport, pick: impl Fn(&steady_model::LoadRow) -> Reading<f64>) -> Vec<Reading<f64>> {
    let of = |point: &LoadPoint| {
        let found = report.record.rows.iter().find(|row| row.procs == point.procs);
        found.map_or_else(|| Err(Absent::because("there is no such row")), &pick)
    };
    report.points.iter().map(of).collect()
}

/// Numbers with as many decimals as suit them.
fn cells(values: &[Reading<f64>], digits: Digits, notes: &mut Footnotes) -> Vec<String> {
    let sizes = || values.iter().flatten().map(|value| value.abs()).filter(|value| value.is_finite() && *value > 0.0);
    let decimals = match digits {
        Least(digits) => decimals_of(sizes().fold(f64::INFINITY, f64::min), digits).min(3),
        Most(digits, at_most) => decimals_of(sizes().fold(0.0, f64::max), digits).min(at_most),
    };
    let cell = |value: &Reading<f64>| match value {
        Ok(value) if value.is_finite() => fixed(*value, decimals),
        Ok(_) => "?".to_owned(),
        Err(absent) => absence(absent, notes),
    };
    values.iter().map(cell).collect()
}

/// What stands in the place of a reading that is absent.
pub(super) fn absence(absent: &Absent, notes: &mut Footnotes) -> String {
    notes.mark(&format!("absent: {}", crate::words::one_line(&absent.0)))
}
