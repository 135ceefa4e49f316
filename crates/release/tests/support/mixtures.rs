//! Recorded requests under new random labels. Some requests cost a multiple of the others and change differently.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRows, Verdict};
use steady_release::judge;

use super::made::{self, Label};
use super::simulated::normal;
use super::trials::Source;

/// Distribution of a random factor of mean 1 on each cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tail {
    None,
    /// Log-normal with this standard deviation of the logarithm.
    LogNormal(f64),
    /// Pareto distribution with this index.
    Pareto(f64),
}

/// How costs are mixed, and how NEW changes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixture {
    /// Share of expensive requests.
    pub(crate) share: f64,
    /// Cost of expensive requests relative to the others.
    pub(crate) ratio: f64,
    /// Change of expensive requests with NEW, as a ratio.
    pub(crate) rare: f64,
    /// Change of the other requests with NEW, as a ratio.
    pub(crate) usual: f64,
    /// Additional random variation of costs.
    pub(crate) tail: Tail,
    /// Whether the application reports the class of a request before it runs.
    pub(crate) known: bool,
}

impl Mixture {
    /// Creates a mixture of a share of requests that cost `ratio` times as much as the others.
    pub(crate) fn of(share: f64, ratio: f64, rare: f64, usual: f64) -> Mixture {
        Mixture { share, ratio, rare, usual, tail: Tail::None, known: false }
    }

    /// Creates requests of equal cost that all have the same change.
    pub(crate) fn even(change: f64) -> Mixture {
        Mixture::of(0.0, 1.0, change, change)
    }

    /// Returns the true change of the total.
    pub(crate) fn truth(&self) -> f64 {
        let Mixture { share, ratio, rare, usual, .. } = *self;
        let (expensive, others) = (share * ratio, 1.0 - share);
        (expensive * (1.0 + rare) + others * (1.0 + usual)) / (expensive + others) - 1.0
    }

    /// Returns the rows of a window under random labels.
    pub(crate) fn rows(&self, source: &Source, from: u64, to: u64, coin: &mut ChaCha8Rng) -> ReleaseRows {
        let requests = made::within(&source.requests, from, to, |request| request.end);
        made::rows(requests, &[], |request| {
            let is_new: bool = coin.random();
            let is_rare = coin.random::<f64>() < self.share;
            let change = if is_rare { self.rare } else { self.usual };
            let level = if is_rare { self.ratio } else { 1.0 };
            let noise = match self.tail {
                Tail::None => 1.0,
                Tail::LogNormal(deviation) => (deviation * normal(coin) - deviation * deviation / 2.0).exp(),
                Tail::Pareto(index) => (1.0 - coin.random::<f64>()).powf(-1.0 / index) * (index - 1.0) / index,
            };
            let factor = level * noise * if is_new { 1.0 + change } else { 1.0 };
            Label {
                version: u32::from(is_new),
                assignment: Assignment::Random,
                slot_seconds: 0,
                factor: if request.version == 2 { 0.0 } else { factor },
                class: u32::from(self.known && is_rare),
            }
        })
    }
}

/// Results of many evaluated windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) windows: usize,
    /// Estimates of the logarithm of the ratio, minus the truth.
    pub(crate) errors: Vec<f64>,
    /// Number of intervals of the total that do not contain the truth.
    pub(crate) missed: usize,
    /// Number of verdicts `faster` or `slower` that are wrong.
    pub(crate) wrong: usize,
    /// Number of verdicts `faster` or `slower` that are right.
    pub(crate) found: usize,
    /// Number of verdicts that would be wrong if they used the interval of the usual request.
    pub(crate) usual_wrong: usize,
    pub(crate) half_widths: f64,
    pub(crate) usual_half_widths: f64,
    /// Number of windows in which the report names the requests that changed.
    pub(crate) named: usize,
}

impl Outcome {
    /// Evaluates random windows of the source, each under random labels and costs.
    pub(crate) fn of(source: &Source, windows: usize, seconds: u64, mixture: &Mixture, seed: u64) -> Outcome {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let (first, last) = source.ends();
        let truth = mixture.truth();
        let mut outcome = Outcome::default();
        for _ in 0..windows {
            let from = coin.random_range(first..last - seconds);
            let rows = mixture.rows(source, from, from + seconds, &mut coin);
            let report = judge(&made::question(from, from + seconds), &rows).expect("both versions served");
            outcome.windows += 1;
            let right = match truth {
                truth if truth > 1e-9 => Some(Verdict::Slower),
                truth if truth < -1e-9 => Some(Verdict::Faster),
                _ => None,
            };
            let decided = matches!(report.total.verdict, Verdict::Slower | Verdict::Faster);
            outcome.found += usize::from(Some(report.total.verdict) == right);
            outcome.wrong += usize::from(decided && Some(report.total.verdict) != right);
            outcome.named += usize::from(!report.tails.is_empty());
            if let Ok(interval) = &report.usual.interval() {
                let decided = if interval.low > 0.0 {
                    Some(Verdict::Slower)
                } else if interval.high < 0.0 {
                    Some(Verdict::Faster)
                } else {
                    None
                };
                outcome.usual_wrong += usize::from(decided.is_some() && decided != right);
                outcome.usual_half_widths += interval.half_width();
            }
            if let (Ok(change), Ok(interval)) = (&report.total.change, &report.total.interval()) {
                outcome.errors.push(change.ln_1p() - truth.ln_1p());
                outcome.missed += usize::from(!interval.holds(truth));
                outcome.half_widths += interval.half_width();
            }
        }
        outcome
    }

    /// Returns a count divided by the number of windows.
    pub(crate) fn share(&self, count: usize) -> f64 {
        count as f64 / self.windows.max(1) as f64
    }

    /// Returns the share that an event of probability `share` exceeds in one of 1,000 experiments of this size.
    pub(crate) fn most(&self, share: f64) -> f64 {
        share + 3.1 * (share * (1.0 - share) / self.windows.max(1) as f64).sqrt()
    }

    /// Returns the mean of the errors, and their standard deviation.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let n = self.errors.len().max(1) as f64;
        let mean = self.errors.iter().sum::<f64>() / n;
        (mean, (self.errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt())
    }
}
