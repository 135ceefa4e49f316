//! Converts the increases of counters to the sums of rows.

use steady_model::{HostSecond, LevelSums, RequestSums, RulerSums};

use crate::metrics::{HOST, LEVELS, OFFSET, PROCESSES, REQUESTS, RULERS};

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;
/// A lower bound for the sum of the logarithms of CPU time in nanoseconds, and for that of earlier deviations with their
/// offset, if there is at least one request.
const LEAST_LOG: f64 = 0.5;
/// With this mean CPU time in nanoseconds or less, the sum of the logarithms may be below [`LEAST_LOG`].
const LEAST_CPU: f64 = 2.0;
/// The largest relative difference that is rounding: some stores keep only twelve digits of a value.
const ROUNDED: f64 = 1e-9;

/// The increases of the metrics [`REQUESTS`].
pub(crate) type Requests = [Option<f64>; REQUESTS.len()];

/// Returns the sums of requests. Returns `None` if related metrics are missing or do not fit together, which happens
/// when the store answers while it receives a scrape. `outside` is set for requests that were counted from outside,
/// which have only their number and CPU time.
pub(crate) fn requests(grown: &Requests, outside: bool) -> Option<RequestSums> {
    let [n, first_requests, failed, cpu, cpu_squared, log, log_squared, before, before_squared, before_log, wall, ..] =
        *grown;
    let [.., watched, watched_cpu, watched_wall, watched_delay] = *grown;
    let n = n?.round();
    let counted = |value: Option<f64>| value.unwrap_or(0.0).round() as u64;
    let (requests, first_requests, failed) = (n as u64, counted(first_requests), counted(failed));
    let cpu = cpu? * NANOS;
    if outside {
        return Some(RequestSums { requests, cpu, ..RequestSums::default() });
    }
    let log = log?;
    let (before, before_squared, before_log) = (before?, before_squared?, before_log?);
    // Requests without CPU time count as 1 ns, whose logarithm is 0.
    let has_log = log > LEAST_LOG || (n > 0.0 && cpu <= LEAST_CPU * n);
    if (n > 0.0) != has_log || (n > 0.0) != (before > LEAST_LOG) {
        return None;
    }
    let whole = |value: f64| if n > 0.0 { value } else { 0.0 };
    Some(RequestSums {
        requests,
        first_requests,
        failed,
        cpu,
        cpu_squared: cpu_squared? * NANOS * NANOS,
        log: whole(log),
        log_squared: whole(log_squared?),
        with_before: requests,
        before: whole(before - OFFSET * n),
        before_squared: whole(before_squared - 2.0 * OFFSET * before + OFFSET * OFFSET * n),
        before_log: whole(before_log - OFFSET * log),
        log_with_before: whole(log),
        // Each request counts as at least 1 ns, so a sum of 0 means that the store does not have it.
        wall: wall.unwrap_or(0.0) * NANOS,
        // There are no metrics for the logarithms of wall time, and the estimators do not need them.
        wall_log: 0.0,
        wall_log_squared: 0.0,
        watched: counted(watched),
        watched_cpu: watched_cpu.unwrap_or(0.0) * NANOS,
        watched_wall: watched_wall.unwrap_or(0.0) * NANOS,
        watched_delay: watched_delay.unwrap_or(0.0) * NANOS,
        levels: LevelSums::default(),
    })
}

/// The increases of the metrics [`LEVELS`].
pub(crate) type Levels = [Option<f64>; LEVELS.len()];

