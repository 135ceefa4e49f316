//! Versions assigned to whole processes, with the process as the unit.

use super::Estimated;

/// Sums of one unit (a process, a host) within one cell of time and route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitCell {
    /// The index of the cell, from 0.
    pub cell: usize,
    /// The index of the unit, from 0.
    pub unit: usize,
    /// The number of requests.
    pub n: f64,
    /// The sum of the logarithms of cost, or of costs for [`unit_ratios`].
    pub y: f64,
}

/// Returns the effect of each unit relative to the other units in its cells: least squares for `y = cell + unit`. Units
/// that share no cell with others, and units without requests, cannot be compared and get zero.
///
/// Levels of cells and effects of units are updated alternately. If every unit is equally in every cell, the first
/// iteration is exact.
pub fn unit_effects(cells: &[UnitCell], count: usize, units: usize) -> Vec<f64> {
    const MOST_ITERATIONS: usize = 200;
    const TOLERANCE: f64 = 1e-9;
    let mut effects = vec![0.0; units];
    let mut weights = vec![0.0; units];
    let mut requests = vec![0.0; count];
    for one in cells {
        weights[one.unit] += one.n;
        requests[one.cell] += one.n;
    }
    for _ in 0..MOST_ITERATIONS {
        let mut levels = vec![0.0; count];
        cells.iter().for_each(|one| levels[one.cell] += one.y - one.n * effects[one.unit]);
        levels.iter_mut().zip(&requests).for_each(|(level, n)| *level /= n.max(f64::MIN_POSITIVE));
        let mut next = vec![0.0; units];
        cells.iter().for_each(|one| next[one.unit] += one.y - one.n * levels[one.cell]);
        next.iter_mut().zip(&weights).for_each(|(effect, n)| *effect /= n.max(f64::MIN_POSITIVE));
        let moved = next.iter().zip(&effects).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max);
        effects = next;
        if moved < TOLERANCE {
            break;
        }
    }
    effects
}

/// Returns the logarithm of each unit's cost divided by the cost of the same requests on the units in the same cells.
/// Here `y` is a sum of costs, and the model is the level of the cell times the ratio of the unit. Units are weighted
/// by their costs, so that expensive requests count in full. The weighted mean of the ratios is 1; `None` for units
/// without any cost.
pub fn unit_ratios(cells: &[UnitCell], count: usize, units: usize) -> Vec<Option<f64>> {
    const MOST_ITERATIONS: usize = 200;
    const TOLERANCE: f64 = 1e-9;
    let mut costs = vec![0.0; units];
    let mut level_costs = vec![0.0; count];
    for one in cells {
        costs[one.unit] += one.y;
        level_costs[one.cell] += one.y;
    }
    let mut ratios = vec![1.0; units];
    for _ in 0..MOST_ITERATIONS {
        let mut expected = vec![0.0; count];
        cells.iter().for_each(|one| expected[one.cell] += one.n * ratios[one.unit]);
        let levels: Vec<f64> =
            level_costs.iter().zip(&expected).map(|(cost, expected)| cost / expected.max(f64::MIN_POSITIVE)).collect();
        let mut expected = vec![0.0; units];
        cells.iter().for_each(|one| expected[one.unit] += one.n * levels[one.cell]);
        let next: Vec<f64> =
            costs.iter().zip(&expected).map(|(cost, expected)| cost / expected.max(f64::MIN_POSITIVE)).collect();
        let moved = next.iter().zip(&ratios).map(|(new, old): (&f64, &f64)| (new - old).abs()).fold(0.0, f64::max);
        ratios = next;
        if moved < TOLERANCE {
            break;
        }
    }
    ratios.into_iter().map(|ratio| (ratio > 0.0 && ratio.is_finite()).then(|| ratio.ln())).collect()
}

/// Returns the mean of NEW's units minus the mean of OLD's, with Welch's error. If one side has a single unit, the
/// spread of the other side is used. `None` if neither side has two units.
pub fn between_units(old: &[f64], new: &[f64]) -> Option<Estimated> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    if old.is_empty() || new.is_empty() {
        return None;
    }
    let effect = mean(new) - mean(old);
    let squares = |values: &[f64]| values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
    let (n_old, n_new) = (old.len() as f64, new.len() as f64);
    if old.len() < 2 || new.len() < 2 {
        let freedom = n_old + n_new - 2.0;
        let variance = (squares(old) + squares(new)) / freedom * (1.0 / n_old + 1.0 / n_new);
        return (freedom > 0.0).then_some(Estimated { effect, variance, freedom });
    }
    let [own_old, own_new] = [squares(old) / (n_old - 1.0) / n_old, squares(new) / (n_new - 1.0) / n_new];
    let variance = own_old + own_new;
    let freedom = variance * variance / (own_old * own_old / (n_old - 1.0) + own_new * own_new / (n_new - 1.0));
    (variance > 0.0).then_some(Estimated { effect, variance, freedom })
}

/// Levels of the units of one host, by version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostUnits {
    /// The levels of OLD's units.
    pub old: Vec<f64>,
    /// The levels of NEW's units.
    pub new: Vec<f64>,
}

