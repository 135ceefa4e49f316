//! Quantities pooled over runs, with intervals: shares such as user / (user + system), and means.
//!
//! The kernel splits the CPU time of a short run by ticks. The split of one run is therefore noise, and only the split
//! of the sum over many runs is meaningful. Intervals come from leaving out blocks of neighbouring runs (delete-a-group
//! jackknife, Kott 2001), which accounts for autocorrelation.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The number of blocks of runs for the jackknife.
const BLOCKS: usize = 12;

/// A pooled quantity with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// The quantity over all runs.
    pub value: f64,
    /// Half the width of the symmetric interval; `None` with fewer than two runs.
    pub half_width: Option<f64>,
}

/// Returns the sum of `parts` divided by the sum of `wholes`, with an interval at `confidence`. The runs are in time
/// order. `None` if the wholes sum to zero.
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

/// Returns the mean with an interval at `confidence`. The runs are in time order. `None` without values.
pub fn mean(values: &[f64], confidence: f64) -> Option<Pooled> {
    ratio(values, &vec![1.0; values.len()], confidence)
}

/// Returns the half-width of the interval, from the values of the quantity without each block.
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
    fn ratios_are_of_sums_and_not_means_of_ratios() {
        let pooled = ratio(&[1.0, 0.0, 0.0, 1.0], &[1.0, 1.0, 2.0, 4.0], 0.95).unwrap();
        assert_eq!(pooled.value, 0.25);
        assert!(pooled.half_width.unwrap() > 0.0);
        assert_eq!(ratio(&[0.0], &[0.0], 0.95), None);
        assert_eq!(ratio(&[], &[], 0.95), None);
        assert_eq!(mean(&[2.0], 0.95), Some(Pooled { value: 2.0, half_width: None }));
    }

    #[test]
    fn intervals_cover_the_mean_under_autocorrelation() {
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
        // Blocks of 20 remain slightly dependent; a plain t interval misses the mean in 32 % of the experiments.
        assert!(missed * 100 < 8 * experiments, "{missed} of {experiments}");
    }
}
