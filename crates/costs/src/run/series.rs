//! A probe at one length of its loop, with its repetitions so far.

use steady_model::{Absent, Nanos, Probe, Reading};
use steady_stats::descriptive::quantile;

use super::runner::{Calibrated, Opened, Repeated};
use crate::judge::FEWEST as FEWEST_OF_INTERVAL;
use crate::record::{ProbeCost, Repetition};

/// A repetition takes at most this multiple of one loop: the loop, the empty loop, and a warm-up of each.
const LOOPS_PER_REPETITION: f64 = 2.2;

/// The repetitions of a probe at one length.
pub(super) struct Series {
    pub(super) probe: Probe,
    opened: Opened,
    /// Counted system calls of a round.
    calls: Reading<f64>,
    pub(super) loops: u64,
    /// Planned number of repetitions.
    pub(super) wanted: u32,
    repetitions: Vec<Repetition>,
    /// Readings of the arithmetic ruler, one for each repetition, in seconds.
    pub(super) alu: Vec<f64>,
    /// Expected time of a repetition, from earlier ones.
    pub(super) expected: Nanos,
    /// Why the probe was lost. Its repetitions are discarded then.
    pub(super) lost: Option<Absent>,
}

impl Series {
    pub(super) fn new(
        probe: Probe,
        opened: Opened,
        calls: Reading<f64>,
        loops: u64,
        wanted: u32,
        expected: Nanos,
    ) -> Self {
        Series { probe, opened, calls, loops, wanted, repetitions: vec![], alu: vec![], expected, lost: None }
    }

    /// Multiplies the length of the loops by `part`; it stays at least 1.
    pub(super) fn shorten(&mut self, part: f64) {
        let before = self.loops as f64;
        self.loops = ((before * part) as u64).max(1);
        self.expected = Nanos::from_seconds(self.expected.seconds() * self.loops as f64 / before);
    }

    /// Adds a repetition that took the time `took`.
    pub(super) fn add(&mut self, repeated: Repeated, took: Nanos) {
        self.repetitions.push(repeated.repetition);
        self.alu.push(repeated.alu_seconds);
        // A moving average, because one delayed repetition says little about the next one.
        self.expected = Nanos((3 * self.expected.0 + took.0) / 4);
    }

    /// Plans no more repetitions than there are.
    pub(super) fn end(&mut self) {
        self.wanted = self.repetitions.len() as u32;
    }

    /// Returns whether it needs more repetitions for an interval.
    pub(super) fn has_too_few(&self) -> bool {
        self.lost.is_none() && self.repetitions.len() < FEWEST.min(self.wanted) as usize
    }

    /// Whether the series has a repetition in round `round` of `rounds`. Series with fewer repetitions spread them
    /// evenly.
    pub(super) fn has_part_in(&self, round: u32, rounds: u32) -> bool {
        let due = |rounds_gone: u32| u64::from(rounds_gone) * u64::from(self.wanted) / u64::from(rounds.max(1));
        self.lost.is_none() && due(round + 1) > due(round)
    }

    /// Converts the series to its part of the record; absent if there are no repetitions.
    pub(super) fn measured(self) -> Reading<ProbeCost> {
        if let Some(lost) = self.lost {
            return Err(lost);
        }
        if self.repetitions.is_empty() {
            return Err(Absent::because("the budget had no time for it"));
        }
        let (counted, expected) = (self.calls, self.opened.calls_per_loop);
        Ok(ProbeCost {
            loops: Ok(self.loops),
            events_per_loop: Ok(self.opened.events_per_loop),
            subtracted: Ok(self.opened.subtracted),
            // Each of the two numbers is useful only with the other.
            calls_per_loop: expected.clone().and_then(|_| counted.clone()),
            expected_calls_per_loop: expected.and_then(|expected| counted.map(|_| expected)),
            alu_seconds: quantile(&self.alu, 0.5).ok_or_else(|| Absent::because("not measured")),
            samples: Ok(self.repetitions),
            ..ProbeCost::absent(self.probe, &Absent::because("not judged"))
        })
    }
}

/// Expected time of a repetition with `loops` rounds.
pub(super) fn expected(calibrated: &Calibrated, loops: u64) -> Nanos {
    let each = calibrated.tried.wall.seconds() / calibrated.tried.loops.max(1) as f64;
    Nanos::from_seconds(each * loops as f64 * LOOPS_PER_REPETITION)
}

