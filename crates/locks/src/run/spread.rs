//! Quantiles of many times of which only the buckets are known that they fell into.

use steady_model::Nanos;
use steady_preload::area::{BUCKETS, least_of};

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
