//! What a page fault costs a process that has so many of them.

use steady_model::{Interval, Price, Priced, Prices, Reading};
use steady_workloads::probes::{FEW_PAGES, MANY_PAGES};

/// The price of a fault in a process with so many.
///
/// A page that was given back a moment ago is still in a cache when it is cleared and used again; of many pages most are
/// not. Between the numbers that were measured the price is taken to grow with the logarithm. Whether a process gave its
/// pages back meanwhile and used them again is not known, so the interval reaches down to the price of few.
pub(super) fn price(prices: &Prices, each: f64) -> Reading<Price> {
    let few = prices.of(Priced::MinorFault)?;
    let Ok(many) = prices.of(Priced::MinorFaultMany) else { return Ok(few) };
    let (least, most) = (FEW_PAGES as f64, MANY_PAGES as f64);
    let share = (each.clamp(least, most) / least).ln() / (most / least).ln();
    let between = |few: f64, many: f64| few + share * (many - few);
    let (low, high) = (few.interval.low, between(few.interval.high, many.interval.high));
    let seconds = between(few.seconds, many.seconds);
    Ok(Price { seconds, interval: Interval { low: low.min(seconds), high: high.max(seconds) } })
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, Timestamp};

    use super::*;

    fn prices(many: Reading<f64>) -> Prices {
        let price = |seconds| Price { seconds, interval: Interval { low: 0.9 * seconds, high: 1.1 * seconds } };
        let no = || Err(Absent::because("not asked for"));
        let prices = vec![(Priced::MinorFault, Ok(price(1.0))), (Priced::MinorFaultMany, many.map(price))];
        Prices { measured: Timestamp(0), kernel: no(), boot: no(), alu: Err(Absent::because("not read")), prices }
    }

    #[test]
    fn it_grows_from_few_to_many() {
        let of = |each| price(&prices(Ok(2.0)), each).unwrap();
        assert_eq!((of(0.0).seconds, of(512.0).seconds), (1.0, 1.0));
        assert_eq!((of(8192.0).seconds, of(1e9).seconds), (2.0, 2.0));
        assert!((of(2048.0).seconds - 1.5).abs() < 1e-9, "half of the way by factors");
        assert_eq!(of(1.0).interval, Interval { low: 0.9, high: 1.1 });
        assert_eq!(of(8192.0).interval, Interval { low: 0.9, high: 2.2 });
    }

    #[test]
    fn without_a_price_for_many_it_is_that_of_few() {
        let absent = Err(Absent::because("no memory"));
        assert_eq!(price(&prices(absent), 1e6).unwrap().seconds, 1.0);
    }
}
