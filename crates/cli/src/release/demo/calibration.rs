//! What v2 costs: both versions make short pages in turns, in this process.

use std::io;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::clock;
use steady_model::{Interval, Nanos};

use super::site::{NEW_PERCENT, Site};

/// Things on a page of v1. A pair of such pages takes a fraction of a millisecond, so load is nearly the same for both.
const THINGS: u64 = 400;
/// How much CPU time it may take, and how much time at most on a crowded machine.
const CPU: Nanos = Nanos(3_000_000_000);
const LONGEST: Nanos = Nanos(8_000_000_000);
const LEAST_PAIRS: usize = 100;
/// Half the width of the interval of a median at 95 %, in places of the sorted values over the root of their number.
const HALF_WIDTH: f64 = 0.98;
/// At most this share of a request's CPU time is the same for both versions: sending the page, and filling the caches after
/// another process ran.
const OTHER_SHARE: f64 = 0.2;

/// The change of the CPU time of pages, NEW / OLD - 1, with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibration {
    pub(super) change: f64,
    pub(super) interval: Interval,
}

impl Calibration {
    /// The least change of a whole request.
    pub(super) fn least(&self) -> f64 {
        self.change * (1.0 - OTHER_SHARE)
    }

    /// Whether an interval of the change of requests agrees with what pages cost.
    pub(super) fn agrees_with(&self, requests: &Interval) -> bool {
        self.interval.low * (1.0 - OTHER_SHARE) <= requests.high && requests.low <= self.interval.high
    }
}

/// Measures it. The order within each pair of pages is drawn.
pub(super) fn calibrate() -> io::Result<Calibration> {
    let site = Site::new();
    let log_cpu = |begin: usize, things: u64| {
        let begun = clock::thread_cpu();
        site.page(begin, things);
        (clock::thread_cpu() - begun).seconds().ln()
    };
    let more = THINGS * NEW_PERCENT / 100;
    let (wall, cpu) = (clock::monotonic(), clock::thread_cpu());
    let mut log_ratios = Vec::new();
    while log_ratios.len() < LEAST_PAIRS || clock::thread_cpu() - cpu < CPU && clock::monotonic() - wall < LONGEST {
        let drawn = OsRng.try_next_u64().map_err(|error| io::Error::other(error.to_string()))?;
        let begin = (drawn >> 1) as usize;
        // Both pages find their things in the caches, whichever comes first.
        log_cpu(begin, more);
        log_ratios.push(if drawn & 1 == 0 {
            let old = log_cpu(begin, THINGS);
            log_cpu(begin, more) - old
        } else {
            log_cpu(begin, more) - log_cpu(begin, THINGS)
        });
    }
    Ok(median(log_ratios))
}

/// The median pair: what interrupts single pages does not move it.
fn median(mut log_ratios: Vec<f64>) -> Calibration {
    log_ratios.sort_by(f64::total_cmp);
    let (middle, last) = ((log_ratios.len() - 1) as f64 / 2.0, log_ratios.len() - 1);
    let half = HALF_WIDTH * (log_ratios.len() as f64).sqrt();
    let change = |place: f64| log_ratios[(place.max(0.0) as usize).min(last)].exp_m1();
    let interval = Interval { low: change((middle - half).floor()), high: change((middle + half).ceil()) };
    Calibration { change: change(middle), interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_pair_has_an_interval_and_ignores_bursts() {
        // Changes from 4 to 6 %; every tenth page of either version was hit by something.
        let ratio = |page: u32| {
            let burst = [0.0, 1.5, -1.5][(page % 20 == 7) as usize + 2 * (page % 20 == 17) as usize];
            (0.04 + 0.02 * f64::from(page) / 399.0).ln_1p() + burst
        };
        let found = median((0..400).map(ratio).collect());
        assert!((found.change - 0.05).abs() < 2e-3, "{found:?}");
        let Interval { low, high } = found.interval;
        assert!(low < 0.05 && 0.05 < high && (high - low - 0.02 * 2.0 * 0.98 / 20.0 / 0.9).abs() < 1e-3, "{found:?}");
        assert!(
            found.agrees_with(&Interval { low, high: 0.2 }) && found.agrees_with(&Interval { low: 0.0, high: 0.042 })
        );
        assert!(!found.agrees_with(&Interval { low: 0.06, high: 0.2 }));
        assert!(!found.agrees_with(&Interval { low: -0.01, high: 0.035 }));
        assert_eq!(median(vec![0.5]).interval.low, 0.5_f64.exp_m1());
    }

    #[test]
    fn pages_of_v2_cost_what_is_added_to_them() {
        let found = calibrate().unwrap();
        assert!(found.interval.low <= found.change && found.change <= found.interval.high, "{found:?}");
        assert!((found.change - 0.05).abs() < 0.1, "{found:?}");
    }
}
