//! What is kept of many requests: sums, which can be added to each other, and grow only.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{Assignment, RequestRuler};

/// Sums over requests. Times are in nanoseconds; logarithms are natural ones of nanoseconds, so that each is positive.
///
/// `log` is told of each request that is past its process's warm-up, limited to what is usual for its route and version, so
/// that a request that was hit by a burst does not outweigh hundreds of others; those that are not limited count for that
/// much more, so that its mean is Huber's estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestSums {
    /// Requests that count: past the warm-up of their process.
    pub requests: u64,
    /// Requests that do not count, for they were among the first of their process. They are in none of the sums.
    pub warming: u64,
    /// Of those that count, how many were answered with a status of 500 or above, or not at all.
    pub failed: u64,
    /// CPU time.
    pub cpu: f64,
    /// Its square.
    pub cpu_squared: f64,
    /// The logarithm of CPU time, limited.
    pub log: f64,
    /// The square of that.
    pub log_squared: f64,
    /// Requests of which it is known what the request before them, in the same process, took.
    pub with_before: u64,
    /// Over those: how far the requests before lay from what is usual for their own routes and versions, as a logarithm,
    /// limited; half of it is the last one's, a quarter that of the one before, and so on. May be negative.
    pub before: f64,
    /// The square of that.
    pub before_squared: f64,
    /// That times `log`.
    pub before_log: f64,
    /// Over the requests with a request before: `log`.
    pub log_with_before: f64,
    /// Wall time.
    pub wall: f64,
    /// The logarithm of wall time.
    pub wall_log: f64,
    /// The square of that.
    pub wall_log_squared: f64,
    /// Requests of which it is known how long they waited for a CPU.
    pub watched: u64,
    /// Over those: CPU time.
    pub watched_cpu: f64,
    /// Over those: wall time.
    pub watched_wall: f64,
    /// Over those: waiting for a CPU.
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
    /// Requests above the bound.
    pub exceeding: u64,
    /// CPU time up to the bound.
    pub base: f64,
    /// Its square.
    pub base_squared: f64,
    /// CPU time above the bound.
    pub excess: f64,
    /// Its square.
    pub excess_squared: f64,
    /// `base * excess`.
    pub base_excess: f64,
    /// The covariate from earlier requests of the process: usual cost times how far those were from usual, as a clipped
    /// logarithm.
    pub recent: f64,
    /// Its square.
    pub recent_squared: f64,
    /// `recent * base`.
    pub recent_base: f64,
    /// `recent * excess`.
    pub recent_excess: f64,
    /// The covariate from the last ruler before the request: usual cost times how far that reading was from usual, as a
    /// clipped logarithm.
    pub ruler: f64,
    /// Its square.
    pub ruler_squared: f64,
    /// `ruler * base`.
    pub ruler_base: f64,
    /// `ruler * excess`.
    pub ruler_excess: f64,
    /// `recent * ruler`.
    pub recent_ruler: f64,
}

impl LevelSums {
    /// All sums but the two counts, in the order of the fields.
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

    /// The inverse of [`LevelSums::values`].
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
        self.warming += other.warming;
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

/// The requests of one process, version and route that ended in one second (those of a slot: that began in one slot). Rows of a
/// fleet's store are of a scrape interval, and of all processes of the host together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRow {
    /// The second, since 1970, or the first second of the slot.
    pub second: u64,
    /// Which of [`ReleaseRows::hosts`].
    pub host: u32,
    /// A number that the process has on its host alone: of a hash of [`crate::RequestProcess`]. 0: counted from outside, where
    /// requests and CPU time are known and nothing else. [`ALL_PROCESSES`]: those of the host together.
    pub process: u64,
    /// Which of [`ReleaseRows::versions`].
    pub version: u32,
    /// Which of [`ReleaseRows::routes`].
    pub route: u32,
    /// Which of [`ReleaseRows::classes`].
    pub class: u32,
    /// How versions were decided.
    pub assignment: Assignment,
    /// How many seconds of time it stands for, from `second` on: 1, the length of its slot, ten where it was folded, the interval
    /// between two scrapes where it comes from a fleet's store.
    pub span_seconds: u32,
    /// The length of the slot in seconds; 0 where slots do not decide, and where the row holds many slots, whose pairs are not
    /// told apart any more.
    pub slot_seconds: u32,
    /// Whether the slot is the second one of its pair, which `second` does not tell: slots are counted by another clock.
    pub second_of_pair: bool,
    /// What they came to.
    pub sums: RequestSums,
}

/// Stands for all processes of a host in [`ReleaseRow::process`] and [`RulerRow::process`], where they are not told apart.
pub const ALL_PROCESSES: u64 = u64::MAX;

/// Sums over readings of one ruler: of natural logarithms of nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RulerSums {
    /// Readings.
    pub readings: u64,
    /// The logarithm.
    pub log: f64,
    /// Its square.
    pub log_squared: f64,
}

