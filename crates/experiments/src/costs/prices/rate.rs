//! Prices at another rate of the clock: what happens takes as many cycles, and those last as they last.
//!
//! Measured, by rates of the clock that a host chose by itself: system calls and switches follow it wholly, what touches
//! memory by three fifths of it at least.

use steady_model::{AluTime, Interval, Price, Priced, Prices, Reading};

/// The least share of its rate that the price of an event follows which spends a part of its time on memory.
const LEAST_SHARE: f64 = 0.6;

/// The prices at the rate of another time, such as that of a run, where the rate is known of both times; as they are where it
/// is not.
pub fn at_rate(prices: &Prices, rate: &Reading<AluTime>) -> Prices {
    let (Ok(then), Ok(now)) = (&prices.alu, rate) else { return prices.clone() };
    let at = |(priced, price): &(Priced, Reading<Price>)| {
        (*priced, price.clone().map(|price| scaled(price, *priced, then.seconds, now)))
    };
    Prices { alu: Ok(*now), prices: prices.prices.iter().map(at).collect(), ..prices.clone() }
}

/// One price. Its ends are the least and the most that any rate of the interval, followed wholly or in part, makes of them.
fn scaled(price: Price, priced: Priced, then: f64, now: &AluTime) -> Price {
    let ratio = |seconds: f64, share: f64| (seconds / then).powf(share);
    let share = least_share(priced);
    let ratios = [now.interval.low, now.interval.high].map(|end| [ratio(end, share), ratio(end, 1.0)]);
    let ratios = ratios.as_flattened();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let Interval { low, high } = price.interval;
    // An end below nothing goes further down where the clock is slower.
    let interval = Interval { low: (low * least).min(low * most), high: (high * least).max(high * most) };
    Price { seconds: price.seconds * ratio(now.seconds, 1.0), interval }
}

/// The least share of the clock's rate that a price follows.
fn least_share(priced: Priced) -> f64 {
    match priced {
        Priced::KernelEntry | Priced::Call(_) | Priced::Switch => 1.0,
        _ => LEAST_SHARE,
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, Timestamp};

    use super::*;

    fn alu(seconds: f64, low: f64, high: f64) -> Reading<AluTime> {
        Ok(AluTime { seconds, interval: Interval { low, high }, readings: 10 })
    }

    fn prices(alu: Reading<AluTime>) -> Prices {
        let price = Price { seconds: 100.0, interval: Interval { low: 90.0, high: 110.0 } };
        let no = || Err(Absent::because("not asked for"));
        let prices = vec![
            (Priced::KernelEntry, Ok(price)),
            (Priced::MinorFault, Ok(price)),
            (Priced::Exec, Err(Absent::because("no time"))),
        ];
        Prices { measured: Timestamp(0), kernel: no(), boot: no(), alu, prices }
    }

    #[test]
    fn a_call_follows_the_clock_wholly() {
        let at = at_rate(&prices(alu(1.0, 0.9, 1.1)), &alu(0.95, 0.9, 1.0)).of(Priced::KernelEntry).unwrap();
        assert!((at.seconds - 95.0).abs() < 1e-9);
        assert!((at.interval.low - 81.0).abs() < 1e-9 && (at.interval.high - 110.0).abs() < 1e-9, "{at:?}");
    }

    #[test]
    fn a_fault_does_so_at_least_in_part() {
        let at = at_rate(&prices(alu(1.0, 1.0, 1.0)), &alu(0.8, 0.8, 0.8)).of(Priced::MinorFault).unwrap();
        let part = 0.8_f64.powf(LEAST_SHARE);
        assert!((at.interval.low - 72.0).abs() < 1e-9 && (at.interval.high - 110.0 * part).abs() < 1e-9, "{at:?}");
        let slower = at_rate(&prices(alu(1.0, 1.0, 1.0)), &alu(1.2, 1.2, 1.2)).of(Priced::MinorFault).unwrap();
        assert!((slower.interval.high - 132.0).abs() < 1e-9 && slower.interval.low < 108.0 * 1.2 / 1.1, "{slower:?}");
    }

    #[test]
    fn what_is_not_known_changes_nothing() {
        let unknown = || Err(Absent::because("not read"));
        for (then, now) in [(unknown(), alu(1.0, 1.0, 1.0)), (alu(2.0, 2.0, 2.0), unknown())] {
            assert_eq!(at_rate(&prices(then.clone()), &now), prices(then));
        }
        let at = at_rate(&prices(alu(2.0, 2.0, 2.0)), &alu(1.0, 1.0, 1.0));
        assert!(at.of(Priced::Exec).is_err(), "what has no price has none at any rate");
    }
}
