//! Checks that a record from outside is consistent, so that the evaluation can rely on it.

use steady_model::{Block, CUSTOM_METRICS_MAX, Cold, FailIf, Nanos, OverflowCheck, Plan, Record, Run, Verdict};

use super::ReadError;

/// The upper limit of all times: 2^23 s, 97 days. Below it, JSON preserves every nanosecond.
pub(super) const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// The upper limit of values of custom metrics, whose sums are then finite.
pub(crate) const VALUE_MAX: f64 = 1e300;
/// The upper limit of all counts. A double, and therefore any reader of JSON, has them exactly.
pub(super) const MOST: u64 = 1 << 53;
const TOO_LONG: &str = "it is longer than 97 days";

/// Refuses a record that contradicts itself, or whose sums would overflow.
pub(super) fn check(record: &Record) -> Result<(), ReadError> {
    plan(&record.plan)?;
    holds(record.elapsed < LONGEST, "elapsed_seconds", TOO_LONG)?;
    let mut totals = OverflowCheck::default();
    blocks(record, &record.blocks, "blocks", &mut totals)?;
    blocks(record, &record.usual, "usual", &mut totals)?;
    if let Some(Cold { command: Some(command), .. }) = record.cold {
        holds(command < record.plan.commands.len(), "cold_command", "it is not a command of the plan")?;
    }
    let is_there = record.unfinished.is_none_or(|command| command < record.plan.commands.len());
    holds(record.tick != Ok(Nanos::ZERO), "tick_seconds", "zero")?;
    holds(is_there, "unfinished_command", "it is not a command of the plan")?;
    let problem = "it is not empty, but no run started from a snapshot";
    holds(record.is_warm() || record.usual.is_empty(), "samples.usual", problem)?;
    looks(record)
}

/// Checks the order of the blocks, and of their draws if runs started from snapshots.
fn blocks(record: &Record, all: &[Block], name: &str, totals: &mut OverflowCheck) -> Result<(), ReadError> {
    let (mut before, mut draw) = (Nanos::ZERO, None);
    for (index, each) in all.iter().enumerate() {
        let path = format!("samples.{name}[{index}]");
        block(each, &path, &record.plan, totals)?;
        let has_counters = each.runs.iter().all(|run| run.counters.is_some() == record.counters.is_ok());
        holds(has_counters, &path, "the counters of a run contradict the field 'counters'")?;
        holds(each.ended >= before, &path, "it ended before the previous block")?;
        let is_as_planned = each.draw.is_some() == record.has_draws();
        holds(is_as_planned, &path, "a draw is missing, or is there against the plan")?;
        holds(each.draw >= draw, &path, "its draw is before the draw of the previous block")?;
        (before, draw) = (each.ended, each.draw);
    }
    Ok(())
}

/// An error at `path` unless `condition` holds.
pub(super) fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Checks the values of the plan.
fn plan(plan: &Plan) -> Result<(), ReadError> {
    holds(!plan.commands.is_empty(), "commands", "it is empty")?;
    for (index, command) in plan.commands.iter().enumerate() {
        holds(!command.argv.is_empty(), &format!("commands[{index}].argv"), "it is empty")?;
    }
    holds(plan.resolution >= 0.0, "plan.resolution_ratio", "it is negative")?;
    holds(plan.confidence > 0.0 && plan.confidence < 1.0, "plan.confidence", "it is not between 0 and 1")?;
    for (name, scripts) in [
        ("setup", &plan.setup),
        ("prepare", &plan.prepare),
        ("conclude", &plan.conclude),
        ("cleanup", &plan.cleanup),
        ("relink", &plan.relink),
    ] {
        let path = format!("plan.{name}");
        holds(scripts.suits(plan.commands.len()), &path, "it is neither one for all nor one per command")?;
    }
    for (index, source) in plan.metrics.iter().enumerate() {
        let problem = "its name or unit is invalid, or the name is not unique";
        let is_unique = plan.metrics[..index].iter().all(|other| other.name != source.name);
        let is_valid = is_unique && index < CUSTOM_METRICS_MAX && source.metric(index).is_some();
        holds(is_valid, &format!("plan.metrics[{index}]"), problem)?;
    }
    holds(plan.output.suits(plan.commands.len()), "plan.output", "it is neither one for all nor one per command")?;
    if let Some(FailIf { verdict, beyond }) = plan.fail_if {
        let known = matches!(verdict, Verdict::Slower | Verdict::Faster) && beyond >= 0.0;
        holds(known, "plan.fail_if", "it is neither 'slower' nor 'faster' with a limit of at least 0")?;
    }
    Ok(())
}

