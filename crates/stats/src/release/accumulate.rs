//! What each request adds to the sums of its row.
//!
//! A service under a varying load has a narrow core of costs and a long tail of disturbed requests. Each request
//! therefore adds **one step of a robust estimate** to the sum of logarithms: the running centre of its route and
//! version, plus the clipped deviation divided by the share of requests that are not clipped. To first order, the mean
//! of such steps is Huber's estimate *for any running centre* (Bickel, One-step Huber estimates in the linear model,
//! 1975). A centre that lags behind the load, or that differs by chance for a version, does not shift the estimate. The
//! variance of the steps is the variance of the estimate. Clipping around one centre for all versions would remove a
//! part of every real effect.
//!
//! The total is estimated from costs in levels ([`steady_model::LevelSums`]). Each cost is split at a multiple of the
//! usual cost of its route and class: the median of the last requests, of all versions. Neither this bound nor the
//! covariates depend on the version of the request that they are applied to, so the split cannot bias the comparison.

use std::collections::{HashMap, VecDeque};

use steady_model::{LevelSums, RequestRuler, RequestSums};

/// The number of warm-up requests of a process, which do not count because they cost a fifth more than later ones.
pub const FIRST_REQUESTS: u64 = 150;

/// The distance from the centre up to which a request is not clipped, in mean absolute deviations of its route.
const LIMIT: f64 = 2.0;
/// The least spread that a limit is derived from. Costs from a coarse clock may be equal at first, and with a limit of 0
/// the centre and the spread would never change again.
const LEAST_SPREAD: f64 = 1e-3;
/// The memory of a route's spread and of its share of clipped requests, as a number of requests.
const SPREAD_MEMORY: f64 = 2_000.0;
/// The memory of a route's centre, as a number of requests. It is short, so that the centre follows the load.
const CENTRE_MEMORY: f64 = 32.0;
/// The memory of the distance between the centres of a version and of its route, as a number of requests.
const VERSION_MEMORY: f64 = 1_000.0;
/// The weight of earlier requests in the covariate of a process; the last request has the rest.
const CARRIED: f64 = 0.5;
/// The number of requests after which the usual cost of a route, or of a version on it, counts as known.
const UNKNOWN: f64 = 16.0;
/// The factor by which the limit is wider for the first request of a version.
const WIDE: f64 = 4.0;

/// Costs above this multiple of the usual cost are split into base and excess. Between 2 and 10 it hardly matters.
const BOUND: f64 = 3.0;
/// The usual cost is the median of this many requests of a route and class.
const RECENT_COSTS: usize = 64;
/// With fewer requests the usual cost is unknown.
const LEAST_COSTS: usize = 16;
/// The largest covariate, as a logarithm.
const COVARIATE_LIMIT: f64 = 0.6;
/// The usual reading of a ruler in a process is the mean of about this many readings.
const RULER_MEMORY: f64 = 500.0;
/// With fewer readings the usual one is unknown.
const LEAST_READINGS: f64 = 8.0;

/// The costs of one request. Route, class, version and process are small numbers that the caller assigns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestCost {
    /// The number of the route.
    pub route: u32,
    /// Its class: what the application knew of the request before it ran; 0 without a class.
    pub class: u32,
    /// The number of the version.
    pub version: u32,
    /// The number of the process.
    pub process: u64,
    /// The position of the request in its process, from 1.
    pub number: u64,
    /// Whether the request failed.
    pub failed: bool,
    /// CPU time in nanoseconds; 0 counts as 1.
    pub cpu: u64,
    /// Wall time in nanoseconds; 0 counts as 1.
    pub wall: u64,
    /// The time waiting for a CPU in nanoseconds, if it is known.
    pub delay: Option<u64>,
    /// The ruler that ran on its thread before it, and its CPU time in nanoseconds, if one ran.
    pub ruler: Option<(RequestRuler, u64)>,
}

/// The usual cost on a route, of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    requests: f64,
    centre: f64,
    /// The mean absolute deviation from the versions' centres, itself clipped.
    spread: f64,
    /// The share of requests beyond the limit.
    beyond: f64,
}

/// The usual cost of a version on a route, relative to the route.
#[derive(Clone, Copy, Debug, Default)]
struct Version {
    requests: f64,
    /// The distance of its centre above the centre of the route.
    above: f64,
}

/// The last costs of a route and class, of all versions, and their median.
#[derive(Debug, Default)]
struct RecentCosts {
    in_order_of_time: VecDeque<f64>,
    sorted: Vec<f64>,
}

impl RecentCosts {
    fn median(&self) -> Option<f64> {
        (self.sorted.len() >= LEAST_COSTS).then(|| self.sorted[self.sorted.len() / 2])
    }

