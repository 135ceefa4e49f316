//! Commands with two modes, such as a cache hit and a miss: error rates of the verdict on the total, and coverage of
//! the interval of the ratio of means.

use rand::Rng;
use steady_model::{Layout, Verdict};
use steady_stats::{Estimate, Pair, Rules, Schedule, Sequence, Weighed, mean_alpha, mean_ratio, usual_alpha};

use crate::simulated::{Machine, Noise, most, repeated};

const PAIRS: usize = 150;
const RESOLUTION: f64 = 0.005;
const ALPHA: f64 = 0.05;

/// A command with two modes: the cost of its usual run, the share of its expensive runs, and the factor of their cost.
#[derive(Clone, Copy, Debug)]
struct Mode {
    usual: f64,
    share: f64,
    factor: f64,
}

impl Mode {
    fn mean(self) -> f64 {
        self.usual * (1.0 + self.share * (self.factor - 1.0))
    }

    fn draw(self, machine: &mut Machine) -> f64 {
        if machine.coin.random::<f64>() < self.share { self.usual * self.factor } else { self.usual }
    }
}

fn pair(machine: &mut Machine, old: Mode, new: Mode) -> Pair {
    let mut pair = machine.pair(Layout::Turns, 0.0);
    pair.old *= old.draw(machine);
    pair.new *= new.draw(machine);
    pair
}

