//! By how much each resource was slower with the most processes, by the rulers.

use steady_model::{LoadReport, LoadRow, Resource};

use super::{at, factor};

/// Each resource's slowdown in the row with the most processes over that in the one with the fewest; none where the rows
/// have no rulers.
pub(super) fn sentence(report: &LoadReport) -> Option<String> {
    let read = || report.record.rows.iter().filter(|row| !row.rulers.is_empty());
    let (first, last) = (read().min_by_key(|row| row.procs)?, read().max_by_key(|row| row.procs)?);
    if first.procs == last.procs {
        return None;
    }
    let slower = |resource| Some(slowdown(last, resource)? / slowdown(first, resource)?);
    let each: Vec<String> = Resource::ALL
        .into_iter()
        .filter_map(|resource| Some(format!("{} {}", spoken(resource), factor(slower(resource)?))))
        .collect();
    let (full, alone) = (at(last.procs), at(first.procs));
    (!each.is_empty())
        .then(|| format!("The rulers took, at {full}, so many times the CPU time of {alone}: {}.", each.join(", ")))
}

/// The median of what the ruler read in the row.
fn slowdown(row: &LoadRow, resource: Resource) -> Option<f64> {
    let readings = row.rulers.iter().filter(|reading| reading.resource == resource);
    let mut all: Vec<f64> = readings.map(|reading| reading.slowdown_ratio).filter(|ratio| *ratio > 0.0).collect();
    all.sort_unstable_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(all[middle]),
        _ => Some((all[middle - 1] + all[middle]) / 2.0),
    }
}

fn spoken(resource: Resource) -> &'static str {
    match resource {
        Resource::Alu => "ALU",
        Resource::L1 => "L1",
        Resource::L2 => "L2",
        Resource::Shared => "shared cache",
        Resource::Memory => "memory",
        Resource::Fetch => "instruction fetch",
        Resource::SystemCall => "system call",
    }
}
