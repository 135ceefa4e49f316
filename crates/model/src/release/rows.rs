//! Sums over many requests. Sums of different rows can be added, and counts never decrease.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{Assignment, RequestRuler};

/// Sums over requests. Times are in nanoseconds. Logarithms are natural logarithms of nanoseconds, and therefore
/// positive.
///
/// `log` includes each request after the warm-up of its process. Its deviation from the usual cost of its route and
/// version is clipped, so that one request hit by a burst does not outweigh hundreds of others. Deviations are then
/// divided by the share of requests that are not clipped, which makes the mean of `log` Huber's estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestSums {
    /// Requests after the first ones of their process. Only these are in the sums below.
    pub requests: u64,
    /// The first requests of their process. They are in none of the sums.
    #[serde(rename = "warming")]
    pub first_requests: u64,
    /// Requests after the warm-up with a status of 500 or above, or without an answer.
    pub failed: u64,
    /// CPU time, in nanoseconds.
    pub cpu: f64,
    /// The square of CPU time.
    pub cpu_squared: f64,
    /// The clipped logarithm of CPU time.
    pub log: f64,
    /// The square of `log`.
    pub log_squared: f64,
    /// Requests with a known previous request in the same process.
    pub with_before: u64,
    /// Over those: how expensive the previous requests were, as a clipped logarithm relative to the usual cost of their
    /// routes and versions. The last request has weight 1/2, the one before 1/4, and so on. May be negative.
    pub before: f64,
    /// The square of `before`.
    pub before_squared: f64,
    /// The product of `before` and `log`.
    pub before_log: f64,
    /// The sum of `log` over the requests with a previous request.
    pub log_with_before: f64,
    /// Wall time, in nanoseconds.
    pub wall: f64,
    /// The logarithm of wall time.
    pub wall_log: f64,
    /// The square of `wall_log`.
    pub wall_log_squared: f64,
    /// Requests whose time waiting for a CPU is known.
    pub watched: u64,
    /// Over those: CPU time.
    pub watched_cpu: f64,
    /// Over those: wall time.
    pub watched_wall: f64,
    /// Over those: time waiting for a CPU.
    pub watched_delay: f64,
    /// CPU time in levels, split at a bound, with covariates. Empty in rows that were written before it existed.
    #[serde(default)]
    pub levels: LevelSums,
}

/// Sums of CPU time in levels (nanoseconds, not logarithms) for estimating the change of the *total* CPU time.
///
/// Each request's CPU time `Y` is split at a bound that its version cannot influence, a multiple of the usual cost of
/// its route and class: `base = min(Y, bound)` and `excess = Y - base`. The covariates `recent` and `ruler` are in
/// nanoseconds and were fixed before the version was drawn. They may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelSums {
    /// Requests in these sums. Less than `RequestSums::requests` in rows to which older rows were added.
    pub requests: u64,
    /// The number of requests above the bound.
    pub exceeding: u64,
    /// CPU time up to the bound.
    pub base: f64,
    /// The square of `base`.
    pub base_squared: f64,
    /// CPU time above the bound.
    pub excess: f64,
    /// The square of `excess`.
    pub excess_squared: f64,
    /// The product of `base` and `excess`.
    pub base_excess: f64,
    /// The covariate from earlier requests of the process: usual cost times how far those were from usual, as a clipped
    /// logarithm.
    pub recent: f64,
    /// The square of `recent`.
    pub recent_squared: f64,
    /// The product of `recent` and `base`.
    pub recent_base: f64,
    /// The product of `recent` and `excess`.
    pub recent_excess: f64,
    /// The covariate from the last ruler before the request: usual cost times how far that reading was from usual, as a
    /// clipped logarithm.
    pub ruler: f64,
    /// The square of `ruler`.
    pub ruler_squared: f64,
    /// The product of `ruler` and `base`.
    pub ruler_base: f64,
    /// The product of `ruler` and `excess`.
    pub ruler_excess: f64,
    /// The product of `recent` and `ruler`.
    pub recent_ruler: f64,
}

impl LevelSums {
    /// Returns all sums except the two counts, in the order of the fields.
    pub fn values(&self) -> [f64; 14] {
        [
            self.base,
            self.base_squared,
            self.excess,
            self.excess_squared,
            self.base_excess,
            self.recent,
            self.recent_squared,
            self.recent_base,
            self.recent_excess,
            self.ruler,
            self.ruler_squared,
            self.ruler_base,
            self.ruler_excess,
            self.recent_ruler,
        ]
    }

