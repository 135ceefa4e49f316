//! What each request adds to the sums of its row.
//!
//! A service under a moving load has a narrow core of costs and a long tail of requests that were hit by something. Their
//! logarithms are therefore told as **one step of a robust estimate**: from the running centre of their route and version
//! by the deviation, limited, over the share of requests that are not limited. The mean of such steps is Huber's estimate to
//! first order *wherever the running centre stands* (Bickel, One-step Huber estimates in the linear model, 1975): a centre
//! that lags behind the load, or one that is a version's own by chance, moves it by nothing, and the variance of the steps is
//! the variance of the estimate. Limits about one centre for all versions would cut away a part of every real effect.

use std::collections::HashMap;

use steady_model::RequestSums;

/// The first requests of a process do not count: they cost a fifth more than later ones.
pub const WARMING_REQUESTS: u64 = 150;

/// How far from the centre a request counts in full, over the mean absolute deviation of its route.
const LIMIT: f64 = 2.0;
/// So many deviations of a route are remembered for its spread and its share of limited requests.
const SPREAD_MEMORY: f64 = 2_000.0;
/// So many requests of a route are remembered for its centre: it follows the load.
const CENTRE_MEMORY: f64 = 32.0;
/// So many requests of a version on a route are remembered for how far its centre lies from the route's.
const VERSION_MEMORY: f64 = 1_000.0;
/// How much of what a process's earlier requests told of its load is carried on past the last one.
const CARRIED: f64 = 0.5;
/// After so many requests it is known what is usual on a route, and for a version on it.
const UNKNOWN: f64 = 16.0;
/// How many times wider the limit is for the first request of a version.
const WIDE: f64 = 4.0;

/// What one request tells the sums. The route, the version and the process are the caller's own small numbers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Its route.
    pub route: u32,
    /// Its version.
    pub version: u32,
    /// Its process.
    pub process: u64,
    /// Which request of its process it was, from 1 on.
    pub number: u64,
    /// Whether it failed.
    pub failed: bool,
    /// CPU time in nanoseconds; of 0, a nanosecond is taken.
    pub cpu: u64,
    /// Wall time in nanoseconds; as CPU time.
    pub wall: u64,
    /// How long it waited for a CPU, in nanoseconds, where that is known.
    pub delay: Option<u64>,
}

/// What is usual on a route.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    requests: f64,
    centre: f64,
    /// The mean absolute deviation from the versions' centres, itself limited.
    spread: f64,
    /// The share of requests beyond the limit.
    beyond: f64,
}

/// What is usual of a version on a route.
#[derive(Clone, Copy, Debug, Default)]
struct Version {
    requests: f64,
    /// How far its centre lies above the route's.
    above: f64,
}

/// What must be remembered of the requests of one service to add the next one. It grows with routes, versions and processes;
/// who holds it bounds these.
#[derive(Debug, Default)]
pub struct Fold {
    routes: HashMap<u32, Route>,
    versions: HashMap<(u32, u32), Version>,
    /// How far the last requests of each process lay from what is usual.
    before: HashMap<u64, f64>,
}

impl Fold {
    /// Nothing was told yet.
    pub fn new() -> Fold {
        Fold::default()
    }

    /// Adds a request to the sums of its row. Requests have to come in the order in which their process answered them.
    pub fn add(&mut self, told: &Told, sums: &mut RequestSums) {
        if told.number <= WARMING_REQUESTS {
            sums.warming += 1;
            return;
        }
        let (cpu, wall) = (told.cpu.max(1) as f64, told.wall.max(1) as f64);
        let wall_log = wall.ln();
        sums.requests += 1;
        sums.failed += u64::from(told.failed);
        sums.cpu += cpu;
        sums.cpu_squared += cpu * cpu;
        self.add_log(told, cpu.ln(), sums);
        sums.wall += wall;
        sums.wall_log += wall_log;
        sums.wall_log_squared += wall_log * wall_log;
        if let Some(delay) = told.delay {
            sums.watched += 1;
            sums.watched_cpu += cpu;
            sums.watched_wall += wall;
            sums.watched_delay += delay as f64;
        }
    }

    fn add_log(&mut self, told: &Told, raw: f64, sums: &mut RequestSums) {
        let route = self.routes.entry(told.route).or_default();
        let version = self.versions.entry((told.route, told.version)).or_default();
        let (log, deviation) = step(route, version, raw);
        sums.log += log;
        sums.log_squared += log * log;
        match self.before.get_mut(&told.process) {
            Some(before) => {
                sums.with_before += 1;
                sums.before += *before;
                sums.before_squared += *before * *before;
                sums.before_log += *before * log;
                sums.log_with_before += log;
                *before = CARRIED * *before + (1.0 - CARRIED) * deviation;
            }
            None => {
                self.before.insert(told.process, deviation);
            }
        }
    }