/// Returns the sums in levels of requests whose other sums are `sums`. They are those of no request if the agent does
/// not publish these metrics, or the store does not have them. Returns `None` if related metrics are missing or do not
/// fit together. Covariates that the store does not have are 0.
pub(crate) fn levels(grown: &Levels, sums: &RequestSums) -> Option<LevelSums> {
    let [exceeding, excess, excess_squared, base_excess, rest @ ..] = *grown;
    let [recent, recent_squared, recent_base, recent_excess, rest @ ..] = rest;
    let [ruler, ruler_squared, ruler_base, ruler_excess, recent_ruler] = rest;
    let tails = [exceeding, excess, excess_squared, base_excess];
    if sums.requests == 0 || tails.iter().all(Option::is_none) {
        return Some(LevelSums::default());
    }
    let nanos = |seconds: f64| seconds * NANOS;
    let squared = |seconds: f64| seconds * NANOS * NANOS;
    let exceeding = exceeding?.round() as u64;
    let (excess, excess_squared, base_excess) = (nanos(excess?), squared(excess_squared?), squared(base_excess?));
    // The values come from different scrapes.
    if exceeding > sums.requests || excess > sums.cpu * (1.0 + ROUNDED) {
        return None;
    }
    let base = (sums.cpu - excess).max(0.0);
    let least = base * base / sums.requests as f64;
    let covariate = |sums: [Option<f64>; 4]| match sums {
        [Some(sum), Some(square), Some(of_base), Some(of_excess)] => {
            Some([nanos(sum), squared(square), squared(of_base), squared(of_excess)])
        }
        _ => None,
    };
    let recents = covariate([recent, recent_squared, recent_base, recent_excess]);
    let rulers = covariate([ruler, ruler_squared, ruler_base, ruler_excess]);
    let recent_ruler = recent_ruler.filter(|_| recents.is_some() && rulers.is_some()).map_or(0.0, squared);
    let [recent, recent_squared, recent_base, recent_excess] = recents.unwrap_or_default();
    let [ruler, ruler_squared, ruler_base, ruler_excess] = rulers.unwrap_or_default();
    Some(LevelSums {
        requests: sums.requests,
        exceeding,
        base,
        base_squared: (sums.cpu_squared - 2.0 * base_excess - excess_squared).max(least),
        excess,
        excess_squared,
        base_excess,
        recent,
        recent_squared,
        recent_base,
        recent_excess,
        ruler,
        ruler_squared,
        ruler_base,
        ruler_excess,
        recent_ruler,
    })
}

/// Returns the CPU time of processes and of their requests, in nanoseconds; `None` if it is not known or both are 0.
pub(crate) fn process_cpu(grown: &[Option<f64>; PROCESSES.len()]) -> Option<[f64; 2]> {
    let [cpu, requests_cpu] = *grown;
    let cpu = [cpu? * NANOS, requests_cpu? * NANOS];
    (cpu != [0.0; 2]).then_some(cpu)
}

/// Returns the sums of the readings of a ruler; `None` if there were no readings.
pub(crate) fn readings(grown: &[Option<f64>; RULERS.len()]) -> Option<RulerSums> {
    let [readings, log, log_squared] = *grown;
    let readings = readings?.round() as u64;
    (readings > 0).then_some(RulerSums { readings, log: log?, log_squared: log_squared? })
}

