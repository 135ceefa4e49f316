//! Pairs out of blocks.

use steady_model::{Block, Layout, Metric, Plan, Reading, Record, Run};
use steady_stats::{Effect, MEAN_ALPHA_SHARE, Pair, Rules, Slot, mean_ratio};

/// The pairs of every contender by one metric, growing block by block.
pub(crate) struct Evidence {
    metric: Metric,
    plan: Plan,
    contenders: Vec<Vec<Pair>>,
    /// For every draw of snapshots the mean costs of its pairs, by contender; empty without draws. The pairs of
    /// `contenders` are then trimmed means, which leave out expensive runs.
    draw_means: Vec<Vec<Pair>>,
    /// The draw of snapshots that the last blocks belong to, and their pairs by contender: together they are the last pair.
    open: Option<(u64, Vec<Vec<Pair>>)>,
}

impl Evidence {
    pub(crate) fn new(plan: &Plan, metric: Metric) -> Self {
        let contenders = vec![Vec::new(); plan.commands.len() - 1];
        Evidence { metric, plan: plan.clone(), draw_means: contenders.clone(), contenders, open: None }
    }

    /// Adds the pairs of blocks: a run that failed takes its pairs with it, as does a reading that is absent. All pairs of one
    /// draw of snapshots become one, for they share what it brought; one that has just begun counts with the pairs that it
    /// has, since how many these are is blind to what they say.
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
                self.gather();
                self.open = Some((draw, vec![Vec::new(); self.contenders.len()]));
            }
            for contender in 1..=self.contenders.len() {
                if let Some(Ok(pair)) = self.pair(block, contender) {
                    self.put(contender, pair);
                }
            }
        }
        self.gather();
    }

    /// Keeps a pair of the open draw; the first makes the place for all.
    fn put(&mut self, contender: usize, pair: Pair) {
        let Some((_, open)) = &mut self.open else { return };
        let pairs = &mut open[contender - 1];
        pairs.push(pair);
        if pairs.len() == 1 {
            self.contenders[contender - 1].push(pair);
            self.draw_means[contender - 1].push(pair);
        }
    }

    /// Makes one pair of those of the open draw.
    fn gather(&mut self) {
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

    /// The pairs of each contender, the second command first.
    pub(crate) fn contenders(&self) -> &[Vec<Pair>] {
        &self.contenders
    }

    /// How many pairs every contender has.
    pub(crate) fn pairs(&self) -> usize {
        self.contenders.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The ratio of mean costs of each contender, over all pairs.
    pub(crate) fn means(&self) -> Vec<Effect> {
        (0..self.contenders.len()).map(|index| mean_ratio(&self.strata(index), self.mean_alpha())).collect()
    }

    /// The error rate of the interval of one contender's ratio of means.
    pub(crate) fn mean_alpha(&self) -> f64 {
        self.plan.alpha() * MEAN_ALPHA_SHARE / self.contenders.len().max(1) as f64
    }

    /// The costs of a contender's pairs for the ratio of means, OLD and NEW, by layout.
    pub(crate) fn strata(&self, index: usize) -> Vec<Vec<(f64, f64)>> {
        let pairs = if self.draw_means[index].is_empty() { &self.contenders[index] } else { &self.draw_means[index] };
        let of = |layout| pairs.iter().filter(move |pair| pair.layout == layout).map(|pair| (pair.old, pair.new));
        Layout::ALL.into_iter().map(|layout| of(layout).collect()).collect()
    }

    /// The rules of the test of the usual run; the rest of the error rate belongs to the ratio of means.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            alpha: self.plan.alpha() * (1.0 - MEAN_ALPHA_SHARE),
            resolution: self.plan.resolution,
            limits: self.plan.fail_if.iter().map(|condition| condition.limit()).collect(),
            grain: grain(self.metric),
        }
    }
}

/// The smallest difference that the instrument shows: rusage counts microseconds and kibibytes (pages, in truth); the
/// monotonic clock nanoseconds.
pub(crate) fn grain(metric: Metric) -> f64 {
    match metric {
        Metric::Cpu => 1e-6,
        Metric::Wall | Metric::Elapsed => 1e-9,
        Metric::Memory => 4096.0,
        Metric::Instructions => 1.0,
    }
}

/// Whether a run counts as a success.
pub(crate) fn succeeded(plan: &Plan, run: &Run) -> bool {
    run.succeeded(&plan.failures)
}

/// How often each command failed, and whether one failed so much more often that the rest is no fair sample.
pub(crate) struct Failures {
    /// Per command: runs that failed, runs in all.
    pub(crate) counts: Vec<(usize, usize)>,
}

impl Failures {
    pub(crate) fn of(record: &Record) -> Self {
        let mut counts = vec![(0, 0); record.plan.commands.len()];
        for run in record.blocks.iter().flat_map(|block| &block.runs) {
            counts[run.command].0 += usize::from(!succeeded(&record.plan, run));
            counts[run.command].1 += 1;
        }
        Failures { counts }
    }

    /// The same of several records of one plan.
    pub(crate) fn sum(each: &[Failures]) -> Self {
        let commands = each.first().map_or(0, |one| one.counts.len());
        let of = |command: usize| {
            let counts = each.iter().map(|one| one.counts[command]);
            counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        Failures { counts: (0..commands).map(of).collect() }
    }

    /// Whether `command` and the first one fail at rates that are hardly the same: they had as many runs, so each
    /// failure is as likely to be the one's as the other's. `questions` says how many such questions are asked.
    pub(crate) fn unequal(&self, command: usize, questions: usize) -> bool {
        /// One fair comparison in a hundred that has failures at all is called unfair.
        const LEVEL: f64 = 0.01;
        coin_test(self.counts[0].0, self.counts[command].0) < LEVEL / questions as f64
    }
}

/// Two-sided p-value of so lopsided a split if every one fell by a fair coin: the sign test.
fn coin_test(heads: usize, tails: usize) -> f64 {
    let throws = heads + tails;
    let fewer = heads.min(tails);
    let mut probability = 0.5f64.powi(throws as i32);
    let mut tail = 0.0;
    for k in 0..=fewer {
        tail += probability;
        probability *= (throws - k) as f64 / (k + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coin_test_counts_the_tail() {
        assert_eq!(coin_test(0, 0), 1.0);
        assert_eq!(coin_test(3, 3), 1.0);
        assert_eq!(coin_test(0, 8), 2.0 / 256.0);
        assert_eq!(coin_test(8, 0), coin_test(0, 8));
        assert!((coin_test(1, 9) - 2.0 * 11.0 / 1024.0).abs() < 1e-12);
    }
}
