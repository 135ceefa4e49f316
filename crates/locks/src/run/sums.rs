//! Sums the counts and times of one lock: from its entry, from the accounts of its threads, and from waits that were
//! not yet added to either.

use std::mem::offset_of;

use serde::{Deserialize, Serialize};
use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{Account, BUCKETS, EARLY, Lock, bucket_of, least_of};

use super::area::Entry;

/// With fewer timed holds of a kind (contended, early or sampled), their mean does not represent that kind.
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
    /// Total time of all holds. All contended ones are timed, and those of the first [`EARLY`] other acquisitions; a
    /// sample represents the rest.
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
    /// Number of timed holds of uncontended acquisitions, early and sampled ones.
    pub(crate) timed_sampled: u64,
}

/// Timed holds of one kind.
#[derive(Clone, Copy, Debug)]
struct TimedHolds {
    count: u64,
    total: Nanos,
}

impl TimedHolds {
    /// Reads a number and a total time at these offsets of an entry.
    fn at(entry: &Entry<'_>, count: usize, total: usize) -> Self {
        TimedHolds { count: entry.u64(count), total: Nanos(entry.u64(total)) }
    }

    fn and(self, other: Self) -> Self {
        TimedHolds { count: self.count.saturating_add(other.count), total: plus(self.total, other.total) }
    }

    /// Estimates the total time of `number` holds of this kind, in nanoseconds. The timed ones represent those that were
    /// not timed. If they are too few, the timed holds of all kinds do.
    fn total_of(self, number: u64, of_all_kinds: Self) -> f64 {
        let timed = if self.count >= FEW { self } else { of_all_kinds };
        let mean = timed.total.0 as f64 / timed.count.max(1) as f64;
        self.total.0 as f64 + mean * number.saturating_sub(self.count) as f64
    }
}

/// Counts and times of a lock. The watched processes can write any numbers, so sums saturate.
pub(super) struct LockCounts {
    pub(super) uncontended: u64,
    pub(super) contended: u64,
    pub(super) given_up: u64,
    wait: Nanos,
    wait_most: Nanos,
    /// Holds of contended acquisitions.
    contended_holds: TimedHolds,
    /// Holds of the first [`EARLY`] uncontended acquisitions.
    early_holds: TimedHolds,
    /// Holds of later uncontended acquisitions, of which a sample is timed.
    sampled_holds: TimedHolds,
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
            contended_holds: TimedHolds::at(entry, offset_of!(Lock, holds_contended), offset_of!(Lock, hold_contended)),
            early_holds: TimedHolds::at(entry, offset_of!(Lock, holds_early), offset_of!(Lock, hold_early)),
            sampled_holds: TimedHolds::at(entry, offset_of!(Lock, holds_sampled), offset_of!(Lock, hold_sampled)),
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
        self.wait = plus(self.wait, time(offset_of!(Account, wait)));
        self.wait_most = self.wait_most.max(time(offset_of!(Account, wait_most)));
        let holds = TimedHolds::at(entry, offset_of!(Account, holds_contended), offset_of!(Account, hold_contended));
        self.contended_holds = self.contended_holds.and(holds);
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

