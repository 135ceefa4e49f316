//! From the monotonic clock, which requests are told by, to seconds since 1970, by which rows are kept. Also the end of the
//! agent, as threads wait for it.
//!
//! What leads from the one to the other is a whole number of seconds, so that the seconds of both begin together, and slots with
//! them. It is taken once: when the time of day is set, rows go on as before, and the step is told. After a new start it may
//! grow, never shrink, for time in the store does not go back.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use steady_linux::clock;
use steady_model::Absent;

use crate::record::AgentClock;

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// A clock that is disciplined moves by less than this in a second; one that is set, by more.
const STEP_SECONDS: f64 = 0.2;
/// A new start takes the time of day as it is by then, if it is ahead by more than this.
const FORWARD_SECONDS: i64 = 2;

/// The host's clocks; the time of day may be shifted by what stands in a file, so that faults can be made.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    shift: Option<PathBuf>,
}

impl Clocks {
    /// The host's own, but for a shift of the time of day by so many seconds as stand in a file.
    pub fn new(shift: Option<PathBuf>) -> Clocks {
        Clocks { shift }
    }

    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub fn monotonic(&self) -> u64 {
        clock::monotonic().0
    }

    /// How many seconds the time of day is ahead of the monotonic clock.
    pub fn ahead(&self) -> f64 {
        let (before, real, after) = (clock::monotonic(), clock::real_time(), clock::monotonic());
        let monotonic = before.0 / 2 + after.0 / 2;
        let shift = self.shift.as_ref().and_then(|file| std::fs::read_to_string(file).ok()?.trim().parse::<f64>().ok());
        (real.0 as f64 - monotonic as f64) / SECOND as f64 + shift.unwrap_or(0.0)
    }
}

/// What is to be added to seconds of the monotonic clock, by the time of day, what it was before in this boot, and the second
/// behind the last that is kept.
pub fn seconds_ahead(by_day: f64, before: Option<i64>, monotonic: u64, next: u64) -> i64 {
    let day = by_day.round() as i64;
    let ahead = match before {
        Some(before) if day - before <= FORWARD_SECONDS => before,
        _ => day,
    };
    let least = i64::try_from(next).unwrap_or(i64::MAX).saturating_sub((monotonic / SECOND) as i64);
    // In the boot of then, the second that is open may be one of which something is kept.
    let least = if before.is_some() { least - 1 } else { least };
    ahead.max(least)
}

/// Sees that the time of day is set.
#[derive(Clone, Debug)]
pub struct Watch {
    ahead: i64,
    last: f64,
    told: AgentClock,
}

impl Watch {
    /// From now on, with what rows are kept by.
    pub fn new(ahead: i64, by_day: f64) -> Watch {
        let last_step_seconds = Err(Absent::because("it was not set"));
        let told = AgentClock { steps: 0, last_step_seconds, ahead_seconds: ahead as f64 - by_day };
        Watch { ahead, last: by_day, told }
    }

    /// Looks at the time of day; by how many seconds it was set since the last look.
    pub fn look(&mut self, by_day: f64) -> Option<f64> {
        let step = by_day - self.last;
        self.last = by_day;
        self.told.ahead_seconds = self.ahead as f64 - by_day;
        if step.abs() < STEP_SECONDS {
            return None;
        }
        self.told.steps += 1;
        self.told.last_step_seconds = Ok(step);
        Some(step)
    }

    /// What is told of it.
    pub fn told(&self) -> AgentClock {
        self.told.clone()
    }
}

/// Asked for once, seen by all.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Asks everybody to end.
    pub(crate) fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for so long, or until it is asked for; whether it is.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(asked, time, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_the_store_never_goes_back() {
        let monotonic = 500 * SECOND;
        let ahead = |by_day, before, next| seconds_ahead(by_day, before, monotonic, next);
        assert_eq!(ahead(1_000.4, None, 0), 1_000);
        assert_eq!(ahead(1_000.4, Some(1_001), 1_400), 1_001, "the same boot: as before");
        assert_eq!(ahead(1_000.4, Some(1_001), 1_502), 1_001, "the second that is open, again");
        assert_eq!(ahead(400.0, Some(1_001), 1_400), 1_001, "set back while no agent ran");
        assert_eq!(ahead(9_000.0, Some(1_001), 1_400), 9_000, "set forward");
        assert_eq!(ahead(400.0, None, 1_400), 900, "set back across a boot");
        assert_eq!(ahead(1_000.0, None, 1_400), 1_000);
    }

    #[test]
    fn steps_are_told_and_drift_is_not() {
        let mut watch = Watch::new(1_000, 1_000.3);
        assert_eq!((watch.look(1_000.301), watch.told().steps), (None, 0));
        assert_eq!(watch.look(-2_599.699), Some(-3_600.0));
        assert_eq!((watch.look(-2_599.699), watch.told().steps), (None, 1));
        assert_eq!(watch.told().last_step_seconds, Ok(-3_600.0));
        assert!((watch.told().ahead_seconds - 3_599.699).abs() < 1e-9);
    }

    #[test]
    fn a_file_shifts_the_time_of_day() {
        let file = std::env::temp_dir().join(format!("steady-shift-{}", std::process::id()));
        std::fs::write(&file, "-3600\n").unwrap();
        let by = Clocks::default().ahead() - Clocks::new(Some(file.clone())).ahead();
        std::fs::remove_file(file).unwrap();
        assert!((by - 3_600.0).abs() < 1.0, "{by}");
    }
}
