//! Slot adjustment: removes the effect of the randomly drawn slots (second start, slower CPU) from the differences.
//!
//! Let `x` be the slot of NEW. Then `e = r x` does not depend on which command is called NEW: it is the effect of the
//! slot and not of the command. Anything may therefore be learned from `e` and subtracted, and the sign of the
//! remainder stays random and fair.

use crate::pair::Stratum;
use crate::scale::{BinScale, Scratch};

/// With fewer pairs, the bias costs less precision than its estimate would.
const MIN_PAIRS: usize = 12;
/// The minimum number of pairs for the estimation of a local bias.
const MIN_PAIRS_LOCAL: usize = 24;
/// The number of neighbours on each side for the local bias of the slot.
const NEIGHBOURS: usize = 3;
/// The maximum contribution of a single pair, in sigmas.
const CLIP: f64 = 2.0;

/// Subtracts the bias of the slot from `residual` (difference minus theta, of one stratum), in place.
pub(crate) fn adjust(stratum: &Stratum, residual: &mut [f64], scratch: &mut Scratch) {
    if residual.len() < MIN_PAIRS {
        return;
    }
    for _ in 0..2 {
        let scale = BinScale::of(stratum, residual, scratch);
        for slot in [&stratum.slot, &stratum.second_slot] {
            let bias = common_bias(stratum, slot, residual, &scale);
            residual.iter_mut().zip(slot).for_each(|(r, x)| *r -= bias * x);
        }
    }
    if residual.len() >= MIN_PAIRS_LOCAL {
        let scale = BinScale::of(stratum, residual, scratch);
        subtract_local_bias(stratum, residual, &scale, scratch);
    }
}

/// Returns the bias over all pairs: the weighted mean of the clipped `e`.
fn common_bias(stratum: &Stratum, slot: &[f64], residual: &[f64], scale: &BinScale) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for ((r, x), &bin) in residual.iter().zip(slot).zip(&stratum.bin) {
        let sigma = scale.sigma[bin as usize];
        let weight = scale.weight[bin as usize];
        sum += weight * (r * x).clamp(-CLIP * sigma, CLIP * sigma);
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Subtracts the local bias: the mean over the neighbours in time, shrunk according to how well neighbours predict it.
fn subtract_local_bias(stratum: &Stratum, residual: &mut [f64], scale: &BinScale, scratch: &mut Scratch) {
    let Scratch { running_sum, running_weight, neighbours, .. } = scratch;
    running_sum.clear();
    running_weight.clear();
    let (mut sum, mut weights) = (0.0, 0.0);
    running_sum.push(0.0);
    running_weight.push(0.0);
    let clipped = |r: f64, x: f64, bin: u8| {
        let sigma = scale.sigma[bin as usize];
        (r * x).clamp(-CLIP * sigma, CLIP * sigma)
    };
    for ((r, x), &bin) in residual.iter().zip(&stratum.slot).zip(&stratum.bin) {
        sum += scale.weight[bin as usize] * clipped(*r, *x, bin);
        weights += scale.weight[bin as usize];
        running_sum.push(sum);
        running_weight.push(weights);
    }
    neighbours.clear();
    let (mut shared, mut power, mut own_power) = (0.0, 0.0, 0.0);
    let count = residual.len();
    for (i, r) in residual.iter().enumerate() {
        let (from, to) = (i.saturating_sub(NEIGHBOURS), (i + NEIGHBOURS + 1).min(count));
        let weight = scale.weight[stratum.bin[i] as usize];
        let own = clipped(*r, stratum.slot[i], stratum.bin[i]);
        let around = running_sum[to] - running_sum[from] - weight * own;
        let mean = around / (running_weight[to] - running_weight[from] - weight);
        let mean = if mean.is_finite() { mean } else { 0.0 };
        shared += weight * own * mean;
        power += weight * mean * mean;
        own_power += weight * own * own;
        neighbours.push(mean);
    }
    let shrink = shrunk_slope(shared / power, own_power / residual.len() as f64 / power);
    for ((r, x), mean) in residual.iter_mut().zip(&stratum.slot).zip(neighbours) {
        *r -= shrink * *mean * x;
    }
}

/// Shrinks a slope according to its variance (the positive part of the James-Stein estimate), so that neighbours
/// without information change nothing. The result is between 0 and 1.
fn shrunk_slope(slope: f64, variance: f64) -> f64 {
    const VARIANCES: f64 = 2.0;
    let share = 1.0 - VARIANCES * variance / (slope * slope);
    if slope > 0.0 && share > 0.0 { (slope * share).min(1.0) } else { 0.0 }
}
