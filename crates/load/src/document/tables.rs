//! The tables of a load experiment; the first has the columns of the published tables.

use Digits::{Least, Most};
use steady_model::{Reading, Resource};
use steady_render::letters::cut;
use steady_render::units::{decimals_of, fixed};
use steady_render::{Align, Cell, Column, Table};

use super::facts::list;
use super::sentences::machine::slowdown;
use crate::{CpuUse, Figures, LoadRecord, LoadRow, LoadWork};

/// With more CPUs than this, a table has only a summary of them.
const FEW: usize = 8;
/// In a summary, a CPU counts as busy from this share of the time on.
const BUSY: f64 = 0.5;
/// Maximum width of a list of CPUs, in columns.
const LIST: usize = 18;

/// Picks a figure of a row.
type Pick = fn(&Figures) -> Reading<f64>;

/// The number of decimals in a column.
#[derive(Clone, Copy)]
enum Digits {
    /// Enough for this many digits of the smallest number, for columns whose numbers are of similar size.
    Least(i32),
    /// Enough for this many digits of the largest number, but at most so many decimals; small numbers are negligible.
    Most(i32, usize),
}

/// Table with the columns of the published tables, and the CPUs that others used during each row.
pub(super) fn figures(record: &LoadRecord) -> Table {
    let number = |head: &str, digits: Digits, scale: f64, pick: Pick| number(record, head, digits, scale, pick);
    let others = || number("CPUs used by others", Most(3, 2), 1.0, |figures| figures.others_cpus.clone());
    let columns = match &record.plan.work {
        LoadWork::Hash { .. } => vec![
            procs("number of children", record),
            number("mean CPU time (ms)", Least(4), 1e3, |figures| Ok(figures.cpu_seconds)),
            number("mean wall time (ms)", Least(4), 1e3, |figures| Ok(figures.wall_seconds)),
            number("mean hashes", Least(1), 1.0, |figures| Ok(figures.work)),
            number("hashes per CPU ms", Least(3), 1e-3, |figures| Ok(figures.work_per_cpu_second)),
            number("hashes per wall ms", Least(3), 1e-3, |figures| Ok(figures.work_per_wall_second)),
            others(),
        ],
        LoadWork::Sum { .. } => {
            let machine = &record.machine;
            vec![
                Column::numbers("CPUs", &record.points(), |_| machine.allowed.len().to_string()),
                Column::numbers("Cores", &record.points(), |_| Cell::reading(&machine.core_count(), usize::to_string)),
                procs("Procs", record),
                number("Time (s)", Least(4), 1.0, |figures| Ok(figures.wall_seconds)),
                number("User time (s)", Least(4), 1.0, |figures| Ok(figures.user_seconds)),
                number("numbers per CPU ms", Least(4), 1e-3, |figures| Ok(figures.work_per_cpu_second)),
                number("numbers per wall ms", Least(4), 1e-3, |figures| Ok(figures.work_per_wall_second)),
                others(),
            ]
        }
        LoadWork::Command { .. } => vec![
            procs("copies", record),
            Column::numbers("runs", &record.points(), |point| point.row.run_count.to_string()),
            number("CPU time per run (ms)", Least(4), 1e3, |figures| Ok(figures.cpu_seconds)),
            number("user (ms)", Most(4, 3), 1e3, |figures| Ok(figures.user_seconds)),
            number("system (ms)", Most(4, 3), 1e3, |figures| Ok(figures.system_seconds)),
            number("wall time per run (ms)", Least(4), 1e3, |figures| Ok(figures.wall_seconds)),
            number("runs per CPU s", Least(4), 1.0, |figures| Ok(figures.work_per_cpu_second)),
            number("runs per wall s", Least(4), 1.0, |figures| Ok(figures.work_per_wall_second)),
            number("runs per s, all copies", Least(4), 1.0, |figures| Ok(figures.throughput_per_second)),
            others(),
        ],
    };
    Table { label: "Table of work and times".to_owned(), rows: ("row", "rows"), columns }
}

/// Table of the CPUs that the processes ran on, their waiting times, and the cost of `steady` itself.
pub(super) fn cpus_and_waiting(record: &LoadRecord) -> Table {
    let number = |head: &str, digits: Digits, scale: f64, pick: Pick| number(record, head, digits, scale, pick);
    let mut columns = vec![procs("procs", record)];
    columns.extend(cpus(record));
    columns.push(number("waiting for a CPU (%)", Most(3, 1), 1e2, |figures| figures.waiting_ratio.clone()));
    if matches!(record.plan.work, LoadWork::Hash { .. }) {
        columns.extend([
            number("median overshoot (ms)", Most(3, 3), 1e3, |figures| figures.overshoot_median_seconds.clone()),
            number("worst overshoot (ms)", Most(3, 3), 1e3, |figures| figures.overshoot_max_seconds.clone()),
        ]);
    }
    columns.push(number("steady itself (%)", Most(2, 3), 1e2, |figures| figures.own_ratio.clone()));
    let steal = |row: &LoadRow| row.activity.steal_ratio.clone().map(|ratio| ratio * 1e2);
    let steal: Vec<Reading<f64>> = record.points().iter().map(|point| steal(point.row)).collect();
    columns.push(of_numbers("steal (%)", &steal, Most(3, 1)));
    Table { label: "Table of CPUs and waiting times".to_owned(), rows: ("row", "rows"), columns }
}

