//! Sentences about the machine: on which CPUs the processes were, what a system monitor would show, and how much slower
//! each resource was with the most processes.

use steady_model::Resource;
use steady_render::letters::count;
use steady_render::units::{TIE, percent};

use super::{at, factor};
use crate::{CpuUse, LoadRecord, LoadRow};

/// A CPU counts as used by a process from this share of the samples on.
const RAN: f64 = 0.02;
/// A CPU counts as busy from this share of the time on.
const BUSY: f64 = 0.9;
/// With more CPUs than this, only their number is given.
const NAMED: usize = 4;

/// Describes the rows with the fewest and the most processes; the others are in the table.
pub(super) fn cpus(record: &LoadRecord) -> Vec<String> {
    let rows = || record.rows.iter().filter(|row| !row.cpus.is_empty());
    let fewest = rows().min_by_key(|row| row.procs);
    let most = rows().max_by_key(|row| row.procs).filter(|most| fewest.is_none_or(|row| row.procs < most.procs));
    let mut sentences: Vec<String> = fewest.and_then(placed).into_iter().collect();
    sentences.extend(fewest.into_iter().chain(most).filter_map(monitor));
    sentences
}

/// Says where the processes of the smallest row ran or waited.
fn placed(row: &LoadRow) -> Option<String> {
    let share_of = |cpu: &CpuUse| cpu.ours_ratio.as_ref().ok().copied();
    if !row.cpus.iter().any(|cpu| share_of(cpu).is_some()) {
        let absent = row.cpus.iter().find_map(|cpu| cpu.ours_ratio.as_ref().err())?;
        return Some(format!("The CPUs on which the processes ran are not known: {absent}."));
    }
    let mut ran: Vec<(usize, f64)> = row.cpus.iter().filter_map(|cpu| Some((cpu.cpu, share_of(cpu)?))).collect();
    ran.retain(|(_, share)| *share >= RAN);
    ran.sort_by(|(_, one), (_, two)| two.total_cmp(one));
    let who = if row.procs == 1 { "the process".to_owned() } else { format!("the {}{TIE}processes", row.procs) };
    let places = match &ran[..] {
        [] => {
            let text = format!(
                "At {}, no sample found the main thread of {who} running or waiting for a CPU; others are not read.",
                at(row.procs)
            );
            return Some(text);
        }
        [(cpu, _)] => format!("only on CPU{TIE}{cpu}"),
        _ if ran.len() <= NAMED => {
            let list: Vec<String> =
                ran.iter().map(|(cpu, share)| format!("{cpu} ({} of the samples)", percent(*share))).collect();
            format!("on CPUs {}", list.join(", "))
        }
        _ => format!("on {}", count(ran.len(), "CPU", "CPUs")),
    };
    Some(format!("At {}, {who} ran or waited {places}.", at(row.procs)))
}

/// Says what a system monitor would show during a row.
fn monitor(row: &LoadRow) -> Option<String> {
    let known: Vec<(usize, f64)> =
        row.cpus.iter().filter_map(|cpu| Some((cpu.cpu, *cpu.busy_ratio.as_ref().ok()?))).collect();
    let here = at(row.procs);
    if known.is_empty() {
        let absent = row.cpus.iter().find_map(|cpu| cpu.busy_ratio.as_ref().err())?;
        return Some(format!("At {here}, the use of each CPU was not measured: {absent}."));
    }
    let busy: Vec<usize> = known.iter().filter(|(_, share)| *share >= BUSY).map(|(cpu, _)| *cpu).collect();
    let all = count(known.len(), "CPU", "CPUs");
    let most = known.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let least = known.iter().map(|(_, share)| *share).fold(1.0, f64::min);
    let from = format!("busy for {} of the time or more", percent(BUSY));
    Some(match busy.len() {
        0 => format!(
            "At {here}, a system monitor would show none of {all} as {from}; the busiest was busy {} of the time.",
            percent(most)
        ),
        every if every == known.len() => {
            let least = percent(least);
            format!(
                "At {here}, a system monitor would show {every} of {all} as busy, each for at least {least} of the \
                 time."
            )
        }
        some if some <= NAMED => {
            let names: Vec<String> = busy.iter().map(usize::to_string).collect();
            let which = if some == 1 { "CPU" } else { "CPUs" };
            let names = names.join(", ");
            format!("At {here}, a system monitor would show {some} of {all} as {from}: {which}{TIE}{names}.")
        }
        some => format!("At {here}, a system monitor would show {some} of {all} as {from}."),
    })
}

/// Reports the slowdown of each resource in the row with the most processes, relative to the row with the fewest.
/// Returns `None` if the rows have no ruler readings.
pub(super) fn slowdowns(record: &LoadRecord) -> Option<String> {
    let read = || record.rows.iter().filter(|row| !row.rulers.is_empty());
    let (first, last) = (read().min_by_key(|row| row.procs)?, read().max_by_key(|row| row.procs)?);
    if first.procs == last.procs {
        return None;
    }
    let slower = |resource| Some(slowdown(last, resource)? / slowdown(first, resource)?);
    let each: Vec<String> = Resource::ALL
        .into_iter()
        .filter_map(|resource| Some(format!("{} {}", name_of(resource), factor(slower(resource)?))))
        .collect();
    let (full, alone) = (at(last.procs), at(first.procs));
    (!each.is_empty()).then(|| format!("CPU time of the rulers at {full}, relative to {alone}: {}.", each.join(", ")))
}

/// Returns the median slowdown of a resource in a row.
pub(in crate::document) fn slowdown(row: &LoadRow, resource: Resource) -> Option<f64> {
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

fn name_of(resource: Resource) -> &'static str {
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
