//! The price of a page fault, which depends on where the page comes from.
//!
//! Most of the cost is clearing the page, which takes longer if no cache holds it. A program that was just started gets
//! pages that others used some time ago. The kernel reuses freed pages first, so processes that follow each other get
//! each other's pages. A cache still holds those pages if there are not too many.

use steady_costs::prices::{Price, Priced, Prices};
use steady_model::{Interval, Reading};
use steady_workloads::probes::{FEW_PAGES, MANY_PAGES};

/// This many pages exceed the last-level cache of most machines: when they are freed and reused, no cache holds them.
const COLD_PAGES: u64 = 65_536;

/// The price of a fault in a process tree that ran once, with `each` faults per process.
///
/// The pages of the first process are cold. The model assumes that each later process reuses the pages of the one
/// before. Whether a process freed and reused pages while it ran, and which processes were alive at the same time, is
/// unknown. The interval therefore reaches from a few cached pages to uncached pages.
pub(super) fn in_tree(prices: &Prices, each: f64, processes: f64) -> Reading<Price> {
    let repeated = in_repeated_process(prices, each)?;
    let Ok(cold) = prices.of(Priced::MinorFaultCold) else { return Ok(repeated) };
    let share = 1.0 / processes.max(1.0);
    let seconds = repeated.seconds + share * (cold.seconds - repeated.seconds);
    Ok(Price { seconds, ..repeated })
}

/// The price of a fault in a process with `each` faults that follows similar processes.
///
/// Between the measured numbers of pages, the price is interpolated linearly. How much of a cache the process has for
/// itself is unknown, so the interval is as wide as that of [`in_tree`].
pub(super) fn in_repeated_process(prices: &Prices, each: f64) -> Reading<Price> {
    let few = prices.of(Priced::MinorFault)?;
    let known = [(MANY_PAGES, Priced::MinorFaultMany), (COLD_PAGES, Priced::MinorFaultCold)];
    let known = known.into_iter().filter_map(|(pages, priced)| Some((pages as f64, prices.of(priced).ok()?)));
    let steps: Vec<(f64, Price)> = std::iter::once((FEW_PAGES as f64, few)).chain(known).collect();
    let seconds = between(&steps, each);
    let low = steps.iter().map(|(_, price)| price.interval.low).fold(seconds, f64::min);
    let high = steps.iter().map(|(_, price)| price.interval.high).fold(seconds, f64::max);
    Ok(Price { seconds, interval: Interval { low, high } })
}

/// Interpolates the price at `each` faults linearly between steps; it is constant beyond the first and the last step.
fn between(steps: &[(f64, Price)], each: f64) -> f64 {
    let mut seconds = steps[0].1.seconds;
    for step in steps.windows(2) {
        let (from, to) = (step[0], step[1]);
        if each > from.0 {
            let share = (each.min(to.0) - from.0) / (to.0 - from.0);
            seconds = from.1.seconds + share * (to.1.seconds - from.1.seconds);
        }
    }
    seconds
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, Timestamp};

    use super::*;

    /// Prices of faults, where a fault with few pages costs 1.
    fn prices(many: Reading<f64>, cold: Reading<f64>) -> Prices {
        let price = |seconds| Price { seconds, interval: Interval { low: 0.9 * seconds, high: 1.1 * seconds } };
        let no = || Err(Absent::because("not needed"));
        let prices = vec![
            (Priced::MinorFault, Ok(price(1.0))),
            (Priced::MinorFaultMany, many.map(price)),
            (Priced::MinorFaultCold, cold.map(price)),
        ];
        Prices { measured: Timestamp(0), kernel: no(), boot: no(), alu: Err(Absent::because("not read")), prices }
    }

    fn absent() -> Reading<f64> {
        Err(Absent::because("no memory"))
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_price_of_reused_pages_grows_with_their_number() {
        let of = |each| in_repeated_process(&prices(Ok(2.0), Ok(3.0)), each).unwrap().seconds;
        assert_eq!((of(0.0), of(512.0)), (1.0, 1.0));
        assert!(close(of(4352.0), 1.5), "halfway between two measured numbers");
        assert!(close(of(8192.0), 2.0) && close(of(65_536.0), 3.0) && close(of(1e9), 3.0));
        assert!((2.0..3.0).contains(&of(20_000.0)));
    }

    #[test]
    fn a_first_process_has_cold_pages_and_later_ones_reuse_pages() {
        let of = |processes| in_tree(&prices(Ok(2.0), Ok(3.0)), 100.0, processes).unwrap().seconds;
        assert_eq!((of(1.0), of(2.0)), (3.0, 2.0));
        assert!(close(of(1000.0), 1.002));
    }

    #[test]
    fn the_interval_contains_every_origin_of_pages() {
        for each in [0.0, 5000.0, 1e6] {
            let prices = prices(Ok(2.0), Ok(3.0));
            for price in [in_repeated_process(&prices, each), in_tree(&prices, each, 1.0), in_tree(&prices, each, 9.0)]
            {
                let interval = price.unwrap().interval;
                assert!(close(interval.low, 0.9) && close(interval.high, 3.3), "{interval:?}");
            }
        }
    }

    #[test]
    fn missing_prices_are_left_out_of_the_interpolation() {
        let of = |many, cold| in_tree(&prices(many, cold), 1e6, 1.0).unwrap().seconds;
        assert_eq!(of(absent(), absent()), 1.0);
        assert_eq!(of(Ok(2.0), absent()), 2.0);
        assert_eq!(of(absent(), Ok(3.0)), 3.0);
    }
}
