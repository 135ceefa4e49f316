//! What was counted of one lock, taken together from wherever it is written: its entry, the accounts of its threads, and waits that
//! were not written down yet.

use std::mem::offset_of;

use serde::{Deserialize, Serialize};
use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{Account, BUCKETS, Lock, bucket_of, least_of};

use super::area::Entry;

/// Fewer holds than this do not stand for others of their kind.
const FEW: u64 = 16;

/// How long waits took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockTimes {
    /// How many were timed.
    pub(crate) count: u64,
    /// All together.
    pub(crate) total: Nanos,
    /// The median, within a tenth.
    pub(crate) median: Nanos,
    /// The 99th percentile, within a tenth.
    pub(crate) p99: Nanos,
    /// The longest.
    pub(crate) most: Nanos,
}

/// How long a lock was held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockHolds {
    /// All holds together: contended ones were all timed, of the others a sample stands for all.
    pub(crate) total: Nanos,
    /// The mean hold.
    pub(crate) mean: Nanos,
    /// The median of the holds that were timed, within a tenth.
    pub(crate) median: Nanos,
    /// Their 99th percentile, within a tenth.
    pub(crate) p99: Nanos,
    /// The longest that was timed.
    pub(crate) most: Nanos,
    /// How many holds of contended acquisitions were timed.
    pub(crate) timed_contended: u64,
    /// How many of uncontended ones were timed.
    pub(crate) timed_sampled: u64,
}

/// Counts and times; any numbers may have been written, so that sums end at what a number can be.
pub(super) struct Sums {
    pub(super) uncontended: u64,
    pub(super) contended: u64,
    pub(super) given_up: u64,
    wait: Nanos,
    wait_most: Nanos,
    /// Holds of contended acquisitions that were timed, and of others.
    holds: [u64; 2],
    hold: [Nanos; 2],
    hold_most: Nanos,
    wait_buckets: Buckets,
    hold_buckets: Buckets,
}

impl Sums {
    /// What a lock's entry has.
    pub(super) fn of_lock(entry: &Entry<'_>) -> Self {
        let time = |at: usize| Nanos(entry.u64(at));
        Sums {
            uncontended: entry.u64(offset_of!(Lock, uncontended)),
            contended: entry.u64(offset_of!(Lock, contended)),
            given_up: entry.u64(offset_of!(Lock, given_up)),
            wait: time(offset_of!(Lock, wait)),
            wait_most: time(offset_of!(Lock, wait_most)),
            holds: [entry.u64(offset_of!(Lock, holds_contended)), entry.u64(offset_of!(Lock, holds_sampled))],
            hold: [time(offset_of!(Lock, hold_contended)), time(offset_of!(Lock, hold_sampled))],
            hold_most: time(offset_of!(Lock, hold_most)),
            wait_buckets: Buckets::new(),
            hold_buckets: Buckets::new(),
        }
    }

    /// Adds what a thread's account has.
    pub(super) fn add_account(&mut self, entry: &Entry<'_>) {
        let time = |at: usize| Nanos(entry.u64(at));
        let add = |sum: &mut u64, at: usize| *sum = sum.saturating_add(entry.u64(at));
        add(&mut self.contended, offset_of!(Account, contended));
        add(&mut self.given_up, offset_of!(Account, given_up));
        add(&mut self.holds[0], offset_of!(Account, holds_contended));
        self.wait = plus(self.wait, time(offset_of!(Account, wait)));
        self.wait_most = self.wait_most.max(time(offset_of!(Account, wait_most)));
        self.hold[0] = plus(self.hold[0], time(offset_of!(Account, hold_contended)));
        self.hold_most = self.hold_most.max(time(offset_of!(Account, hold_most)));
        self.add_spread(entry, offset_of!(Account, waits), true);
        self.add_spread(entry, offset_of!(Account, holds), false);
    }

    /// Adds a spread that lies from `from` on in an entry: one of waits, or of holds.
    pub(super) fn add_spread(&mut self, entry: &Entry<'_>, from: usize, is_wait: bool) {
        let buckets = if is_wait { &mut self.wait_buckets } else { &mut self.hold_buckets };
        (0..BUCKETS).for_each(|bucket| buckets.add(bucket, u64::from(entry.u32(from + 4 * bucket))));
    }

    /// Adds a wait that is written nowhere else, which came to so many acquisitions.
    pub(super) fn add_wait(&mut self, time: Nanos, acquisitions: u64) {
        self.contended = self.contended.saturating_add(acquisitions);
        self.wait = plus(self.wait, time);
        self.wait_most = self.wait_most.max(time);
        self.wait_buckets.add(bucket_of(time.0), 1);
    }