    fn add(&mut self, cost: f64) {
        if self.in_order_of_time.len() == RECENT_COSTS
            && let Some(oldest) = self.in_order_of_time.pop_front()
        {
            self.sorted.remove(self.sorted.partition_point(|other| *other < oldest));
        }
        self.in_order_of_time.push_back(cost);
        self.sorted.insert(self.sorted.partition_point(|other| *other < cost), cost);
    }
}

/// The information about the load from earlier requests and rulers of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    /// The deviation of its last requests from the usual cost, as a logarithm.
    before: Option<f64>,
    /// The number of readings and their mean logarithm, by ruler.
    rulers: [(f64, f64); RequestRuler::ALL.len()],
    /// The deviation of the last reading from the mean of its ruler, as a logarithm; 0 while that is unknown.
    ruler: f64,
}

impl Process {
    fn add_reading(&mut self, ruler: RequestRuler, nanoseconds: u64) {
        let (readings, mean) = &mut self.rulers[ruler.index()];
        let away = (nanoseconds.max(1) as f64).ln() - *mean;
        if *readings >= LEAST_READINGS {
            self.ruler = away.clamp(-COVARIATE_LIMIT, COVARIATE_LIMIT);
        }
        *readings += 1.0;
        *mean += away / readings.min(RULER_MEMORY);
    }
}

/// The state of one service that is needed to add its next request. It grows with the number of routes, classes,
/// versions and processes, which the caller limits.
#[derive(Debug, Default)]
pub struct Accumulator {
    routes: HashMap<(u32, u32), Route>,
    versions: HashMap<(u32, u32, u32), Version>,
    costs: HashMap<(u32, u32), RecentCosts>,
    processes: HashMap<u64, Process>,
}

impl Accumulator {
    /// Creates the state before the first request.
    pub fn new() -> Accumulator {
        Accumulator::default()
    }

    /// Adds a request to the sums of its row. The requests of a process must come in the order of their answers.
    pub fn add(&mut self, request: &RequestCost, sums: &mut RequestSums) {
        if request.number <= FIRST_REQUESTS {
            sums.first_requests += 1;
            return;
        }
        let (cpu, wall) = (request.cpu.max(1) as f64, request.wall.max(1) as f64);
        let wall_log = wall.ln();
        sums.requests += 1;
        sums.failed += u64::from(request.failed);
        sums.cpu += cpu;
        sums.cpu_squared += cpu * cpu;
        self.add_levels(request, cpu, &mut sums.levels);
        self.add_log(request, cpu.ln(), sums);
        sums.wall += wall;
        sums.wall_log += wall_log;
        sums.wall_log_squared += wall_log * wall_log;
        if let Some(delay) = request.delay {
            sums.watched += 1;
            sums.watched_cpu += cpu;
            sums.watched_wall += wall;
            sums.watched_delay += delay as f64;
        }
    }

    /// Adds the cost in levels. Apart from the cost itself, everything used was known before the request ran.
    fn add_levels(&mut self, request: &RequestCost, cpu: f64, levels: &mut LevelSums) {
        let costs = self.costs.entry((request.route, request.class)).or_default();
        let process = self.processes.entry(request.process).or_default();
        if let Some((ruler, nanoseconds)) = request.ruler {
            process.add_reading(ruler, nanoseconds);
        }
        let usual = costs.median();
        let base = cpu.min(usual.map_or(f64::INFINITY, |usual| BOUND * usual));
        let excess = cpu - base;
        let usual = usual.unwrap_or(0.0);
        let recent = usual * process.before.unwrap_or(0.0).clamp(-COVARIATE_LIMIT, COVARIATE_LIMIT);
        let ruler = usual * process.ruler;
        *levels += LevelSums {
            requests: 1,
            exceeding: u64::from(excess > 0.0),
            base,
            base_squared: base * base,
            excess,
            excess_squared: excess * excess,
            base_excess: base * excess,
            recent,
            recent_squared: recent * recent,
            recent_base: recent * base,
            recent_excess: recent * excess,
            ruler,
            ruler_squared: ruler * ruler,
            ruler_base: ruler * base,
            ruler_excess: ruler * excess,
            recent_ruler: recent * ruler,
        };
        costs.add(cpu);
    }

    fn add_log(&mut self, request: &RequestCost, raw: f64, sums: &mut RequestSums) {
        let RequestCost { route, class, version, .. } = *request;
        let usual = self.routes.entry((route, class)).or_default();
        let version = self.versions.entry((route, class, version)).or_default();
        let (log, deviation) = step(usual, version, raw);
        sums.log += log;
        sums.log_squared += log * log;
        let before = &mut self.processes.entry(request.process).or_default().before;
        if let Some(before) = *before {
            sums.with_before += 1;
            sums.before += before;
            sums.before_squared += before * before;
            sums.before_log += before * log;
            sums.log_with_before += log;
        }
        *before = Some(before.map_or(deviation, |before| CARRIED * before + (1.0 - CARRIED) * deviation));
    }

