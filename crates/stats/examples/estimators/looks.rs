//! Whole comparisons with looks on recorded pairs: when they end, and how often verdict and intervals are wrong.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};
use steady_model::{Layout, Verdict};
use steady_stats::{Estimate, MEAN_ALPHA_SHARE, Pair, Rules, Schedule, Sequence, mean_ratio, single_look};

use crate::Recorded;

/// The resolution of the comparisons. Effects are multiples of it.
const RESOLUTION: f64 = 0.005;
/// The true effects, in resolutions, unless one is given.
pub(crate) const EFFECTS: [f64; 4] = [0.0, 1.0, 2.0, 4.0];

/// The error rate of a comparison.
const ALPHA: f64 = 0.05;

/// What happened in the comparisons of one effect.
#[derive(Clone, Default)]
struct Tally {
    trials: usize,
    wrong: usize,
    found: usize,
    verdict_covered: usize,
    size_covered: usize,
    /// The share of the budget that each comparison used.
    used: Vec<f64>,
    /// Half the width of the verdict's interval of comparisons that used the whole budget, in standard errors.
    z: Vec<f64>,
}

/// Repeats comparisons with a time budget, and prints a table.
pub(crate) fn compare(cells: &[(String, Vec<Vec<Recorded>>)], budget: f64, trials: usize, effects: &[f64]) {
    let mut tallies = vec![Tally::default(); effects.len()];
    let coin = &mut ChaCha8Rng::seed_from_u64(2026);
    for trial in 0..trials {
        let which = trial % effects.len();
        let (_, segments) = &cells[coin.random_range(0..cells.len())];
        let theta = (effects[which] * RESOLUTION).ln_1p();
        let recorded = run_of(segments, budget, theta, coin);
        tallies[which].add(&recorded, budget, theta);
    }
    println!(
        "| effect | verdicts | wrong | found | verdict covers | size covers | budget used | z at the end of the budget |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (tally, effect) in tallies.iter_mut().zip(effects) {
        let share = |count: usize| format!("{:.2} %", 100.0 * count as f64 / tally.trials as f64);
        let cells = [share(tally.wrong), share(tally.found), share(tally.verdict_covered), share(tally.size_covered)];
        let (used, z) = (middle(&mut tally.used), middle(&mut tally.z));
        let mean = tally.used.iter().sum::<f64>() / tally.used.len() as f64;
        println!(
            "| {:.1} % | {} | {} | {used:.2} (mean {mean:.3}) | {z:.3} |",
            100.0 * effect * RESOLUTION,
            tally.trials,
            cells.join(" | ")
        );
    }
}

fn width(estimate: &Estimate) -> f64 {
    estimate.verdict_high.zip(estimate.verdict_low).map_or(f64::NAN, |(high, low)| high.ln_1p() - low.ln_1p())
}

/// Half the width of the interval of a single look, in standard errors.
fn single_look_z(rules: &Rules) -> f64 {
    Normal::standard().inverse_cdf(1.0 - rules.alpha / 2.0)
}

fn by_layout(pairs: &[Pair]) -> [Vec<(f64, f64)>; Layout::ALL.len()] {
    let of = |layout| pairs.iter().filter(move |pair| pair.layout == layout).map(|pair| (pair.old, pair.new));
    Layout::ALL.map(|layout| of(layout).collect())
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Tally {
    /// Repeats one comparison like `steady compare`: looks on the schedule, until the verdict is known and the ratio of
    /// means can no longer change it.
    fn add(&mut self, recorded: &[Recorded], budget: f64, theta: f64) {
        let rules =
            Rules { alpha: ALPHA * (1.0 - MEAN_ALPHA_SHARE), resolution: RESOLUTION, limits: vec![], grain: 1e-6 };
        let (mut schedule, mut sequence) = (Schedule::new(), Sequence::new(rules.clone(), 1));
        let (mut pairs, mut time): (Vec<Pair>, f64) = (vec![], 0.0);
        for (place, one) in recorded.iter().enumerate() {
            pairs.push(one.pair);
            time += one.seconds;
            let last = place + 1 == recorded.len();
            if !last && !schedule.due(pairs.len(), time) {
                continue;
            }
            let fraction = if last { 1.0 } else { time / budget };
            let found = sequence.look(std::slice::from_ref(&pairs), fraction, last);
            let estimate = &found.contenders[0];
            let mean = mean_ratio(&by_layout(&pairs), ALPHA * MEAN_ALPHA_SHARE);
            if last || found.done && !estimate.mean_is_open(&mean, RESOLUTION) {
                if last {
                    self.z.push(single_look_z(&rules) * width(estimate) / width(&single_look(&pairs, &rules)));
                }
                self.end(&estimate.clone().weighed_against(mean, RESOLUTION).estimate, fraction, theta);
                return;
            }
        }
    }

    fn end(&mut self, estimate: &Estimate, used: f64, theta: f64) {
        let change = theta.exp_m1();
        let holds = |low: Option<f64>, high: Option<f64>| {
            low.is_none_or(|low| low <= change) && high.is_none_or(|high| change <= high)
        };
        self.trials += 1;
        self.used.push(used);
        self.verdict_covered += usize::from(holds(estimate.verdict_low, estimate.verdict_high));
        self.size_covered += usize::from(holds(estimate.size.low, estimate.size.high));
        let right = if change > 0.0 { Verdict::Slower } else { Verdict::Same };
        let is_wrong = match estimate.verdict {
            Verdict::Faster => true,
            Verdict::Slower => change <= 0.0,
            Verdict::Same => change > RESOLUTION,
            Verdict::Undecided => false,
        };
        self.wrong += usize::from(is_wrong);
        self.found += usize::from(estimate.verdict == right);
    }
}

/// Returns the pairs of a budget: contiguous runs of turns and duets, mixed at random, with newly drawn labels.
fn run_of(segments: &[Vec<Recorded>], budget: f64, theta: f64, coin: &mut ChaCha8Rng) -> Vec<Recorded> {
    let mut each: Vec<Vec<Recorded>> = segments
        .iter()
        .map(|segment| {
            let per_pair = segment.iter().map(|one| one.seconds).sum::<f64>() / segment.len() as f64;
            let share = budget / segments.len() as f64;
            let count = ((share / per_pair) as usize).clamp(1, segment.len());
            let start = coin.random_range(0..=segment.len() - count);
            segment[start..start + count].to_vec()
        })
        .collect();
    let mut order: Vec<usize> = each.iter().enumerate().flat_map(|(which, run)| vec![which; run.len()]).collect();
    order.shuffle(coin);
    each.iter_mut().for_each(|run| run.reverse());
    order
        .into_iter()
        .filter_map(|which| each[which].pop())
        .map(|mut one| {
            if coin.random::<bool>() {
                one.pair = one.pair.swapped()
            }
            one.pair.new *= theta.exp();
            one
        })
        .collect()
}
