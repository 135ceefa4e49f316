//! Counted costs instead of times: differences of a few steps, most of them equal or zero.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Layout, Verdict};
use steady_stats::{Estimate, Pair, Rules, Schedule, Sequence, Slot};

use crate::simulated::most;

/// How counts vary from run to run.
#[derive(Clone, Copy, Debug)]
enum Counts {
    /// Nine of ten runs have the same count.
    Mostly,
    /// With probability 1/2, one more.
    Coin,
    /// A few more, with small numbers more frequent.
    Geometric,
    /// The same count, but one of ten runs takes another path through the program.
    Paths,
    /// The run that starts second counts some more.
    Slots,
}

const ALL: [Counts; 5] = [Counts::Mostly, Counts::Coin, Counts::Geometric, Counts::Paths, Counts::Slots];

impl Counts {
    fn extra(self, coin: &mut ChaCha8Rng, second: bool) -> u64 {
        match self {
            Counts::Mostly => u64::from(coin.random_range(0..10) == 0),
            Counts::Coin => u64::from(coin.random::<bool>()),
            Counts::Geometric => u64::from(coin.random::<u32>().trailing_zeros()),
            Counts::Paths => 5_000 * u64::from(coin.random_range(0..10) == 0),
            Counts::Slots => u64::from(coin.random_range(0..4) == 0) + 3 * u64::from(second),
        }
    }
}

/// Runs one experiment of at most `pairs` pairs, in which NEW costs `more` on top of a million.
fn experiment(counts: Counts, more: u64, pairs: usize, seed: u64) -> Estimate {
    const BASE: u64 = 1_000_000;
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    let rules = Rules { alpha: 0.05, resolution: 0.01, limits: vec![], grain: 1.0 };
    let (mut schedule, mut sequence) = (Schedule::new(), Sequence::new(rules, 1));
    let mut all: Vec<Pair> = Vec::new();
    for count in 1..=pairs {
        let second = coin.random::<bool>();
        let slot = Slot { order: if second { 1 } else { -1 }, cpu: 0 };
        let old = (BASE + counts.extra(&mut coin, !second)) as f64;
        let new = (BASE + more + counts.extra(&mut coin, second)) as f64;
        all.push(Pair { layout: Layout::Turns, slot, old, new });
        let last = count == pairs;
        if schedule.due(count, count as f64) || last {
            let look = sequence.look(&[all.clone()], count as f64 / pairs as f64, last);
            if look.done {
                return look.contenders[0].clone();
            }
        }
    }
    unreachable!("the last look ends the experiment")
}

#[test]
fn equal_commands_are_called_different_at_the_nominal_rate() {
    let experiments = 500;
    for counts in ALL {
        for pairs in [8, 100] {
            let found: Vec<Estimate> = (0..experiments).map(|seed| experiment(counts, 0, pairs, seed as u64)).collect();
            let differ = found.iter().filter(|one| one.verdict != Verdict::Same).count();
            assert!(differ <= most(experiments, 0.05), "{counts:?}: {differ} of {experiments} in {pairs} pairs");
            assert!(found.iter().all(|one| one.verdict != Verdict::Undecided), "{counts:?}, {pairs}");
        }
    }
}

#[test]
fn intervals_cover_the_true_shift() {
    let experiments = 500;
    for counts in ALL {
        for (more, pairs) in [(1, 100), (7, 12), (20_000, 12)] {
            // The shift of the logarithm depends slightly on the count.
            let change = more as f64 / 1e6;
            let slack = 1e-7 + 1e-2 * change;
            let missed = (0..experiments).filter(|&seed| {
                let found = experiment(counts, more, pairs, 7_000 + seed as u64);
                found.verdict_low.is_some_and(|low| low > change + slack)
                    || found.verdict_high.is_some_and(|high| high < change - slack)
            });
            let missed = missed.count();
            assert!(missed <= most(experiments, 0.05), "{counts:?} + {more}: {missed} of {experiments}");
        }
    }
}

#[test]
fn constant_costs_are_decided_at_the_first_look() {
    for (more, verdict) in [(0, Verdict::Same), (1, Verdict::Slower), (30_000, Verdict::Slower)] {
        let found = without_noise(more);
        assert_eq!((found.verdict, found.pairs), (verdict, 12), "{more}: {found:?}");
    }
}

/// Evaluates an experiment without any noise.
fn without_noise(more: u64) -> Estimate {
    let rules = Rules { alpha: 0.05, resolution: 0.01, limits: vec![], grain: 1.0 };
    let pair = |order| Pair {
        layout: Layout::Turns,
        slot: Slot { order, cpu: 0 },
        old: 1_000_000.0,
        new: (1_000_000 + more) as f64,
    };
    let pairs: Vec<Pair> = [1, -1, -1, 1, 1, 1, -1, 1, -1, -1, 1, -1].map(pair).to_vec();
    let look = Sequence::new(rules, 1).look(&[pairs], 0.01, false);
    assert!(look.done);
    look.contenders[0].clone()
}
