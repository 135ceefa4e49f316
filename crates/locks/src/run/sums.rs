//! Sums the counts and times of one lock: from its entry, from the accounts of its threads, and from waits that were
//! not yet added to either.

use std::mem::offset_of;

use serde::{Deserialize, Serialize};
use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{Account, BUCKETS, Lock, bucket_of, least_of};

use super::area::Entry;

/// With fewer timed holds of a kind (contended or not), their mean does not represent that kind.
const FEW: u64 = 16;

/// Statistics of the waits for a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockTimes {
    /// Number of timed waits.
    pub(crate) count: u64,
    /// Total time of all waits.
    pub(crate) total: Nanos,
    /// Median, with an error of up to 10 %.
    pub(crate) median: Nanos,
    /// 99th percentile, with an error of up to 10 %.
    pub(crate) p99: Nanos,
    pub(crate) most: Nanos,
}

/// Statistics of the holds of a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockHolds {
    /// Total time of all holds. All contended ones are timed; a sample represents the others.
    pub(crate) total: Nanos,
    pub(crate) mean: Nanos,
    /// Median of the timed holds, with an error of up to 10 %.
    pub(crate) median: Nanos,
    /// 99th percentile of the timed holds, with an error of up to 10 %.
    pub(crate) p99: Nanos,
    /// Longest of the timed holds.
    pub(crate) most: Nanos,
    /// Number of timed holds of contended acquisitions.
    pub(crate) timed_contended: u64,
    /// Number of timed holds of uncontended acquisitions.
    pub(crate) timed_sampled: u64,
}

/// Counts and times of a lock. The watched processes can write any numbers, so sums saturate.
pub(super) struct LockCounts {
    pub(super) uncontended: u64,
    pub(super) contended: u64,
    pub(super) given_up: u64,
    wait: Nanos,
    wait_most: Nanos,
    /// Numbers of timed holds, of contended and uncontended acquisitions.
    holds: [u64; 2],
    hold: [Nanos; 2],
    hold_most: Nanos,
    wait_buckets: Buckets,
    hold_buckets: Buckets,
}

impl LockCounts {
    /// Starts with the counts in the entry of a lock.
    pub(super) fn of_lock(entry: &Entry<'_>) -> Self {
        let time = |at: usize| Nanos(entry.u64(at));
        LockCounts {
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

    /// Adds the counts in the account of a thread.
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

    /// Adds a histogram that starts at offset `from` of an entry: of waits if `is_wait`, otherwise of holds.
    pub(super) fn add_spread(&mut self, entry: &Entry<'_>, from: usize, is_wait: bool) {
        let buckets = if is_wait { &mut self.wait_buckets } else { &mut self.hold_buckets };
        (0..BUCKETS).for_each(|bucket| buckets.add(bucket, u64::from(entry.u32(from + 4 * bucket))));
    }

    /// Adds a wait that no other entry contains. `acquisitions` is 1 if it ended with the lock, otherwise 0.
    pub(super) fn add_wait(&mut self, time: Nanos, acquisitions: u64) {
        self.contended = self.contended.saturating_add(acquisitions);
        self.wait = plus(self.wait, time);
        self.wait_most = self.wait_most.max(time);
        self.wait_buckets.add(bucket_of(time.0), 1);
    }

    pub(super) fn waits(&self) -> Reading<LockTimes> {
        let count = self.wait_buckets.count();
        counted(count, "no thread waited for it", || {
            let quantile = |share: f64| self.wait_buckets.quantile(share, self.wait_most);
            let (median, p99) = (quantile(0.5)?, quantile(0.99)?);
            Some(LockTimes { count, total: self.wait, median, p99, most: self.wait_most })
        })
    }

    /// Returns the statistics of holds. Timed contended holds represent contended acquisitions, and the sample of
    /// uncontended ones the others.
    pub(super) fn holds(&self) -> Reading<LockHolds> {
        let [timed_contended, timed_sampled] = self.holds;
        let [of_contended, of_sampled] = self.hold.map(|sum| sum.0 as f64);
        let (all, timed) = (of_contended + of_sampled, timed_contended.saturating_add(timed_sampled));
        // With few timed holds of one kind, the mean of both kinds represents it.
        let mean = |sum: f64, count: u64| if count >= FEW { sum / count as f64 } else { all / timed as f64 };
        counted(timed, "no hold was timed", || {
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

/// Adds two times; the sum saturates.
pub(super) fn plus(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.0.saturating_add(other.0))
}

/// Returns a reading, or `why` it is absent if nothing was counted.
fn counted<T>(count: u64, why: &str, reading: impl FnOnce() -> Option<T>) -> Reading<T> {
    (count > 0).then(reading).flatten().ok_or_else(|| Absent::because(why))
}

/// Histogram of times: the count of each bucket.
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

    /// Returns the time that a `share` of all times do not exceed. Assumes that the times of a bucket are spread evenly
    /// over it, and that none exceeds `most`. Returns `None` if there are no times.
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
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(Buckets::new().quantile(0.5, Nanos(7)), None);
    }

    #[test]
    fn no_quantile_exceeds_the_longest_time() {
        let (one, most) = of(&[1_025]);
        assert_eq!(one.quantile(0.99, most), Some(Nanos(1_025)));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_bucket_of_the_true_ones(
            times in proptest::collection::vec(100_u64..1_000_000_000, 1..300),
            share in 0.01..0.99_f64,
        ) {
            let (buckets, most) = of(&times);
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let rank = (times.len() as f64 * share).ceil() as usize;
            let truth = sorted[rank.clamp(1, times.len()) - 1] as f64;
            let estimate = buckets.quantile(share, most).unwrap().0 as f64;
            // Four buckets per doubling, so a bucket is 19 % wide.
            prop_assert!(estimate >= truth / 1.26 && estimate <= truth * 1.26, "{estimate} ns for {truth} ns");
        }
    }
}