/// The lengths of a sweep: 10 to 10^7 rounds, two for each factor of ten.
const LENGTHS: [u64; 13] =
    [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
/// Minimal number of repetitions, because fewer give no interval.
const FEWEST: u32 = FEWEST_OF_INTERVAL as u32;
/// Overhead of requesting a repetition.
const REQUEST: Nanos = Nanos(100_000);
/// Share of the time that the minimal repetitions of all lengths may use. The rest is for more repetitions.
const SPARE: f64 = 0.5;

/// A length with its number of repetitions, which is 0 if they would take too long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length {
    pub(super) loops: u64,
    pub(super) repetitions: u32,
    /// Expected time of one repetition.
    pub(super) expected: Nanos,
}

/// Plans the lengths of a probe that has `time` for all of them.
pub(super) fn lengths(calibrated: &Calibrated, time: Nanos, repetitions: u32) -> Vec<Length> {
    let cost = |loops: u64| expected(calibrated, loops);
    let total = |loops: u64| (cost(loops) + REQUEST).seconds();
    let mut left = time.seconds() * SPARE;
    let affordable = LENGTHS.iter().take_while(|loops| {
        left -= f64::from(FEWEST) * total(**loops);
        left >= 0.0
    });
    let count = affordable.count();
    let share = time.seconds() * SPARE / count.max(1) as f64;
    let most = repetitions.max(FEWEST);
    let repetitions = |place: usize, loops: u64| match place < count {
        true => ((share / total(loops)) as u32).clamp(FEWEST, most),
        false => 0,
    };
    let length =
        |place: usize, loops: u64| Length { loops, repetitions: repetitions(place, loops), expected: cost(loops) };
    LENGTHS.iter().enumerate().map(|(place, loops)| length(place, *loops)).collect()
}

#[cfg(test)]
mod tests {
    use steady_model::Timed;

    use super::*;

    fn series(wanted: u32) -> Series {
        let calls_per_loop = Err(Absent::because("not counted"));
        let opened = Opened { events_per_loop: 1.0, subtracted: String::new(), calls_per_loop: calls_per_loop.clone() };
        Series::new(Probe::FunctionCall, opened, calls_per_loop, 10, wanted, Nanos(1000))
    }

    #[test]
    fn few_repetitions_are_spread_over_all_rounds() {
        for (wanted, rounds) in [(7, 100), (100, 100), (1, 3), (6, 7), (0, 5)] {
            let series = series(wanted);
            let parts: Vec<u32> = (0..rounds).filter(|round| series.has_part_in(*round, rounds)).collect();
            assert_eq!(parts.len() as u32, wanted);
            assert!(wanted < 2 || parts.windows(2).all(|two| two[1] - two[0] <= rounds.div_ceil(wanted)), "{parts:?}");
        }
    }

    #[test]
    fn a_series_without_repetitions_is_absent() {
        assert!(series(3).measured().is_err());
        let mut lost = series(3);
        lost.lost = Some(Absent::because("its process was killed"));
        assert!(!lost.has_part_in(0, 1));
        assert_eq!(lost.measured().unwrap_err().0, "its process was killed");
    }

    /// Lengths of a probe whose round takes `nanos` nanoseconds.
    fn of(nanos: u64, seconds: u64) -> Vec<Length> {
        let tried = Timed { loops: 1_000, wall: Nanos(1_000 * nanos), ..Timed::default() };
        lengths(&Calibrated { loops: 1, tried }, Nanos(seconds * 1_000_000_000), 100)
    }

    fn total(lengths: &[Length]) -> f64 {
        lengths.iter().map(|length| f64::from(length.repetitions) * (length.expected + REQUEST).seconds()).sum()
    }

    #[test]
    fn short_events_have_all_lengths_and_long_events_have_fewer() {
        let call = of(1, 5);
        assert!(call.iter().all(|length| length.repetitions >= FEWEST));
        assert_eq!(call[0].repetitions, 100);
        let switch = of(2_000, 5);
        assert!(switch.iter().any(|length| length.loops == 10_000 && length.repetitions >= FEWEST), "{switch:?}");
        assert_eq!(switch.last().map(|length| length.repetitions), Some(0));
        assert_eq!(of(1_000_000_000, 5).iter().filter(|length| length.repetitions > 0).count(), 0);
    }

    #[test]
    fn all_lengths_together_fit_into_the_time() {
        for nanos in [0, 1, 100, 2_000, 100_000, 5_000_000] {
            for seconds in [1, 5, 60] {
                let lengths = of(nanos, seconds);
                assert!(total(&lengths) <= seconds as f64, "{nanos} ns, {seconds} s: {}", total(&lengths));
            }
        }
    }
}
