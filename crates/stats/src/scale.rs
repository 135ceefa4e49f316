//! How large residuals are, their mid-ranks, and the buffers that a test needs for that.

use crate::pair::Stratum;

/// Buffers that one test leaves to the next.
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
    /// The sum of 1 / sigma^2 over the pairs of the last test.
    pub(crate) fn information(&self) -> f64 {
        self.weight.iter().map(|weight| weight * weight).sum()
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
pub(crate) struct Ranks {
    order: Vec<(f64, u32)>,
    bucket: Vec<f64>,
}

impl Ranks {
    /// Beyond this many, sizes within 0.4 % of each other share a rank, found without sorting.
    const SORTED: usize = 4096;

    /// The mid-rank of each of `sizes` (zero or more), written to `rank`.
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
