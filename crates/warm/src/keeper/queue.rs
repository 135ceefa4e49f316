//! Programs whose capture failed, with the time of the next attempt.

use std::collections::{HashMap, HashSet};

use steady_model::Nanos;

/// The delay after the first failure. It doubles with each failure.
const FIRST: Nanos = Nanos(200_000_000);
/// The number of further attempts.
const TIMES: u32 = 4;

/// Failed programs, and launch counts of programs with snapshots, by key.
#[derive(Debug, Default)]
pub(super) struct Queue {
    put_off: HashMap<String, Delay>,
    launches: HashMap<String, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Delay {
    times: u32,
    /// The time of the next attempt; `None` for never.
    until: Option<Nanos>,
}

impl Queue {
    /// Returns whether a program may be captured now.
    pub(super) fn is_due(&self, key: &str, now: Nanos) -> bool {
        self.put_off.get(key).is_none_or(|delay| delay.until.is_some_and(|until| now >= until))
    }

    /// Returns the time of the next attempt of any program.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.put_off.values().filter_map(|delay| delay.until).min()
    }

    /// Delays a program after a failure. After the last attempt it is not tried again.
    pub(super) fn put_off(&mut self, key: &str, now: Nanos) {
        let delay = self.put_off.entry(key.to_owned()).or_insert(Delay { times: 0, until: None });
        delay.until = (delay.times < TIMES).then(|| now + Nanos(FIRST.0 << delay.times));
        delay.times += 1;
    }

    /// Never tries a program again.
    pub(super) fn give_up(&mut self, key: &str) {
        self.put_off.insert(key.to_owned(), Delay { times: TIMES, until: None });
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.put_off.remove(key);
    }

    /// Forgets the failures of all programs but those with these keys.
    pub(super) fn keep_only(&mut self, keys: &HashSet<&str>) {
        self.put_off.retain(|key, _| keys.contains(key.as_str()));
    }

    /// Returns the number of launches of a program when its snapshots were created, or `now` if that is not known.
    pub(super) fn launches(&mut self, key: &str, now: u64) -> &u64 {
        self.launches.entry(key.to_owned()).or_insert(now)
    }

    pub(super) fn launched(&mut self, key: &str, now: u64) {
        self.launches.insert(key.to_owned(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_captures_are_retried_with_growing_delays() {
        let mut queue = Queue::default();
        let mut now = Nanos(1_000);
        let mut before = Nanos::ZERO;
        for _ in 0..TIMES {
            assert!(queue.is_due("a", now));
            queue.put_off("a", now);
            let next = queue.next().unwrap();
            assert!(!queue.is_due("a", now) && next - now > before && queue.is_due("b", now));
            (before, now) = (next - now, next);
        }
        queue.put_off("a", now);
        assert!(queue.next().is_none() && !queue.is_due("a", now + Nanos(u64::MAX / 2)));
        queue.forget("a");
        assert!(queue.is_due("a", now));
        queue.give_up("a");
        assert!(!queue.is_due("a", now) && queue.next().is_none());
    }

    #[test]
    fn programs_that_are_not_requested_any_more_are_not_retried() {
        let (mut queue, now) = (Queue::default(), Nanos(1_000));
        queue.put_off("a", now);
        queue.put_off("b", now + FIRST);
        queue.keep_only(&HashSet::from(["b", "c"]));
        assert_eq!(queue.next(), Some(now + FIRST + FIRST));
        queue.keep_only(&HashSet::new());
        assert_eq!(queue.next(), None);
    }
}
