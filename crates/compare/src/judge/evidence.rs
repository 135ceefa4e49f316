//! Extracts pairs from blocks.

use steady_model::{Block, Layout, Metric, Plan, Reading, Record, Run};
use steady_stats::{MeanRatio, Pair, Rules, Slot, mean_alpha, mean_ratio, usual_alpha};

/// The pairs of every contender by one metric. They grow block by block.
pub(crate) struct Evidence {
    metric: Metric,
    plan: Plan,
    contenders: Vec<Vec<Pair>>,
    /// By contender, the mean costs of the pairs of every draw of snapshots. Empty without draws. `contenders` has
    /// their trimmed means, which leave out expensive runs.
    draw_means: Vec<Vec<Pair>>,
    /// The draw of snapshots of the last blocks, and their pairs by contender. Together they are the last pair of
    /// `contenders`.
    open: Option<(u64, Vec<Vec<Pair>>)>,
}

impl Evidence {
    pub(crate) fn new(plan: &Plan, metric: Metric) -> Self {
        let contenders = vec![Vec::new(); plan.commands.len() - 1];
        Evidence { metric, plan: plan.clone(), draw_means: contenders.clone(), contenders, open: None }
    }

    /// Adds the pairs of blocks. Pairs with a failed run, or with a cost that was not measured, are left out. All pairs
    /// of one draw of snapshots become one pair, because they share the effects of the draw. An incomplete draw counts
    /// with the pairs that it has, because their number does not depend on their values.
    pub(crate) fn extend<'a>(&mut self, blocks: impl Iterator<Item = &'a Block>) {
        for block in blocks {
            let Some(draw) = block.draw else {
                for contender in 1..=self.contenders.len() {
                    if let Some(Ok(pair)) = self.pair(block, contender) {
                        self.contenders[contender - 1].push(pair);
                    }
                }
                continue;
            };
            if self.open.as_ref().is_none_or(|(open, _)| *open != draw) {
                self.combine();
                self.open = Some((draw, vec![Vec::new(); self.contenders.len()]));
            }
            for contender in 1..=self.contenders.len() {
                if let Some(Ok(pair)) = self.pair(block, contender) {
                    self.add_to_draw(contender, pair);
                }
            }
        }
        self.combine();
    }

    /// Adds a pair to the open draw. The first pair of a draw also adds the pair that stands for the draw.
    fn add_to_draw(&mut self, contender: usize, pair: Pair) {
        let Some((_, open)) = &mut self.open else { return };
        let pairs = &mut open[contender - 1];
        pairs.push(pair);
        if pairs.len() == 1 {
            self.contenders[contender - 1].push(pair);
            self.draw_means[contender - 1].push(pair);
        }
    }

    /// Combines the pairs of the open draw into one.
    fn combine(&mut self) {
        let Some((_, open)) = &self.open else { return };
        for (pairs, of_draw) in self.contenders.iter_mut().zip(open) {
            if let (Some(last), Some(all)) = (pairs.last_mut(), steady_stats::gather(of_draw, grain(self.metric))) {
                *last = all;
            }
        }
        for (means, of_draw) in self.draw_means.iter_mut().zip(open) {
            let mean = |cost: fn(&Pair) -> f64| of_draw.iter().map(cost).sum::<f64>() / of_draw.len() as f64;
            if let (Some(last), false) = (means.last_mut(), of_draw.is_empty()) {
                (last.old, last.new) = (mean(|pair| pair.old), mean(|pair| pair.new));
            }
        }
    }

    fn pair(&self, block: &Block, contender: usize) -> Option<Reading<Pair>> {
        let (old_place, old) = block.run_of(0)?;
        let (new_place, new) = block.run_of(contender)?;
        if !succeeded(&self.plan, old) || !succeeded(&self.plan, new) {
            return None;
        }
        let slot = Slot {
            order: if new_place > old_place { 1 } else { -1 },
            cpu: match block.layout {
                Layout::Turns => 0,
                Layout::Duet => {
                    if new.cpu > old.cpu {
                        1
                    } else {
                        -1
                    }
                }
            },
        };
        let costs = old.cost(self.metric).and_then(|old| Ok((old, new.cost(self.metric)?)));
        Some(costs.map(|(old, new)| Pair { layout: block.layout, slot, old, new }))
    }

    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// The pairs of each contender. The first contender is the second command.
    pub(crate) fn contenders(&self) -> &[Vec<Pair>] {
        &self.contenders
    }

    /// The smallest number of pairs of a contender.
    pub(crate) fn pairs(&self) -> usize {
        self.contenders.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The ratio of mean costs of each contender, over all pairs.
    pub(crate) fn means(&self) -> Vec<MeanRatio> {
        (0..self.contenders.len()).map(|index| mean_ratio(&self.strata(index), self.mean_alpha())).collect()
    }

    /// The error rate of the interval of one contender's ratio of means: a share of the plan's, divided by the number
    /// of contenders.
    pub(crate) fn mean_alpha(&self) -> f64 {
        mean_alpha(self.plan.alpha()) / self.contenders.len().max(1) as f64
    }

    /// By layout, the costs (OLD, NEW) of a contender's pairs for the ratio of means.
    pub(crate) fn strata(&self, index: usize) -> Vec<Vec<(f64, f64)>> {
        let pairs = if self.draw_means[index].is_empty() { &self.contenders[index] } else { &self.draw_means[index] };
        let of = |layout| pairs.iter().filter(move |pair| pair.layout == layout).map(|pair| (pair.old, pair.new));
        Layout::ALL.into_iter().map(|layout| of(layout).collect()).collect()
    }

    /// The rules for the test of the usual run. The rest of the error rate belongs to the ratio of means.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            alpha: usual_alpha(self.plan.alpha()),
            resolution: self.plan.resolution,
            limits: self.plan.fail_if.iter().map(|condition| condition.limit(self.metric)).collect(),
            grain: grain(self.metric),
        }
    }
}

