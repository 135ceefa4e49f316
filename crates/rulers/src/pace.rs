//! How fast a CPU's clock runs, read in some tens of microseconds of CPU time: the arithmetic ruler alone.
//!
//! Hosts of virtual machines change the rate of their clocks every few milliseconds, so one reading tells of a moment
//! only; what is asked for is the mean of many, and how far it may be off.

use std::thread;
use std::time::Duration;

use steady_linux::clock;
use steady_model::{Absent, AluTime, Interval, Reading};
use steady_stats::descriptive::quantile;
use steady_workloads::rulers::{Alu, Kernel};

/// Steps of a piece: some ten microseconds.
const UNITS: u64 = 4_096;
/// A piece is run untimed first, so that its code is where it is wanted.
const WARMING_PART: u64 = 16;
/// Of so many pieces the middle one is the reading: an interrupt in one of them is not the clock's.
const PIECES: usize = 3;
/// Readings in a row are so far apart: nearer ones would see the same rate of the clock.
const APART: Duration = Duration::from_millis(1);
/// The mean of so many stretches of readings has an interval of its own; the readings of a stretch are not independent.
const STRETCHES: usize = 8;
/// Student's t of one less, at 95 %.
const STUDENT: f64 = 2.365;
/// Why there may be no mean.
const UNREAD: &str = "the ruler of arithmetic was not read";

/// CPU time of a step of arithmetic, in seconds, as fast as the CPU's clock runs now. Zero where the clock of CPU time is too
/// coarse to see it.
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

/// Readings of the arithmetic ruler, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    readings: Vec<f64>,
}

impl Pace {
    /// Of readings that were made already.
    pub fn of(readings: Vec<f64>) -> Self {
        Pace { readings }
    }

    /// Adds a reading.
    pub fn note(&mut self, reading: f64) {
        self.readings.push(reading);
    }

    /// Reads it so often, a millisecond apart.
    pub fn read_apart(&mut self, times: usize) {
        for time in 0..times {
            if time > 0 {
                thread::sleep(APART);
            }
            self.note(alu_seconds());
        }
    }

    /// The mean, for what may have run at the rate of any of these readings: all of them are in the interval.
    ///
    /// # Errors
    /// Absent where it was not read, or could not be.
    pub fn anywhere(&self) -> Reading<AluTime> {
        let low = self.readings.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.readings.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.told(mean(&self.readings), Interval { low, high })
    }

    /// The mean over a time that the readings are spread over. Rates last, so readings are taken together by stretches of
    /// that time; where there are too few for that, the mean may be anywhere among them.
    ///
    /// # Errors
    /// As [`Pace::anywhere`].
    pub fn throughout(&self) -> Reading<AluTime> {
        if self.readings.len() < 2 * STRETCHES {
            return self.anywhere();
        }
        let stretch = |at: usize| {
            let end = |at: usize| at * self.readings.len() / STRETCHES;
            mean(&self.readings[end(at)..end(at + 1)])
        };
        let means: Vec<f64> = (0..STRETCHES).map(stretch).collect();
        let middle = mean(&self.readings);
        let squares: f64 = means.iter().map(|one| (one - mean(&means)).powi(2)).sum();
        let half = STUDENT * (squares / (STRETCHES * (STRETCHES - 1)) as f64).sqrt();
        self.told(middle, Interval { low: middle - half, high: middle + half })
    }

    fn told(&self, seconds: f64, interval: Interval) -> Reading<AluTime> {
        if self.readings.is_empty() {
            return Err(Absent::because(UNREAD));
        }
        if !self.readings.iter().all(|reading| *reading > 0.0) || interval.low <= 0.0 {
            return Err(Absent::because("the clock of CPU time is too coarse for the ruler of arithmetic"));
        }
        // A sum of equal readings is rounded.
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
    fn a_moment_may_have_been_any_reading_and_a_mean_may_not() {
        let two_rates = Pace::of((0..160).map(|at| if at % 2 == 0 { 1.0 } else { 1.2 }).collect());
        let (any, mean) = (two_rates.anywhere().unwrap(), two_rates.throughout().unwrap());
        assert_eq!((any.interval, any.readings), (Interval { low: 1.0, high: 1.2 }, 160));
        assert!((mean.seconds - 1.1).abs() < 1e-9 && mean.interval.half_width() < 1e-9, "{mean:?}");
        let drifts = Pace::of((0..160).map(|at| if at < 80 { 1.0 } else { 1.2 }).collect());
        let mean = drifts.throughout().unwrap();
        assert!((0.05..0.1).contains(&mean.interval.half_width()), "{mean:?}");
    }

    #[test]
    fn of_few_the_mean_may_be_anywhere_and_of_none_there_is_none() {
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
