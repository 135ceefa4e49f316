//! How much load there was while the pairs ran.

use steady_model::{Absent, Block, Load, Nanos, Reading, Record};

pub(super) fn load(record: &Record) -> Load {
    let least = least_involuntary(record);
    let preempted = |block: &&Block| block.runs.iter().any(|run| run.involuntary_switches > least[run.command]);
    Load {
        preempted_ratio: record.blocks.iter().filter(preempted).count() as f64 / record.blocks.len().max(1) as f64,
        run_delay_ratio: run_delay_ratio(record),
    }
}

/// Per command the fewest involuntary switches of any run: an exec that moves to another CPU counts as one, so some
/// have them on a machine that is all theirs.
fn least_involuntary(record: &Record) -> Vec<u64> {
    let mut least = vec![u64::MAX; record.plan.commands.len()];
    for run in record.blocks.iter().flat_map(|block| &block.runs) {
        least[run.command] = least[run.command].min(run.involuntary_switches);
    }
    least
}

fn run_delay_ratio(record: &Record) -> Reading<f64> {
    let runs = record.blocks.iter().flat_map(|block| &block.runs);
    let told: Vec<(Nanos, Nanos)> =
        runs.clone().filter_map(|run| Some((run.run_delay.clone().ok()?, run.wall))).collect();
    let wall: Nanos = told.iter().map(|(_, wall)| *wall).sum();
    if wall == Nanos::ZERO {
        let reason = runs.clone().find_map(|run| run.run_delay.clone().err());
        return Err(reason.unwrap_or_else(|| Absent::because("nothing was measured")));
    }
    Ok(told.iter().map(|(delay, _)| *delay).sum::<Nanos>().seconds() / wall.seconds())
}
