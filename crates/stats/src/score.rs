//! The test at one effect: residuals, their scale, their scores, and Z.

use serde::{Deserialize, Serialize};

use crate::pair::Paired;
use crate::scale::{BinScale, Scratch};
use crate::{slot, tail};

/// The result of the test for one effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The signed, weighted sum of scores divided by its standard deviation; positive if NEW costs more than assumed.
    pub z: f64,
    /// The two-sided p-value: the probability of a Z at least as far from zero if all signs are random and fair.
    pub p: f64,
}

/// Tests the hypothesis that NEW costs `exp(theta)` times OLD. Apart from the sign of each residual, nothing depends on
/// the labels.
pub(crate) fn test(paired: &Paired, theta: f64, scratch: &mut Scratch) -> Tested {
    residuals(paired, theta, scratch);
    follow_local_scale(paired, scratch);
    let Scratch { residual, standardised, weight, score, ranks, .. } = scratch;
    ranks.of(standardised, score);
    let (mut sum, mut square) = (0.0, 0.0);
    for ((r, score), weight) in residual.iter().zip(score.iter_mut()).zip(weight.iter()) {
        // A residual of zero has no sign.
        *score = if *r == 0.0 { 0.0 } else { *score * *weight };
        sum += if *r < 0.0 { -*score } else { *score };
        square += *score * *score;
    }
    if square == 0.0 {
        return Tested { z: 0.0, p: 1.0 };
    }
    Tested { z: sum / square.sqrt(), p: tail::two_sided(sum, scratch) }
}

/// Returns the signed scores of the test at `theta`, for each stratum in the order of its pairs. Their sum divided by
/// the root of the sum of their squares is Z.
pub(crate) fn signed(paired: &Paired, theta: f64, scratch: &mut Scratch) -> Vec<Vec<f64>> {
    test(paired, theta, scratch);
    let mut each = scratch.residual.iter().zip(&scratch.score).map(|(r, score)| score.copysign(*r));
    paired.strata.iter().map(|stratum| each.by_ref().take(stratum.difference.len()).collect()).collect()
}

/// Fills the scratch, stratum by stratum, with slot-adjusted residuals, their absolute values divided by sigma, and 1 /
/// sigma.
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

/// Adapts the scale to the local noise: a pair gets less weight if its neighbours in time are noisy. The factor is the
/// square root of the estimate, because it comes from few neighbours. On the recorded pairs this narrows the interval
/// by 2 %, in addition to the bins.
fn follow_local_scale(paired: &Paired, scratch: &mut Scratch) {
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

/// Implements [`Paired::widening`] with buffers.
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
