//! What is put off: programs that could not be made warm when they were wanted.

use std::collections::HashMap;

use steady_model::Nanos;

/// How long the first time; twice as long each time after.
const FIRST: Nanos = Nanos(200_000_000);
/// How often.
const TIMES: u32 = 4;

/// Programs by their keys, and what is remembered of them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    put_off: HashMap<String, Delay>,
    launches: HashMap<String, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Delay {
    times: u32,
    /// Not before then; never where there is none.
    until: Option<Nanos>,
}

impl Queue {
    /// Whether a program's time has come.
    pub(super) fn is_due(&self, key: &str, now: Nanos) -> bool {
        self.put_off.get(key).is_none_or(|delay| delay.until.is_some_and(|until| now >= until))
    }

    /// When the next time comes.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.put_off.values().filter_map(|delay| delay.until).min()
    }

    /// Tries a program again a while from now; after some times not any more.
    pub(super) fn put_off(&mut self, key: &str, now: Nanos) {
        let delay = self.put_off.entry(key.to_owned()).or_insert(Delay { times: 0, until: None });
        delay.until = (delay.times < TIMES).then(|| now + Nanos(FIRST.0 << delay.times));
        delay.times += 1;
    }

    /// Does not try a program again.
    pub(super) fn give_up(&mut self, key: &str) {
        self.put_off.insert(key.to_owned(), Delay { times: TIMES, until: None });
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.put_off.remove(key);
    }

    /// How many launches a program had when its snapshots were made; `now` where this was not seen.
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
    fn what_fails_is_tried_again_more_and_more_rarely() {
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
}