/// Returns the load of a host in the interval that begins at `second`. `cpus` is the number of CPUs at its end.
pub(crate) fn host(grown: &[Option<f64>; HOST.len() - 1], cpus: f64, second: u64, host: u32) -> HostSecond {
    let [busy, busy_of, steal, steal_of, pressure, pressure_of] = *grown;
    let share = |sum: Option<f64>, of: Option<f64>| sum.zip(of.filter(|of| *of > 0.0)).map(|(sum, of)| sum / of);
    HostSecond {
        second,
        host,
        cpus: cpus as u32,
        busy: share(busy, busy_of),
        steal: share(steal, steal_of),
        pressure: share(pressure, pressure_of),
        running: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The metrics that an agent publishes for requests with this CPU time in nanoseconds and deviation of earlier
    /// requests.
    fn published(costs: &[(f64, f64)]) -> Requests {
        let sum = |of: &dyn Fn(f64, f64) -> f64| Some(costs.iter().map(|&(cpu, before)| of(cpu, before)).sum());
        [
            Some(costs.len() as f64),
            Some(4.0),
            Some(1.0),
            sum(&|cpu, _| cpu / 1e9),
            sum(&|cpu, _| (cpu / 1e9).powi(2)),
            sum(&|cpu, _| cpu.ln()),
            sum(&|cpu, _| cpu.ln().powi(2)),
            sum(&|_, before| before + 16.0),
            sum(&|_, before| (before + 16.0).powi(2)),
            sum(&|cpu, before| (before + 16.0) * cpu.ln()),
            sum(&|cpu, _| 2.0 * cpu / 1e9),
            Some(2.0),
            Some(1e-3),
            Some(2e-3),
            Some(5e-4),
        ]
    }

    proptest! {
        #[test]
        fn sums_are_restored_from_the_metrics(costs in proptest::collection::vec((1e3..1e9_f64, -2.0..2.0_f64), 1..50)) {
            let sums = requests(&published(&costs), false).unwrap();
            let sum = |of: &dyn Fn(f64, f64) -> f64| costs.iter().map(|&(cpu, before)| of(cpu, before)).sum::<f64>();
            let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * (other.abs() + 300.0 * costs.len() as f64);
            let count = costs.len() as u64;
            prop_assert_eq!([sums.requests, sums.with_before, sums.first_requests, sums.failed], [count, count, 4, 1]);
            prop_assert!(near(sums.before, sum(&|_, before| before)));
            prop_assert!(near(sums.before_squared, sum(&|_, before| before * before)));
            prop_assert!(near(sums.before_log, sum(&|cpu, before| before * cpu.ln())));
            prop_assert!((sums.cpu_squared / sum(&|cpu, _| cpu * cpu) - 1.0).abs() < 1e-9);
            prop_assert!((sums.wall / sum(&|cpu, _| 2.0 * cpu) - 1.0).abs() < 1e-9);
            prop_assert!((sums.watched_delay - 5e5).abs() < 1.0);
        }
    }

    /// A request: CPU time up to the bound, CPU time above it, and the covariates `recent` and `ruler`, in nanoseconds.
    type Leveled = (f64, f64, f64, f64);

    /// The sums of requests, the metrics that an agent publishes for them, and their sums in levels.
    fn published_levels(requests: &[Leveled]) -> (RequestSums, Levels, LevelSums) {
        let (mut sums, mut levels) = (RequestSums::default(), LevelSums::default());
        for &(base, excess, recent, ruler) in requests {
            let cpu = base + excess;
            sums += RequestSums { requests: 1, cpu, cpu_squared: cpu * cpu, ..RequestSums::default() };
            let recents = [recent, recent * recent, recent * base, recent * excess];
            let rulers = [ruler, ruler * ruler, ruler * base, ruler * excess, recent * ruler];
            let mut values = [0.0; 14];
            values[..5].copy_from_slice(&[base, base * base, excess, excess * excess, base * excess]);
            values[5..9].copy_from_slice(&recents);
            values[9..].copy_from_slice(&rulers);
            levels += LevelSums::from_values(1, u64::from(excess > 0.0), values);
        }
        let published = [
            levels.exceeding as f64,
            levels.excess / 1e9,
            levels.excess_squared / 1e18,
            levels.base_excess / 1e18,
            levels.recent / 1e9,
            levels.recent_squared / 1e18,
            levels.recent_base / 1e18,
            levels.recent_excess / 1e18,
            levels.ruler / 1e9,
            levels.ruler_squared / 1e18,
            levels.ruler_base / 1e18,
            levels.ruler_excess / 1e18,
            levels.recent_ruler / 1e18,
        ];
        (sums, published.map(Some), levels)
    }

    proptest! {
        #[test]
        fn sums_in_levels_are_restored_from_the_metrics(
            requests in proptest::collection::vec(
                (1e3..1e9_f64, prop_oneof![Just(0.0), 1e3..1e10_f64], -6e8..6e8_f64, -6e8..6e8_f64), 1..50),
        ) {
            let (sums, published, expected) = published_levels(&requests);
            let found = levels(&published, &sums).unwrap();
            prop_assert_eq!((found.requests, found.exceeding), (expected.requests, expected.exceeding));
            let scale = sums.cpu_squared.max(6e8_f64.powi(2) * requests.len() as f64);
            for (place, (found, expected)) in found.values().into_iter().zip(expected.values()).enumerate() {
                let slack = if [0, 2, 5, 9].contains(&place) { sums.cpu.max(6e8) } else { scale };
                prop_assert!((found - expected).abs() <= 1e-12 * slack, "{}: {} {}", place, found, expected);
            }
        }
    }

    #[test]
    fn missing_sums_in_levels_are_empty_and_inconsistent_ones_are_refused() {
        let (sums, published, expected) = published_levels(&[(2e6, 1e6, -3e5, 2e5), (1e6, 0.0, 1e5, -2e5)]);
        assert_eq!(levels(&[None; LEVELS.len()], &sums), Some(LevelSums::default()), "the agent does not publish them");
        assert_eq!(levels(&published, &RequestSums::default()), Some(LevelSums::default()));
        for missing in 0..4 {
            let mut part = published;
            part[missing] = None;
            assert_eq!(levels(&part, &sums), None, "{}", LEVELS[missing]);
        }
        let without = |places: std::ops::Range<usize>| {
            let mut part = published;
            part[places].fill(None);
            levels(&part, &sums).unwrap()
        };
        let (no_ruler, no_recent) = (without(8..9), without(4..8));
        assert_eq!((no_ruler.ruler, no_ruler.ruler_squared, no_ruler.recent_ruler), (0.0, 0.0, 0.0));
        assert_eq!((no_recent.recent_base, no_recent.recent_ruler, no_recent.excess), (0.0, 0.0, expected.excess));
        assert!((no_ruler.recent / expected.recent - 1.0).abs() < 1e-12);
        let mut mixed = published;
        mixed[0] = Some(3.0);
        assert_eq!(levels(&mixed, &sums), None, "more requests exceed the bound than there are requests");
        mixed = published;
        mixed[1] = Some(0.1);
        assert_eq!(levels(&mixed, &sums), None, "more CPU time is above the bound than there is in total");
    }

    #[test]
    fn incomplete_cpu_time_of_processes_is_refused() {
        assert_eq!(process_cpu(&[Some(2.0), Some(1.0)]), Some([2e9, 1e9]));
        assert_eq!([process_cpu(&[None, Some(1.0)]), process_cpu(&[Some(1.0), None])], [None; 2]);
        assert_eq!(process_cpu(&[Some(0.0), Some(0.0)]), None);
    }

    #[test]
    fn incomplete_sums_are_refused() {
        let complete = published(&[(1e6, 0.0)]);
        assert!(requests(&complete, false).is_some());
        for missing in [0, 3, 4, 5, 6, 7, 8, 9] {
            let mut part = complete;
            part[missing] = None;
            assert_eq!(requests(&part, false), None, "{}", REQUESTS[missing]);
        }
        let mut without_wall = complete;
        without_wall[10..].fill(None);
        assert_eq!(requests(&without_wall, false).map(|sums| (sums.requests, sums.wall)), Some((1, 0.0)));
        // A coarse clock gives some requests no CPU time; they count as 1 ns.
        assert!(requests(&published(&[(1.0, 0.0); 9]), false).is_some());
        // The number of requests is of one scrape, their logarithms are of another one.
        assert_eq!(requests(&complete.map(|value| value.map(|_| 0.0)), false), Some(RequestSums::default()));
        let mut mixed = complete;
        mixed[0] = Some(0.0);
        assert_eq!(requests(&mixed, false), None);
        mixed[0] = Some(1.0);
        mixed[5] = Some(0.0);
        assert_eq!(requests(&mixed, false), None);
    }

    #[test]
    fn requests_counted_from_outside_have_only_a_number_and_cpu_time() {
        let mut grown = [None; REQUESTS.len()];
        (grown[0], grown[3]) = (Some(10.0), Some(0.5));
        let sums = requests(&grown, true).unwrap();
        assert_eq!((sums.requests, sums.cpu), (10, 5e8));
        assert_eq!(RequestSums { requests: 0, cpu: 0.0, ..sums }, RequestSums::default());
    }

    #[test]
    fn load_that_was_not_observed_is_not_available() {
        let load = host(&[Some(3.0), Some(10.0), None, None, Some(0.0), Some(0.0)], 4.0, 60, 1);
        assert_eq!((load.busy, load.steal, load.pressure, load.cpus), (Some(0.3), None, None, 4));
        assert_eq!(readings(&[Some(0.0), Some(0.0), Some(0.0)]), None);
    }
}
