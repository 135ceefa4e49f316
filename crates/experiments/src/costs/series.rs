//! A probe at one length of its loop, and what has been measured of it so far.

use steady_model::{Absent, Measured, Nanos, Probe, Reading, Repetition};
use steady_stats::descriptive::quantile;

use super::protocol::{Calibrated, Opened, Repeated};

/// How often a repetition runs a loop: the probe, and the empty loop at most as dear, each with its warming.
pub(super) const LOOPS_PER_REPETITION: f64 = 2.2;

/// A probe's repetitions at one length.
pub(super) struct Series {
    pub(super) probe: Probe,
    opened: Opened,
    /// System calls of a round, as counted.
    calls: Reading<f64>,
    pub(super) loops: u64,
    /// How many repetitions there are to be.
    pub(super) wanted: u32,
    repetitions: Vec<Repetition>,
    /// What arithmetic took beside each of them.
    pub(super) alu: Vec<f64>,
    /// The longest that a repetition should take, by those before it.
    pub(super) expected: Nanos,
    /// Why there are to be no more, and none that count.
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

    /// Has its loops go round so much less often; once they do at least.
    pub(super) fn shorten(&mut self, part: f64) {
        let before = self.loops as f64;
        self.loops = ((before * part) as u64).max(1);
        self.expected = Nanos::from_seconds(self.expected.seconds() * self.loops as f64 / before);
    }

    /// Takes a repetition that took so long in all.
    pub(super) fn take(&mut self, repeated: Repeated, took: Nanos) {
        self.repetitions.push(repeated.repetition);
        self.alu.push(repeated.alu_seconds);
        // One that was held up tells little about the next.
        self.expected = Nanos((3 * self.expected.0 + took.0) / 4);
    }

    /// Whether it takes part in round `round` of `rounds`: those that have fewer repetitions have them all along.
    pub(super) fn has_part_in(&self, round: u32, rounds: u32) -> bool {
        let due = |rounds_gone: u32| u64::from(rounds_gone) * u64::from(self.wanted) / u64::from(rounds.max(1));
        self.lost.is_none() && due(round + 1) > due(round)
    }

    /// What was measured; absent where there is nothing.
    pub(super) fn measured(self) -> Reading<Measured> {
        if let Some(lost) = self.lost {
            return Err(lost);
        }
        if self.repetitions.is_empty() {
            return Err(Absent::because("there was no time for it"));
        }
        let expected_calls = self.opened.calls_per_loop.clone();
        Ok(Measured {
            probe: self.probe,
            loops: self.loops,
            events_per_loop: self.opened.events_per_loop,
            subtracted: self.opened.subtracted,
            calls_per_loop: expected_calls.and_then(|expected| Ok((self.calls?, expected))),
            alu_seconds: quantile(&self.alu, 0.5).ok_or_else(|| Absent::because("it was not read")),
            repetitions: self.repetitions,
        })
    }
}

/// How long a repetition of so many rounds should take.
pub(super) fn expected(calibrated: &Calibrated, loops: u64) -> Nanos {
    let each = calibrated.tried.wall.seconds() / calibrated.tried.loops.max(1) as f64;
    Nanos::from_seconds(each * loops as f64 * LOOPS_PER_REPETITION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(wanted: u32) -> Series {
        let calls_per_loop = Err(Absent::because("not asked"));
        let opened = Opened { events_per_loop: 1.0, subtracted: String::new(), calls_per_loop: calls_per_loop.clone() };
        Series::new(Probe::FunctionCall, opened, calls_per_loop, 10, wanted, Nanos(1000))
    }

    #[test]
    fn fewer_repetitions_are_spread_over_all_rounds() {
        for (wanted, rounds) in [(7, 100), (100, 100), (1, 3), (6, 7), (0, 5)] {
            let series = series(wanted);
            let parts: Vec<u32> = (0..rounds).filter(|round| series.has_part_in(*round, rounds)).collect();
            assert_eq!(parts.len() as u32, wanted);
            assert!(wanted < 2 || parts.windows(2).all(|two| two[1] - two[0] <= rounds.div_ceil(wanted)), "{parts:?}");
        }
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert!(series(3).measured().is_err());
        let mut lost = series(3);
        lost.lost = Some(Absent::because("its process was killed"));
        assert!(!lost.has_part_in(0, 1));
        assert_eq!(lost.measured().unwrap_err().0, "its process was killed");
    }
}
