//! How much load there was while the pairs ran.

use steady_model::{Absent, Load, Nanos, Reading, Record};

pub(super) fn load(record: &Record) -> Load {
    let preempted = record.blocks.iter().filter(|block| block.runs.iter().any(|run| run.involuntary_switches > 0));
    Load {
        preempted_ratio: preempted.count() as f64 / record.blocks.len().max(1) as f64,
        run_delay_ratio: run_delay_ratio(record),
    }
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
