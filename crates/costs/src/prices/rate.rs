//! Prices at another time: what happens takes as many cycles, and those last as the clock runs then.
//!
//! Measured again and again beside other loads, and told at one rate of the clock, prices of entries into the kernel, calls
//! and switches came out the same within 3 %. Those of what touches memory did not: whose caches and pages are how busy is
//! not in the clock.

use steady_model::{AluTime, Interval, KernelCall, Nanos, Probe, Reading, Timed};
use steady_rulers::Pace;

use super::{Price, Priced, Prices};
use crate::record::{CostsRecord, Repetition};

/// The prices at the rate of another time, where the rate is known of both; as they are where it is not.
pub(super) fn at_rate(prices: &Prices, rate: &Reading<AluTime>) -> Prices {
    let (Ok(then), Ok(now)) = (&prices.alu, rate) else { return prices.clone() };
    let ratios = [now.interval.low, now.seconds, now.interval.high].map(|seconds| seconds / then.seconds);
    Prices { alu: Ok(*now), ..each(prices, |_, price| between(price, ratios)) }
}

/// The prices for a run at which the clock had this rate: each may be off by what its like were at other times, too.
pub fn at_run(prices: &Prices, rate: &Reading<AluTime>) -> Prices {
    let may_be_off = |priced, price| {
        let share = drift(priced);
        between(price, [1.0 - share, 1.0, 1.0 + share])
    };
    each(&at_rate(prices, rate), may_be_off)
}

fn each(prices: &Prices, change: impl Fn(Priced, Price) -> Price) -> Prices {
    let changed =
        |(priced, price): &(Priced, Reading<Price>)| (*priced, price.clone().map(|price| change(*priced, price)));
    Prices { prices: prices.prices.iter().map(changed).collect(), ..prices.clone() }
}

/// A price times the middle ratio, and its interval between the ends of both.
fn between(price: Price, ratios: [f64; 3]) -> Price {
    let [low, middle, high] = ratios;
    let ends = price.interval;
    // An end below nothing goes further down with more.
    let interval =
        Interval { low: (ends.low * low).min(ends.low * high), high: (ends.high * low).max(ends.high * high) };
    Price { seconds: price.seconds * middle, interval }
}

/// By what share a price may be another at another time, the clock's rate and its interval set aside.
fn drift(priced: Priced) -> f64 {
    match priced {
        // It gives the tables of the memory back each time.
        Priced::Call(KernelCall::MmapMunmap) => 0.1,
        Priced::KernelEntry | Priced::Call(_) | Priced::Switch | Priced::Fork => 0.03,
        Priced::Thread => 0.1,
        Priced::MinorFault | Priced::MinorFaultMany | Priced::MinorFaultCold => 0.15,
        Priced::Exec => 0.2,
        Priced::Vfork => 0.3,
    }
}

/// What the arithmetic beside each repetition took, in their order, by probe.
pub(crate) type Beside = Vec<(Probe, Vec<f64>)>;

/// Tells all times as if the clock had run at the mean of its readings throughout, and what that is.
///
/// Without it a median is that of the rate that was seen more often, and that of another probe's repetitions is another.
/// What of a price does not follow the clock is spread by this, and so in its interval.
pub(super) fn at_its_mean(record: &mut CostsRecord, beside: &Beside) -> Reading<AluTime> {
    let mean = Pace::of(in_time(record, beside)).throughout()?;
    for probe in &mut record.probes {
        let Ok(repetitions) = &mut probe.samples else { continue };
        let readings = beside.iter().find(|(of, _)| *of == probe.probe).map(|(_, readings)| readings.as_slice());
        scale(repetitions, readings.unwrap_or_default(), mean.seconds);
    }
    Ok(mean)
}

/// The readings of all probes, in the order of time.
fn in_time(record: &CostsRecord, beside: &Beside) -> Vec<f64> {
    let mut all: Vec<(Nanos, f64)> = Vec::new();
    for probe in &record.probes {
        let Ok(repetitions) = &probe.samples else { continue };
        let readings = beside.iter().filter(|(of, _)| *of == probe.probe).flat_map(|(_, readings)| readings);
        all.extend(repetitions.iter().zip(readings).map(|(one, reading)| (one.started_seconds, *reading)));
    }
    all.sort_by_key(|(started, _)| *started);
    all.into_iter().map(|(_, reading)| reading).collect()
}

