//! Quantities pooled over runs, with intervals: shares such as user / (user + system), means.
//!
//! The kernel splits the CPU time of a short run by ticks, so the split of one run is noise and only the split of the
//! sum over many runs means something. Intervals come from leaving out blocks of neighbouring runs (delete-a-group
//! jackknife, Kott 2001): neighbours that resemble each other fall into one block and are not counted twice.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How many blocks the runs are cut into.
const BLOCKS: usize = 12;

/// A pooled quantity and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// The quantity, over all runs.
    pub value: f64,
    /// The interval, on both sides; `None` with fewer than two runs.
    pub half_width: Option<f64>,
}

/// The sum of `parts` over the sum of `wholes`, runs being in order of time, with an interval at `confidence`.
/// `None` where the wholes sum to zero.
pub fn ratio(parts: &[f64], wholes: &[f64], confidence: f64) -> Option<Pooled> {
    let count = parts.len().min(wholes.len());
    let (part, whole) = (parts[..count].iter().sum::<f64>(), wholes[..count].iter().sum::<f64>());
    if whole <= 0.0 {
        return None;
    }
    let blocks = BLOCKS.min(count);
    let without = |block: usize| {
        let range = block * count / blocks..(block + 1) * count / blocks;
        let (p, w) = (parts[range.clone()].iter().sum::<f64>(), wholes[range].iter().sum::<f64>());
        (part - p) / (whole - w)
    };
    let left_out: Vec<f64> = (0..blocks).map(without).collect();
    Some(Pooled { value: part / whole, half_width: jackknife(&left_out, confidence) })
}

/// The mean, runs being in order of time, with an interval at `confidence`. `None` without values.
pub fn mean(values: &[f64], confidence: f64) -> Option<Pooled> {
    ratio(values, &vec![1.0; values.len()], confidence)
}

/// The half-width of an interval from the quantity with each block left out.
fn jackknife(left_out: &[f64], confidence: f64) -> Option<f64> {
    let blocks = left_out.len() as f64;
    let centre = left_out.iter().sum::<f64>() / blocks;
    let squares: f64 = left_out.iter().map(|value| (value - centre).powi(2)).sum();
    let student = StudentsT::new(0.0, 1.0, blocks - 1.0).ok()?;
    let half_width = student.inverse_cdf((1.0 + confidence) / 2.0) * ((blocks - 1.0) / blocks * squares).sqrt();
    half_width.is_finite().then_some(half_width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn pools_sums_not_ratios() {
        let pooled = ratio(&[1.0, 0.0, 0.0, 1.0], &[1.0, 1.0, 2.0, 4.0], 0.95).unwrap();
        assert_eq!(pooled.value, 0.25);
        assert!(pooled.half_width.unwrap() > 0.0);
        assert_eq!(ratio(&[0.0], &[0.0], 0.95), None);
        assert_eq!(ratio(&[], &[], 0.95), None);
        assert_eq!(mean(&[2.0], 0.95), Some(Pooled { value: 2.0, half_width: None }));
    }

    #[test]
    fn covers_under_autocorrelation() {
        let mut coin = ChaCha8Rng::seed_from_u64(5);
        let experiments = 2000;
        let missed = (0..experiments)
            .filter(|_| {
                let mut state = 0.0;
                let values: Vec<f64> = (0..240)
                    .map(|_| {
                        state = 0.6 * state + coin.random_range(-1.0..1.0);
                        5.0 + state
                    })
                    .collect();
                let pooled = mean(&values, 0.95).unwrap();
                (pooled.value - 5.0).abs() > pooled.half_width.unwrap()
            })
            .count();
        // Blocks of 20 leave a little dependence; a plain t interval misses 32 %.
        assert!(missed * 100 < 8 * experiments, "{missed} of {experiments}");
    }
}