    /// Returns the statistics of holds. Contended, early and later acquisitions are three kinds. If all holds are timed,
    /// the total is exact; otherwise it is an estimate of at most `longest`, because a timed hold whose thread was
    /// preempted may represent thousands of others.
    pub(super) fn holds(&self, longest: Nanos) -> Reading<LockHolds> {
        let (contended, early, sampled) = (self.contended_holds, self.early_holds, self.sampled_holds);
        let uncontended = early.and(sampled);
        let all = contended.and(uncontended);
        counted(all.count, "no hold was timed", || {
            let total = contended.total_of(self.contended, all)
                + early.total_of(self.uncontended.min(EARLY), all)
                + sampled.total_of(self.uncontended.saturating_sub(EARLY), all);
            let total = total.min(all.total.max(longest).0 as f64);
            let acquisitions = self.uncontended.saturating_add(self.contended);
            let quantile = |share: f64| self.hold_buckets.quantile(share, self.hold_most);
            Some(LockHolds {
                total: Nanos(total as u64),
                mean: Nanos((total / acquisitions.max(1) as f64) as u64),
                median: quantile(0.5)?,
                p99: quantile(0.99)?,
                most: self.hold_most,
                timed_contended: contended.count,
                timed_sampled: uncontended.count,
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
        if self.count() == 1 {
            return Some(most);
        }
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
        let (one, most) = of(&[1_200]);
        assert_eq!(one.quantile(0.5, most), Some(Nanos(1_200)), "a single time is its own median");
    }

    const NONE: (u64, u64) = (0, 0);

    /// Returns the holds of a lock with so many uncontended and contended acquisitions, within `longest`. Timed holds of
    /// each kind (contended, early, sampled) have their number and the length of each in nanoseconds.
    fn holds_within(
        longest: Nanos,
        [uncontended, contended]: [u64; 2],
        [contended_holds, early_holds, sampled_holds]: [(u64, u64); 3],
    ) -> LockHolds {
        let mut hold_buckets = Buckets::new();
        let mut timed = |holds: (u64, u64)| {
            hold_buckets.add(bucket_of(holds.1), holds.0);
            TimedHolds { count: holds.0, total: Nanos(holds.0 * holds.1) }
        };
        let (contended_holds, early_holds, sampled_holds) =
            (timed(contended_holds), timed(early_holds), timed(sampled_holds));
        let counts = LockCounts {
            uncontended,
            contended,
            given_up: 0,
            wait: Nanos::ZERO,
            wait_most: Nanos::ZERO,
            contended_holds,
            early_holds,
            sampled_holds,
            hold_most: Nanos(1_000_000_000),
            wait_buckets: Buckets::new(),
            hold_buckets,
        };
        counts.holds(longest).unwrap()
    }

    /// As [`holds_within`], with a long lifetime of the process.
    fn holds_of(
        uncontended: u64,
        contended: u64,
        contended_holds: (u64, u64),
        early_holds: (u64, u64),
        sampled_holds: (u64, u64),
    ) -> LockHolds {
        holds_within(Nanos(u64::MAX), [uncontended, contended], [contended_holds, early_holds, sampled_holds])
    }

    /// One of few timed holds may be that of a preempted thread.
    #[test]
    fn the_total_is_at_most_the_lifetime_of_the_process() {
        let longest = Nanos(400_000_000);
        let holds = holds_within(longest, [8_000, 9], [(1, 56_000_000), (EARLY, 12_000), (7, 12_000)]);
        assert_eq!((holds.total, holds.mean), (longest, Nanos(longest.0 / 8_009)));
    }

    #[test]
    fn early_holds_do_not_represent_the_later_ones_of_a_long_run() {
        let holds = holds_of(1_000_000, 0, NONE, (EARLY, 10_000), (976, 1_000));
        let total = EARLY * 10_000 + (1_000_000 - EARLY) * 1_000;
        assert_eq!(holds.total, Nanos(total));
        assert_eq!((holds.mean, holds.timed_sampled), (Nanos(total / 1_000_000), EARLY + 976));
    }

    #[test]
    fn the_total_of_a_short_run_is_exact() {
        // Contended and other holds differ.
        let all_timed = holds_of(EARLY, 505, (505, 3_000), (EARLY, 7_000), NONE);
        assert_eq!(all_timed.total, Nanos(505 * 3_000 + EARLY * 7_000));
        assert_eq!((all_timed.timed_contended, all_timed.timed_sampled), (505, EARLY));
        let some_later = holds_of(EARLY + 31, 0, NONE, (EARLY, 7_000), NONE);
        assert_eq!(some_later.total, Nanos((EARLY + 31) * 7_000), "31 later ones take as long as the early ones");
        let few = holds_of(2, 3, (3, 3_000), (2, 7_000), NONE);
        assert_eq!(few.total, Nanos(3 * 3_000 + 2 * 7_000), "few holds, but all timed");
    }

    #[test]
    fn few_timed_holds_do_not_represent_others() {
        let holds = holds_of(EARLY + 1_000, 500, (500, 3_000), (EARLY, 7_000), (2, 50_000));
        let timed = 500 * 3_000 + EARLY * 7_000 + 2 * 50_000;
        let mean = timed / (500 + EARLY + 2);
        assert!(
            holds.total.0.abs_diff(timed + 998 * mean) < 1_000,
            "all timed ones represent the later ones: {holds:?}"
        );
    }

    #[test]
    fn untimed_early_holds_last_as_long_as_the_timed_ones() {
        // In a rwlock, half of them may begin while another one is being timed.
        let holds = holds_of(1_000_000, 0, NONE, (EARLY / 2, 10_000), (976, 1_000));
        assert_eq!(holds.total, Nanos(EARLY * 10_000 + (1_000_000 - EARLY) * 1_000));
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
