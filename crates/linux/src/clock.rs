//! Clocks: the one place that reads them, and what reading costs here.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use steady_model::Nanos;

/// The time on the monotonic clock: nanoseconds since an arbitrary moment, the same for all processes.
///
/// It does not jump, and it stands still while the machine is suspended. Source: `CLOCK_MONOTONIC` of
/// clock_gettime(2).
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    nanos(now.tv_sec, now.tv_nsec)
}

/// What the monotonic clock is worth as an instrument on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFacts {
    /// What one reading takes, undisturbed.
    pub read_cost: Nanos,
    /// The smallest difference that two readings in a row have shown: reading cost included, where that is longer
    /// than the clock's step.
    pub resolution: Nanos,
}

/// Readings between two looks at how long the measuring has lasted.
const BATCH: u32 = 32;
/// More batches than this tell nothing new.
const BATCHES: u32 = 64;
/// How long the measuring may last.
const LIMIT: Nanos = Nanos(1_500_000);

/// Measures what a reading of [`monotonic`] costs and resolves here. Takes less than 2 ms.
pub fn measure_clock() -> ClockFacts {
    let begin = monotonic();
    let mut fastest = Nanos(u64::MAX);
    let mut smallest: Option<Nanos> = None;
    for _ in 0..BATCHES {
        let started = monotonic();
        let mut before = started;
        for _ in 0..BATCH {
            let now = monotonic();
            let step = now - before;
            if step > Nanos::ZERO {
                smallest = Some(smallest.map_or(step, |least| least.min(step)));
            }
            before = now;
        }
        fastest = fastest.min(before - started);
        if before - begin > LIMIT {
            break;
        }
    }
    // Rounded up: a clock that is coarser than a batch is long must not seem to be free.
    let read_cost = Nanos(fastest.0.div_ceil(u64::from(BATCH)).max(1));
    ClockFacts { read_cost, resolution: smallest.unwrap_or_else(stated_resolution) }
}

/// The clock's step as the kernel states it: 1 ns, or a tick where there are no high-resolution timers.
fn stated_resolution() -> Nanos {
    let step = clock_getres(ClockId::Monotonic);
    nanos(step.tv_sec, step.tv_nsec)
}

/// The date and time now, in UTC, to the second, as in `2026-11-20T10:40:42Z` (RFC 3339).
///
/// For labels only: this clock jumps when it is set.
pub fn wall_clock_utc() -> String {
    rfc3339(clock_gettime(ClockId::Realtime).tv_sec)
}

fn nanos(seconds: i64, nanoseconds: i64) -> Nanos {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(nanoseconds).unwrap_or(0)))
}

/// A count of seconds since 1970 as text, in UTC.
fn rfc3339(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a count of days since 1970-01-01, in the Gregorian calendar.
///
/// Source: Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let mut before = monotonic();
        for _ in 0..1_000 {
            let now = monotonic();
            assert!(now >= before);
            before = now;
        }
    }

    #[test]
    fn the_clock_is_measured_quickly() {
        let took = (0..10).map(|_| {
            let started = monotonic();
            let facts = measure_clock();
            assert!((1..1_000_000).contains(&facts.read_cost.0), "{facts:?}");
            assert!((1..100_000_000).contains(&facts.resolution.0), "{facts:?}");
            monotonic() - started
        });
        assert!(took.min().unwrap() < Nanos(2_000_000));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_171_242), "2026-11-20T10:40:42Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59Z");
        assert_eq!(wall_clock_utc().len(), 20);
    }
}