    /// A process has ended, or is to be forgotten.
    pub fn forget(&mut self, process: u64) {
        self.before.remove(&process);
    }
}

/// One request's step, and how far it lay from what is usual, limited. What is usual moves on.
fn step(route: &mut Route, version: &mut Version, raw: f64) -> (f64, f64) {
    if route.requests == 0.0 {
        route.centre = raw;
    }
    let centre = route.centre + version.above;
    let away = raw - centre;
    route.requests += 1.0;
    version.requests += 1.0;
    let rate = |memory: f64, count: f64| count.min(memory).recip();
    // Nothing is known of a route that is new. Of a version that is new on a known route, a first request that is far off
    // may be one that was hit, or the version may be so: the limit closes in while that is found out.
    let known = if route.requests <= UNKNOWN { 0.0 } else { (version.requests / UNKNOWN).min(1.0) };
    let usual = LIMIT * route.spread;
    let limit = if route.requests <= UNKNOWN { f64::INFINITY } else { usual * (WIDE - (WIDE - 1.0) * known) };
    let limited = away.clamp(-limit, limit);
    let log = centre + limited / (1.0 - known * route.beyond);
    let spread_rate = rate(SPREAD_MEMORY, route.requests);
    let most = if known > 0.0 { 2.0 * usual } else { f64::INFINITY };
    route.spread += spread_rate * (away.abs().min(most) - route.spread);
    if known > 0.0 {
        route.beyond += spread_rate * (f64::from(away.abs() >= usual) - route.beyond);
    }
    route.centre += rate(CENTRE_MEMORY, route.requests) * limited;
    version.above += rate(VERSION_MEMORY, version.requests) * limited;
    (log, limited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// The sums of two versions whose requests cost alike but for a factor, with a tail of costly ones.
    fn told(factor: f64, moving: bool) -> [RequestSums; 2] {
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        let (mut fold, mut sums) = (Fold::new(), [RequestSums::default(); 2]);
        for number in 151..40_151 {
            let version = u32::from(coin.random::<bool>());
            let tail = if coin.random::<f64>() < 0.07 { coin.random_range(1.2..3.0) } else { 1.0 };
            let load = if moving { 1.0 + 0.4 * (number as f64 / 700.0).sin() } else { 1.0 };
            let usual = 2e6 * load * tail * coin.random_range(0.95..1.05) * if version == 1 { factor } else { 1.0 };
            let told = Told {
                route: 0,
                version,
                process: 1,
                number,
                failed: false,
                cpu: usual as u64,
                wall: 3_000_000,
                delay: None,
            };
            fold.add(&told, &mut sums[version as usize]);
        }
        sums
    }

    #[test]
    fn effects_are_not_shrunk() {
        for (factor, moving) in [(1.05, false), (1.2, false), (3.0, false), (0.7, true), (1.2, true)] {
            let [old, new] = told(factor, moving);
            let change = new.log / new.requests as f64 - old.log / old.requests as f64;
            let slack = if moving { 0.01 } else { 0.002 };
            assert!((change - factor.ln()).abs() < slack, "{factor}: {change}, {}", factor.ln());
        }
    }

    #[test]
    fn the_tail_is_limited() {
        let [old, _] = told(1.0, false);
        let n = old.requests as f64;
        let variance = old.log_squared / n - (old.log / n).powi(2);
        assert!(variance < 0.05_f64.powi(2), "{variance}");
        assert!((old.log / n - 2e6_f64.ln()).abs() < 0.02, "{}", old.log / n);
    }

    #[test]
    fn warming_requests_and_zero_costs_do_no_harm() {
        let (mut fold, mut sums) = (Fold::new(), RequestSums::default());
        let told =
            |number| Told { route: 7, version: 9, process: 5, number, failed: true, cpu: 0, wall: 0, delay: Some(1) };
        (1..=150).for_each(|number| fold.add(&told(number), &mut sums));
        assert_eq!(sums, RequestSums { warming: 150, ..RequestSums::default() });
        (151..=300).for_each(|number| fold.add(&told(number), &mut sums));
        assert_eq!((sums.requests, sums.failed, sums.with_before, sums.watched), (150, 150, 149, 150));
        assert!(sums.log.is_finite() && sums.before_log.is_finite(), "{sums:?}");
        fold.forget(5);
        fold.add(&told(301), &mut sums);
        assert_eq!((sums.requests, sums.with_before), (151, 149));
    }
}