    /// Removes the state of a process that has ended.
    pub fn forget(&mut self, process: u64) {
        self.processes.remove(&process);
    }

    /// Removes the usual costs of a version. Its number may then stand for another one.
    pub fn forget_version(&mut self, version: u32) {
        self.versions.retain(|key, _| key.2 != version);
    }

    /// Removes the usual costs of a route. Its number may then stand for another one.
    pub fn forget_route(&mut self, route: u32) {
        self.forget_costs(|of, _| of == route);
    }

    /// Removes the usual costs of a class. Its number may then stand for another one.
    pub fn forget_class(&mut self, class: u32) {
        self.forget_costs(|_, of| of == class);
    }

    /// Removes the usual costs of the routes and classes for which `is_gone` holds.
    fn forget_costs(&mut self, is_gone: impl Fn(u32, u32) -> bool) {
        self.routes.retain(|&(route, class), _| !is_gone(route, class));
        self.versions.retain(|&(route, class, _), _| !is_gone(route, class));
        self.costs.retain(|&(route, class), _| !is_gone(route, class));
    }
}

/// Returns the step of one request and its clipped deviation from the usual cost, and updates the usual cost.
fn step(route: &mut Route, version: &mut Version, raw: f64) -> (f64, f64) {
    if route.requests == 0.0 {
        route.centre = raw;
    }
    let centre = route.centre + version.above;
    let away = raw - centre;
    route.requests += 1.0;
    version.requests += 1.0;
    let rate = |memory: f64, count: f64| count.min(memory).recip();
    // On a new route, nothing is clipped. For a new version on a known route, an extreme first request may be a
    // disturbed one, or the version may be that expensive. The limit therefore narrows over the version's first
    // requests.
    let known = if route.requests <= UNKNOWN { 0.0 } else { (version.requests / UNKNOWN).min(1.0) };
    let usual = LIMIT * route.spread.max(LEAST_SPREAD);
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

    /// Returns the sums of two versions whose costs differ by a factor, with a tail of expensive requests.
    fn sums_of_versions(factor: f64, moving: bool) -> [RequestSums; 2] {
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        let (mut accumulator, mut sums) = (Accumulator::new(), [RequestSums::default(); 2]);
        for number in 151..40_151 {
            let version = u32::from(coin.random::<bool>());
            let tail = if coin.random::<f64>() < 0.07 { coin.random_range(1.2..3.0) } else { 1.0 };
            let load = if moving { 1.0 + 0.4 * (number as f64 / 700.0).sin() } else { 1.0 };
            let usual = 2e6 * load * tail * coin.random_range(0.95..1.05) * if version == 1 { factor } else { 1.0 };
            let request = RequestCost {
                route: 0,
                class: 0,
                version,
                process: 1,
                number,
                failed: false,
                cpu: usual as u64,
                wall: 3_000_000,
                delay: None,
                ruler: None,
            };
            accumulator.add(&request, &mut sums[version as usize]);
        }
        sums
    }

    #[test]
    fn effects_are_not_reduced_by_clipping() {
        for (factor, moving) in [(1.05, false), (1.2, false), (3.0, false), (0.7, true), (1.2, true)] {
            let [old, new] = sums_of_versions(factor, moving);
            let change = new.log / new.requests as f64 - old.log / old.requests as f64;
            let slack = if moving { 0.01 } else { 0.002 };
            assert!((change - factor.ln()).abs() < slack, "{factor}: {change}, {}", factor.ln());
        }
    }

    #[test]
    fn the_tail_is_clipped() {
        let [old, _] = sums_of_versions(1.0, false);
        let n = old.requests as f64;
        let variance = old.log_squared / n - (old.log / n).powi(2);
        assert!(variance < 0.05_f64.powi(2), "{variance}");
        assert!((old.log / n - 2e6_f64.ln()).abs() < 0.02, "{}", old.log / n);
    }

    #[test]
    fn warm_up_requests_and_zero_costs_are_handled() {
        let (mut accumulator, mut sums) = (Accumulator::new(), RequestSums::default());
        let request = |number| RequestCost {
            route: 7,
            class: 0,
            version: 9,
            process: 5,
            number,
            failed: true,
            cpu: 0,
            wall: 0,
            delay: Some(1),
            ruler: None,
        };
        (1..=150).for_each(|number| accumulator.add(&request(number), &mut sums));
        assert_eq!(sums, RequestSums { first_requests: 150, ..RequestSums::default() });
        (151..=300).for_each(|number| accumulator.add(&request(number), &mut sums));
        assert_eq!((sums.requests, sums.failed, sums.with_before, sums.watched), (150, 150, 149, 150));
        assert!(sums.log.is_finite() && sums.before_log.is_finite(), "{sums:?}");
        accumulator.forget(5);
        accumulator.add(&request(301), &mut sums);
        assert_eq!((sums.requests, sums.with_before), (151, 149));
    }

    /// The first costs may be equal, because a clock is coarse.
    #[test]
    fn equal_costs_do_not_hold_the_usual_cost() {
        let (mut accumulator, mut sums) = (Accumulator::new(), RequestSums::default());
        (151..191).for_each(|number| accumulator.add(&request(number, 0, 1_000_000, None), &mut sums));
        (191..1_191).for_each(|number| accumulator.add(&request(number, 0, 2_000_000, None), &mut sums));
        let before = sums.log;
        (1_191..1_291).for_each(|number| accumulator.add(&request(number, 0, 2_000_000, None), &mut sums));
        let log = (sums.log - before) / 100.0;
        assert!((log - 2e6_f64.ln()).abs() < 0.01, "{log}, {}", 2e6_f64.ln());
    }

    fn request(number: u64, class: u32, cpu: u64, ruler: Option<(RequestRuler, u64)>) -> RequestCost {
        let version = (number % 2) as u32;
        RequestCost { route: 0, class, version, process: 1, number, failed: false, cpu, wall: cpu, delay: None, ruler }
    }

    #[test]
    fn costs_are_split_at_three_times_the_median_of_route_and_class() {
        let (mut accumulator, mut sums) = (Accumulator::new(), RequestSums::default());
        let mut add = |number, class, cpu| {
            let before = sums.levels;
            accumulator.add(&request(number, class, cpu, None), &mut sums);
            let (base, excess) = (sums.levels.base - before.base, sums.levels.excess - before.excess);
            (base, excess, sums.levels.exceeding - before.exceeding)
        };
        for number in 151..167 {
            assert_eq!(add(number, 0, 1_000 * (number - 150)), (1_000.0 * (number - 150) as f64, 0.0, 0));
        }
        // The median of 1,000 to 16,000 is 9,000, whichever version comes next.
        assert_eq!(add(167, 0, 30_000), (27_000.0, 3_000.0, 1));
        assert_eq!(add(168, 0, 26_000), (26_000.0, 0.0, 0));
        assert_eq!(add(169, 1, 30_000), (30_000.0, 0.0, 0), "another class has no usual cost yet");
        // 64 later requests replace the first ones.
        (170..250).for_each(|number| {
            add(number, 0, 500);
        });
        assert_eq!(add(250, 0, 2_000), (1_500.0, 500.0, 1));
        assert_eq!((sums.levels.requests, sums.requests), (100, 100));
    }

    #[test]
    fn covariates_are_known_before_the_request() {
        let (mut accumulator, mut sums) = (Accumulator::new(), RequestSums::default());
        let usual = |number| request(number, 0, 1_000_000, Some((RequestRuler::Alu, 1_000)));
        (151..351).for_each(|number| accumulator.add(&usual(number), &mut sums));
        let LevelSums { recent, ruler, .. } = sums.levels;
        assert!(recent.abs() < 1e-3 && ruler.abs() < 1e-3, "{:?}", sums.levels);
        // The request's own ruler ran before it; its own cost was not known.
        let slow = request(351, 0, 1_100_000, Some((RequestRuler::Alu, 1_200)));
        accumulator.add(&slow, &mut sums);
        assert!((sums.levels.ruler - ruler - 1e6 * 1.2_f64.ln()).abs() < 100.0, "{:?}", sums.levels);
        assert!((sums.levels.recent - recent).abs() < 1e-3, "{:?}", sums.levels);
        // Without a ruler of its own, the last reading is used, limited to 0.6.
        accumulator.add(&request(352, 0, 1_000_000, Some((RequestRuler::Alu, 100_000))), &mut sums);
        let ruler = sums.levels.ruler;
        accumulator.add(&request(353, 0, 1_000_000, None), &mut sums);
        assert!((sums.levels.ruler - ruler - 0.6e6).abs() < 1.0, "{:?}", sums.levels);
        accumulator.forget(1);
        let ruler = sums.levels.ruler;
        accumulator.add(&request(354, 0, 1_000_000, None), &mut sums);
        assert_eq!(sums.levels.ruler, ruler);
    }
}
