//! The test at one effect: residuals, their scale, their scores, and Z.

use serde::{Deserialize, Serialize};

use crate::pair::{Paired, Stratum};
use crate::{slot, tail};

/// What the test says about one effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The signed, weighted sum of scores over its standard deviation: above zero where NEW costs more than assumed.
    pub z: f64,
    /// Two-sided: the probability of a Z at least as far from zero, had every sign been a fair coin.
    pub p: f64,
}

/// Buffers that one test leaves to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    residual: Vec<f64>,
    standardised: Vec<f64>,
    weight: Vec<f64>,
    pub(crate) score: Vec<f64>,
    sample: Vec<f64>,
    ranks: Ranks,
    pub(crate) running_sum: Vec<f64>,
    pub(crate) running_weight: Vec<f64>,
    pub(crate) neighbours: Vec<f64>,
    pub(crate) sums: [Vec<f64>; 3],
}

impl Scratch {
    /// The sum of 1 / sigma^2 over the pairs of the last test.
    pub(crate) fn information(&self) -> f64 {
        self.weight.iter().map(|weight| weight * weight).sum()
    }
}

/// Tests that NEW costs `exp(theta)` times OLD. All but the sign of each residual is blind to the labels.
pub(crate) fn test(paired: &Paired, theta: f64, scratch: &mut Scratch) -> Tested {
    residuals(paired, theta, scratch);
    follow_the_moment(paired, scratch);
    let Scratch { residual, standardised, weight, score, ranks, .. } = scratch;
    ranks.of(standardised, score);
    let (mut sum, mut square) = (0.0, 0.0);
    for ((r, score), weight) in residual.iter().zip(score.iter_mut()).zip(weight.iter()) {
        // A zero has no sign to flip.
        *score = if *r == 0.0 { 0.0 } else { *score * *weight };
        sum += if *r < 0.0 { -*score } else { *score };
        square += *score * *score;
    }
    if square == 0.0 {
        return Tested { z: 0.0, p: 1.0 };
    }
    Tested { z: sum / square.sqrt(), p: tail::two_sided(sum, scratch) }
}

/// Fills the scratch with slot-adjusted residuals, their sizes over sigma, and 1 / sigma, stratum by stratum.
fn residuals(paired: &Paired, theta: f64, scratch: &mut Scratch) {
    let mut residual = std::mem::take(&mut scratch.residual);
    residual.clear();
    scratch.standardised.clear();
    scratch.weight.clear();
    for stratum in &paired.strata {
        let from = residual.len();
        residual.extend(stratum.difference.iter().map(|d| d - theta));
        let own = &mut residual[from..];
        slot::adjust(stratum, own, scratch);
        let scale = BinScale::of(stratum, own, scratch);
        scratch.weight.extend(stratum.bin.iter().map(|&bin| scale.precision[bin as usize]));
        let sized = own.iter().zip(&stratum.bin).map(|(r, &bin)| r.abs() * scale.precision[bin as usize]);
        scratch.standardised.extend(sized);
    }
    scratch.residual = residual;
}

/// Lets the scale follow the moment: a pair counts for less while its neighbours in time are loud. The root of what they
/// tell is used, for they are few; on the recorded pairs that narrows the interval by 2 % on top of the bins.
fn follow_the_moment(paired: &Paired, scratch: &mut Scratch) {
    const NEIGHBOURS: usize = 7;
    const MIN_PAIRS: usize = 24;
    const SHRINK: f64 = 4.0;
    const CUT: f64 = 3.0;
    let mut from = 0;
    for stratum in &paired.strata {
        let count = stratum.difference.len();
        let sizes = &mut scratch.standardised[from..from + count];
        let weights = &mut scratch.weight[from..from + count];
        from += count;
        let running = &mut scratch.running_sum;
        running.clear();
        running.push(0.0);
        let mut total = 0.0;
        running.extend(sizes.iter().map(|size| {
            total += size.min(CUT);
            total
        }));
        if count < MIN_PAIRS || total == 0.0 {
            continue;
        }
        let mean = total / count as f64;
        for (i, (size, weight)) in sizes.iter_mut().zip(weights).enumerate() {
            let (first, end) = (i.saturating_sub(NEIGHBOURS), (i + NEIGHBOURS + 1).min(count));
            let around = running[end] - running[first] - size.min(CUT);
            let loudness = (around + SHRINK * mean) / ((end - first - 1) as f64 + SHRINK) / mean;
            let factor = loudness.sqrt().recip();
            *size *= factor;
            *weight *= factor;
        }
    }
}

/// The scale of the residuals in each bin of cost sums.
#[derive(Debug, Default)]
pub(crate) struct BinScale {
    /// sigma; zero where all residuals are.
    pub(crate) sigma: [f64; 8],
    /// 1 / sigma.
    pub(crate) precision: [f64; 8],
    /// 1 / sigma^2.
    pub(crate) weight: [f64; 8],
    count: [f64; 8],
}