/// The minimum number of pairs of each contender for a verdict. The contenders share the error rate, and a part of it
/// belongs to the ratio of means.
pub(crate) fn least_pairs(plan: &Plan) -> usize {
    least_pairs_of(plan, plan.commands.len().saturating_sub(1))
}

/// As [`least_pairs`], if `contenders` share the error rate.
pub(crate) fn least_pairs_of(plan: &Plan, contenders: usize) -> usize {
    steady_stats::least_pairs(usual_alpha(plan.alpha()) / contenders.max(1) as f64)
}

/// Returns the plan with the number of pairs that a verdict needs as its minimum, unless it has one. The comparison may
/// exceed its budget for them.
pub fn with_least_pairs(plan: Plan) -> Plan {
    Plan { pairs_min: plan.pairs_min.or(Some(least_pairs(&plan) as u64)), ..plan }
}

/// The minimum number of runs for a verdict.
pub(crate) fn least_runs(plan: &Plan) -> usize {
    plan.commands.len().max(2) * least_pairs(plan)
}

/// The resolution of the instrument, in seconds, bytes or instructions; 0 if it is not known. rusage has microseconds,
/// and memory in whole pages; the monotonic clock has nanoseconds.
pub(crate) fn grain(metric: Metric) -> f64 {
    match metric {
        Metric::Cpu => 1e-6,
        Metric::Wall | Metric::Elapsed => 1e-9,
        Metric::Memory => 4096.0,
        Metric::Instructions | Metric::Faults | Metric::Switches => 1.0,
        // The counters have steps of 15 to 61 µJ, and change once in a millisecond.
        Metric::Energy => 61e-6,
        Metric::Custom(_) => 0.0,
    }
}

/// Returns whether a run counts as a success.
pub(crate) fn succeeded(plan: &Plan, run: &Run) -> bool {
    run.succeeded(&plan.failures)
}

/// The failed runs of the first command and of a contender, over the blocks with a run of both. If they are unequal,
/// the successful runs are not a fair sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    /// The number of failed runs of the first command.
    pub(crate) first: usize,
    /// The number of failed runs of the contender.
    pub(crate) contender: usize,
    /// The number of runs of each of the two.
    pub(crate) runs: usize,
}

impl Failures {
    /// Counts the failures of the first command and of `command`. In duets, a round has one run of the first command
    /// for each contender, so its runs next to other contenders do not count.
    pub(crate) fn of(record: &Record, command: usize) -> Self {
        let failed = |run: &Run| usize::from(!succeeded(&record.plan, run));
        let of_block = |block: &Block| {
            let (first, contender) = (block.run_of(0)?.1, block.run_of(command)?.1);
            Some(Failures { first: failed(first), contender: failed(contender), runs: 1 })
        };
        Failures::sum(record.blocks.iter().filter_map(of_block))
    }

    /// The sums over blocks, or over several records of one plan.
    pub(crate) fn sum(each: impl Iterator<Item = Failures>) -> Self {
        each.fold(Failures::default(), |sum, one| Failures {
            first: sum.first + one.first,
            contender: sum.contender + one.contender,
            runs: sum.runs + one.runs,
        })
    }

    /// Returns whether the two commands fail at different rates. Both have the same number of runs, so at equal rates
    /// each failure belongs to either with probability 1/2. `tests` is the number of tests that share the error rate.
    pub(crate) fn unequal(&self, tests: usize) -> bool {
        /// The error rate: at most one in a hundred comparisons with equal failure rates has unequal failures.
        const LEVEL: f64 = 0.01;
        sign_test(self.first, self.contender) < LEVEL / tests as f64
    }
}

/// The two-sided p-value of the sign test: of a split at least as uneven if heads and tails have probability 1/2 each.
fn sign_test(heads: usize, tails: usize) -> f64 {
    let throws = heads + tails;
    let fewer = heads.min(tails);
    // The logarithm: 2^-1075 is 0 in floating point.
    let mut probability = -(throws as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=fewer {
        tail += probability.exp();
        probability += ((throws - k) as f64 / (k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_test_agrees_with_the_binomial_distribution() {
        assert_eq!(sign_test(0, 0), 1.0);
        assert_eq!(sign_test(3, 3), 1.0);
        assert!((sign_test(0, 8) - 2.0 / 256.0).abs() < 1e-12);
        assert_eq!(sign_test(8, 0), sign_test(0, 8));
        assert!((sign_test(1, 9) - 2.0 * 11.0 / 1024.0).abs() < 1e-12);
        // Of many throws: 600 of 1,200 are the middle, and 50 from it are 2.9 standard deviations (normal: p = 0.0043).
        assert_eq!(sign_test(600, 600), 1.0);
        assert!((0.004..0.005).contains(&sign_test(550, 650)), "{}", sign_test(550, 650));
        assert_eq!(sign_test(0, 2_000), 0.0);
    }
}
