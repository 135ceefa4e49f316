//! What the machine did: which CPUs ran the processes, what a system monitor would have shown, and by how much each resource was
//! slower with the most processes.

use steady_model::Resource;
use steady_render::letters::count;
use steady_render::units::{TIE, percent};

use super::{at, factor};
use crate::{CpuUse, LoadRecord, LoadRow};

/// A CPU ran a process if so many of the looks found one on it: fewer are visits.
const RAN: f64 = 0.02;
/// From this share of the time on a monitor shows a CPU as busy.
const BUSY: f64 = 0.9;
/// More CPUs than this are counted, not named.
const NAMED: usize = 4;

/// The rows with the fewest and with the most processes: what lies between is in the table.
pub(super) fn cpus(record: &LoadRecord) -> Vec<String> {
    let rows = || record.rows.iter().filter(|row| !row.cpus.is_empty());
    let fewest = rows().min_by_key(|row| row.procs);
    let most = rows().max_by_key(|row| row.procs).filter(|most| fewest.is_none_or(|row| row.procs < most.procs));
    let mut said: Vec<String> = fewest.and_then(placed).into_iter().collect();
    said.extend(fewest.into_iter().chain(most).filter_map(monitor));
    said
}

/// Where the processes of the smallest row ran.
fn placed(row: &LoadRow) -> Option<String> {
    let looked = |cpu: &CpuUse| cpu.ours_ratio.as_ref().ok().copied();
    if !row.cpus.iter().any(|cpu| looked(cpu).is_some()) {
        let absent = row.cpus.iter().find_map(|cpu| cpu.ours_ratio.as_ref().err())?;
        return Some(format!("On which CPUs the processes ran is absent: {absent}."));
    }
    let mut ran: Vec<(usize, f64)> = row.cpus.iter().filter_map(|cpu| Some((cpu.cpu, looked(cpu)?))).collect();
    ran.retain(|(_, share)| *share >= RAN);
    ran.sort_by(|(_, one), (_, two)| two.total_cmp(one));
    let who = if row.procs == 1 { "the process".to_owned() } else { format!("the {}{TIE}processes", row.procs) };
    let places = match &ran[..] {
        [] => return Some(format!("At {} no look found {who} on a CPU.", at(row.procs))),
        [(cpu, _)] => format!("stayed on CPU{TIE}{cpu}"),
        _ if ran.len() <= NAMED => {
            let list: Vec<String> =
                ran.iter().map(|(cpu, share)| format!("{cpu} ({} of the looks)", percent(*share))).collect();
            format!("ran on CPUs {}", list.join(", "))
        }
        _ => format!("ran on {}", count(ran.len(), "CPU", "CPUs")),
    };
    Some(format!("At {} {who} {places}.", at(row.procs)))
}

/// What a system monitor shows of such a row.
fn monitor(row: &LoadRow) -> Option<String> {
    let known: Vec<(usize, f64)> =
        row.cpus.iter().filter_map(|cpu| Some((cpu.cpu, *cpu.busy_ratio.as_ref().ok()?))).collect();
    let here = at(row.procs);
    if known.is_empty() {
        let absent = row.cpus.iter().find_map(|cpu| cpu.busy_ratio.as_ref().err())?;
        return Some(format!("How busy each CPU was at {here} is absent: {absent}."));
    }
    let busy: Vec<usize> = known.iter().filter(|(_, share)| *share >= BUSY).map(|(cpu, _)| *cpu).collect();
    let all = count(known.len(), "CPU", "CPUs");
    let most = known.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let least = known.iter().map(|(_, share)| *share).fold(1.0, f64::min);
    Some(match busy.len() {
        0 => format!(
            "A system monitor would show none of {all} busy all of the time at {here}: the busiest was busy {}.",
            percent(most)
        ),
        every if every == known.len() => {
            format!("A system monitor would show all of {all} busy at {here}, the least of them {}.", percent(least))
        }
        some if some <= NAMED => {
            let names: Vec<String> = busy.iter().map(usize::to_string).collect();
            let which = if some == 1 { "CPU" } else { "CPUs" };
            format!("A system monitor would show {some} of {all} busy at {here}: {which}{TIE}{}.", names.join(", "))
        }
        some => format!("A system monitor would show {some} of {all} busy at {here}."),
    })
}

/// Each resource's slowdown in the row with the most processes over that in the one with the fewest; none where the rows
/// have no rulers.
pub(super) fn slowdowns(record: &LoadRecord) -> Option<String> {
    let read = || record.rows.iter().filter(|row| !row.rulers.is_empty());
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