impl BinScale {
    /// The mean size per bin, outliers cut at ten medians, shrunk towards the median of all as if by three more pairs.
    pub(crate) fn of(stratum: &Stratum, residual: &[f64], scratch: &mut Scratch) -> BinScale {
        /// The median over the mean of half-normal sizes.
        const MEDIAN_OVER_MEAN: f64 = 0.843;
        /// The median of half-normal sizes, in sigmas.
        const MEDIAN: f64 = 0.6745;
        const SHRINK: f64 = 3.0;
        let typical = typical_size(residual, &mut scratch.sample);
        let mut scale = BinScale::default();
        if typical == 0.0 {
            return scale;
        }
        let mut sum = [0.0; 8];
        for (r, &bin) in residual.iter().zip(&stratum.bin) {
            sum[bin as usize] += r.abs().min(10.0 * typical);
            scale.count[bin as usize] += 1.0;
        }
        for (bin, sum) in sum.into_iter().enumerate().take(stratum.bins) {
            let sigma = (MEDIAN_OVER_MEAN * sum + SHRINK * typical) / (scale.count[bin] + SHRINK) / MEDIAN;
            scale.sigma[bin] = sigma;
            scale.precision[bin] = sigma.recip();
            scale.weight[bin] = sigma.recip() * sigma.recip();
        }
        scale
    }
}

/// The median size, of those that are not zero where most are zero. Many residuals are sampled evenly: the median only
/// sets where outliers are cut.
fn typical_size(residual: &[f64], sample: &mut Vec<f64>) -> f64 {
    const ENOUGH: usize = 2048;
    sample.clear();
    sample.extend(residual.iter().step_by(residual.len().div_ceil(ENOUGH).max(1)).map(|r| r.abs()));
    match median(sample) {
        0.0 => {
            sample.clear();
            sample.extend(residual.iter().map(|r| r.abs()).filter(|&size| size > 0.0));
            median(sample)
        }
        size => size,
    }
}

/// The median, the mean of the middle two of an even number; zero of nothing. Reorders `values`.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if even { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0 } else { upper }
}

/// Mid-ranks of many sizes.
#[derive(Debug, Default)]
struct Ranks {
    order: Vec<(f64, u32)>,
    bucket: Vec<f64>,
}

impl Ranks {
    /// Beyond this many, sizes within 0.4 % of each other share a rank, found without sorting.
    const SORTED: usize = 4096;

    /// The mid-rank of each of `sizes` (zero or more), written to `rank`.
    fn of(&mut self, sizes: &[f64], rank: &mut Vec<f64>) {
        rank.clear();
        rank.resize(sizes.len(), 0.0);
        if sizes.len() <= Self::SORTED { self.sorted(sizes, rank) } else { self.bucketed(sizes, rank) }
    }

    fn sorted(&mut self, sizes: &[f64], rank: &mut [f64]) {
        self.order.clear();
        self.order.extend(sizes.iter().copied().zip(0..));
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut first = 1;
        for tied in self.order.chunk_by(|a, b| a.0 == b.0) {
            let middle = first as f64 + (tied.len() - 1) as f64 / 2.0;
            tied.iter().for_each(|&(_, index)| rank[index as usize] = middle);
            first += tied.len();
        }
    }

    /// Buckets by the leading bits of a single-precision float: its exponent and eight bits of its fraction. Sizes are in
    /// sigmas; those beyond 2^-12 and 2^8 share a bucket with their like, and all buckets fit the first cache.
    fn bucketed(&mut self, sizes: &[f64], rank: &mut [f64]) {
        const LEAST: u32 = (127 - 12) << 8;
        const BUCKETS: u32 = 20 << 8;
        let bucket_of = |size: f64| ((size as f32).to_bits() >> 15).saturating_sub(LEAST).min(BUCKETS - 1) as usize;
        self.bucket.clear();
        self.bucket.resize(BUCKETS as usize, 0.0);
        for &size in sizes {
            self.bucket[bucket_of(size)] += 1.0;
        }
        let mut below = 0.0;
        for count in &mut self.bucket {
            let middle = below + (*count + 1.0) / 2.0;
            below += *count;
            *count = middle;
        }
        for (rank, &size) in rank.iter_mut().zip(sizes) {
            *rank = self.bucket[bucket_of(size)];
        }
    }
}

/// See [`Paired::widening`].
pub(crate) fn widening(paired: &Paired, theta: f64, scratch: &mut Scratch) -> Option<f64> {
    residuals(paired, theta, scratch);
    let (mut had, mut quiet, mut bins, mut from) = (0.0, 0.0, 0, 0);
    for stratum in &paired.strata {
        let count = stratum.difference.len();
        let information = &mut scratch.weight[from..from + count];
        information.iter_mut().for_each(|weight| *weight *= *weight);
        had += information.iter().sum::<f64>();
        information.sort_unstable_by(|a, b| b.total_cmp(a));
        let quietest = &information[..count.div_ceil(4)];
        quiet += quietest.iter().sum::<f64>() / quietest.len() as f64 * count as f64;
        bins = bins.max(stratum.bins);
        from += count;
    }
    (bins >= 4 && had > 0.0).then(|| (quiet / had).sqrt())
}