    /// The waits.
    pub(super) fn waits(&self) -> Reading<LockTimes> {
        let count = self.wait_buckets.count();
        counted(count, "it was never waited for", || {
            let quantile = |share: f64| self.wait_buckets.quantile(share, self.wait_most);
            let (median, p99) = (quantile(0.5)?, quantile(0.99)?);
            Some(LockTimes { count, total: self.wait, median, p99, most: self.wait_most })
        })
    }

    /// The holds: of contended acquisitions all were taken, of the others a sample; each kind stands for its own.
    pub(super) fn holds(&self) -> Reading<LockHolds> {
        let [timed_contended, timed_sampled] = self.holds;
        let [of_contended, of_sampled] = self.hold.map(|sum| sum.0 as f64);
        let (all, timed) = (of_contended + of_sampled, timed_contended.saturating_add(timed_sampled));
        // A kind of which only few were taken is taken to be as both together.
        let mean = |sum: f64, count: u64| if count >= FEW { sum / count as f64 } else { all / timed as f64 };
        counted(timed, "no hold of it was over when it was to be timed", || {
            let total = mean(of_contended, timed_contended) * self.contended as f64
                + mean(of_sampled, timed_sampled) * self.uncontended as f64;
            let acquisitions = self.uncontended.saturating_add(self.contended);
            let quantile = |share: f64| self.hold_buckets.quantile(share, self.hold_most);
            Some(LockHolds {
                total: Nanos(total as u64),
                mean: Nanos((total / acquisitions.max(1) as f64) as u64),
                median: quantile(0.5)?,
                p99: quantile(0.99)?,
                most: self.hold_most,
                timed_contended,
                timed_sampled,
            })
        })
    }
}

/// The sum of two times, at most the largest that there is.
pub(super) fn plus(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.0.saturating_add(other.0))
}

/// A reading that makes no sense unless something was counted.
fn counted<T>(count: u64, why: &str, reading: impl FnOnce() -> Option<T>) -> Reading<T> {
    (count > 0).then(reading).flatten().ok_or_else(|| Absent::because(why))
}

/// How many times fell into each bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buckets(Vec<u64>);

impl Buckets {
    pub(super) fn new() -> Self {
        Buckets(vec![0; BUCKETS])
    }

    pub(super) fn add(&mut self, bucket: usize, count: u64) {
        if let Some(counted) = self.0.get_mut(bucket) {
            *counted = counted.saturating_add(count);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// The time that a `share` of all do not exceed: times are taken to be spread evenly over their bucket, and none is longer than
    /// `most`. Nothing where there are none.
    pub(super) fn quantile(&self, share: f64, most: Nanos) -> Option<Nanos> {
        let rank = self.count() as f64 * share;
        let mut below = 0.0;
        for (bucket, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= rank {
                let least = if bucket == 0 { 0.0 } else { least_of(bucket) as f64 };
                let next = least_of(bucket + 1) as f64;
                let within = ((rank - below) / count).clamp(0.0, 1.0);
                return Some(Nanos((least + (next - least) * within) as u64).min(most));
            }
            below += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use steady_preload::area::bucket_of;

    use super::*;

    fn of(times: &[u64]) -> (Buckets, Nanos) {
        let mut buckets = Buckets::new();
        times.iter().for_each(|time| buckets.add(bucket_of(*time), 1));
        (buckets, Nanos(times.iter().copied().max().unwrap_or(0)))
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Buckets::new().quantile(0.5, Nanos(7)), None);
    }

    #[test]
    fn none_is_longer_than_the_longest() {
        let (one, most) = of(&[1_025]);
        assert_eq!(one.quantile(0.99, most), Some(Nanos(1_025)));
    }

    proptest! {
        #[test]
        fn quantiles_are_near_the_true_ones(times in proptest::collection::vec(100_u64..1_000_000_000, 1..300), share in 0.01..0.99_f64) {
            let (buckets, most) = of(&times);
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let rank = (times.len() as f64 * share).ceil() as usize;
            let truth = sorted[rank.clamp(1, times.len()) - 1] as f64;
            let told = buckets.quantile(share, most).unwrap().0 as f64;
            // A bucket is a quarter of a doubling wide.
            prop_assert!(told >= truth / 1.26 && told <= truth * 1.26, "{told} {truth}");
        }
    }
}