/// Runs one experiment like `compare`: it ends early only if the mean is not open.
fn experiment(machine: &mut Machine, mut next: impl FnMut(&mut Machine) -> Pair) -> (Weighed, usize) {
    let rules = Rules { alpha: usual_alpha(ALPHA), resolution: RESOLUTION, limits: vec![], grain: 1e-6 };
    let (mut schedule, mut sequence) = (Schedule::new(), Sequence::new(rules, 1));
    let mut pairs = vec![vec![]];
    for count in 1..=PAIRS {
        pairs[0].push(next(machine));
        let last = count == PAIRS;
        if schedule.due(count, count as f64) || last {
            let look = sequence.look(&pairs, count as f64 / PAIRS as f64, last);
            let estimate: Estimate = look.contenders.into_iter().next().unwrap();
            let costs: Vec<(f64, f64)> = pairs[0].iter().map(|pair| (pair.old, pair.new)).collect();
            let mean = mean_ratio(&[costs], mean_alpha(ALPHA));
            if last || look.done && !estimate.mean_is_open(&mean, RESOLUTION) {
                return (estimate.weighed_against(mean, RESOLUTION), count);
            }
        }
    }
    unreachable!("the last look ends the experiment")
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn covers(weighed: &Weighed, change: f64) -> bool {
    let mean = weighed.mean.effect;
    mean.low.is_none_or(|low| low <= change) && mean.high.is_none_or(|high| change <= high)
}

#[test]
fn equal_commands_with_two_modes_rarely_differ() {
    let experiments = repeated(20);
    let (mut table, mut total, mut wrong, mut by_mean) = (String::new(), 0, 0, 0);
    for noise in [Noise::Heavy, Noise::Bursts] {
        for share in [0.01, 0.05, 0.2, 0.5] {
            for factor in [2.0, 10.0, 50.0] {
                let mode = Mode { usual: 1.0, share, factor };
                let mut here = 0;
                for seed in 0..experiments {
                    let mut machine = Machine::new(noise, seed as u64 + 31_000_000);
                    let (weighed, _) = experiment(&mut machine, |machine| pair(machine, mode, mode));
                    here += usize::from(differs(weighed.estimate.verdict));
                    by_mean += usize::from(weighed.mean_decides && differs(weighed.estimate.verdict));
                }
                table += &format!("{noise:?} {share} {factor}: {here}\n");
                assert!(here <= most(experiments, ALPHA) + 2, "{here} of {experiments}\n{table}");
                (total, wrong) = (total + experiments, wrong + here);
            }
        }
    }
    assert!(wrong <= most(total, ALPHA), "{wrong} of {total}\n{table}");
    assert!(by_mean <= most(total, mean_alpha(ALPHA)), "{by_mean} of {total} by the mean\n{table}");
}

/// The usual run and the mean change in opposite directions: the mean decides, and neither interval is wrong.
#[test]
fn opposite_changes_are_decided_by_the_total() {
    let experiments = 60;
    let new = |share, factor| Mode { usual: 0.95, share, factor };
    for (old, new) in [
        (Mode { usual: 1.0, share: 0.10, factor: 20.0 }, new(0.40, 20.0)),
        (Mode { usual: 1.0, share: 0.20, factor: 5.0 }, new(0.45, 9.0)),
        (Mode { usual: 1.0, share: 0.01, factor: 2.0 }, new(0.25, 50.0)),
        (Mode { usual: 1.0, share: 0.2, factor: 10.0 }, new(0.2, 50.0)),
    ] {
        let change = new.mean() / old.mean() - 1.0;
        let (mut slower, mut missed, mut early) = (0, 0, 0);
        for seed in 0..experiments {
            let mut machine = Machine::new(Noise::Bursts, seed as u64 + 32_000_000);
            let (weighed, pairs) = experiment(&mut machine, |machine| pair(machine, old, new));
            slower += usize::from(weighed.estimate.verdict == Verdict::Slower);
            missed += usize::from(!covers(&weighed, change));
            early += usize::from(weighed.estimate.verdict == Verdict::Faster && pairs < PAIRS);
        }
        assert!(slower > 45, "{old:?} {new:?}: {slower} of {experiments} slower");
        assert!(early <= 2, "{old:?} {new:?}: {early} of {experiments} ended with the usual run alone");
        assert!(missed <= most(experiments, ALPHA), "{old:?} {new:?}: missed {missed} of {experiments}");
    }
}

/// Both commands have different shares, factors and usual runs. The number of pairs is fixed, because no interval
/// includes a mode that did not occur before an early end.
#[test]
fn the_interval_of_the_mean_covers_the_ratio_of_means() {
    let experiments = 150;
    for (old, new) in [((0.01, 50.0), (0.05, 50.0)), ((0.05, 10.0), (0.01, 10.0)), ((0.5, 2.0), (0.3, 3.0))] {
        let old = Mode { usual: 1.0, share: old.0, factor: old.1 };
        let new = Mode { usual: 1.02, share: new.0, factor: new.1 };
        let change = new.mean() / old.mean() - 1.0;
        let missed = |seed: &usize| {
            let mut machine = Machine::new(Noise::Bursts, *seed as u64 + 33_000_000);
            let pairs: Vec<Pair> = (0..PAIRS).map(|_| pair(&mut machine, old, new)).collect();
            let costs = pairs.iter().map(|pair| (pair.old, pair.new)).collect();
            let mean = mean_ratio(&[costs], mean_alpha(ALPHA)).effect;
            !(mean.low.is_none_or(|low| low <= change) && mean.high.is_none_or(|high| change <= high))
        };
        let missed = (0..experiments).filter(missed).count();
        assert!(missed <= most(experiments, ALPHA), "{old:?} {new:?}: missed {missed} of {experiments}");
    }
}

/// Both runs of a pair have the same mode, and the expensive mode changes in the opposite direction.
#[test]
fn modes_shared_by_both_runs_are_detected() {
    let experiments = 60;
    let mut by_mean = 0;
    for seed in 0..experiments {
        let mut machine = Machine::new(Noise::Heavy, seed + 34_000_000);
        let (weighed, _) = experiment(&mut machine, |machine| {
            let expensive = machine.coin.random::<f64>() < 0.15;
            let mut pair = machine.pair(Layout::Turns, if expensive { -0.2 } else { 0.01 });
            let factor = if expensive { 50.0 } else { 1.0 };
            (pair.old, pair.new) = (pair.old * factor, pair.new * factor);
            pair
        });
        by_mean += usize::from(weighed.mean_decides && weighed.estimate.verdict == Verdict::Faster);
    }
    assert!(by_mean > 50, "{by_mean} of {experiments}");
}

/// Load alone does not prolong a comparison of commands with one mode.
#[test]
fn comparisons_with_one_mode_end_early_under_load() {
    for noise in [Noise::Heavy, Noise::Bursts, Noise::Drift] {
        let (mut early, experiments) = (0, 60);
        for seed in 0..experiments {
            let mut machine = Machine::new(noise, seed + 35_000_000);
            let (weighed, pairs) = experiment(&mut machine, |machine| machine.pair(Layout::Turns, 0.1));
            assert!(!weighed.mean_decides, "{noise:?} {seed}: {weighed:?}");
            early += usize::from(pairs < PAIRS);
        }
        assert!(early > experiments as usize * 2 / 3, "{noise:?}: {early} of {experiments}");
    }
}

/// NEW has two modes around the cost of OLD, so that no pair has a ratio near one. The test of the usual run rejects
/// neither mode while chance decides which one has more than half of the runs, and the interval must contain both. It
/// may still find the usual run cheaper more often than in 5 %: expensive pairs are noisier and weigh less. The
/// interval of the mean covers the truth.
#[test]
fn two_modes_around_the_other_command_are_no_small_change() {
    let experiments = repeated(40);
    let old = Mode { usual: 1.0, share: 0.0, factor: 1.0 };
    for noise in [Noise::Heavy, Noise::Bursts] {
        for (share, factor) in [(0.5, 3.0), (0.5, 1.2), (0.45, 3.0)] {
            let new = Mode { usual: 2.0 / (1.0 + factor), share, factor };
            let (mut missed, mut same, mut narrow) = (0, 0, 0);
            for seed in 0..experiments {
                let mut machine = Machine::new(noise, seed as u64 + 36_000_000);
                let (weighed, _) = experiment(&mut machine, |machine| pair(machine, old, new));
                missed += usize::from(!covers(&weighed, new.mean() / old.mean() - 1.0));
                same += usize::from(weighed.estimate.verdict == Verdict::Same);
                let (low, high) = (weighed.usual.low.unwrap_or(-1.0), weighed.usual.high.unwrap_or(9.0));
                narrow += usize::from(high - low < 0.01 && low <= 0.0 && high >= 0.0);
            }
            let case =
                format!("{noise:?} {share} {factor}: {missed} missed, {same} same, {narrow} narrow of {experiments}");
            assert!(same == 0 && narrow <= most(experiments, ALPHA), "{case}");
            assert!(missed <= most(experiments, ALPHA), "{case}");
        }
    }
}

/// The usual run of both is in one of the two modes, and NEW is more often in the expensive one.
#[test]
fn more_frequent_expensive_runs_are_no_equal_cost() {
    let experiments = repeated(40);
    for noise in [Noise::Heavy, Noise::Bursts] {
        for (share, more) in [(0.5, 0.6), (0.5, 0.55), (0.3, 0.35), (0.2, 0.25)] {
            let mode = |share| Mode { usual: 1.0, share, factor: 2.7 };
            let same = |seed: &usize| {
                let mut machine = Machine::new(noise, *seed as u64 + 38_000_000);
                let (weighed, _) = experiment(&mut machine, |machine| pair(machine, mode(share), mode(more)));
                weighed.estimate.verdict == Verdict::Same
            };
            let same = (0..experiments).filter(same).count();
            assert!(same <= most(experiments, ALPHA), "{noise:?} {share} {more}: {same} of {experiments} are the same");
        }
    }
}

/// Rare bursts of load make the mean uncertain, but hit both commands. They must not take the verdict away.
#[test]
fn equal_commands_with_one_mode_stay_the_same_under_bursts() {
    let experiments = repeated(40);
    let doubted = |seed: &usize| {
        let mut machine = Machine::new(Noise::Bursts, *seed as u64 + 37_000_000);
        let (weighed, _) = experiment(&mut machine, |machine| machine.pair(Layout::Turns, 0.0));
        weighed.mean_decides
    };
    let doubted = (0..experiments).filter(doubted).count();
    assert!(doubted <= most(experiments, ALPHA), "{doubted} of {experiments}");
}
