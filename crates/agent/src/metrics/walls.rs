//! The histogram of wall times: the rows' buckets, eight of them together.

use steady_model::WALL_BUCKETS;

/// Buckets of rows in one that is shown: two to each doubling.
const TOGETHER: u16 = 8;
/// The bounds that are shown, in halves of a doubling of a microsecond: 0.512 ms and 67 s.
const LOWEST: u16 = 18;
const HIGHEST: u16 = 52;
/// How many bounds there are; what lies beyond the last one is in the bucket without.
pub(super) const BOUNDS: usize = (HIGHEST - LOWEST + 1) as usize;

const _: () = assert!(HIGHEST * TOGETHER <= WALL_BUCKETS);

/// How many requests took longer than one bound and no longer than the next, from the first bound on; the last have
/// none.
#[derive(Clone, Debug)]
pub(super) struct Walls {
    counts: [u64; BOUNDS],
    beyond: u64,
}

impl Default for Walls {
    fn default() -> Self {
        Walls { counts: [0; BOUNDS], beyond: 0 }
    }
}

impl Walls {
    /// Adds requests of one of the rows' buckets.
    pub(super) fn add(&mut self, bucket: u16, requests: u32) {
        let place = (bucket / TOGETHER + 1).saturating_sub(LOWEST);
        let count = self.counts.get_mut(usize::from(place)).unwrap_or(&mut self.beyond);
        *count += u64::from(requests);
    }

    /// Requests up to each bound.
    pub(super) fn up_to(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }

    /// All requests.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }
}

/// A bound in seconds, in whole nanoseconds. A request that took exactly as long as a bound that is whole counts as
/// longer, for the rows have it so.
pub(super) fn bound(place: usize) -> f64 {
    let halves = f64::from(LOWEST) + place as f64;
    (1_000.0 * (halves / 2.0).exp2()).floor() / 1e9
}

#[cfg(test)]
mod tests {
    use steady_model::wall_bucket;

    use super::*;

    #[test]
    fn requests_are_counted_below_the_bounds_that_they_are_below() {
        let (first, last) = (bound(0), bound(BOUNDS - 1));
        assert_eq!((first, bound(1), last), (0.000512, 0.000724077, 67.108864));
        for nanoseconds in
            [0, 1_000, 511_999, 512_001, 724_077, 724_078, 5_000_000, 67_108_863_999, 67_108_864_001, u64::MAX]
        {
            let mut walls = Walls::default();
            walls.add(wall_bucket(nanoseconds), 3);
            let below: Vec<u64> = walls.up_to().collect();
            let expected = |place: usize| if nanoseconds as f64 / 1e9 <= bound(place) { 3 } else { 0 };
            assert_eq!(below, (0..BOUNDS).map(expected).collect::<Vec<_>>(), "{nanoseconds}");
            assert_eq!(walls.count(), 3);
        }
    }
}
