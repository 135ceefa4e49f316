//! Threads that wait for one another in a circle.

use steady_model::{LockUse, LocksReport};

/// One step of a circle: a thread, and the lock that it waits for, which the next one has.
pub(super) type Step<'a> = (usize, &'a LockUse);

/// The first circle of threads of which each waits for what the next has. None where nobody is known to have what is waited for.
pub(super) fn deadlock(report: &LocksReport) -> Option<Vec<Step<'_>>> {
    let starts = report.locks.iter().flat_map(|lock| lock.waiting.iter().copied());
    starts.into_iter().find_map(|start| circle(report, start))
}

/// The circle that `start` is part of.
fn circle(report: &LocksReport, start: usize) -> Option<Vec<Step<'_>>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut thread = start;
    // Nobody is met twice but the first.
    while steps.len() <= report.threads.len() {
        let lock = awaited(report, thread)?;
        steps.push((thread, lock));
        thread = *lock.held_by.as_ref().ok()?;
        if thread == start {
            return Some(steps);
        }
    }
    None
}

/// The lock that a thread waited for when its process ended.
fn awaited(report: &LocksReport, thread: usize) -> Option<&LockUse> {
    report.locks.iter().find(|lock| lock.kind.is_held() && lock.waiting.contains(&thread))
}
