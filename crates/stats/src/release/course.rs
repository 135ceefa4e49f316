//! Versions that ran one after the other: regression of cost on the version and on measures of the load, with
//! autocorrelated residuals.
//!
//! Rulers do not measure all of the load, and the rest persists for seconds to minutes. It is modelled as an
//! Ornstein-Uhlenbeck process, which decays exponentially, plus independent noise in each time interval. Its size and
//! its decay time are unknown. All combinations of a grid are averaged, weighted by the likelihood of the residuals
//! (restricted maximum likelihood, Harville 1974), so that the error includes this uncertainty. Clustered errors over
//! seconds would have too few clusters to account for a drift of minutes.

use std::collections::BTreeMap;

use super::linear;
use super::{Estimated, critical};

/// The cost of one version in one time interval.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedCost {
    /// The time in seconds. The intervals of a place are in time order.
    pub at: f64,
    /// The place, such as a host. Each place is compared with itself only.
    pub place: u32,
    /// Whether NEW served the requests.
    pub is_new: bool,
    /// The number of requests, which is the weight.
    pub requests: f64,
    /// The logarithm of the mean cost.
    pub cost: f64,
    /// Measures of the load.
    pub covariates: Vec<f64>,
}

/// The result of the regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InCourse {
    /// The effect of the version, adjusted for the load.
    pub estimated: Estimated,
    /// The unadjusted difference of the means.
    pub plain: f64,
    /// The factor by which the adjustment for load inflates the variance of the effect.
    pub inflation: f64,
}

/// The autocorrelated part of the load that rulers do not measure.
#[derive(Clone, Copy, Debug)]
struct Drift {
    /// The variance of the autocorrelated part, divided by the variance of the independent noise.
    size: f64,
    /// The decay time in seconds, after which 37 % (1/e) remain.
    seconds: f64,
}

/// The sizes of drifts in the grid.
const SIZES: [f64; 7] = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
/// The shortest decay time in the grid, in seconds; each further one is twice as long as the one before.
const SHORTEST: f64 = 5.0;
/// The longest decay time, divided by the time from the first to the last interval.
const LONGEST: f64 = 2.0;
/// The minimum degrees of freedom for an error.
const LEAST_FREEDOM: f64 = 8.0;

/// The data of the regression.
struct Columns<'a> {
    /// The rows of each place, in time order.
    places: Vec<Vec<&'a TimedCost>>,
    /// The number of covariates.
    covariates: usize,
    /// The mean number of requests of a row.
    usual: f64,
}

/// Returns the effect of the version on the cost, given the covariates. `None` if there are too few time intervals, or
/// if the covariates explain the version completely.
pub fn in_course(rows: &[TimedCost]) -> Option<InCourse> {
    let columns = Columns::new(rows)?;
    let freedom = rows.len() as f64 - 1.0 - columns.places.len() as f64 - columns.covariates as f64;
    if freedom < LEAST_FREEDOM {
        return None;
    }
    let white = Drift { size: 0.0, seconds: SHORTEST };
    let plain = columns.fit(&white, freedom)?;
    let fits: Vec<Fit> = drifts(rows).map(|drift| columns.fit(&drift, freedom)).collect::<Option<_>>()?;
    let best = fits.iter().map(|fit| fit.likelihood).fold(plain.likelihood, f64::max);
    let weighed = || fits.iter().chain([&plain]).map(|fit| ((fit.likelihood - best).exp(), fit));
    let all: f64 = weighed().map(|(weight, _)| weight).sum();
    let mean = |of: &dyn Fn(&Fit) -> f64| weighed().map(|(weight, fit)| weight * of(fit)).sum::<f64>() / all;
    let effect = mean(&|fit| fit.effect);
    let variance = mean(&|fit| fit.variance + (fit.effect - effect).powi(2));
    let estimated = Estimated { effect, variance, freedom };
    let found = InCourse { estimated, plain: plain.raw, inflation: plain.inflation };
    (variance > 0.0 && effect.is_finite() && found.inflation.is_finite()).then_some(found)
}

