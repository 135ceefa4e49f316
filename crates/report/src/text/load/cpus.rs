//! How busy each logical CPU was, and which of them the processes ran on; summed up where there are many.

use steady_model::{CpuUse, LoadReport, LoadRow, Reading};

use super::figures::absence;
use crate::text::absent::Footnotes;
use crate::text::grid::Column;
use crate::words::cut;

/// More CPUs than this are not told one by one.
const FEW: usize = 8;
/// From this share of the time on, a CPU counts as busy in a summary.
const BUSY: f64 = 0.5;
/// The room for a list of CPUs.
const LIST: usize = 18;

/// Two columns: how busy the CPUs were, and where the processes were seen.
pub(super) fn columns(report: &LoadReport, notes: &mut Footnotes) -> [Column; 2] {
    let rows: Vec<Option<&LoadRow>> =
        report.points.iter().map(|point| report.record.rows.iter().find(|row| row.procs == point.procs)).collect();
    let known: Vec<usize> = rows.iter().flatten().map(|row| row.cpus.len()).collect();
    let one_by_one = known.iter().all(|number| *number <= FEW);
    let mut column = |head: String, cell: &dyn Fn(&LoadRow, &mut Footnotes) -> String| Column {
        head,
        cells: rows.iter().map(|row| row.map_or_else(|| "–".to_owned(), |row| cell(row, notes))).collect(),
    };
    if one_by_one {
        let of = rows.iter().flatten().find(|row| !row.cpus.is_empty()).map_or_else(String::new, |row| {
            format!(" {}", list(&row.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>()))
        });
        return [
            column(format!("busy, CPU{of} (%)"), &|row, notes| each(&row.cpus, |cpu| &cpu.busy_ratio, notes)),
            column(format!("ran there, CPU{of} (%)"), &|row, notes| each(&row.cpus, |cpu| &cpu.ours_ratio, notes)),
        ];
    }
    [
        column("CPUs over half busy".to_owned(), &|row, notes| busy(&row.cpus, notes)),
        column("ran on CPUs".to_owned(), &|row, notes| ran_on(&row.cpus, notes)),
    ]
}

/// The share of each CPU, as percentages.
fn each(cpus: &[CpuUse], pick: fn(&CpuUse) -> &Reading<f64>, notes: &mut Footnotes) -> String {
    let told: Vec<&Reading<f64>> = cpus.iter().map(pick).collect();
    // A reason that all share is told once.
    if let Some(Err(absent)) = told.first()
        && told.iter().all(|reading| reading.as_ref().err() == Some(absent))
    {
        return absence(absent, notes);
    }
    let cell = |reading: &&Reading<f64>| match reading {
        Ok(ratio) if (ratio * 100.0).is_finite() => format!("{:>3.0}", ratio * 100.0),
        Ok(_) => "  ?".to_owned(),
        Err(absent) => absence(absent, notes),
    };
    if told.is_empty() { "–".to_owned() } else { told.iter().map(cell).collect::<Vec<_>>().join(" ") }
}

/// How many of them were busy for more than half of the time.
fn busy(cpus: &[CpuUse], notes: &mut Footnotes) -> String {
    let told: Vec<f64> = cpus.iter().filter_map(|cpu| cpu.busy_ratio.clone().ok()).collect();
    match cpus.iter().find_map(|cpu| cpu.busy_ratio.as_ref().err()) {
        Some(absent) if told.is_empty() => absence(absent, notes),
        _ => format!("{} of {}", told.iter().filter(|ratio| **ratio > BUSY).count(), told.len()),
    }
}

/// Those on which a process was seen.
fn ran_on(cpus: &[CpuUse], notes: &mut Footnotes) -> String {
    let seen: Vec<usize> =
        cpus.iter().filter(|cpu| cpu.ours_ratio.as_ref().is_ok_and(|ratio| *ratio > 0.0)).map(|cpu| cpu.cpu).collect();
    match cpus.iter().find_map(|cpu| cpu.ours_ratio.as_ref().err()) {
        Some(absent) if seen.is_empty() => absence(absent, notes),
        _ => cut(&list(&seen), LIST),
    }
}

/// Numbers as the kernel lists CPUs: `0-3,8`.
pub(crate) fn list(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let part = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[usize::MAX, 3]), format!("{},3", usize::MAX));
    }
}
