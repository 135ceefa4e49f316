//! The cost of start-up: usual runs compared with runs from snapshots, within each draw.

use std::collections::BTreeMap;

use steady_model::{Absent, Block, Layout, Metric, Reading, Record, Run, StartUp};
use steady_stats::{MIN_PAIRS, Shift, shift};

use super::evidence::succeeded;

/// The error rate of the intervals. They are descriptive; no verdict depends on them.
const ALPHA: f64 = 0.05;

/// The cost of start-up of each command. Empty if runs did not start from snapshots.
pub(super) fn startups(record: &Record) -> Vec<StartUp> {
    if !record.is_warm() {
        return vec![];
    }
    let metric = match record.primary {
        time @ (Metric::Cpu | Metric::Elapsed | Metric::Wall) => time,
        _ => Metric::Cpu,
    };
    (0..record.plan.commands.len()).map(|command| startup(record, command, metric)).collect()
}

fn startup(record: &Record, command: usize, metric: Metric) -> StartUp {
    let draws = draws(record, command, metric);
    let found = draws.as_ref().map_err(Clone::clone).and_then(|draws| mean_difference(draws));
    StartUp {
        command,
        metric,
        mean: found.clone().map(|shift| shift.mean),
        interval: found.map(|shift| shift.interval),
        draws: draws.map_or(0, |draws| draws.len()),
    }
}

/// The mean over draws of the difference between usual runs and runs from snapshots. All draws count equally. Weights
/// from the costs would prefer draws with cheap usual runs, because usual runs cost far more than runs from snapshots.
fn mean_difference(draws: &[(f64, f64)]) -> Reading<Shift> {
    if draws.len() < MIN_PAIRS {
        let number = draws.len();
        let draws = if number == 1 { "draw" } else { "draws" };
        let text = format!("it ran both ways in {number} {draws}, and an interval needs {MIN_PAIRS}");
        return Err(Absent(text));
    }
    let differences: Vec<f64> = draws.iter().map(|(warm, usual)| usual - warm).collect();
    Ok(shift(&differences, &vec![1.0; draws.len()], ALPHA))
}

/// The mean costs of a run from a snapshot and of a usual run, in each draw that has both. Uses the runs in turns if
/// there are any, as the breakdown does.
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

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// A usual run costs 100 ms and a run from a snapshot 1 ms, each with 10 % of normal noise.
    #[test]
    fn the_interval_covers_the_cost_of_start_up() {
        let experiments = 500;
        for count in [24, 100] {
            let (mut missed, mut sum) = (0, 0.0);
            for seed in 0..experiments {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let mut cost = |mean: f64| {
                    let (u, v): (f64, f64) = (random.random(), random.random());
                    let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                    mean * (1.0 + 0.1 * normal)
                };
                let draws: Vec<(f64, f64)> = (0..count).map(|_| (cost(0.001), cost(0.1))).collect();
                let found = mean_difference(&draws).unwrap();
                missed += u32::from(!found.interval.holds(0.099));
                sum += found.mean;
            }
            let (rate, mean) = (f64::from(missed) / experiments as f64, sum / experiments as f64);
            // Three standard errors of the rate are 0.03.
            assert!((0.02..0.08).contains(&rate), "{count} draws: {rate} missed, mean {mean}");
            assert!((mean - 0.099).abs() < 0.0005, "{count} draws: mean {mean}");
        }
    }
}