/// Returns all drifts of the grid.
fn drifts(rows: &[TimedCost]) -> impl Iterator<Item = Drift> {
    let first = rows.iter().map(|row| row.at).fold(f64::INFINITY, f64::min);
    let last = rows.iter().map(|row| row.at).fold(f64::NEG_INFINITY, f64::max);
    let longest = LONGEST * (last - first);
    let lengths = std::iter::successors(Some(SHORTEST), |seconds| Some(2.0 * seconds));
    let lengths = lengths.take_while(move |seconds| *seconds <= longest);
    lengths.flat_map(|seconds| SIZES.map(|size| Drift { size, seconds }))
}

/// The result of the regression for one drift.
#[derive(Clone, Copy, Debug)]
struct Fit {
    likelihood: f64,
    effect: f64,
    variance: f64,
    /// The effect without covariates.
    raw: f64,
    inflation: f64,
}

impl<'a> Columns<'a> {
    fn new(rows: &'a [TimedCost]) -> Option<Columns<'a>> {
        let covariates = rows.iter().map(|row| row.covariates.len()).min()?;
        let mut places: BTreeMap<u32, Vec<&TimedCost>> = BTreeMap::new();
        rows.iter().for_each(|row| places.entry(row.place).or_default().push(row));
        let usual = rows.iter().map(|row| row.requests).sum::<f64>() / rows.len() as f64;
        Some(Columns { places: places.into_values().collect(), covariates, usual })
    }

    /// Fits by generalised least squares. `freedom` is the number of time intervals minus the number of estimated
    /// parameters.
    fn fit(&self, drift: &Drift, freedom: f64) -> Option<Fit> {
        let mut whitened: Vec<Vec<f64>> = vec![Vec::new(); self.covariates + 2];
        let mut spread = 0.0;
        for place in &self.places {
            spread += self.whiten(place, drift, &mut whitened);
        }
        let (cost, rest) = whitened.split_last()?;
        let (version, load) = rest.split_first()?;
        let ones = vec![1.0; cost.len()];
        let without = |target: &[f64]| -> Option<Vec<f64>> {
            Some(linear::residuals(load, &linear::regress(load, target, &ones)?, target))
        };
        // By the theorem of Frisch, Waugh and Lovell: regress the residuals of cost on the residuals of version, both
        // without the part that the load explains.
        let (version_left, cost_left) = (without(version)?, without(cost)?);
        let (own, plain_own) = (joint(&version_left, &version_left), joint(version, version));
        let effect = joint(&version_left, &cost_left) / own;
        let left: f64 = version_left.iter().zip(&cost_left).map(|(v, c)| (c - effect * v).powi(2)).sum();
        let spread = spread + own.ln() + linear::log_determinant(load)?;
        Some(Fit {
            likelihood: -0.5 * (spread + freedom * left.ln()),
            effect,
            variance: left / freedom / own,
            raw: joint(version, cost) / plain_own,
            inflation: plain_own / own,
        })
    }

    /// Appends the rows of one place to the columns, made independent of each other by a Kalman filter and without the
    /// place's own level. Returns the logarithm of the product of the variances.
    fn whiten(&self, rows: &[&TimedCost], drift: &Drift, columns: &mut [Vec<f64>]) -> f64 {
        // The first element is the place's own level.
        let mut expected = vec![0.0; columns.len() + 1];
        let mut found: Vec<Vec<f64>> = vec![Vec::new(); columns.len() + 1];
        let (mut unknown, mut spread, mut last) = (drift.size, 0.0, None);
        for row in rows {
            let kept = last.replace(row.at).map_or(1.0, |last| (-(row.at - last).abs() / drift.seconds).exp());
            unknown = kept * kept * unknown + (1.0 - kept * kept) * drift.size;
            let variance = unknown + self.usual / row.requests;
            let gain = unknown / variance;
            // Symmetric around zero, so that exchanging the versions negates the column.
            let version = if row.is_new { 0.5 } else { -0.5 };
            let values = [1.0, version].into_iter().chain(row.covariates.iter().copied().take(self.covariates));
            for ((value, expected), found) in values.chain([row.cost]).zip(&mut expected).zip(&mut found) {
                *expected *= kept;
                let surprise = value - *expected;
                *expected += gain * surprise;
                found.push(surprise / variance.sqrt());
            }
            unknown *= 1.0 - gain;
            spread += variance.ln();
        }
        let (level, rest) = found.split_first().expect("a level");
        let own = joint(level, level);
        for (column, values) in columns.iter_mut().zip(rest) {
            let share = joint(level, values) / own;
            column.extend(values.iter().zip(level).map(|(value, level)| value - share * level));
        }
        spread + own.ln()
    }
}

fn joint(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Returns whether two estimates of the same effect differ by more than their errors explain.
pub fn differ(one: &Estimated, other: &Estimated, alpha: f64) -> bool {
    let freedom = one.freedom.min(other.freedom);
    (one.effect - other.effect).abs() > critical(alpha, freedom) * (one.variance + other.variance).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn rows(effect: f64, overlap: bool) -> Vec<TimedCost> {
        let row = |at: u64| {
            let is_new = at >= 30;
            let wave = (at as f64 * 0.9).sin() * 0.2;
            let load = if overlap { wave } else { 0.1 * wave + if is_new { 0.5 } else { 0.0 } };
            let noise = 0.01 * (at as f64 * 2.3).cos();
            let cost = 14.0 + 1.3 * load + noise + if is_new { effect } else { 0.0 };
            TimedCost { at: 5.0 * at as f64, place: 0, is_new, requests: 50.0, cost, covariates: vec![load] }
        };
        (0..60).map(row).collect()
    }

    #[test]
    fn load_and_version_are_separated_if_loads_overlap() {
        let found = in_course(&rows(0.05, true)).unwrap();
        assert!((found.estimated.effect - 0.05).abs() < 0.005 && found.inflation < 1.1, "{found:?}");
        assert!(found.estimated.interval(0.05).holds(0.05));
        let apart = in_course(&rows(0.05, false)).unwrap();
        assert!(apart.inflation > 10.0, "{apart:?}");
    }

    #[test]
    fn exchanging_the_versions_negates_the_effect() {
        let one = rows(0.05, true);
        let other: Vec<TimedCost> = one.iter().map(|row| TimedCost { is_new: !row.is_new, ..row.clone() }).collect();
        let (one, other) = (in_course(&one).unwrap(), in_course(&other).unwrap());
        assert_eq!(one.estimated.effect, -other.estimated.effect);
        assert_eq!((one.estimated.variance, one.inflation), (other.estimated.variance, other.inflation));
        assert!(!differ(&one.estimated, &one.estimated, 0.05) && differ(&one.estimated, &other.estimated, 0.05));
    }

    /// Simulates five minutes with a drift of the cost that no ruler measures.
    #[test]
    fn intervals_cover_the_truth_under_a_drift_of_minutes() {
        let mut coin = ChaCha8Rng::seed_from_u64(1);
        for seconds in [10.0_f64, 40.0, 120.0] {
            let (kept, trials) = ((-5.0 / seconds).exp(), 300);
            let mut uniform = |half_width: f64| coin.random_range(-half_width..half_width);
            let missed = (0..trials).filter(|_| {
                let mut drift = uniform(0.05);
                let row = |at: u64| {
                    drift = kept * drift + (1.0 - kept * kept).sqrt() * uniform(0.05);
                    let (load, is_new) = (uniform(0.2), at >= 30);
                    let cost = 14.0 + load + drift + uniform(0.03) + if is_new { 0.1 } else { 0.0 };
                    let covariates = vec![load + uniform(0.02)];
                    TimedCost { at: 5.0 * at as f64, place: 0, is_new, requests: 50.0, cost, covariates }
                };
                let rows: Vec<TimedCost> = (0..60).map(row).collect();
                !in_course(&rows).unwrap().estimated.interval(0.05).holds(0.1)
            });
            let missed = missed.count();
            assert!(missed <= 27, "{seconds} s: {missed} of {trials}");
        }
    }

    #[test]
    fn places_are_compared_with_themselves() {
        let mut rows = rows(0.05, true);
        let second: Vec<TimedCost> = rows
            .iter()
            .filter(|row| row.is_new || row.at % 20.0 < 10.0)
            .map(|row| TimedCost { place: 1, cost: row.cost + 3.0, ..row.clone() })
            .collect();
        rows.extend(second);
        rows.sort_by(|one, other| one.at.total_cmp(&other.at));
        let found = in_course(&rows).unwrap();
        assert!((found.estimated.effect - 0.05).abs() < 0.005, "{found:?}");
        assert_eq!(in_course(&[]), None);
    }
}