/// Table of the median slowdowns that the rulers read during each row, or `None` if there are no readings.
pub(super) fn rulers(record: &LoadRecord) -> Option<Table> {
    let read = |resource: Resource| record.rows.iter().any(|row| row.rulers.iter().any(|one| one.resource == resource));
    let resources: Vec<Resource> = Resource::ALL.into_iter().filter(|resource| read(*resource)).collect();
    let column = |resource: &Resource| {
        Column::numbers(&resource.name().replace('_', " "), &record.points(), |point| {
            let known = slowdown(point.row, *resource).filter(|slowdown| slowdown.is_finite());
            known.map_or(Cell::Nothing, |slowdown| fixed(slowdown, 2).into())
        })
    };
    let columns = std::iter::once(procs("procs", record)).chain(resources.iter().map(column)).collect();
    let table = Table { label: "Table of slowdowns".to_owned(), rows: ("row", "rows"), columns };
    (!resources.is_empty()).then_some(table)
}

/// Column with the numbers of processes.
fn procs(head: &str, record: &LoadRecord) -> Column {
    Column::numbers(head, &record.points(), |point| point.procs.to_string())
}

/// Column with a figure of each row, times `scale`.
fn number(record: &LoadRecord, head: &str, digits: Digits, scale: f64, pick: Pick) -> Column {
    let values: Vec<Reading<f64>> =
        record.points().iter().map(|point| pick(point.figures).map(|value| value * scale)).collect();
    of_numbers(head, &values, digits)
}

/// Column of numbers with a suitable number of decimals.
fn of_numbers(head: &str, values: &[Reading<f64>], digits: Digits) -> Column {
    let sizes = || values.iter().flatten().map(|value| value.abs()).filter(|value| value.is_finite() && *value > 0.0);
    let decimals = match digits {
        Least(digits) => decimals_of(sizes().fold(f64::INFINITY, f64::min), digits).min(3),
        Most(digits, at_most) => decimals_of(sizes().fold(0.0, f64::max), digits).min(at_most),
    };
    Column::numbers(head, values, |value| Cell::reading(value, |value| fixed(*value, decimals)))
}

/// Columns with the use of the CPUs, and the CPUs on which samples found runnable processes: for each CPU, or as a
/// summary.
fn cpus(record: &LoadRecord) -> [Column; 2] {
    let rows: Vec<&LoadRow> = record.points().iter().map(|point| point.row).collect();
    let column = |head: String, align: Align, cell: &dyn Fn(&LoadRow) -> Cell| Column {
        align,
        ..Column::numbers(&head, &rows, |row| cell(row))
    };
    if rows.iter().all(|row| row.cpus.len() <= FEW) {
        let known = rows.iter().find(|row| !row.cpus.is_empty());
        let of = known.map_or_else(String::new, |row| {
            format!(" {}", list(&row.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>()))
        });
        return [
            column(format!("busy, CPU{of} (%)"), Align::Numbers, &|row| each(&row.cpus, |cpu| &cpu.busy_ratio)),
            column(format!("samples with a runnable process on CPU{of} (%)"), Align::Numbers, &|row| {
                each(&row.cpus, |cpu| &cpu.ours_ratio)
            }),
        ];
    }
    [
        column("CPUs over half busy".to_owned(), Align::Numbers, &|row| busy(&row.cpus)),
        column("ran or waited on CPUs".to_owned(), Align::Words, &|row| ran_on(&row.cpus)),
    ]
}

/// Formats the share of each CPU in per cent; a dash if it is not known.
fn each(cpus: &[CpuUse], pick: fn(&CpuUse) -> &Reading<f64>) -> Cell {
    let absent = cpus.iter().find_map(|cpu| pick(cpu).as_ref().err());
    let cell = |cpu: &CpuUse| match pick(cpu) {
        Ok(ratio) if (ratio * 100.0).is_finite() => format!("{:>3.0}", ratio * 100.0),
        Ok(_) => "  ?".to_owned(),
        Err(_) => "  –".to_owned(),
    };
    match absent {
        Some(absent) if cpus.iter().all(|cpu| pick(cpu).is_err()) => Cell::Absent(absent.0.clone()),
        _ if cpus.is_empty() => Cell::Nothing,
        _ => cpus.iter().map(cell).collect::<Vec<_>>().join(" ").into(),
    }
}

/// Formats the number of CPUs that were busy for more than half of the time.
fn busy(cpus: &[CpuUse]) -> Cell {
    let known: Vec<f64> = cpus.iter().filter_map(|cpu| cpu.busy_ratio.clone().ok()).collect();
    match cpus.iter().find_map(|cpu| cpu.busy_ratio.as_ref().err()) {
        Some(absent) if known.is_empty() => Cell::Absent(absent.0.clone()),
        _ => format!("{} of {}", known.iter().filter(|ratio| **ratio > BUSY).count(), known.len()).into(),
    }
}

/// Formats the list of CPUs on which samples found a runnable process.
fn ran_on(cpus: &[CpuUse]) -> Cell {
    let seen: Vec<usize> =
        cpus.iter().filter(|cpu| cpu.ours_ratio.as_ref().is_ok_and(|ratio| *ratio > 0.0)).map(|cpu| cpu.cpu).collect();
    match cpus.iter().find_map(|cpu| cpu.ours_ratio.as_ref().err()) {
        Some(absent) if seen.is_empty() => Cell::Absent(absent.0.clone()),
        _ => cut(&list(&seen), LIST).into(),
    }
}
