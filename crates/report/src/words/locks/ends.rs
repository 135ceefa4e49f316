//! Who still waited when a process ended.

use steady_model::{LockKind, LockUse, LocksReport};

use super::{fitting, label, noun, numbered, places, thread_name};
use crate::words::one_line;

/// More threads than this are told by their number.
const FEW: usize = 4;

/// What was still waited for: a lock, and by whom; locks that somebody has first, then what was to happen.
pub(crate) fn ends(report: &LocksReport, room: usize) -> Vec<(String, String)> {
    let held = |lock: &&LockUse| !lock.waiting.is_empty() && lock.kind.is_held();
    let mut lines: Vec<(String, String)> =
        report.locks.iter().filter(held).map(|lock| (label(lock), of_lock(report, lock, room))).collect();
    let events = |kind: LockKind| {
        let of_kind = report.locks.iter().filter(|lock| lock.kind == kind).map(|lock| lock.waiting.len() as u64);
        of_kind.sum::<u64>()
    };
    let waiting: Vec<String> = [(LockKind::Condition, "conditions"), (LockKind::Semaphore, "semaphores")]
        .into_iter()
        .filter(|(kind, _)| events(*kind) > 0)
        .map(|(kind, many)| format!("{} for {many}", numbered(events(kind), "thread", "threads")))
        .collect();
    if !waiting.is_empty() {
        lines.push(("events".to_owned(), waiting.join(", ")));
    }
    lines
}

fn of_lock(report: &LocksReport, lock: &LockUse, room: usize) -> String {
    let who = match lock.waiting.len() {
        many if many > FEW => numbered(many as u64, "thread", "threads"),
        _ => listed(&lock.waiting.iter().map(|thread| at(report, *thread, room)).collect::<Vec<_>>()),
    };
    let holder = match &lock.held_by {
        Ok(thread) if lock.waiting == [*thread] => "which had it itself".to_owned(),
        Ok(thread) => format!("while {} had it", thread_name(report, *thread, room)),
        Err(absent) => format!("who had it is absent: {}", fitting(&one_line(&absent.0), room)),
    };
    format!("{who} waited for this {}, {holder}", noun(lock.kind))
}

/// A thread, and the call that it hung in.
fn at(report: &LocksReport, thread: usize, room: usize) -> String {
    let name = thread_name(report, thread, room);
    match report.threads.get(thread).map(|thread| &thread.waits_at) {
        Some(Ok(place)) => format!("{name} at {}", places::place(place, room)),
        _ => name,
    }
}

/// Names as a sentence has them: `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
