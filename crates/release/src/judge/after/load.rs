//! Readings of rulers in blocks of time, and the costs of requests in the same blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use steady_model::RequestRuler;
use steady_stats::release::TimedCost;

use super::{BLOCK, Course, Measure};
use crate::judge::rulers::Reading;
use crate::judge::window::Sides;

/// Number of readings and their sum, by host, block and side, then by ruler. The agents' readings are in both sides.
type Blocks = BTreeMap<(u32, u64, usize), BTreeMap<RequestRuler, (f64, f64)>>;

/// Load of the hosts over time, as the rulers measured it.
pub(super) struct Load {
    /// Rulers with readings in at least 80 % of the blocks with readings in which the version served; of workers, only
    /// that of memory if it is one of them, which is the agent's.
    pub(super) kinds: Vec<RequestRuler>,
    blocks: Blocks,
    /// Readings per second on the side that has fewer.
    pub(super) per_second: f64,
}

impl Course<'_> {
    /// Sums the readings by block: of workers under the version that they served, of agents under both. Only the
    /// readings of workers, or only those of agents, count for the rate.
    pub(super) fn with(&self, readings: &[Reading], workers: bool, sides: &Sides) -> Load {
        let mut blocks = Blocks::new();
        // Version that a host served from a second on, and for how many seconds.
        let served: HashMap<(u32, u64), (usize, u64)> = self
            .lines
            .iter()
            .map(|line| ((line.row.host, line.row.second), (line.side, line.end() - line.row.second)))
            .collect();
        let mut counts = [0.0; 2];
        for reading in readings {
            let own = match reading.version {
                Some(version) => [0, 1].map(|side| sides.of(version) == Some(side)),
                None => [true, true],
            };
            for side in [0, 1].into_iter().filter(|side| own[*side]) {
                let block = blocks.entry((reading.host, reading.second / BLOCK, side)).or_default();
                let sums = block.entry(reading.ruler).or_default();
                sums.0 += reading.readings;
                sums.1 += reading.sum;
            }
            let counted = served.get(&(reading.host, reading.second)).filter(|(side, _)| own[*side]);
            let counted = counted.filter(|_| reading.version.is_some() == workers);
            counted.into_iter().for_each(|(side, _)| counts[*side] += reading.readings);
        }
        let mut seconds = [0.0; 2];
        served.values().for_each(|&(side, long)| seconds[side] += long as f64);
        let rate = |side: usize| if seconds[side] > 0.0 { counts[side] / seconds[side] } else { 0.0 };
        let served_blocks: BTreeSet<(u32, u64, usize)> =
            self.lines.iter().map(|line| (line.row.host, line.row.second / BLOCK, line.side)).collect();
        let known: Vec<_> = served_blocks.iter().filter_map(|key| blocks.get(key)).collect();
        let mut kinds: BTreeMap<RequestRuler, usize> = BTreeMap::new();
        known.iter().flat_map(|block| block.keys()).for_each(|kind| *kinds.entry(*kind).or_default() += 1);
        let enough = |count: usize| count as f64 >= 0.8 * known.len() as f64;
        let mut kinds: Vec<RequestRuler> =
            kinds.into_iter().filter(|(_, count)| enough(*count)).map(|(kind, _)| kind).collect();
        // The agent's readings of memory alone are the better measure of the load: with those of the workers' other
        // rulers, 17 % of the windows of equal code had a verdict if the load changed with the version (docs/releases.md).
        if workers && kinds.contains(&RequestRuler::Memory) {
            kinds = vec![RequestRuler::Memory];
        }
        Load { kinds, blocks, per_second: rate(0).min(rate(1)) }
    }
}

/// Requests of one version in a block of time on a host.
#[derive(Clone, Copy, Default)]
struct Block {
    requests: f64,
    /// CPU time in nanoseconds.
    cpu: f64,
    /// CPU time of these requests if each cost the mean of its route and class, in nanoseconds.
    expected: f64,
    /// Sum of the logarithms minus the mean of their route and class, weighted by that route's mean cost.
    log: f64,
}

impl Load {
    /// Returns the costs of all blocks whose load is known, of one route or of all.
    pub(super) fn costs(&self, course: &Course, measure: Measure, only: Option<u32>) -> Vec<TimedCost> {
        let mut blocks: BTreeMap<(u64, u32, usize), Block> = BTreeMap::new();
        for line in course.lines {
            let Some((mean, cost)) = course.strata.get(&line.stratum()) else { continue };
            if only.is_some_and(|only| only != line.row.route) {
                continue;
            }
            let block = blocks.entry((line.row.second / BLOCK, line.row.host, line.side)).or_default();
            block.requests += line.requests();
            block.expected += cost * line.requests();
            block.cpu += line.row.sums.cpu;
            block.log += cost * (line.log() - line.requests() * mean);
        }
        let row = |((block, host, side), sums): (&(u64, u32, usize), &Block)| {
            let load = self.blocks.get(&(*host, *block, *side))?;
            let covariates: Option<Vec<f64>> =
                self.kinds.iter().map(|kind| load.get(kind).map(|(readings, sum)| sum / readings)).collect();
            Some(TimedCost {
                at: (block * BLOCK) as f64,
                place: *host,
                is_new: *side == 1,
                requests: sums.requests,
                cost: match measure {
                    Measure::Total => (sums.cpu / sums.expected).ln(),
                    Measure::Usual => sums.log / sums.expected,
                },
                covariates: covariates?,
            })
        };
        let rows: Vec<TimedCost> = blocks.iter().filter_map(row).collect();
        if !course.is_within_hosts {
            return rows.into_iter().map(|row| TimedCost { place: 0, ..row }).collect();
        }
        // The load of a host may be known for one version only.
        let mut served: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
        rows.iter().for_each(|row| served.entry(row.place).or_default()[usize::from(row.is_new)] = true);
        rows.into_iter().filter(|row| served[&row.place] == [true, true]).collect()
    }
}