impl HostUnits {
    /// Returns the mean of NEW's units minus that of OLD's. `NaN` without units of both versions.
    pub fn difference(&self) -> f64 {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        mean(&self.new) - mean(&self.old)
    }

    /// Returns the inverse of the variance of the difference, if all units have the variance 1.
    pub fn weight(&self) -> f64 {
        let (old, new) = (self.old.len() as f64, self.new.len() as f64);
        old * new / (old + new)
    }
}

/// Returns the mean over hosts of the difference between NEW's and OLD's units, weighted by [`HostUnits::weight`]. Each
/// host must have units of both versions. Differences between hosts cancel, however many units of each version a host
/// has.
///
/// The error is from the spread of the units of one version within a host. With one host, it is that of
/// [`between_units`]. If no host has two units of a version, it is from the spread of the differences.
pub fn between_units_within(hosts: &[HostUnits]) -> Option<Estimated> {
    let all: f64 = hosts.iter().map(HostUnits::weight).sum();
    let effect = hosts.iter().map(|host| host.weight() * host.difference()).sum::<f64>() / all;
    let sides: [fn(&HostUnits) -> &[f64]; 2] = [|host| &host.old, |host| &host.new];
    // The spread of the units of a side: its sum of squares, its degrees of freedom, and the factor by which the
    // variance of a unit becomes that of the effect.
    let [old, new] = sides.map(|side| {
        let own = hosts.iter().map(|host| (side(host), host.weight() / all));
        own.fold((0.0, 0.0, 0.0), |(squares, freedom, factor), (units, share)| {
            let mean = units.iter().sum::<f64>() / units.len() as f64;
            let own = units.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (squares + own, freedom + units.len() as f64 - 1.0, factor + share * share / units.len() as f64)
        })
    });
    let (variance, freedom) = match (old.1 > 0.0, new.1 > 0.0) {
        (true, true) => {
            let [of_old, of_new] = [old, new].map(|(squares, freedom, factor)| squares / freedom * factor);
            let variance = of_old + of_new;
            (variance, variance * variance / (of_old * of_old / old.1 + of_new * of_new / new.1))
        }
        (false, false) => {
            let differences: Vec<f64> = hosts.iter().map(HostUnits::difference).collect();
            return mean_of_units(&differences);
        }
        _ => {
            let freedom = old.1 + new.1;
            ((old.0 + new.0) / freedom * (old.2 + new.2), freedom)
        }
    };
    (variance > 0.0 && effect.is_finite()).then_some(Estimated { effect, variance, freedom })
}

/// Returns the mean of differences of units, such as hosts, with the error of Student's t. `None` with fewer than two.
pub fn mean_of_units(differences: &[f64]) -> Option<Estimated> {
    let n = differences.len() as f64;
    let effect = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|value| (value - effect).powi(2)).sum();
    let variance = squares / (n - 1.0) / n;
    (variance > 0.0).then_some(Estimated { effect, variance, freedom: n - 1.0 })
}

