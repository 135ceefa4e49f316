//! Several hosts: what they add to the error of an effect, whether they differ in it, and which of them lie apart.
//!
//! NEW may be laid out otherwise in each process, or suit one kind of CPU better than another. Then the effect itself
//! differs from host to host, which no error within hosts knows of, however many requests there were.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Estimated, critical};

/// With fewer hosts, as many as would count alike, their spread is too badly known to be an error.
const LEAST_HOSTS: f64 = 6.0;
/// The error at which hosts are believed to differ: a warning may be rare.
const SPREAD_ALPHA: f64 = 0.001;
/// A variance with fewer degrees of freedom has itself none that could be reckoned with.
const LEAST_FREEDOM: f64 = 4.0;
/// At most one host in so many lies apart from the others; if more do, there are no others.
const MOST_APART: usize = 5;

/// What one host says of an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostShare {
    /// Its weight in the effect; those of all hosts add up to one.
    pub share: f64,
    /// Its share times how far its own effect lies above the common one.
    pub beyond: f64,
}

/// The effect with the host as the unit: an error that is robust against hosts which differ in it, as Student's t has
/// it where they count alike. `None` with fewer hosts than six that count alike: their spread is known too badly.
pub fn between_hosts(effect: f64, hosts: &[HostShare]) -> Option<Estimated> {
    let power = |power: i32| hosts.iter().map(|host| host.share.powi(power)).sum::<f64>();
    let counting = power(2) * power(2) / power(4);
    // A host draws the common effect to itself by its share.
    let variance = hosts.iter().map(|host| host.beyond * host.beyond / (1.0 - host.share)).sum::<f64>();
    let told = counting >= LEAST_HOSTS - 1e-9 && variance.is_finite();
    told.then_some(Estimated { effect, variance, freedom: counting - 1.0 })
}

/// How far hosts differ in an effect (the standard deviation of the true ones, by DerSimonian and Laird 1986), where
/// that is beyond chance by Cochran's Q; `None` where it is not. That errors of hosts are estimates as well is reckoned
/// with.
pub fn spread_of_hosts(hosts: &[Estimated]) -> Option<f64> {
    let known: Vec<&Estimated> = hosts
        .iter()
        .filter(|host| host.freedom > LEAST_FREEDOM && host.variance > 0.0 && host.variance.is_finite())
        .collect();
    let weights = || known.iter().map(|host| 1.0 / host.variance);
    let (all, squares): (f64, f64) = (weights().sum(), weights().map(|weight| weight * weight).sum());
    let mean = known.iter().zip(weights()).map(|(host, weight)| weight * host.effect).sum::<f64>() / all;
    let q = known.iter().zip(weights()).map(|(host, weight)| weight * (host.effect - mean).powi(2)).sum::<f64>();
    // If hosts do not differ, each adds what F with one and its own degrees of freedom does, less the mean's part.
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

/// Where one host stands beside the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// How far from the others' middle, in standard deviations of hosts and of its own error.
    pub distance: f64,
    /// Whether that is more than chance explains.
    pub outlying: bool,
}

/// Where hosts stand, of which each has a value and the variance of its error: the furthest is held against the rest by
/// Student's t at its part of `alpha`, then the next one against what is left, and all down to the last that lies apart
/// do so (generalised extreme Studentised deviates, Rosner 1983). No host is held to less than its own error.
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
    let others: Sums = (0..hosts.len()).filter(|at| !apart.contains(at)).map(|at| hosts[at]).collect();
    let standing = |(at, host): (usize, &(f64, f64))| {
        let outlying = apart.contains(&at);
        let others = if outlying { others } else { others.without(*host) };
        Standing { distance: others.distance(*host), outlying }
    };
    hosts.iter().enumerate().map(standing).collect()
}

/// Which of the rest lies furthest from the others of it, and how far.
fn furthest(hosts: &[(f64, f64)], rest: &[usize]) -> Option<(usize, f64)> {
    let all: Sums = rest.iter().map(|&at| hosts[at]).collect();
    let distance = |&at: &usize| all.without(hosts[at]).distance(hosts[at]);
    let distances = rest.iter().map(distance).enumerate();
    distances.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Sums over hosts: how many, their values, the squares of these, and the variances of their errors.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    value: f64,
    square: f64,
    variance: f64,
}

impl FromIterator<(f64, f64)> for Sums {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(hosts: I) -> Sums {
        let add = |sums: Sums, (value, variance): (f64, f64)| Sums {
            count: sums.count + 1.0,
            value: sums.value + value,
            square: sums.square + value * value,
            variance: sums.variance + variance,
        };
        hosts.into_iter().fold(Sums::default(), add)
    }
}

impl Sums {
    fn without(self, host: (f64, f64)) -> Sums {
        let (value, variance) = host;
        Sums {
            count: self.count - 1.0,
            value: self.value - value,
            square: self.square - value * value,
            variance: self.variance - variance,
        }
    }

    /// How far a host lies from the mean of these, in deviations of such a host from them: what hosts differ by, beside
    /// the errors of these, and its own error.
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

    /// Effects of hosts that differ by `spread`, each known with an error of one, from so many hosts.
    fn effects(coin: &mut ChaCha8Rng, hosts: usize, spread: f64) -> Vec<f64> {
        (0..hosts).map(|_| normal(coin) + spread * normal(coin)).collect()
    }

    /// The wider of both errors: within hosts, and between them. Shares are alike, or rise evenly to five times the
    /// least.
    #[test]
    fn the_wider_error_holds_whether_hosts_differ_or_not() {
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
        assert_eq!(between_hosts(0.1, &lopsided), None, "one host is what counts");
    }

    #[test]
    fn hosts_that_differ_are_told_and_others_are_not() {
        let mut coin = ChaCha8Rng::seed_from_u64(2);
        for freedom in [9.0, 1e9] {
            let mut told = |hosts: usize, spread: f64| {
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
                let (rate, _) = told(hosts, 0.0);
                assert!(rate < 0.012, "{hosts} hosts alike with {freedom}: {rate}");
            }
            let (rate, deviation) = told(100, 1.0);
            assert!(rate > 0.8 && (0.8..1.25).contains(&deviation), "{rate} {deviation}");
        }
        assert_eq!(spread_of_hosts(&[]), None);
    }

    #[test]
    fn hosts_that_lie_apart_are_named_and_others_are_not() {
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
            let told = standings(&hosts, 0.05);
            found[0] += usize::from([3, 17, 18].iter().all(|at| told[*at].outlying));
            found[1] += usize::from(told.iter().filter(|host| host.outlying).count() == 3);
            assert!(told[3].distance > told[0].distance);
        }
        assert!(found[0] >= 195 && found[1] >= 180, "{found:?}");
        assert!(standings(&[], 0.05).is_empty());
        assert_eq!(standings(&[(0.1, 0.0)], 0.05), [Standing { distance: 0.0, outlying: false }]);
    }
}
