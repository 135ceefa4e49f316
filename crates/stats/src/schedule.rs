//! When to look: a rule that knows the elapsed time and nothing of the results, shared by the runner and by those who
//! judge its records again.

use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// The times of the looks: the first at 12 pairs, then whenever the elapsed time has grown by the root of two.
/// The look at the end is the caller's, who knows when that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    looked: Option<f64>,
}

impl Schedule {
    /// With fewer pairs the first look would spend error on nothing.
    pub const FIRST_LOOK_PAIRS: usize = 12;

    /// Before the first look.
    pub fn new() -> Schedule {
        Schedule::default()
    }

    /// Whether to look now, with `pairs` pairs (of each contender) after `elapsed` seconds of measuring. If so, the look
    /// counts as made.
    pub fn due(&mut self, pairs: usize, elapsed: f64) -> bool {
        let due = match self.looked {
            None => pairs >= Self::FIRST_LOOK_PAIRS,
            Some(looked) => elapsed >= SQRT_2 * looked,
        };
        if due {
            self.looked = Some(elapsed);
        }
        due
    }
}

/// The share of all error that may be spent by now.
///
/// `time` is the share of the time budget that is over; `information` the share of the precision that would end it, for
/// a quiet machine gets there long before its time. The latter is capped: the rest is left for the look that finishes.
pub(crate) fn spendable(time: f64, information: f64) -> f64 {
    const MOST_BY_INFORMATION: f64 = 0.7;
    let time = time.clamp(0.0, 1.0);
    time.max(information.min(MOST_BY_INFORMATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_at_twelve_pairs_then_by_the_root_of_two() {
        let mut schedule = Schedule::new();
        let looks: Vec<usize> = (1..=100).filter(|&pairs| schedule.due(pairs, pairs as f64 * 0.25)).collect();
        assert_eq!(looks, [12, 17, 25, 36, 51, 73]);
    }

    #[test]
    fn information_alone_leaves_something_for_the_end() {
        assert_eq!(spendable(0.1, 0.3), 0.3);
        assert_eq!(spendable(0.1, 9.0), 0.7);
        assert_eq!(spendable(0.9, 9.0), 0.9);
        assert_eq!(spendable(7.0, 0.0), 1.0);
    }
}
