//! Whether what was read can be true: what the judging may rely on.

use steady_model::{Block, Cold, FailIf, Nanos, Plan, Record, Run, Verdict};

use super::ReadError;

/// No run, and no experiment, lasts longer: 2^23 s, 97 days. Below it every nanosecond survives the way through JSON.
pub(super) const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// No run faults, switches or allocates more often: what a double, and so any reader of JSON, counts exactly.
pub(super) const MOST: u64 = 1 << 53;

/// An error where the record contradicts itself, or where its sums would overflow.
pub(super) fn check(record: &Record) -> Result<(), ReadError> {
    plan(&record.plan)?;
    holds(record.elapsed < LONGEST, "elapsed_seconds", "longer than any measuring")?;
    let mut sums = Sums::default();
    blocks(record, &record.blocks, "blocks", &mut sums)?;
    blocks(record, &record.usual, "usual", &mut sums)?;
    if let Some(Cold { command: Some(command), .. }) = record.cold {
        holds(command < record.plan.commands.len(), "cold_command", "it is no command of the plan")?;
    }
    holds(record.is_warm() || record.usual.is_empty(), "samples.usual", "runs were started as usual anyway")?;
    looks(record)
}

/// Whether blocks follow each other, in draws that do so too where runs were started from snapshots.
fn blocks(record: &Record, all: &[Block], name: &str, sums: &mut Sums) -> Result<(), ReadError> {
    let (mut before, mut draw) = (Nanos::ZERO, None);
    for (index, each) in all.iter().enumerate() {
        let path = format!("samples.{name}[{index}]");
        block(each, &path, record.plan.commands.len(), sums)?;
        let as_told = each.runs.iter().all(|run| run.counters.is_some() == record.counters.is_ok());
        holds(as_told, &path, "a run's counters are not as 'counters' says")?;
        holds(each.ended >= before, &path, "ended before the block before it")?;
        holds(
            each.draw.is_some() == record.is_warm(),
            &path,
            "it is in a draw of snapshots, or not, against the plan",
        )?;
        holds(each.draw >= draw, &path, "it is of a draw before that of the block before it")?;
        (before, draw) = (each.ended, each.draw);
    }
    Ok(())
}

/// An error at `path` unless `condition` holds.
pub(super) fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Whether the plan is one that could have been made.
fn plan(plan: &Plan) -> Result<(), ReadError> {
    holds(!plan.commands.is_empty(), "commands", "there is none")?;
    for (index, command) in plan.commands.iter().enumerate() {
        holds(!command.argv.is_empty(), &format!("commands[{index}].argv"), "empty")?;
    }
    holds(plan.resolution >= 0.0, "plan.resolution_ratio", "negative")?;
    holds(plan.confidence > 0.0 && plan.confidence < 1.0, "plan.confidence", "not between 0 and 1")?;
    for (name, scripts) in
        [("setup", &plan.setup), ("prepare", &plan.prepare), ("conclude", &plan.conclude), ("cleanup", &plan.cleanup)]
    {
        let path = format!("plan.{name}");
        holds(scripts.suits(plan.commands.len()), &path, "neither one for all nor one per command")?;
    }
    holds(plan.output.suits(plan.commands.len()), "plan.output", "neither one for all nor one per command")?;
    if let Some(FailIf { verdict, beyond }) = plan.fail_if {
        let known = matches!(verdict, Verdict::Slower | Verdict::Faster) && beyond >= 0.0;
        holds(known, "plan.fail_if", "neither 'slower' nor 'faster' than a share")?;
    }
    Ok(())
}

/// Whether the runs of a block are of the plan's commands, each once, and last as long as runs can.
fn block(block: &Block, path: &str, commands: usize, sums: &mut Sums) -> Result<(), ReadError> {
    holds(block.ended < LONGEST, &format!("{path}.ended_seconds"), "later than any measuring")?;
    let mut seen = vec![false; commands];
    for (place, each) in block.runs.iter().enumerate() {
        let path = format!("{path}.runs[{place}]");
        let Some(first) = seen.get_mut(each.command).map(|seen| !std::mem::replace(seen, true)) else {
            let problem = format!("{} is no command of a plan that has {commands}", each.command);
            return Err(ReadError::inconsistent(format!("{path}.command"), problem));
        };
        holds(first, &format!("{path}.command"), "the block has a run of this command already")?;
        run(each, &path)?;
        holds(each.started <= block.ended, &format!("{path}.started_seconds"), "after the end of its block")?;
        sums.add(each, block.ended, &path)?;
    }
    Ok(())
}

/// Whether a run's times and counts are such that there can be.
fn run(run: &Run, path: &str) -> Result<(), ReadError> {
    let times = [
        ("started_seconds", run.started),
        ("wall_seconds", run.wall),
        ("user_seconds", run.user),
        ("system_seconds", run.system),
        ("run_delay_seconds", *run.run_delay.as_ref().unwrap_or(&Nanos::ZERO)),
    ];
    for (name, time) in times {
        holds(time < LONGEST, &format!("{path}.{name}"), "longer than any measuring")?;
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
        holds(count <= MOST, &format!("{path}.{name}"), "more than there can be")?;
    }
    Ok(())
}

/// Running totals, kept so that no sum made of the record later can overflow.
#[derive(Default)]
struct Sums {
    time: u64,
    count: u64,
}

impl Sums {
    /// Adds one run's times and counts.
    fn add(&mut self, run: &Run, ended: Nanos, path: &str) -> Result<(), ReadError> {
        let delay = run.run_delay.as_ref().map_or(0, |delay| delay.0);
        let times = [run.wall.0, run.user.0, run.system.0, delay, (ended - run.started).0];
        let memory = run.peak_memory.as_ref().map_or(0, |bytes| bytes.0);
        let counts = [memory, run.minor_faults, run.major_faults, run.voluntary_switches, run.involuntary_switches];
        let total = |start: u64, parts: &[u64]| parts.iter().try_fold(start, |sum, part| sum.checked_add(*part));
        match (total(self.time, &times), total(self.count, &counts)) {
            (Some(time), Some(count)) => (self.time, self.count) = (time, count),
            _ => return Err(ReadError::inconsistent(path, "the runs up to here add up to more than there can be")),
        }
        Ok(())
    }
}

/// Whether the looks are in order and at blocks that there are.
fn looks(record: &Record) -> Result<(), ReadError> {
    let mut before = 0;
    for (index, look) in record.looks.iter().enumerate() {
        let path = format!("samples.looks[{index}]");
        holds(look.blocks <= record.blocks.len(), &path, "at more blocks than there are")?;
        holds(look.blocks >= before, &path, "at fewer blocks than the look before it")?;
        holds((0.0..=1.0).contains(&look.fraction), &path, "its fraction is not from 0 to 1")?;
        holds(!look.last || index + 1 == record.looks.len(), &path, "the last one has others after it")?;
        before = look.blocks;
    }
    Ok(())
}
