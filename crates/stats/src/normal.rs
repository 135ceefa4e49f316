//! Tails, density and quantiles of the standard normal distribution.

use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// Returns the probability above `z`, accurate in the far tail where `1 - cdf` is not.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z * FRAC_1_SQRT_2)
}

/// Returns the density at `z`.
pub(crate) fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// Returns the `z` with probability `p` outside ±`z`; at most 40, because smaller `p` cannot be represented as a
/// double.
pub fn two_sided_quantile(p: f64) -> f64 {
    if p <= 0.0 { 40.0 } else { (SQRT_2 * erfc_inv(p.min(1.0))).min(40.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_and_tail_are_inverse() {
        for p in [1e-200, 1e-30, 1e-9, 0.001, 0.05, 0.5, 0.99, 1.0] {
            let back = 2.0 * upper_tail(two_sided_quantile(p));
            assert!((back / p - 1.0).abs() < 1e-6, "{p}: {back}");
        }
        assert!((two_sided_quantile(0.05) - 1.959_964).abs() < 1e-5);
    }
}
