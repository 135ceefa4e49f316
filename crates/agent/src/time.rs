//! Converts times of the monotonic clock, which services report, to seconds since 1970, which rows use. Also the signal
//! by which the agent's threads end.
//!
//! The offset between the two is a whole number of seconds, so the seconds of both begin at the same moment, and slots
//! too. The agent determines it once, at its start: if the time of day is set later, rows continue as before, and the
//! step is reported. The offset of a later start may be larger, but time in the store never goes back.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use steady_linux::clock;
use steady_model::Absent;

use crate::record::AgentClock;

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// The smallest change of the time of day within a second that is a step: NTP moves the clock by less.
const STEP_SECONDS: f64 = 0.2;
/// A new start in the same boot keeps the previous offset unless the time of day is ahead of it by more than this.
const FORWARD_SECONDS: i64 = 2;

/// The host's clocks. Tests can shift the time of day by the number in a file.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    shift: Option<PathBuf>,
}

impl Clocks {
    /// Returns the clocks of the host. The file `shift` has the number of seconds that is added to the time of day.
    pub fn new(shift: Option<PathBuf>) -> Clocks {
        Clocks { shift }
    }

    /// Reads `CLOCK_MONOTONIC`, in nanoseconds.
    pub fn monotonic(&self) -> u64 {
        clock::monotonic().0
    }

    /// Reads how many seconds the time of day is ahead of the monotonic clock.
    pub fn ahead(&self) -> f64 {
        let (before, real, after) = (clock::monotonic(), clock::real_time(), clock::monotonic());
        let monotonic = before.0 / 2 + after.0 / 2;
        let shift = self.shift.as_ref().and_then(|file| std::fs::read_to_string(file).ok()?.trim().parse::<f64>().ok());
        (real.0 as f64 - monotonic as f64) / SECOND as f64 + shift.unwrap_or(0.0)
    }
}

/// Returns the number of seconds to add to the monotonic clock to get seconds since 1970.
///
/// - `by_day`: this number by the time of day.
/// - `before`: the number that an earlier agent used in this boot.
/// - `monotonic`: the monotonic clock, in nanoseconds.
/// - `next`: the second after the last one in the store, since 1970.
pub fn seconds_ahead(by_day: f64, before: Option<i64>, monotonic: u64, next: u64) -> i64 {
    let day = by_day.round() as i64;
    let ahead = match before {
        Some(before) if day - before <= FORWARD_SECONDS => before,
        _ => day,
    };
    let least = i64::try_from(next).unwrap_or(i64::MAX).saturating_sub((monotonic / SECOND) as i64);
    // In the same boot, the current second may already have rows of the earlier agent.
    let least = if before.is_some() { least - 1 } else { least };
    ahead.max(least)
}

/// Detects steps of the time of day.
#[derive(Clone, Debug)]
pub struct ClockWatch {
    ahead: i64,
    last: f64,
    status: AgentClock,
}

impl ClockWatch {
    /// Starts to watch. `ahead` is the offset that rows use, `by_day` the one by the time of day ([`Clocks::ahead`]).
    pub fn new(ahead: i64, by_day: f64) -> ClockWatch {
        let last_step_seconds = Err(Absent::because("the time of day was not set"));
        let status = AgentClock { steps: 0, last_step_seconds, ahead_seconds: ahead as f64 - by_day };
        ClockWatch { ahead, last: by_day, status }
    }

    /// Compares the time of day with that of the last call, about a second ago. Returns the step in seconds if the time
    /// of day was set.
    pub fn check(&mut self, by_day: f64) -> Option<f64> {
        let step = by_day - self.last;
        self.last = by_day;
        self.status.ahead_seconds = self.ahead as f64 - by_day;
        if step.abs() < STEP_SECONDS {
            return None;
        }
        self.status.steps += 1;
        self.status.last_step_seconds = Ok(step);
        Some(step)
    }

    /// Returns the steps so far, and the difference between the time of the rows and the time of day.
    pub fn status(&self) -> AgentClock {
        self.status.clone()
    }
}

/// The signal by which the agent's threads end.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    is_requested: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Requests all threads to end.
    pub(crate) fn request(&self) {
        *self.is_requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for this time, or until the end is requested. Returns whether it is.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let is_requested = self.is_requested.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_requested, time, |is_requested| !*is_requested);
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
        assert_eq!(ahead(1_000.4, Some(1_001), 1_400), 1_001, "the same boot: the previous offset");
        assert_eq!(ahead(1_000.4, Some(1_001), 1_502), 1_001, "a restart within the same second");
        assert_eq!(ahead(400.0, Some(1_001), 1_400), 1_001, "set back while no agent ran");
        assert_eq!(ahead(9_000.0, Some(1_001), 1_400), 9_000, "set forward");
        assert_eq!(ahead(400.0, None, 1_400), 900, "set back across a boot");
        assert_eq!(ahead(1_000.0, None, 1_400), 1_000);
    }

    #[test]
    fn steps_are_reported_and_drift_is_not() {
        let mut watch = ClockWatch::new(1_000, 1_000.3);
        assert_eq!((watch.check(1_000.301), watch.status().steps), (None, 0));
        assert_eq!(watch.check(-2_599.699), Some(-3_600.0));
        assert_eq!((watch.check(-2_599.699), watch.status().steps), (None, 1));
        assert_eq!(watch.status().last_step_seconds, Ok(-3_600.0));
        assert!((watch.status().ahead_seconds - 3_599.699).abs() < 1e-9);
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