impl AddAssign for RulerSums {
    fn add_assign(&mut self, other: RulerSums) {
        self.readings += other.readings;
        self.log += other.log;
        self.log_squared += other.log_squared;
    }
}

/// What a ruler read in one process within one second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulerRow {
    /// The second, since 1970; where slots decide, the first second of the slot, as in the row of the requests.
    pub second: u64,
    /// Which of [`ReleaseRows::hosts`].
    pub host: u32,
    /// As in [`ReleaseRow`]; 0 is the agent itself, which knows of no version.
    pub process: u64,
    /// The version of the requests that the readings were followed by, which of [`ReleaseRows::versions`]; `None` of the agent's.
    pub version: Option<u32>,
    /// Which ruler.
    pub ruler: RequestRuler,
    /// What it read.
    pub sums: RulerSums,
}

/// CPU time of a whole process, all its threads together, next to the CPU time of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// The second in which the interval ended, since 1970; where slots decide, the first second of the slot, as in the
    /// rows of the requests.
    pub second: u64,
    /// The length of the slot in seconds; 0 where slots do not decide.
    pub slot_seconds: u32,
    /// Which of [`ReleaseRows::hosts`].
    pub host: u32,
    /// As in [`ReleaseRow`].
    pub process: u64,
    /// Which of [`ReleaseRows::versions`] served all requests of the interval; `None` if several did, or none.
    pub version: Option<u32>,
    /// CPU time of the process in nanoseconds.
    pub cpu: f64,
    /// Of that, the CPU time of its requests as the service measured it, in nanoseconds, whether or not their lines arrived
    /// and including those of the warm-up.
    pub requests_cpu: f64,
}

/// What a host was doing within one second. Shares are of all its CPUs together, from 0 to 1; absent where they could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSecond {
    /// The second, since 1970.
    pub second: u64,
    /// Which of [`ReleaseRows::hosts`].
    pub host: u32,
    /// How many CPUs are online.
    pub cpus: u32,
    /// The share of time in which CPUs did something.
    pub busy: Option<f64>,
    /// The share that a hypervisor took.
    pub steal: Option<f64>,
    /// The share of the second in which somebody waited for a CPU (PSI `some`).
    pub pressure: Option<f64>,
    /// Tasks that ran or wanted to, on average.
    pub running: Option<f64>,
}

/// How many seconds of wall time's distribution are kept together.
pub const WALL_SECONDS: u64 = 10;

/// Buckets of wall times' distribution, sixteen to each doubling from a microsecond on.
pub const WALL_BUCKETS: u16 = 512;

/// The bucket of a wall time.
pub fn wall_bucket(nanoseconds: u64) -> u16 {
    let doublings = (nanoseconds.max(1_000) as f64 / 1_000.0).log2();
    ((doublings * 16.0) as u16).min(WALL_BUCKETS - 1)
}

/// The middle of a bucket, in nanoseconds.
pub fn wall_bucket_middle(bucket: u16) -> f64 {
    1_000.0 * ((f64::from(bucket) + 0.5) / 16.0).exp2()
}

/// How wall times were spread over [`WALL_SECONDS`] seconds, over all processes of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallRow {
    /// The first second, since 1970; a multiple of [`WALL_SECONDS`].
    pub second: u64,
    /// Which of [`ReleaseRows::hosts`].
    pub host: u32,
    /// Which of [`ReleaseRows::versions`].
    pub version: u32,
    /// Which of [`ReleaseRows::routes`].
    pub route: u32,
    /// [`wall_bucket`]s and how many requests fell into each, in rising order, empty ones left out.
    pub counts: Vec<(u16, u32)>,
}

/// What is known of one service within some window of time. The order of the rows has no meaning; rows of the same key add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRows {
    /// The service.
    pub service: String,
    /// The hosts' names.
    pub hosts: Vec<String>,
    /// The versions' names.
    pub versions: Vec<String>,
    /// The routes' names.
    pub routes: Vec<String>,
    /// Names of request classes: what the application knew of a request before it ran, such as a size class. The first
    /// is the empty name, for requests without a class; the list may be empty if no request has one.
    pub classes: Vec<String>,
    /// Requests.
    pub requests: Vec<ReleaseRow>,
    /// Rulers.
    pub rulers: Vec<RulerRow>,
    /// CPU time of whole processes.
    pub processes: Vec<ProcessRow>,
    /// Hosts.
    pub seconds: Vec<HostSecond>,
    /// Wall times.
    pub walls: Vec<WallRow>,
    /// Requests that are not in the rows, for their route, version or process was one too many; they stand under the route
    /// `(other)` where it was the route.
    pub folded: u64,
    /// Lines that were lost on the way, as far as that is known.
    pub lost: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_lies_in_it() {
        for bucket in 0..WALL_BUCKETS {
            assert_eq!(wall_bucket(wall_bucket_middle(bucket) as u64), bucket);
        }
        assert_eq!(wall_bucket(0), 0);
        assert_eq!(wall_bucket(u64::MAX), WALL_BUCKETS - 1);
    }
}