/// Returns the mean of differences in time order, with an error that accounts for autocorrelation: Bartlett weights up
/// to a lag of the square root of their number. The error is never smaller than without autocorrelation. `None` with
/// fewer than 6 differences.
pub fn mean_in_time(differences: &[f64]) -> Option<Estimated> {
    const LEAST: usize = 6;
    let count = differences.len();
    if count < LEAST {
        return None;
    }
    let n = count as f64;
    let effect = differences.iter().sum::<f64>() / n;
    let away: Vec<f64> = differences.iter().map(|value| value - effect).collect();
    let shared = |lag: usize| away.iter().zip(&away[lag..]).map(|(one, other)| one * other).sum::<f64>() / (n - 1.0);
    let own = shared(0);
    let lags = n.sqrt().floor() as usize;
    let joint: f64 = (1..=lags).map(|lag| 2.0 * (1.0 - lag as f64 / (lags + 1) as f64) * shared(lag)).sum();
    // Autocovariances from few values are biased towards zero and are scaled up.
    let variance = (own + joint * n / (n - lags as f64)).max(own) / n;
    let freedom = (n / (1.0 + lags as f64 / 2.0) - 1.0).max(1.0).min(n - 1.0) * (own / n / variance).sqrt();
    (variance > 0.0).then_some(Estimated { effect, variance, freedom: freedom.max(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn normal(coin: &mut ChaCha8Rng) -> f64 {
        let (u, v): (f64, f64) = (coin.random(), coin.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    #[test]
    fn effects_of_units_are_found_under_varying_load() {
        // Unit 3 starts late, when the load is twice as high.
        let truth = [0.0, 0.02, -0.01, 0.05];
        let mut cells = Vec::new();
        for cell in 0..40 {
            let load = 14.0 + if cell >= 20 { 0.7 } else { 0.0 };
            for unit in (0..4).filter(|&unit| unit < 3 || cell >= 20) {
                let n = 1.0 + ((cell * 7 + unit) % 5) as f64;
                cells.push(UnitCell { cell, unit, n, y: n * (load + truth[unit]) });
            }
        }
        let found = unit_effects(&cells, 40, 4);
        for unit in 1..4 {
            assert!((found[unit] - found[0] - truth[unit]).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn ratios_of_units_are_found_under_varying_load() {
        let truth = [1.0, 1.02, 0.99, 1.3];
        let mut cells = Vec::new();
        for cell in 0..40 {
            let load = if cell >= 20 { 2e6 } else { 1e6 };
            for unit in (0..4).filter(|&unit| unit < 3 || cell >= 20) {
                let n = 1.0 + ((cell * 7 + unit) % 5) as f64;
                cells.push(UnitCell { cell, unit, n, y: n * load * truth[unit] });
            }
        }
        let found = unit_ratios(&cells, 40, 5);
        for unit in 1..4 {
            let ratio = found[unit].unwrap() - found[0].unwrap();
            assert!((ratio - truth[unit].ln()).abs() < 1e-6, "{found:?}");
        }
        assert_eq!(found[4], None);
    }

    #[test]
    fn welch_error_agrees_with_a_worked_example() {
        // Means 2 and 5, variances 1 and 4, three values each.
        let found = between_units(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0]).unwrap();
        assert!((found.effect - 3.0).abs() < 1e-12 && (found.variance - 5.0 / 3.0).abs() < 1e-12);
        assert!((found.freedom - 50.0 / 17.0).abs() < 1e-9, "{found:?}");
        let single = between_units(&[1.0, 2.0, 3.0], &[4.0]).unwrap();
        assert!((single.variance - 4.0 / 3.0).abs() < 1e-12 && single.freedom == 2.0, "{single:?}");
        assert_eq!(between_units(&[1.0], &[2.0]), None);
        let differences = mean_of_units(&[1.0, 2.0, 3.0]).unwrap();
        assert!((differences.variance - 1.0 / 3.0).abs() < 1e-12 && differences.freedom == 2.0, "{differences:?}");
        assert_eq!((mean_of_units(&[1.0]), mean_of_units(&[])), (None, None));
        assert_eq!(between_units(&[], &[2.0, 3.0]), None);
    }

    #[test]
    fn differences_between_hosts_cancel() {
        let host = |old: &[f64], new: &[f64]| HostUnits { old: old.to_vec(), new: new.to_vec() };
        let (old, new) = ([1.0, 2.0, 3.0], [3.0, 5.0, 7.0]);
        assert_eq!(between_units_within(&[host(&old, &new)]), between_units(&old, &new));
        assert_eq!(between_units_within(&[host(&old, &[4.0])]), between_units(&old, &[4.0]));
        // NEW has most units of the expensive host.
        let found = between_units_within(&[host(&[0.9, 1.0, 1.1], &[2.0]), host(&[5.0], &[5.9, 6.0, 6.1])]).unwrap();
        assert!((found.effect - 1.0).abs() < 1e-12, "{found:?}");
        // One unit of each version on every host.
        let found = between_units_within(&[host(&[1.0], &[2.0]), host(&[5.0], &[7.0]), host(&[3.0], &[6.0])]);
        assert_eq!(found, mean_of_units(&[1.0, 2.0, 3.0]));
        assert_eq!((between_units_within(&[host(&[1.0], &[2.0])]), between_units_within(&[])), (None, None));
    }

    /// Hosts and units differ, and the versions do not.
    #[test]
    fn the_error_of_differences_within_hosts_is_right() {
        let mut coin = ChaCha8Rng::seed_from_u64(11);
        for counts in [[1, 1], [1, 7], [2, 2], [3, 1]] {
            let trials = 4_000;
            let wrong = (0..trials)
                .filter(|trial| {
                    let host = |at: usize| {
                        let level = 0.2 * normal(&mut coin);
                        let mut units = |count: usize| -> Vec<f64> {
                            (0..count).map(|_| level + 0.01 * normal(&mut coin)).collect()
                        };
                        // Every other host has the opposite numbers of units.
                        let [old, new] = if (at + trial).is_multiple_of(2) { counts } else { [counts[1], counts[0]] };
                        HostUnits { old: units(old), new: units(new) }
                    };
                    let hosts: Vec<HostUnits> = (0..6).map(host).collect();
                    !between_units_within(&hosts).unwrap().interval(0.05).holds(0.0)
                })
                .count();
            let share = wrong as f64 / trials as f64;
            assert!((0.03..0.065).contains(&share), "{counts:?}: {share}");
        }
    }

    #[test]
    fn autocorrelated_differences_widen_the_interval() {
        let mut coin = ChaCha8Rng::seed_from_u64(4);
        let trials = 2_000;
        for (kept, most) in [(0.0, 0.06), (0.5, 0.09)] {
            let missed = (0..trials)
                .filter(|_| {
                    let mut state = 0.0;
                    let values: Vec<f64> = (0..40)
                        .map(|_| {
                            state = kept * state + coin.random_range(-1.0..1.0);
                            state
                        })
                        .collect();
                    !mean_in_time(&values).unwrap().interval(0.05).holds(0.0)
                })
                .count();
            assert!((missed as f64) < most * f64::from(trials), "{kept}: {missed} of {trials}");
        }
        assert_eq!(mean_in_time(&[1.0; 5]), None);
    }
}
