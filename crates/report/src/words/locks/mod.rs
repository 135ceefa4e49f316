//! Which locks the threads of a command waited for, in words and rows.

mod deadlock;
mod ends;
mod facts;
mod places;
mod processes;
mod sentences;
mod table;
mod threads;

use steady_model::{LockKind, LockUse, LocksReport, Nanos};

pub(crate) use ends::ends;
pub(crate) use facts::facts;
pub(crate) use places::sites;
pub(crate) use processes::{more_processes, processes};
pub use sentences::locks_summary;
pub(crate) use sentences::sentences;
pub(crate) use table::{heading, locks, more_locks};
pub(crate) use threads::{more_threads, name as thread_name, threads, worth_a_row};

use crate::units::{TIE, decimals_of, fixed, percent, time_unit};
use crate::words::cut;

/// A lock in a sentence: `L1`.
pub(crate) fn label(lock: &LockUse) -> String {
    format!("L{}", lock.id)
}

/// A lock at the head of a row: `L1 mutex`.
pub(crate) fn named(lock: &LockUse) -> String {
    format!("{}{TIE}{}", label(lock), lock.kind.name())
}

/// What a lock of a kind is called in a sentence.
fn noun(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Mutex => "mutex",
        LockKind::Rwlock => "read-write lock",
        LockKind::Spinlock => "spinlock",
        LockKind::Condition => "condition",
        LockKind::Semaphore => "semaphore",
    }
}

/// What all threads together did with their lives, in seconds: sums of many need not fit into a counter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lives {
    /// From their beginnings to their ends.
    pub(crate) life: f64,
    /// Waiting for locks.
    pub(crate) locks: f64,
    /// Waiting for conditions and semaphores.
    pub(crate) events: f64,
    /// Waiting for other threads to end.
    pub(crate) joins: f64,
}

/// Lives of threads together: of all that waited or are not alone in their process, for what has but one thread waits for nobody's
/// lock; of all where there are none of these.
pub(crate) fn lives(report: &LocksReport) -> Lives {
    let mut threads = worth_a_row(report);
    if threads.is_empty() {
        threads = report.threads.iter().collect();
    }
    threads.into_iter().fold(Lives::default(), |sum, thread| Lives {
        life: sum.life + thread.life.seconds(),
        locks: sum.locks + thread.wait.seconds(),
        events: sum.events + thread.wait_events.seconds(),
        joins: sum.joins + thread.wait_joins.seconds(),
    })
}

/// How long threads waited for a lock together, in seconds.
pub(crate) fn waited(lock: &LockUse) -> f64 {
    lock.waits.as_ref().map_or(0.0, |waits| waits.total.seconds())
}

/// Whether a share of something is worth its word: one in a thousand that there is.
fn share(part: f64, whole: f64) -> String {
    match part / whole {
        ratio if whole <= 0.0 || !ratio.is_finite() => "–".to_owned(),
        ratio if ratio > 0.0 && ratio < 0.001 => format!("<0.1{TIE}%"),
        ratio => percent(ratio),
    }
}

/// A text of others whose words fit into so many columns.
fn fitting(text: &str, room: usize) -> String {
    text.split(' ').map(|word| cut(word, room)).collect::<Vec<_>>().join(" ")
}

/// A time that is known within a tenth: two digits of it.
fn about(time: Nanos) -> String {
    let seconds = time.seconds();
    let (unit, scale) = time_unit(seconds);
    format!("{}{TIE}{unit}", fixed(seconds * scale, decimals_of(seconds * scale, 2)))
}

/// So many, thousands apart.
fn number(count: u64) -> String {
    crate::units::thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

/// So many of what there is one or more of.
fn numbered(count: u64, one: &str, many: &str) -> String {
    format!("{}{TIE}{}", number(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_within_a_tenth_has_two_digits() {
        let told = |nanos| about(Nanos(nanos)).replace(TIE, " ");
        assert_eq!([told(0), told(64), told(1_234), told(12_340_000)], ["0 ms", "64 ns", "1.2 µs", "12 ms"]);
        assert_eq!([told(9_960), told(999_600), told(61_200_000_000)], ["10 µs", "1.0 ms", "61 s"]);
    }

    #[test]
    fn shares_of_nothing_are_none() {
        let told = |part, whole| share(part, whole).replace(TIE, " ");
        assert_eq!([told(1.0, 0.0), told(0.0, 2.0), told(1e-5, 1.0), told(0.61, 1.0)], ["–", "0 %", "<0.1 %", "61 %"]);
    }
}
