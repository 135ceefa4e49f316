//! Several hosts: their contribution to the error of an effect, whether the effect differs between them, and outlying
//! hosts.
//!
//! NEW may have a different memory layout in each process, or suit one kind of CPU better than another. Then the effect
//! itself differs between hosts. An error estimated within hosts does not include this, however many requests there
//! are.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Estimated, critical};

/// The minimum effective number of hosts. With fewer, their spread is too uncertain for an error.
const LEAST_HOSTS: f64 = 6.0;
/// The error rate of the claim that hosts differ. It is small because the claim is a warning.
const SPREAD_ALPHA: f64 = 0.001;
/// The minimum degrees of freedom of a host's variance. With fewer, the variance of its F statistic is infinite.
const LEAST_FREEDOM: f64 = 4.0;
/// At most one host in this many can be outlying; with more, there is no majority to compare with.
const MOST_APART: usize = 5;

/// The contribution of one host to an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostShare {
    /// The weight of the host; the weights of all hosts sum to one.
    pub share: f64,
    /// The weight times the distance of the host's own effect above the common one.
    pub beyond: f64,
}

/// Returns the effect with the host as the unit. Its error is robust against hosts with different effects; for equal
/// weights it is that of Student's t. `None` if the effective number of hosts is below six, because their spread is too
/// uncertain.
pub fn between_hosts(effect: f64, hosts: &[HostShare]) -> Option<Estimated> {
    let power = |power: i32| hosts.iter().map(|host| host.share.powi(power)).sum::<f64>();
    let counting = power(2) * power(2) / power(4);
    // The host itself contributes to the common effect, in proportion to its weight.
    let variance = hosts.iter().map(|host| host.beyond * host.beyond / (1.0 - host.share)).sum::<f64>();
    let is_known = counting >= LEAST_HOSTS - 1e-9 && variance.is_finite();
    is_known.then_some(Estimated { effect, variance, freedom: counting - 1.0 })
}

/// Returns the standard deviation of the true effects of hosts (DerSimonian and Laird 1986), if Cochran's Q shows that
/// they differ; otherwise `None`. The test accounts for the uncertainty of the hosts' errors.
pub fn spread_of_hosts(hosts: &[Estimated]) -> Option<f64> {
    let known: Vec<&Estimated> = hosts
        .iter()
        .filter(|host| host.freedom > LEAST_FREEDOM && host.variance > 0.0 && host.variance.is_finite())
        .collect();
    let weights = || known.iter().map(|host| 1.0 / host.variance);
    let (all, squares): (f64, f64) = (weights().sum(), weights().map(|weight| weight * weight).sum());
    let mean = known.iter().zip(weights()).map(|(host, weight)| weight * host.effect).sum::<f64>() / all;
    let q = known.iter().zip(weights()).map(|(host, weight)| weight * (host.effect - mean).powi(2)).sum::<f64>();
    // If hosts do not differ, each adds an F statistic with one and its own degrees of freedom, minus the part of the
    // mean.
    let count = known.len() as f64;
    let moments = known.iter().map(|host| {
        let f = host.freedom.min(1e6);
        (f / (f - 2.0), 2.0 * f * f * (f - 1.0) / ((f - 2.0).powi(2) * (f - 4.0)))
    });
    let (mean_q, variance_q) = moments.fold((0.0, 0.0), |(mean, variance), one| (mean + one.0, variance + one.1));
    let [mean_q, variance_q] = [mean_q, variance_q].map(|sum| sum * (count - 1.0) / count);
    let alike = ChiSquared::new(2.0 * mean_q * mean_q / variance_q).ok()?;
    let chance = 1.0 - alike.cdf(2.0 * q * mean_q / variance_q);
    let deviation = ((q - mean_q) / (all - squares / all)).sqrt();
    (chance < SPREAD_ALPHA && deviation.is_finite()).then_some(deviation)
}

/// The position of one host relative to the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The distance from the mean of the others, in standard deviations that combine the differences between hosts and
    /// the host's own error.
    pub distance: f64,
    /// Whether the distance is more than chance explains.
    pub outlying: bool,
}

