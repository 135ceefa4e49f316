//! The threads, a row each.

use steady_model::{LockThread, LocksReport};

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
    let shown = report.threads.get(..most.min(report.threads.len())).filter(|shown| !shown.is_empty())?;
    let column = |head: &str, cell: &dyn Fn(&LockThread) -> String| Column {
        head: head.to_owned(),
        cells: shown.iter().map(cell).collect(),
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
        column("began with", &began),
        column("lived", &|thread| time(thread.life.seconds())),
        column("waiting for locks", &|thread| of(thread.wait.seconds(), thread)),
        column("for events", &|thread| of(thread.wait_events.seconds(), thread)),
        column("for threads to end", &|thread| of(thread.wait_joins.seconds(), thread)),
        column("rest", &|thread| of(rest(thread), thread)),
    ]);
    Some(Grid(columns))
}

/// What it began with.
fn began(thread: &LockThread) -> String {
    match &thread.start {
        Ok(start) => match &start.function {
            Ok(function) => places::called(function, NAME),
            Err(_) => places::place(start, NAME),
        },
        Err(_) => "–".to_owned(),
    }
}

/// What is to be said of the threads that are not shown; nothing where all are.
pub(crate) fn more_threads(report: &LocksReport, most: usize) -> Option<String> {
    let rest = report.threads.get(most..).filter(|rest| !rest.is_empty())?;
    let (life, wait) =
        rest.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.life.seconds(), sum.1 + one.wait.seconds()));
    Some(format!(
        "{} waited {} for locks together, {} of their lives; JSON has each.",
        count(rest.len(), "other thread", "other threads"),
        time(wait),
        share(wait, life)
    ))
}
