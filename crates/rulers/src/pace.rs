//! The clock rate of a CPU, from the arithmetic ruler, which takes tens of microseconds of CPU time.
//!
//! Hosts of virtual machines change the clock rate every few milliseconds, so one reading is valid for a moment only.
//! [`Pace`] computes the mean of many readings with its interval.

use std::thread;
use std::time::Duration;

use steady_linux::clock;
use steady_model::{Absent, AluTime, Interval, Reading};
use steady_stats::descriptive::quantile;
use steady_workloads::rulers::{Alu, Kernel};

/// Steps in a timed piece, which takes about ten microseconds.
const UNITS: u64 = 4_096;
/// An untimed run of a piece divided by this precedes the first one, to load its code into the cache.
const WARMING_PART: u64 = 16;
/// A reading is the median of this many pieces, so that an interrupt in one of them does not matter.
const PIECES: usize = 3;
/// Time between consecutive readings. Closer readings would see the same clock rate.
const APART: Duration = Duration::from_millis(1);
/// Number of batches for the interval of the mean (method of batch means), because consecutive readings are not
/// independent.
const BATCHES: usize = 8;
/// Quantile of Student's t distribution for that many batches, at 95 %.
const STUDENT: f64 = 2.365;
/// The reason if there are no readings.
const UNREAD: &str = "the arithmetic ruler was not read";

/// Reads the CPU time of one step of arithmetic at the present clock rate, in seconds. Zero if the CPU-time clock is
/// too coarse.
pub fn alu_seconds() -> f64 {
    let mut alu = Alu;
    alu.run(UNITS / WARMING_PART);
    let pieces = [(); PIECES].map(|()| {
        let before = clock::thread_cpu();
        alu.run(UNITS);
        (clock::thread_cpu() - before).seconds() / UNITS as f64
    });
    quantile(&pieces, 0.5).unwrap_or_default()
}

/// Readings of the arithmetic ruler in order of time, in seconds per step.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    readings: Vec<f64>,
}

impl Pace {
    /// Creates it from existing readings.
    pub fn of(readings: Vec<f64>) -> Self {
        Pace { readings }
    }

    /// Adds a reading, in seconds per step.
    pub fn note(&mut self, reading: f64) {
        self.readings.push(reading);
    }

    /// Makes `times` readings, a millisecond apart.
    pub fn read_apart(&mut self, times: usize) {
        for time in 0..times {
            if time > 0 {
                thread::sleep(APART);
            }
            self.note(alu_seconds());
        }
    }

    /// The mean, for code that ran at an unknown one of these rates. The interval spans all readings.
    ///
    /// # Errors
    /// Absent if there are no readings, or the clock is too coarse.
    pub fn anywhere(&self) -> Reading<AluTime> {
        let low = self.readings.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.readings.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.result(mean(&self.readings), Interval { low, high })
    }

    /// The mean over the time that the readings are spread over. Clock rates persist for a while, so the interval is
    /// computed from the means of consecutive batches. With too few readings, the interval spans all of them.
    ///
    /// # Errors
    /// The same as for [`Pace::anywhere`].
    pub fn throughout(&self) -> Reading<AluTime> {
        if self.readings.len() < 2 * BATCHES {
            return self.anywhere();
        }
        let batch = |at: usize| {
            let end = |at: usize| at * self.readings.len() / BATCHES;
            mean(&self.readings[end(at)..end(at + 1)])
        };
        let means: Vec<f64> = (0..BATCHES).map(batch).collect();
        let middle = mean(&self.readings);
        let squares: f64 = means.iter().map(|one| (one - mean(&means)).powi(2)).sum();
        let half = STUDENT * (squares / (BATCHES * (BATCHES - 1)) as f64).sqrt();
        self.result(middle, Interval { low: middle - half, high: middle + half })
    }

    fn result(&self, seconds: f64, interval: Interval) -> Reading<AluTime> {
        if self.readings.is_empty() {
            return Err(Absent::because(UNREAD));
        }
        if !self.readings.iter().all(|reading| *reading > 0.0) || interval.low <= 0.0 {
            return Err(Absent::because("the CPU-time clock is too coarse for the arithmetic ruler"));
        }
        // Rounding may put the mean of equal readings outside their range.
        let seconds = seconds.clamp(interval.low, interval.high);
        Ok(AluTime { seconds, interval, readings: u32::try_from(self.readings.len()).unwrap_or(u32::MAX) })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_moment_spans_all_readings_and_of_a_mean_fewer() {
        let two_rates = Pace::of((0..160).map(|at| if at % 2 == 0 { 1.0 } else { 1.2 }).collect());
        let (any, mean) = (two_rates.anywhere().unwrap(), two_rates.throughout().unwrap());
        assert_eq!((any.interval, any.readings), (Interval { low: 1.0, high: 1.2 }, 160));
        assert!((mean.seconds - 1.1).abs() < 1e-9 && mean.interval.half_width() < 1e-9, "{mean:?}");
        let drifts = Pace::of((0..160).map(|at| if at < 80 { 1.0 } else { 1.2 }).collect());
        let mean = drifts.throughout().unwrap();
        assert!((0.05..0.1).contains(&mean.interval.half_width()), "{mean:?}");
    }

    #[test]
    fn few_readings_have_a_wide_interval_and_no_readings_have_none() {
        let few = Pace::of(vec![1.0, 1.1, 1.3]);
        assert_eq!(few.throughout(), few.anywhere());
        assert_eq!(Pace::default().anywhere().unwrap_err().0, UNREAD);
        assert!(Pace::of(vec![1.0, 0.0]).anywhere().is_err() && Pace::of(vec![f64::NAN]).anywhere().is_err());
    }

    #[test]
    fn the_ruler_can_be_read() {
        let mut pace = Pace::default();
        pace.read_apart(3);
        let read = pace.anywhere().unwrap();
        assert!((1e-10..1e-6).contains(&read.seconds) && read.readings == 3, "{read:?}");
        assert!(read.interval.low <= read.seconds && read.seconds <= read.interval.high);
    }
}
