//! What a page fault costs, by where the page comes from.
//!
//! Most of it is to clear the page, and that takes longer where no cache holds it. A program that was started gets pages that
//! others used some time ago. What is given back is handed out again first, so processes that follow each other get each
//! other's pages, which a cache still holds if they are not too many.

use steady_costs::prices::{Price, Priced, Prices};
use steady_model::{Interval, Reading};
use steady_workloads::probes::{FEW_PAGES, MANY_PAGES};

/// So many pages come to as much as the largest of usual last levels of cache hold: given back and used again, none is in one.
const COLD_PAGES: u64 = 65_536;

/// The price of a fault in a tree of processes that was started once, with so many faults to a process.
///
/// The first process's pages are cold. Those of the others are taken to be what the one before has given back. Whether a
/// process gave pages back while it ran and used them again is not known, nor which processes were there at the same time, so
/// the interval reaches from few pages of a cache to pages of none.
pub(super) fn once(prices: &Prices, each: f64, processes: f64) -> Reading<Price> {
    let again = again(prices, each)?;
    let Ok(cold) = prices.of(Priced::MinorFaultCold) else { return Ok(again) };
    let share = 1.0 / processes.max(1.0);
    let seconds = again.seconds + share * (cold.seconds - again.seconds);
    Ok(Price { seconds, ..again })
}

/// The price of a fault in a process with so many that follows others like it.
///
/// Between the numbers that were measured the price is taken to grow evenly with them. How much of a cache is left to it is not known, so the interval reaches as far as that of [`once`].
pub(super) fn again(prices: &Prices, each: f64) -> Reading<Price> {
    let few = prices.of(Priced::MinorFault)?;
    let known = [(MANY_PAGES, Priced::MinorFaultMany), (COLD_PAGES, Priced::MinorFaultCold)];
    let known = known.into_iter().filter_map(|(pages, priced)| Some((pages as f64, prices.of(priced).ok()?)));
    let steps: Vec<(f64, Price)> = std::iter::once((FEW_PAGES as f64, few)).chain(known).collect();
    let seconds = between(&steps, each);
    let low = steps.iter().map(|(_, price)| price.interval.low).fold(seconds, f64::min);
    let high = steps.iter().map(|(_, price)| price.interval.high).fold(seconds, f64::max);
    Ok(Price { seconds, interval: Interval { low, high } })
}

/// The price at so many faults, which grows evenly from step to step; beyond the first and the last it is theirs.
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

    /// Few pages cost 1 each.
    fn prices(many: Reading<f64>, cold: Reading<f64>) -> Prices {
        let price = |seconds| Price { seconds, interval: Interval { low: 0.9 * seconds, high: 1.1 * seconds } };
        let no = || Err(Absent::because("not asked for"));
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
    fn pages_used_again_are_dearer_the_more_they_are() {
        let of = |each| again(&prices(Ok(2.0), Ok(3.0)), each).unwrap().seconds;
        assert_eq!((of(0.0), of(512.0)), (1.0, 1.0));
        assert!(close(of(4352.0), 1.5), "half of the way");
        assert!(close(of(8192.0), 2.0) && close(of(65_536.0), 3.0) && close(of(1e9), 3.0));
        assert!((2.0..3.0).contains(&of(20_000.0)));
    }

    #[test]
    fn one_process_has_cold_pages_and_many_have_each_other_s() {
        let of = |processes| once(&prices(Ok(2.0), Ok(3.0)), 100.0, processes).unwrap().seconds;
        assert_eq!((of(1.0), of(2.0)), (3.0, 2.0));
        assert!(close(of(1000.0), 1.002));
    }

    #[test]
    fn wherever_the_pages_came_from_the_interval_holds_it() {
        for each in [0.0, 5000.0, 1e6] {
            let prices = prices(Ok(2.0), Ok(3.0));
            for price in [again(&prices, each), once(&prices, each, 1.0), once(&prices, each, 9.0)] {
                let interval = price.unwrap().interval;
                assert!(close(interval.low, 0.9) && close(interval.high, 3.3), "{interval:?}");
            }
        }
    }

    #[test]
    fn what_has_no_price_is_left_out() {
        let of = |many, cold| once(&prices(many, cold), 1e6, 1.0).unwrap().seconds;
        assert_eq!(of(absent(), absent()), 1.0);
        assert_eq!(of(Ok(2.0), absent()), 2.0);
        assert_eq!(of(absent(), Ok(3.0)), 3.0);
    }
}
