//! The threads, a row each.

use steady_model::{LockThread, LocksReport, Nanos};

use super::{places, share};
use crate::text::grid::{Column, Grid};
use crate::units::time;
use crate::words::count;

/// The widest name of a function in the table.
const NAME: usize = 24;

/// A thread in a sentence: `thread 4242 push_all()`, `the first thread`.
pub(crate) fn name(report: &LocksReport, thread: usize, room: usize) -> String {
    let Some(one) = report.threads.get(thread) else { return "a thread".to_owned() };
    match &one.start {
        Ok(start) => match &start.function {
            Ok(function) => format!("thread {} {}", one.tid, places::called(function, room.min(NAME))),
            Err(_) => format!("thread {}", one.tid),
        },
        Err(_) => format!("thread {}", one.tid),
    }
}

/// The threads that waited for locks longest, at most so many: what share of its life each waited, and for what.
pub(crate) fn threads(report: &LocksReport, most: usize) -> Option<Grid> {
    let mut shown = worth_a_row(report);
    shown.truncate(most);
    if shown.is_empty() {
        return None;
    }
    let column = |head: &str, cell: &dyn Fn(&LockThread) -> String| Column {
        head: head.to_owned(),
        cells: shown.iter().map(|thread| cell(thread)).collect(),
    };
    let of = |part: f64, thread: &LockThread| share(part, thread.life.seconds());
    let rest = |thread: &LockThread| {
        let waited = thread.wait.seconds() + thread.wait_events.seconds() + thread.wait_joins.seconds();
        (thread.life.seconds() - waited).max(0.0)
    };
    let mut columns = vec![column("thread", &|thread| thread.tid.to_string())];
    if report.processes.len() > 1 {
        let pid = |thread: &LockThread| report.processes.get(thread.process).map_or(0, |process| process.pid);
        columns.push(column("process", &|thread| pid(thread).to_string()));
    }
    columns.extend([
        column("began with", &|thread| began(report, thread)),
        column("lived", &|thread| time(thread.life.seconds())),
        column("waiting for locks", &|thread| of(thread.wait.seconds(), thread)),
        column("for events", &|thread| of(thread.wait_events.seconds(), thread)),
        column("for threads to end", &|thread| of(thread.wait_joins.seconds(), thread)),
        column("rest", &|thread| of(rest(thread), thread)),
    ]);
    Some(Grid(columns))
}

/// Threads that waited for something, or that are not alone in their process.
pub(crate) fn worth_a_row(report: &LocksReport) -> Vec<&LockThread> {
    let waited = |thread: &LockThread| thread.wait + thread.wait_events + thread.wait_joins > Nanos::ZERO;
    let with_others = |thread: &LockThread| report.processes.get(thread.process).is_some_and(|of| of.threads > 1);
    report.threads.iter().filter(|thread| waited(thread) || with_others(thread)).collect()
}

/// What it began with.
fn began(report: &LocksReport, thread: &LockThread) -> String {
    let is_first = report.processes.get(thread.process).is_some_and(|process| process.pid == thread.tid);
    match &thread.start {
        Ok(start) => match &start.function {
            Ok(function) => places::called(function, NAME),
            Err(_) => places::place(start, NAME),
        },
        Err(_) if is_first => "(first)".to_owned(),
        Err(_) => "–".to_owned(),
    }
}

/// What is to be said of the threads that are not shown; nothing where all are.
pub(crate) fn more_threads(report: &LocksReport, most: usize) -> Option<String> {
    let shown = worth_a_row(report);
    let rest = shown.iter().skip(most);
    let (life, wait) = rest.fold((0.0, 0.0), |sum, one| (sum.0 + one.life.seconds(), sum.1 + one.wait.seconds()));
    let others = shown.len().checked_sub(most).filter(|others| *others > 0)?;
    Some(format!(
        "{} waited {} for locks together, {} of their lives; JSON has each.",
        count(others, "other thread", "other threads"),
        time(wait),
        share(wait, life)
    ))
}
