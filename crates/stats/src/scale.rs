//! The scale of residuals, their mid-ranks, and buffers for tests.

use crate::pair::Stratum;

/// Buffers that consecutive tests share, to avoid allocations.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) residual: Vec<f64>,
    pub(crate) standardised: Vec<f64>,
    pub(crate) weight: Vec<f64>,
    pub(crate) score: Vec<f64>,
    sample: Vec<f64>,
    pub(crate) ranks: Ranks,
    pub(crate) running_sum: Vec<f64>,
    pub(crate) running_weight: Vec<f64>,
    pub(crate) neighbours: Vec<f64>,
    pub(crate) sums: [Vec<f64>; 3],
}

impl Scratch {
    /// Returns the sum of 1 / sigma² over the pairs of the last test.
    pub(crate) fn information(&self) -> f64 {
        self.weight.iter().map(|weight| weight * weight).sum()
    }
}

/// The scale of the residuals in each bin of cost sums.
#[derive(Debug, Default)]
pub(crate) struct BinScale {
    /// The scale sigma; zero if all residuals are zero.
    pub(crate) sigma: [f64; 8],
    /// The values of 1 / sigma.
    pub(crate) precision: [f64; 8],
    /// The values of 1 / sigma².
    pub(crate) weight: [f64; 8],
    count: [f64; 8],
}

impl BinScale {
    /// Estimates the scale of each bin from the mean absolute residual. Outliers are cut at ten medians. The mean is
    /// shrunk towards the median of all residuals, with a weight of three pairs.
    pub(crate) fn of(stratum: &Stratum, residual: &[f64], scratch: &mut Scratch) -> BinScale {
        /// The ratio of median and mean of half-normal values.
        const MEDIAN_OVER_MEAN: f64 = 0.843;
        /// The median of half-normal values, in sigmas.
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

/// Returns the median absolute residual; if most residuals are zero, the median of the others. Of many residuals an
/// even sample is used, because the median only decides where outliers are cut.
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

/// Returns the median; of an even number, the mean of the two middle values; of no values, zero. Reorders `values`.
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

/// Computes mid-ranks of absolute values.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    order: Vec<(f64, u32)>,
    bucket: Vec<f64>,
}

impl Ranks {
    /// Above this number, values within 0.4 % of each other share a rank, which avoids sorting.
    const SORTED: usize = 4096;

    /// Writes the mid-rank of each of `sizes` (zero or more) to `rank`.
    pub(crate) fn of(&mut self, sizes: &[f64], rank: &mut Vec<f64>) {
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

    /// Sorts into buckets by the leading bits of a single-precision float: its exponent and eight bits of its fraction.
    /// Sizes are in sigmas. All sizes below 2^-12 share a bucket, and so do all above 2^8; this way all buckets fit in
    /// the first-level cache.
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