    /// Builds the sums from the two counts and the output of [`LevelSums::values`].
    pub fn from_values(requests: u64, exceeding: u64, values: [f64; 14]) -> LevelSums {
        let [base, base_squared, excess, excess_squared, base_excess, recent, recent_squared, recent_base, rest @ ..] =
            values;
        let [recent_excess, ruler, ruler_squared, ruler_base, ruler_excess, recent_ruler] = rest;
        LevelSums {
            requests,
            exceeding,
            base,
            base_squared,
            excess,
            excess_squared,
            base_excess,
            recent,
            recent_squared,
            recent_base,
            recent_excess,
            ruler,
            ruler_squared,
            ruler_base,
            ruler_excess,
            recent_ruler,
        }
    }
}

impl AddAssign for LevelSums {
    fn add_assign(&mut self, other: LevelSums) {
        let mut values = self.values();
        values.iter_mut().zip(other.values()).for_each(|(sum, value)| *sum += value);
        *self = LevelSums::from_values(self.requests + other.requests, self.exceeding + other.exceeding, values);
    }
}

impl AddAssign for RequestSums {
    fn add_assign(&mut self, other: RequestSums) {
        self.requests += other.requests;
        self.first_requests += other.first_requests;
        self.failed += other.failed;
        self.cpu += other.cpu;
        self.cpu_squared += other.cpu_squared;
        self.log += other.log;
        self.log_squared += other.log_squared;
        self.with_before += other.with_before;
        self.before += other.before;
        self.before_squared += other.before_squared;
        self.before_log += other.before_log;
        self.log_with_before += other.log_with_before;
        self.wall += other.wall;
        self.wall_log += other.wall_log;
        self.wall_log_squared += other.wall_log_squared;
        self.watched += other.watched;
        self.watched_cpu += other.watched_cpu;
        self.watched_wall += other.watched_wall;
        self.watched_delay += other.watched_delay;
        self.levels += other.levels;
    }
}

/// The requests of one process, version and route that ended in one second, or that began in one slot. In rows from a
/// fleet's store, the time is a scrape interval, and all processes of a host are together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRow {
    /// The second since 1970, or the first second of the slot.
    pub second: u64,
    /// The index in [`ReleaseRows::hosts`].
    pub host: u32,
    /// A hash of [`crate::RequestProcess`] that is unique on its host. 0 means counted from outside, with requests and
    /// CPU time only. [`ALL_PROCESSES`] means all processes of the host together.
    pub process: u64,
    /// The index in [`ReleaseRows::versions`].
    pub version: u32,
    /// The index in [`ReleaseRows::routes`].
    pub route: u32,
    /// The index in [`ReleaseRows::classes`].
    pub class: u32,
    /// How versions were chosen.
    pub assignment: Assignment,
    /// The length of the row's time in seconds, from `second` on. It is 1, the length of the slot, 10 in a compacted
    /// row, or the interval between two scrapes in a row from a fleet's store.
    pub span_seconds: u32,
    /// The length of the slot in seconds. It is 0 if versions do not change by slot, and if the row has several slots
    /// whose pairs can no longer be distinguished.
    pub slot_seconds: u32,
    /// Whether the slot is the second one of its pair. `second` cannot show this, because slots are counted by another
    /// clock.
    pub second_of_pair: bool,
    /// The sums over the requests.
    pub sums: RequestSums,
}

/// The value of [`ReleaseRow::process`] and [`RulerRow::process`] for all processes of a host together.
pub const ALL_PROCESSES: u64 = u64::MAX;

/// Sums over readings of one ruler. Logarithms are natural logarithms of nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RulerSums {
    /// The number of readings.
    pub readings: u64,
    /// The logarithm of CPU time.
    pub log: f64,
    /// The square of `log`.
    pub log_squared: f64,
}

impl AddAssign for RulerSums {
    fn add_assign(&mut self, other: RulerSums) {
        self.readings += other.readings;
        self.log += other.log;
        self.log_squared += other.log_squared;
    }
}

/// Readings of a ruler in one process within one second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulerRow {
    /// The second since 1970. If versions change by slot, the first second of the slot, as in [`ReleaseRow`].
    pub second: u64,
    /// The index in [`ReleaseRows::hosts`].
    pub host: u32,
    /// The process as in [`ReleaseRow`]; 0 is the agent itself, which has no version.
    pub process: u64,
    /// The version of the requests that followed the readings, as an index in [`ReleaseRows::versions`]; `None` for the
    /// agent's own readings.
    pub version: Option<u32>,
    /// The ruler that was read.
    pub ruler: RequestRuler,
    /// The sums over the readings.
    pub sums: RulerSums,
}

