//! A check that sums over a record cannot overflow.

use crate::Nanos;

/// Running totals of the times and counts of a record from outside. If they do not overflow, no later sum over some of
/// these times or counts does.
#[derive(Clone, Copy, Debug, Default)]
pub struct OverflowCheck {
    time: u64,
    count: u64,
}

impl OverflowCheck {
    /// Adds times and counts. Returns whether the totals still fit.
    #[must_use]
    pub fn add(&mut self, times: &[Nanos], counts: &[u64]) -> bool {
        let time = times.iter().try_fold(self.time, |sum, time| sum.checked_add(time.0));
        let count = counts.iter().try_fold(self.count, |sum, count| sum.checked_add(*count));
        let (Some(time), Some(count)) = (time, count) else { return false };
        (self.time, self.count) = (time, count);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_that_overflow_are_detected() {
        let mut totals = OverflowCheck::default();
        assert!(totals.add(&[Nanos(u64::MAX - 1), Nanos(1)], &[u64::MAX]));
        assert!(!totals.add(&[Nanos(1)], &[]) && !totals.add(&[], &[1]) && totals.add(&[Nanos(0)], &[0]));
    }
}
