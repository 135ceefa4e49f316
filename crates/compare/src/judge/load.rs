//! The load while the pairs ran.

use steady_model::{Absent, Block, Load, Nanos, Reading, Record};
use steady_stats::descriptive::quantile;

pub(super) fn load(record: &Record) -> Load {
    let usual = usual_involuntary(record);
    let preempted = |block: &&Block| block.runs.iter().any(|run| run.involuntary_switches as f64 > usual[run.command]);
    Load {
        preempted_ratio: record.blocks.iter().filter(preempted).count() as f64 / record.blocks.len().max(1) as f64,
        run_delay_ratio: run_delay_ratio(record),
    }
}

/// The usual number of involuntary context switches of each command, from its quiet runs. It is at least one, because
/// the exec wakes the launcher, which may preempt the command.
fn usual_involuntary(record: &Record) -> Vec<f64> {
    /// The quantile over the runs that stands for a quiet run.
    const QUIET: f64 = 0.1;
    const FROM_EXEC: f64 = 1.0;
    let switches = |command| {
        let runs = record.blocks.iter().filter_map(move |block| Some(block.run_of(command)?.1));
        runs.map(|run| run.involuntary_switches as f64).collect::<Vec<_>>()
    };
    (0..record.plan.commands.len())
        .map(|command| quantile(&switches(command), QUIET).unwrap_or(0.0).max(FROM_EXEC))
        .collect()
}

/// The commands whose run delay was measured, at least in some runs.
pub(crate) fn with_run_delay(record: &Record) -> Vec<usize> {
    let has = |command: &usize| {
        let mut runs = record.blocks.iter().filter_map(|block| block.run_of(*command));
        runs.any(|(_, run)| run.run_delay.is_ok())
    };
    (0..record.plan.commands.len()).filter(has).collect()
}

fn run_delay_ratio(record: &Record) -> Reading<f64> {
    let runs = record.blocks.iter().flat_map(|block| &block.runs);
    let known: Vec<(Nanos, Nanos)> =
        runs.clone().filter_map(|run| Some((run.run_delay.clone().ok()?, run.wall))).collect();
    let wall: Nanos = known.iter().map(|(_, wall)| *wall).sum();
    if wall == Nanos::ZERO {
        let reason = runs.clone().find_map(|run| run.run_delay.clone().err());
        return Err(reason.unwrap_or_else(|| Absent::because("nothing was measured")));
    }
    Ok(known.iter().map(|(delay, _)| *delay).sum::<Nanos>().seconds() / wall.seconds())
}