/// Checks that each run of a block belongs to another command of the plan, and that its times are possible.
fn block(block: &Block, path: &str, plan: &Plan, totals: &mut OverflowCheck) -> Result<(), ReadError> {
    let commands = plan.commands.len();
    holds(block.ended < LONGEST, &format!("{path}.ended_seconds"), TOO_LONG)?;
    let mut seen = vec![false; commands];
    for (place, each) in block.runs.iter().enumerate() {
        let path = format!("{path}.runs[{place}]");
        let Some(first) = seen.get_mut(each.command).map(|seen| !std::mem::replace(seen, true)) else {
            let problem = format!("{} is not a command of the plan, which has {commands}", each.command);
            return Err(ReadError::inconsistent(format!("{path}.command"), problem));
        };
        holds(first, &format!("{path}.command"), "the block has another run of this command")?;
        run(each, &path)?;
        values(each, plan, &path)?;
        holds(each.started <= block.ended, &format!("{path}.started_seconds"), "it is after the end of its block")?;
        let fits = add(each, block.ended, totals);
        holds(fits, &path, "the sum over the runs up to here overflows")?;
    }
    Ok(())
}

/// Checks that a run has a value of each custom metric, unless it failed.
fn values(run: &Run, plan: &Plan, path: &str) -> Result<(), ReadError> {
    let path = format!("{path}.values");
    let is_complete = run.values.len() == plan.metrics.len() || run.values.is_empty() && !run.succeeded(&plan.failures);
    holds(is_complete, &path, "it does not have one value for each metric of the plan")?;
    holds(run.energy_joules.is_none_or(|joules| (0.0..=VALUE_MAX).contains(&joules)), &path, "its energy is invalid")?;
    holds(run.values.iter().all(|value| (0.0..=VALUE_MAX).contains(value)), &path, "a value is negative or above 1e300")
}

/// Checks that the times and counts of a run are below their limits.
fn run(run: &Run, path: &str) -> Result<(), ReadError> {
    let times = [
        ("started_seconds", run.started),
        ("wall_seconds", run.wall),
        ("user_seconds", run.user),
        ("system_seconds", run.system),
        ("run_delay_seconds", *run.run_delay.as_ref().unwrap_or(&Nanos::ZERO)),
    ];
    for (name, time) in times {
        holds(time < LONGEST, &format!("{path}.{name}"), TOO_LONG)?;
    }
    let counters = run.counters.unwrap_or_default();
    let counts = [
        ("peak_memory_bytes", run.peak_memory.as_ref().map_or(0, |bytes| bytes.0)),
        ("minor_faults", run.minor_faults),
        ("major_faults", run.major_faults),
        ("voluntary_switches", run.voluntary_switches),
        ("involuntary_switches", run.involuntary_switches),
        ("counters.instructions", counters.instructions.unwrap_or(0)),
        ("counters.cycles", counters.cycles.unwrap_or(0)),
        ("counters.branch_misses", counters.branch_misses.unwrap_or(0)),
        ("counters.cache_misses", counters.cache_misses.unwrap_or(0)),
    ];
    for (name, count) in counts {
        holds(count <= MOST, &format!("{path}.{name}"), "it is more than 2^53")?;
    }
    Ok(())
}

/// Adds one run's times and counts to the totals. Returns whether these still fit.
fn add(run: &Run, ended: Nanos, totals: &mut OverflowCheck) -> bool {
    let delay = *run.run_delay.as_ref().unwrap_or(&Nanos::ZERO);
    let memory = run.peak_memory.as_ref().map_or(0, |bytes| bytes.0);
    totals.add(
        &[run.wall, run.user, run.system, delay, ended - run.started],
        &[memory, run.minor_faults, run.major_faults, run.voluntary_switches, run.involuntary_switches],
    )
}

/// Checks that the looks are in order and refer to existing blocks.
fn looks(record: &Record) -> Result<(), ReadError> {
    let mut before = 0;
    for (index, look) in record.looks.iter().enumerate() {
        let path = format!("samples.looks[{index}]");
        holds(look.blocks <= record.blocks.len(), &path, "it has more blocks than there are")?;
        holds(look.blocks >= before, &path, "it has fewer blocks than the previous look")?;
        holds((0.0..=1.0).contains(&look.fraction), &path, "its fraction is not between 0 and 1")?;
        holds(!look.last || index + 1 == record.looks.len(), &path, "it is marked as the last, but others follow")?;
        before = look.blocks;
    }
    Ok(())
}
