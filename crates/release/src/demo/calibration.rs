//! Calibration: measures the cost of v2 by rendering short pages of both versions alternately in this process.

use std::io;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::clock;
use steady_model::{Interval, Nanos};

use super::site::{NEW_PERCENT, Site};

/// Items on a page of v1. A pair of such pages takes a fraction of a millisecond, so load is nearly the same for both.
const THINGS: u64 = 400;
/// CPU time of the calibration.
const CPU: Nanos = Nanos(3_000_000_000);
/// Longest wall time of the calibration, which matters on a busy machine.
const LONGEST: Nanos = Nanos(8_000_000_000);
/// Fewest pairs of each order.
const LEAST_PAIRS: usize = 50;
/// Half width of the 95 % interval of a median, in ranks of the sorted values divided by the square root of their
/// number.
const HALF_WIDTH: f64 = 0.98;
/// Largest share of a request's CPU time that is the same for both versions: sending the page, and filling the caches
/// after another process ran.
const OTHER_SHARE: f64 = 0.2;

/// Change of the CPU time of pages, NEW / OLD - 1, with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibration {
    pub(super) change: f64,
    pub(super) interval: Interval,
}

impl Calibration {
    /// Returns the smallest change of a whole request that is consistent with the calibration.
    pub(super) fn least(&self) -> f64 {
        self.change * (1.0 - OTHER_SHARE)
    }

    /// Returns whether the calibration is precise enough to judge an answer. Other load on the machine may prevent that.
    pub(super) fn is_precise(&self) -> bool {
        /// Widest interval, about the change of the demonstration.
        const WIDEST: f64 = 0.05;
        self.interval.high - self.interval.low <= WIDEST
    }

    /// Returns whether an interval of the change of requests is consistent with the change of pages.
    pub(super) fn agrees_with(&self, requests: &Interval) -> bool {
        self.interval.low * (1.0 - OTHER_SHARE) <= requests.high && requests.low <= self.interval.high
    }
}

/// Measures the change of pages. The order within each pair of pages is random.
pub(super) fn calibrate() -> io::Result<Calibration> {
    let site = Site::new();
    let log_cpu = |begin: usize, things: u64| {
        let begun = clock::thread_cpu();
        site.page(begin, things);
        (clock::thread_cpu() - begun).seconds().ln()
    };
    let more = THINGS * NEW_PERCENT / 100;
    let (wall, cpu) = (clock::monotonic(), clock::thread_cpu());
    let (mut old_first, mut new_first) = (Vec::new(), Vec::new());
    while old_first.len().min(new_first.len()) < LEAST_PAIRS
        || clock::thread_cpu() - cpu < CPU && clock::monotonic() - wall < LONGEST
    {
        let drawn = OsRng.try_next_u64().map_err(|error| io::Error::other(error.to_string()))?;
        let begin = (drawn >> 1) as usize;
        // Fill the caches, so that the order of the pages does not matter for them.
        log_cpu(begin, more);
        if drawn & 1 == 0 {
            let old = log_cpu(begin, THINGS);
            old_first.push(log_cpu(begin, more) - old);
        } else {
            new_first.push(log_cpu(begin, more) - log_cpu(begin, THINGS));
        }
    }
    Ok(combined(median(old_first), median(new_first)))
}

/// Returns the change from the medians of both orders, which are logarithms of NEW / OLD. The second page of a pair is
/// up to 20 % cheaper than the first, because the CPU has learned its branches. This cancels in the mean of both
/// orders.
fn combined(old_first: Median, new_first: Median) -> Calibration {
    let middle = (old_first.middle + new_first.middle) / 2.0;
    let half = |of: fn(&Median) -> f64| of(&old_first).hypot(of(&new_first)) / 2.0;
    let (below, above) = (half(|one| one.middle - one.low), half(|one| one.high - one.middle));
    let interval = Interval { low: (middle - below).exp_m1(), high: (middle + above).exp_m1() };
    Calibration { change: middle.exp_m1(), interval }
}

/// A median with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Median {
    middle: f64,
    low: f64,
    high: f64,
}

/// Returns the median of the pairs with its interval. Interruptions of single pages do not change it.
fn median(mut log_ratios: Vec<f64>) -> Median {
    log_ratios.sort_by(f64::total_cmp);
    let (middle, last) = ((log_ratios.len() - 1) as f64 / 2.0, log_ratios.len() - 1);
    let half = HALF_WIDTH * (log_ratios.len() as f64).sqrt();
    let at = |place: f64| log_ratios[(place.max(0.0) as usize).min(last)];
    Median { middle: at(middle), low: at((middle - half).floor()), high: at((middle + half).ceil()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_pair_has_an_interval_and_ignores_bursts() {
        // Changes from 4 to 6 %. Every tenth pair has a disturbed page of one of the versions.
        let ratio = |page: u32| {
            let burst = [0.0, 1.5, -1.5][(page % 20 == 7) as usize + 2 * (page % 20 == 17) as usize];
            (0.04 + 0.02 * f64::from(page) / 399.0).ln_1p() + burst
        };
        let one = median((0..400).map(ratio).collect());
        // The order of a pair changes both medians by the same amount in opposite directions, which cancels.
        let moved = |by: f64| Median { middle: one.middle + by, low: one.low + by, high: one.high + by };
        let found = combined(moved(-0.2), moved(0.2));
        assert!((found.change - 0.05).abs() < 2e-3, "{found:?}");
        let Interval { low, high } = found.interval;
        let width = 0.02 * 2.0 * 0.98 / 20.0 / 0.9 / 2.0_f64.sqrt();
        assert!(low < 0.05 && 0.05 < high && (high - low - width).abs() < 1e-3, "{found:?}");
        assert!(
            found.agrees_with(&Interval { low, high: 0.2 }) && found.agrees_with(&Interval { low: 0.0, high: 0.042 })
        );
        assert!(!found.agrees_with(&Interval { low: 0.06, high: 0.2 }));
        assert!(!found.agrees_with(&Interval { low: -0.01, high: 0.035 }));
        assert_eq!(median(vec![0.5]).low, 0.5);
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn pages_of_v2_cost_as_much_as_their_additional_work() {
        // A busy machine gets further attempts. They are selected by the width of the interval, not by the estimate.
        let exact = |found: &Calibration| found.interval.high - found.interval.low < 0.02;
        let Some(found) = (0..5).map(|_| calibrate().unwrap()).find(exact) else {
            return eprintln!("skipped: pages_of_v2_cost_as_much_as_their_additional_work: the machine is too busy");
        };
        assert!(found.interval.low <= found.change && found.change <= found.interval.high, "{found:?}");
        // v2 does 5 % more work, but a few per cent of the cost of a page do not grow with the work.
        assert!((found.change - 0.045).abs() < 0.02, "{found:?}");
    }
}
