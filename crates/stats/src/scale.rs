//! How large residuals are, and the buffers that a test needs for that.

use crate::pair::Stratum;
use crate::ranks::Ranks;

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
