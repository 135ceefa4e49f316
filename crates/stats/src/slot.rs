//! Slot adjustment: removes what the coin-drawn slots (second start, slower CPU) do to the differences.
//!
//! With `x` the slot of NEW, `e = r x` is the same whichever command is called NEW: it says what the slot did, not what
//! the command did. So anything may be learned from `e` and subtracted, and the sign of what is left stays a fair coin.

use crate::pair::Stratum;
use crate::scale::{BinScale, Scratch};

/// With fewer pairs the bias costs less than its estimate would.
const MIN_PAIRS: usize = 12;
/// With fewer pairs there are no neighbours to speak of.
const MIN_PAIRS_LOCAL: usize = 24;
/// How many neighbours on each side tell the slot's bias of the moment.
const NEIGHBOURS: usize = 3;
/// How many sigmas a single pair may speak for.
const CLIP: f64 = 2.0;

/// Takes the slot's bias out of `residual` (difference - theta, of one stratum), in place.
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

/// The bias over all pairs: the weighted mean of the clipped `e`.
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

/// The bias of the moment: the mean over the neighbours in time, shrunk by how well neighbours foretell it.
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
    let shrink = believed(shared / power, own_power / residual.len() as f64 / power);
    for ((r, x), mean) in residual.iter_mut().zip(&stratum.slot).zip(neighbours) {
        *r -= shrink * *mean * x;
    }
}

/// How far to believe a slope: by what it exceeds its own variance (the positive part of James and Stein's estimate),
/// so that neighbours which tell nothing, few or many, are left alone. Never against its sign, nor beyond one.
fn believed(slope: f64, variance: f64) -> f64 {
    const DOUBT: f64 = 2.0;
    let share = 1.0 - DOUBT * variance / (slope * slope);
    if slope > 0.0 && share > 0.0 { (slope * share).min(1.0) } else { 0.0 }
}
