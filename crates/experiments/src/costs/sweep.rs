//! Which lengths of the loop a sweep goes through, and how often each.

use steady_model::Nanos;

use super::protocol::Calibrated;
use super::series::expected;

/// The lengths: 10 to 10^7, two to each factor of ten.
pub(super) const LENGTHS: [u64; 13] =
    [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
/// With fewer repetitions there is no interval.
pub(super) const FEWEST: u32 = 6;
/// What asking for a repetition takes beside it.
const ASKING: Nanos = Nanos(100_000);
/// The lengths that are taken in leave so much of the time for more than the fewest repetitions.
const SPARE: f64 = 0.5;

/// A length, and how many repetitions it has; none where they would take too long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length {
    pub(super) loops: u64,
    pub(super) repetitions: u32,
    /// What one repetition should take.
    pub(super) expected: Nanos,
}

/// The lengths for a probe that has `time` for all of them.
pub(super) fn lengths(calibrated: &Calibrated, time: Nanos, repetitions: u32) -> Vec<Length> {
    let cost = |loops: u64| expected(calibrated, loops);
    let asked = |loops: u64| (cost(loops) + ASKING).seconds();
    let mut left = time.seconds() * SPARE;
    let taken_in = LENGTHS.iter().take_while(|loops| {
        left -= f64::from(FEWEST) * asked(**loops);
        left >= 0.0
    });
    let count = taken_in.count();
    let share = time.seconds() * SPARE / count.max(1) as f64;
    let most = repetitions.max(FEWEST);
    let length = |(place, loops): (usize, &u64)| Length {
        loops: *loops,
        repetitions: if place < count { ((share / asked(*loops)) as u32).clamp(FEWEST, most) } else { 0 },
        expected: cost(*loops),
    };
    LENGTHS.iter().enumerate().map(length).collect()
}

#[cfg(test)]
mod tests {
    use steady_model::Timed;

    use super::*;

    /// Lengths of a probe whose round takes so many nanoseconds.
    fn of(nanos: u64, seconds: u64) -> Vec<Length> {
        let tried = Timed { loops: 1_000, wall: Nanos(1_000 * nanos), ..Timed::default() };
        lengths(&Calibrated { loops: 1, tried }, Nanos(seconds * 1_000_000_000), 100)
    }

    fn total(lengths: &[Length]) -> f64 {
        lengths.iter().map(|length| f64::from(length.repetitions) * (length.expected + ASKING).seconds()).sum()
    }

    #[test]
    fn short_events_have_all_lengths_and_dear_ones_have_fewer() {
        let call = of(1, 5);
        assert!(call.iter().all(|length| length.repetitions >= FEWEST));
        assert_eq!(call[0].repetitions, 100);
        let switch = of(2_000, 5);
        assert!(switch.iter().any(|length| length.loops == 10_000 && length.repetitions >= FEWEST), "{switch:?}");
        assert_eq!(switch.last().map(|length| length.repetitions), Some(0));
        assert_eq!(of(1_000_000_000, 5).iter().filter(|length| length.repetitions > 0).count(), 0);
    }

    #[test]
    fn all_of_them_fit_into_the_time() {
        for nanos in [0, 1, 100, 2_000, 100_000, 5_000_000] {
            for seconds in [1, 5, 60] {
                let lengths = of(nanos, seconds);
                assert!(total(&lengths) <= seconds as f64, "{nanos} ns, {seconds} s: {}", total(&lengths));
            }
        }
    }
}