/// Each repetition by the reading beside it; one that has none stays as it is.
fn scale(repetitions: &mut [Repetition], readings: &[f64], mean: f64) {
    for (repetition, reading) in repetitions.iter_mut().zip(readings) {
        for timed in [&mut repetition.probe, &mut repetition.empty] {
            let at_mean = |time: Nanos| Nanos::from_seconds(time.seconds() * mean / reading);
            *timed = Timed { wall: at_mean(timed.wall), cpu: at_mean(timed.cpu), ..*timed };
        }
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
        let no_time = Err(Absent::because("no time"));
        let prices = vec![(Priced::KernelEntry, Ok(price)), (Priced::MinorFault, Ok(price)), (Priced::Exec, no_time)];
        Prices { measured: Timestamp(0), kernel: no(), boot: no(), alu, prices }
    }

    fn near(price: Price, seconds: f64, low: f64, high: f64) -> bool {
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        near(price.seconds, seconds) && near(price.interval.low, low) && near(price.interval.high, high)
    }

    #[test]
    fn a_price_follows_the_clock_as_far_as_its_rate_is_known() {
        let at = at_run(&prices(alu(1.0, 0.9, 1.1)), &alu(0.95, 0.9, 1.0));
        assert!(near(at.of(Priced::KernelEntry).unwrap(), 95.0, 81.0 * 0.97, 110.0 * 1.03), "{at:?}");
    }

    #[test]
    fn what_touches_memory_may_be_off_by_more() {
        let at = at_run(&prices(alu(1.0, 1.0, 1.0)), &alu(0.8, 0.8, 0.8));
        assert!(near(at.of(Priced::MinorFault).unwrap(), 80.0, 72.0 * 0.85, 88.0 * 1.15), "{at:?}");
        assert!(at.of(Priced::Exec).is_err(), "what has no price has none at any rate");
    }

    #[test]
    fn without_a_rate_nothing_is_scaled() {
        let unknown = || Err(Absent::because("not read"));
        for (then, now) in [(unknown(), alu(1.0, 1.0, 1.0)), (alu(2.0, 2.0, 2.0), unknown())] {
            assert_eq!(at_rate(&prices(then.clone()), &now), prices(then.clone()));
            assert!(near(
                at_run(&prices(then), &now).of(Priced::KernelEntry).unwrap(),
                100.0,
                90.0 * 0.97,
                110.0 * 1.03
            ));
        }
    }

    #[test]
    fn an_end_below_nothing_stays_the_lower_one() {
        let lopsided = Price { seconds: 1.0, interval: Interval { low: -1.0, high: 3.0 } };
        assert!(near(between(lopsided, [0.5, 1.0, 2.0]), 1.0, -2.0, 6.0));
    }

    #[test]
    fn what_took_longer_because_the_clock_ran_slower_took_as_long() {
        let timed = |cpu| Timed { loops: 1, events: 1, wall: Nanos(2 * cpu), cpu: Nanos(cpu), ..Timed::default() };
        let repetition = |cpu| Repetition {
            started_seconds: Nanos(0),
            probe: timed(cpu),
            empty: timed(cpu / 10),
            empty_first: false,
        };
        let mut repetitions = [repetition(900_000), repetition(1_100_000), repetition(70_000)];
        scale(&mut repetitions, &[0.9, 1.1], 1.0);
        let cpu: Vec<u64> = repetitions.iter().map(|one| one.probe.cpu.0).collect();
        assert_eq!(cpu, [1_000_000, 1_000_000, 70_000]);
        assert_eq!(repetitions[0].empty.cpu, repetitions[1].empty.cpu);
        assert_eq!(repetitions[0].probe.wall, Nanos(2_000_000), "who had the CPU is as before");
    }
}