/// CPU time of a whole process with all its threads, and the part of it that its requests used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// The second in which the interval ended, since 1970. If versions change by slot, the first second of the slot, as
    /// in [`ReleaseRow`].
    pub second: u64,
    /// The length of the slot in seconds; 0 if versions do not change by slot.
    pub slot_seconds: u32,
    /// The index in [`ReleaseRows::hosts`].
    pub host: u32,
    /// The process as in [`ReleaseRow`].
    pub process: u64,
    /// The version that served all requests of the interval, as an index in [`ReleaseRows::versions`]; `None` if
    /// several versions did, or none.
    pub version: Option<u32>,
    /// CPU time of the process in nanoseconds.
    pub cpu: f64,
    /// The part of `cpu` used by requests as the service measured it, in nanoseconds. It includes requests of the
    /// warm-up, and requests whose lines were lost.
    pub requests_cpu: f64,
}

/// The load of a host within one second. Shares refer to all its CPUs together, from 0 to 1; `None` if not available.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSecond {
    /// The second since 1970.
    pub second: u64,
    /// The index in [`ReleaseRows::hosts`].
    pub host: u32,
    /// The number of online CPUs.
    pub cpus: u32,
    /// The share of CPU time in use.
    pub busy: Option<f64>,
    /// The share of CPU time that the hypervisor gave to other guests.
    pub steal: Option<f64>,
    /// The share of the second in which some task waited for a CPU (PSI `some`).
    pub pressure: Option<f64>,
    /// The mean number of running and runnable tasks.
    pub running: Option<f64>,
}

/// The seconds that one distribution of wall times covers.
pub const WALL_SECONDS: u64 = 10;

/// The number of buckets of the distribution of wall times: sixteen for each doubling, from 1 µs.
pub const WALL_BUCKETS: u16 = 512;

/// Returns the bucket of a wall time.
pub fn wall_bucket(nanoseconds: u64) -> u16 {
    let doublings = (nanoseconds.max(1_000) as f64 / 1_000.0).log2();
    ((doublings * 16.0) as u16).min(WALL_BUCKETS - 1)
}

/// Returns the middle of a bucket on the logarithmic scale, in nanoseconds.
pub fn wall_bucket_middle(bucket: u16) -> f64 {
    1_000.0 * ((f64::from(bucket) + 0.5) / 16.0).exp2()
}

/// The distribution of wall times in [`WALL_SECONDS`] seconds, over all processes of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallRow {
    /// The first second since 1970; a multiple of [`WALL_SECONDS`].
    pub second: u64,
    /// The index in [`ReleaseRows::hosts`].
    pub host: u32,
    /// The index in [`ReleaseRows::versions`].
    pub version: u32,
    /// The index in [`ReleaseRows::routes`].
    pub route: u32,
    /// Pairs of a [`wall_bucket`] and its number of requests, ascending, without empty buckets.
    pub counts: Vec<(u16, u32)>,
}

/// All rows of one service within a window of time. The order of rows has no meaning; rows with the same key are added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRows {
    /// The name of the service.
    pub service: String,
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The names of the versions.
    pub versions: Vec<String>,
    /// The names of the routes.
    pub routes: Vec<String>,
    /// Names of request classes: what the application knew of a request before it ran, such as a size class. The first
    /// is the empty name, for requests without a class; the list may be empty if no request has one.
    pub classes: Vec<String>,
    /// The sums over requests.
    pub requests: Vec<ReleaseRow>,
    /// The readings of rulers.
    pub rulers: Vec<RulerRow>,
    /// CPU time of whole processes.
    pub processes: Vec<ProcessRow>,
    /// The load of hosts.
    pub seconds: Vec<HostSecond>,
    /// Distributions of wall times.
    pub walls: Vec<WallRow>,
    /// Requests without rows of their own, because the number of routes, versions or processes exceeded its limit. If
    /// the limit on routes was exceeded, they are in the rows of the route `(other)`.
    pub folded: u64,
    /// Lines that are known to be lost in transit.
    pub lost: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_is_in_the_bucket() {
        for bucket in 0..WALL_BUCKETS {
            assert_eq!(wall_bucket(wall_bucket_middle(bucket) as u64), bucket);
        }
        assert_eq!(wall_bucket(0), 0);
        assert_eq!(wall_bucket(u64::MAX), WALL_BUCKETS - 1);
    }
}