/// Returns the positions of hosts, each given by a value and the variance of its error. The most distant host is
/// compared with the rest by Student's t at its part of `alpha`, then the next one with those that remain. All hosts up
/// to the last significant one are outlying (generalised extreme Studentised deviates, Rosner 1983). The distance
/// always includes the host's own error.
pub fn standings(hosts: &[(f64, f64)], alpha: f64) -> Vec<Standing> {
    let mut rest: Vec<usize> = (0..hosts.len()).collect();
    let (mut removed, mut outlying) = (Vec::new(), 0);
    for _ in 0..(hosts.len() / MOST_APART).max(1) {
        let Some((at, distance)) = furthest(hosts, &rest) else { break };
        let level = alpha / rest.len() as f64;
        let freedom = rest.len() as f64 - 2.0;
        removed.push(rest.swap_remove(at));
        if distance > critical(level, freedom) {
            outlying = removed.len();
        }
    }
    let apart = &removed[..outlying];
    let others: HostSums = (0..hosts.len()).filter(|at| !apart.contains(at)).map(|at| hosts[at]).collect();
    let standing = |(at, host): (usize, &(f64, f64))| {
        let outlying = apart.contains(&at);
        let others = if outlying { others } else { others.without(*host) };
        Standing { distance: others.distance(*host), outlying }
    };
    hosts.iter().enumerate().map(standing).collect()
}

