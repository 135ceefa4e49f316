//! How often things happened, who counted them, and what the counting cost.

use steady_model::{Absent, Nanos, Reading};

use super::Seen;
use super::tasks::Tasks;
use crate::record::Counts;
use crate::run::counted::Counted;
use crate::run::usage::Usage;

/// The counts, each from the best source.
pub(super) fn counts(seen: &Seen, tasks: &Reading<Tasks>, usage: Usage, sources: &mut Vec<String>) -> Counts {
    let counted = &seen.counted;
    if counted.calls.is_ok() {
        sources.push(format!("system calls: {}", counted.by));
    }
    let recorded = tasks.as_ref().ok().and_then(|tasks| Some((tasks.number as u64, tasks.processes?)));
    let execs = match (recorded, &counted.execs) {
        (Some(_), Err(_)) => {
            sources.push("execs: exit records (taskstats), which tell of one in each process at most".to_owned());
            // The command's own is not counted.
            Ok(tasks.as_ref().map_or(0, |tasks| tasks.executed.saturating_sub(1)))
        }
        (_, Ok(_)) => {
            sources.push(format!("execs: {}", counted.by));
            counted.execs.clone()
        }
        _ => counted.execs.clone(),
    };
    let (forks, threads) = match (recorded, &counted.forks) {
        (Some((number, processes)), _) if processes > 0 => {
            sources.push("forks, threads: exit records of its tasks (taskstats)".to_owned());
            (Ok(processes - 1), Ok(number - processes))
        }
        (_, Ok(_)) => {
            sources.push(format!("forks, threads: {}", counted.by));
            (counted.forks.clone(), counted.threads.clone())
        }
        _ => (counted.forks.clone(), counted.threads.clone()),
    };
    let of_tracer = || Absent::because("each stop of the tracer is a switch");
    let switches = |count: u64| if seen.traced { Err(of_tracer()) } else { Ok(count) };
    Counts {
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: switches(usage.voluntary_switches),
        involuntary_switches: switches(usage.involuntary_switches),
        forks,
        threads,
        execs,
        calls: counted.calls.clone(),
        calls_by_name: counted.by_name.clone(),
    }
}

/// What the counting cost the tree: its calls, the tasks that were made in it, and its switches. What cannot be told from
/// nothing is left away.
pub(super) fn counting_cost(counted: &Counted, counts: &Counts) -> Reading<Nanos> {
    let cost = counted.cost.clone()?;
    let made = counts.forks.clone()?.saturating_add(counts.threads.clone()?);
    let switches = counts.voluntary_switches.clone()?.saturating_add(counts.involuntary_switches.clone()?);
    let times = |one: Reading<Nanos>, times: u64| Nanos(one.map_or(0, |one| one.0).saturating_mul(times));
    let calls = times(cost.per_call, counts.calls.clone()?);
    Ok(calls + times(cost.per_task, made) + times(cost.per_switch, switches))
}
