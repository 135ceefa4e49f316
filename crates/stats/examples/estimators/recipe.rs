//! The reference to improve on: the first published form of the estimator, in plain code. Equal bins of the cost sum
//! determine the scale, and one slot is adjusted with five neighbours on each side. Signed weighted ranks are tested
//! with a normal tail. Everything is recomputed for every effect.

use steady_model::{Interval, Layout};
use steady_stats::Pair;

const LEVEL: f64 = 1.959_964;

/// Returns the interval at 95 %.
pub(crate) fn interval(pairs: &[Pair]) -> Interval {
    let recipe = Recipe::new(pairs);
    let mut sorted = recipe.difference.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let centre = sorted[sorted.len() / 2];
    Interval { low: recipe.end(centre, -1.0), high: recipe.end(centre, 1.0) }
}

struct Recipe {
    difference: Vec<f64>,
    slot: Vec<f64>,
    bin: Vec<usize>,
    bins: usize,
}

impl Recipe {
    fn new(pairs: &[Pair]) -> Recipe {
        let bins = (pairs.len() / 12).clamp(1, 8);
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        let sum = |i: usize| pairs[i].old.ln() + pairs[i].new.ln();
        order.sort_by(|&a, &b| sum(a).total_cmp(&sum(b)));
        let mut bin = vec![0; pairs.len()];
        order.iter().enumerate().for_each(|(rank, &i)| bin[i] = rank * bins / pairs.len());
        let slot = |pair: &Pair| f64::from(if pair.layout == Layout::Duet { pair.slot.cpu } else { pair.slot.order });
        Recipe {
            difference: pairs.iter().map(|pair| pair.new.ln() - pair.old.ln()).collect(),
            slot: pairs.iter().map(slot).collect(),
            bin,
            bins,
        }
    }

    /// Returns where Z crosses the level on one side: doubling steps from the centre, then bisection.
    fn end(&self, centre: f64, side: f64) -> f64 {
        let beyond = |t: f64| -side * self.z(centre + side * t) >= LEVEL;
        let (mut inside, mut outside) = (0.0, 1e-5);
        while !beyond(outside) && outside < 1e3 {
            (inside, outside) = (outside, 2.0 * outside);
        }
        while outside - inside > 1e-3 * outside && outside > 1e-9 {
            let middle = (inside + outside) / 2.0;
            if beyond(middle) { outside = middle } else { inside = middle }
        }
        centre + side * outside
    }

    fn z(&self, theta: f64) -> f64 {
        let mut r: Vec<f64> = self.difference.iter().map(|d| d - theta).collect();
        self.adjust(&mut r);
        let sigma = self.sigma(&r);
        let size: Vec<f64> = r.iter().zip(&self.bin).map(|(r, &bin)| r.abs() / sigma[bin]).collect();
        let mut order: Vec<usize> = (0..r.len()).collect();
        order.sort_unstable_by(|&a, &b| size[a].total_cmp(&size[b]));
        let (mut sum, mut squares) = (0.0, 0.0);
        for (rank, &i) in order.iter().enumerate() {
            let q = (rank + 1) as f64 / sigma[self.bin[i]];
            sum += q * r[i].signum();
            squares += q * q;
        }
        sum / f64::sqrt(squares)
    }

    fn sigma(&self, r: &[f64]) -> Vec<f64> {
        let mut sizes: Vec<f64> = r.iter().map(|r| r.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let g = sizes[sizes.len() / 2].max(1e-12);
        let (mut sum, mut count) = (vec![0.0; self.bins], vec![0.0; self.bins]);
        for (r, &bin) in r.iter().zip(&self.bin) {
            sum[bin] += r.abs().min(10.0 * g);
            count[bin] += 1.0;
        }
        sum.iter().zip(count).map(|(sum, count)| (0.843 * sum + 3.0 * g) / (count + 3.0) / 0.6745).collect()
    }

    fn adjust(&self, r: &mut [f64]) {
        const NEIGHBOURS: usize = 5;
        if r.len() < 12 {
            return;
        }
        for _ in 0..2 {
            let (e, w) = self.clipped(r);
            let beta = e.iter().zip(&w).map(|(e, w)| e * w).sum::<f64>() / w.iter().sum::<f64>();
            r.iter_mut().zip(&self.slot).for_each(|(r, x)| *r -= beta * x);
        }
        if r.len() < 16 {
            return;
        }
        let (e, w) = self.clipped(r);
        let around = |i: usize| {
            let near = (i.saturating_sub(NEIGHBOURS)..(i + NEIGHBOURS + 1).min(e.len())).filter(|&j| j != i);
            let (sum, weights) = near.fold((0.0, 0.0), |(sum, weights), j| (sum + w[j] * e[j], weights + w[j]));
            sum / weights
        };
        let means: Vec<f64> = (0..e.len()).map(around).collect();
        let shared: f64 = (0..e.len()).map(|i| w[i] * e[i] * means[i]).sum();
        let power: f64 = (0..e.len()).map(|i| w[i] * means[i] * means[i]).sum();
        let b = if power > 0.0 { (shared / power).clamp(0.0, 1.0) } else { 0.0 };
        for (i, r) in r.iter_mut().enumerate() {
            *r -= b * means[i] * self.slot[i];
        }
    }

    /// Returns the effects of the slots, clipped at two sigmas, and their weights.
    fn clipped(&self, r: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let sigma = self.sigma(r);
        let of = |i: usize| sigma[self.bin[i]];
        let e = (0..r.len()).map(|i| (r[i] * self.slot[i]).clamp(-2.0 * of(i), 2.0 * of(i))).collect();
        (e, (0..r.len()).map(|i| of(i).powi(-2)).collect())
    }
}
