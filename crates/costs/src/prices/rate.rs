//! Scales prices to the clock rate of another time: an event takes the same number of CPU cycles, whose length changes.
//!
//! In repeated measurements under other loads, scaled to one clock rate, the prices of kernel entries, system calls and
//! switches agreed within 3 %. Prices of events that touch memory did not, because the state of caches and the origin
//! of pages do not follow the clock rate.

use steady_model::{AluTime, Interval, KernelCall, Nanos, Probe, Reading, Timed};
use steady_rulers::Pace;

use super::{Price, Priced, Prices};
use crate::record::{CostsRecord, Repetition};

/// Scales prices to another clock rate. They stay unchanged if one of the rates is unknown.
pub(super) fn at_rate(prices: &Prices, rate: &Reading<AluTime>) -> Prices {
    let (Ok(then), Ok(now)) = (&prices.alu, rate) else { return prices.clone() };
    let ratios = [now.interval.low, now.seconds, now.interval.high].map(|seconds| seconds / then.seconds);
    Prices { alu: Ok(*now), ..each(prices, |_, price| between(price, ratios)) }
}

/// Scales prices to the clock rate of a run, and widens their intervals by how much such prices differ between times.
pub fn at_run(prices: &Prices, rate: &Reading<AluTime>) -> Prices {
    let widened = |priced, price| {
        let share = drift(priced);
        between(price, [1.0 - share, 1.0, 1.0 + share])
    };
    each(&at_rate(prices, rate), widened)
}

fn each(prices: &Prices, change: impl Fn(Priced, Price) -> Price) -> Prices {
    let changed =
        |(priced, price): &(Priced, Reading<Price>)| (*priced, price.clone().map(|price| change(*priced, price)));
    Prices { prices: prices.prices.iter().map(changed).collect(), ..prices.clone() }
}

/// Multiplies a price by the middle ratio, and its interval by the ends.
fn between(price: Price, ratios: [f64; 3]) -> Price {
    let [low, middle, high] = ratios;
    let ends = price.interval;
    // A negative end gets lower with a higher ratio.
    let interval =
        Interval { low: (ends.low * low).min(ends.low * high), high: (ends.high * low).max(ends.high * high) };
    Price { seconds: price.seconds * middle, interval }
}

/// Relative change of a price between times, apart from the clock rate and the interval.
fn drift(priced: Priced) -> f64 {
    match priced {
        // Each munmap(2) frees page tables.
        Priced::Call(KernelCall::MmapMunmap) => 0.1,
        Priced::KernelEntry | Priced::Call(_) | Priced::Switch | Priced::Fork => 0.03,
        Priced::Thread => 0.1,
        Priced::MinorFault | Priced::MinorFaultMany | Priced::MinorFaultCold => 0.15,
        Priced::Exec => 0.2,
        Priced::Vfork => 0.3,
    }
}

/// Readings of the arithmetic ruler for each repetition, in order, by probe.
pub(crate) type Readings = Vec<(Probe, Vec<f64>)>;

/// Scales all times to the mean clock rate of the run, and returns that rate.
///
/// Otherwise each median would be for the rate that was most frequent during that probe, and probes would not be
/// comparable. Costs that do not follow the clock rate are spread by the scaling, which widens their intervals.
pub(super) fn scale_to_mean(record: &mut CostsRecord, all: &Readings) -> Reading<AluTime> {
    let mean = Pace::of(in_time(record, all)).throughout()?;
    for probe in &mut record.probes {
        let Ok(repetitions) = &mut probe.samples else { continue };
        let readings = all.iter().find(|(of, _)| *of == probe.probe).map(|(_, readings)| readings.as_slice());
        scale(repetitions, readings.unwrap_or_default(), mean.seconds);
    }
    Ok(mean)
}

/// The readings of all probes in order of time.
fn in_time(record: &CostsRecord, by_probe: &Readings) -> Vec<f64> {
    let mut all: Vec<(Nanos, f64)> = Vec::new();
    for probe in &record.probes {
        let Ok(repetitions) = &probe.samples else { continue };
        let readings = by_probe.iter().filter(|(of, _)| *of == probe.probe).flat_map(|(_, readings)| readings);
        all.extend(repetitions.iter().zip(readings).map(|(one, reading)| (one.started_seconds, *reading)));
    }
    all.sort_by_key(|(started, _)| *started);
    all.into_iter().map(|(_, reading)| reading).collect()
}

/// Scales each repetition by its reading. A repetition without a reading stays unchanged.
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
        let no = || Err(Absent::because("not needed"));
        let no_time = Err(Absent::because("no time"));
        let prices = vec![(Priced::KernelEntry, Ok(price)), (Priced::MinorFault, Ok(price)), (Priced::Exec, no_time)];
        Prices { measured: Timestamp(0), kernel: no(), boot: no(), alu, prices }
    }

    fn near(price: Price, seconds: f64, low: f64, high: f64) -> bool {
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        near(price.seconds, seconds) && near(price.interval.low, low) && near(price.interval.high, high)
    }

    #[test]
    fn a_price_follows_the_clock_rate_with_its_interval() {
        let at = at_run(&prices(alu(1.0, 0.9, 1.1)), &alu(0.95, 0.9, 1.0));
        assert!(near(at.of(Priced::KernelEntry).unwrap(), 95.0, 81.0 * 0.97, 110.0 * 1.03), "{at:?}");
    }

    #[test]
    fn prices_of_memory_events_have_wider_intervals() {
        let at = at_run(&prices(alu(1.0, 1.0, 1.0)), &alu(0.8, 0.8, 0.8));
        assert!(near(at.of(Priced::MinorFault).unwrap(), 80.0, 72.0 * 0.85, 88.0 * 1.15), "{at:?}");
        assert!(at.of(Priced::Exec).is_err(), "a missing price is missing at any clock rate");
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
    fn a_negative_end_stays_the_lower_one() {
        let lopsided = Price { seconds: 1.0, interval: Interval { low: -1.0, high: 3.0 } };
        assert!(near(between(lopsided, [0.5, 1.0, 2.0]), 1.0, -2.0, 6.0));
    }

    #[test]
    fn repetitions_at_different_clock_rates_are_scaled_to_equal_times() {
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
        assert_eq!(repetitions[0].probe.wall, Nanos(2_000_000), "the ratio of wall time and CPU time stays");
    }
}
