//! What start-up costs: runs as usual beside those from snapshots, draw by draw.

use std::collections::BTreeMap;

use steady_model::{Absent, Block, Layout, Metric, Reading, Record, Run, StartUp};
use steady_stats::{MIN_PAIRS, Shift, shift, weights};

use super::evidence::succeeded;

/// As the intervals of the breakdown: they describe, and decide nothing.
const ALPHA: f64 = 0.05;

/// One per command, where runs were started from snapshots.
pub(super) fn startups(record: &Record) -> Vec<StartUp> {
    if !record.is_warm() {
        return vec![];
    }
    let metric = match record.primary {
        time @ (Metric::Cpu | Metric::Elapsed | Metric::Wall) => time,
        Metric::Memory | Metric::Instructions => Metric::Cpu,
    };
    (0..record.plan.commands.len()).map(|command| startup(record, command, metric)).collect()
}

fn startup(record: &Record, command: usize, metric: Metric) -> StartUp {
    let draws = draws(record, command, metric);
    let found = draws.as_ref().map_err(Clone::clone).and_then(|draws| over(draws));
    StartUp {
        command,
        metric,
        mean: found.clone().map(|shift| shift.mean),
        interval: found.map(|shift| shift.interval),
        draws: draws.map_or(0, |draws| draws.len()),
    }
}

/// The mean over draws of what runs as usual cost more.
fn over(draws: &[(f64, f64)]) -> Reading<Shift> {
    if draws.len() < MIN_PAIRS {
        let text = format!("{} draws in which it ran both ways, and an interval needs {MIN_PAIRS}", draws.len());
        return Err(Absent(text));
    }
    let differences: Vec<f64> = draws.iter().map(|(warm, usual)| usual - warm).collect();
    Ok(shift(&differences, &weights(draws), ALPHA))
}

/// What a run costs from a snapshot and as usual, on average, in each draw that has both. Those in turns, if there are any,
/// as in the breakdown.
fn draws(record: &Record, command: usize, metric: Metric) -> Reading<Vec<(f64, f64)>> {
    let layout = Layout::ALL.into_iter().find(|layout| record.usual.iter().any(|block| block.layout == *layout));
    let of = |blocks: &[Block]| -> Reading<BTreeMap<u64, Vec<f64>>> {
        let mut costs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for block in blocks.iter().filter(|block| Some(block.layout) == layout) {
            let run: Option<&Run> = block.run_of(command).map(|(_, run)| run);
            if let (Some(draw), Some(run)) = (block.draw, run.filter(|run| succeeded(&record.plan, run))) {
                costs.entry(draw).or_default().push(run.cost(metric)?);
            }
        }
        Ok(costs)
    };
    let mean = |costs: &Vec<f64>| costs.iter().sum::<f64>() / costs.len() as f64;
    let (warm, usual) = (of(&record.blocks)?, of(&record.usual)?);
    Ok(usual.iter().filter_map(|(draw, usual)| Some((mean(warm.get(draw)?), mean(usual)))).collect())
}