/// Returns which of the remaining hosts is most distant from the others among them, and its distance.
fn furthest(hosts: &[(f64, f64)], rest: &[usize]) -> Option<(usize, f64)> {
    let all: HostSums = rest.iter().map(|&at| hosts[at]).collect();
    let distance = |&at: &usize| all.without(hosts[at]).distance(hosts[at]);
    let distances = rest.iter().map(distance).enumerate();
    distances.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Sums over hosts: their number, values, squared values, and variances of their errors.
#[derive(Clone, Copy, Default)]
struct HostSums {
    count: f64,
    value: f64,
    square: f64,
    variance: f64,
}

impl FromIterator<(f64, f64)> for HostSums {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(hosts: I) -> HostSums {
        let add = |sums: HostSums, (value, variance): (f64, f64)| HostSums {
            count: sums.count + 1.0,
            value: sums.value + value,
            square: sums.square + value * value,
            variance: sums.variance + variance,
        };
        hosts.into_iter().fold(HostSums::default(), add)
    }
}

impl HostSums {
    fn without(self, host: (f64, f64)) -> HostSums {
        let (value, variance) = host;
        HostSums {
            count: self.count - 1.0,
            value: self.value - value,
            square: self.square - value * value,
            variance: self.variance - variance,
        }
    }

    /// Returns the distance of a host from the mean of these hosts, in standard deviations. The deviation combines the
    /// differences between hosts beyond their errors, and the host's own error.
    fn distance(&self, host: (f64, f64)) -> f64 {
        let (value, variance) = host;
        let mean = self.value / self.count;
        let squares = (self.square - self.count * mean * mean).max(0.0);
        let observed = if self.count > 1.0 { squares / (self.count - 1.0) } else { 0.0 };
        let differing = (observed - self.variance / self.count).max(0.0);
        let error = variance + differing + (differing + self.variance / self.count) / self.count;
        let distance = (value - mean).abs() / error.sqrt();
        if distance.is_nan() { 0.0 } else { distance }
    }
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

    /// Returns effects of hosts that differ by `spread`, each with an error of one.
    fn effects(coin: &mut ChaCha8Rng, hosts: usize, spread: f64) -> Vec<f64> {
        (0..hosts).map(|_| normal(coin) + spread * normal(coin)).collect()
    }

    /// Uses the wider of the two errors: within hosts and between hosts. Weights are equal, or increase evenly to five
    /// times the smallest.
    #[test]
    fn the_wider_error_is_valid_whether_hosts_differ_or_not() {
        let mut coin = ChaCha8Rng::seed_from_u64(1);
        for (hosts, even) in [(6, true), (10, true), (10, false), (40, false)] {
            let plain: Vec<f64> =
                (0..hosts).map(|at| if even { 1.0 } else { 1.0 + 4.0 * at as f64 / hosts as f64 }).collect();
            let shares: Vec<f64> = plain.iter().map(|one| one / plain.iter().sum::<f64>()).collect();
            for spread in [0.0, 1.0, 4.0] {
                let trials = 4_000;
                let missed = (0..trials).filter(|_| {
                    let found = effects(&mut coin, hosts, spread);
                    let effect: f64 = found.iter().zip(&shares).map(|(one, share)| one * share).sum();
                    let variance = shares.iter().map(|share| share * share).sum();
                    let within = Estimated { effect, variance, freedom: 1e6 };
                    let hosts: Vec<HostShare> = found
                        .iter()
                        .zip(&shares)
                        .map(|(one, &share)| HostShare { share, beyond: share * (one - effect) })
                        .collect();
                    let between = between_hosts(effect, &hosts);
                    let holds = |one: &Estimated| one.interval(0.05).holds(0.0);
                    !holds(&within) && !between.as_ref().is_some_and(holds)
                });
                let rate = missed.count() as f64 / f64::from(trials);
                assert!(rate < 0.061, "{hosts} hosts that differ by {spread}: {rate}");
            }
        }
        assert_eq!(between_hosts(0.1, &[HostShare { share: 0.2, beyond: 0.0 }; 5]), None);
        let lopsided = [vec![0.9], vec![0.01; 10]].concat();
        let lopsided: Vec<HostShare> = lopsided.into_iter().map(|share| HostShare { share, beyond: 0.0 }).collect();
        assert_eq!(between_hosts(0.1, &lopsided), None, "one host has almost all of the weight");
    }

    #[test]
    fn different_hosts_are_detected_and_equal_ones_are_not() {
        let mut coin = ChaCha8Rng::seed_from_u64(2);
        for freedom in [9.0, 1e9] {
            let mut detected = |hosts: usize, spread: f64| {
                let estimated = |effect: f64, coin: &mut ChaCha8Rng| {
                    let square = |coin: &mut ChaCha8Rng| normal(coin).powi(2);
                    let variance = match freedom < 100.0 {
                        true => (0..freedom as usize).map(|_| square(coin)).sum::<f64>() / freedom,
                        false => 1.0,
                    };
                    Estimated { effect, variance, freedom }
                };
                let trials = 1_000;
                let found: Vec<f64> = (0..trials)
                    .filter_map(|_| {
                        let hosts = effects(&mut coin, hosts, spread);
                        let hosts: Vec<Estimated> = hosts.into_iter().map(|one| estimated(one, &mut coin)).collect();
                        spread_of_hosts(&hosts)
                    })
                    .collect();
                (found.len() as f64 / f64::from(trials), found.iter().sum::<f64>() / found.len() as f64)
            };
            for hosts in [2, 8, 100] {
                let (rate, _) = detected(hosts, 0.0);
                assert!(rate < 0.012, "{hosts} hosts alike with {freedom}: {rate}");
            }
            let (rate, deviation) = detected(100, 1.0);
            assert!(rate > 0.8 && (0.8..1.25).contains(&deviation), "{rate} {deviation}");
        }
        assert_eq!(spread_of_hosts(&[]), None);
    }

    #[test]
    fn outlying_hosts_are_found_and_others_are_not() {
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        for (hosts, trials) in [(2, 500), (3, 2_000), (5, 2_000), (10, 2_000), (30, 1_000), (1_000, 40)] {
            for spread in [0.0, 1.0, 10.0] {
                let wrong = (0..trials).filter(|_| {
                    let hosts: Vec<(f64, f64)> =
                        effects(&mut coin, hosts, spread).into_iter().map(|one| (one, 1.0)).collect();
                    standings(&hosts, 0.05).iter().any(|host| host.outlying)
                });
                let rate = wrong.count() as f64 / f64::from(trials);
                let most = 0.05 + 3.1 * (0.0475 / f64::from(trials)).sqrt();
                assert!(rate <= most, "{hosts} hosts that differ by {spread}: {rate}");
            }
        }
        let mut found = [0, 0];
        for _ in 0..200 {
            let mut hosts: Vec<(f64, f64)> = effects(&mut coin, 40, 0.3).into_iter().map(|one| (one, 1.0)).collect();
            (hosts[3].0, hosts[17].0, hosts[18].0) = (12.0, -9.0, 10.0);
            let found_hosts = standings(&hosts, 0.05);
            found[0] += usize::from([3, 17, 18].iter().all(|at| found_hosts[*at].outlying));
            found[1] += usize::from(found_hosts.iter().filter(|host| host.outlying).count() == 3);
            assert!(found_hosts[3].distance > found_hosts[0].distance);
        }
        assert!(found[0] >= 195 && found[1] >= 180, "{found:?}");
        assert!(standings(&[], 0.05).is_empty());
        assert_eq!(standings(&[(0.1, 0.0)], 0.05), [Standing { distance: 0.0, outlying: false }]);
    }
}
