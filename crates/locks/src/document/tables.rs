//! The tables: locks, call sites that requested them, threads that still waited, threads, processes.

use std::cmp::Reverse;

use steady_model::{Nanos, Reading};
use steady_render::letters::{numbered, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::time;

use super::places::{called, place};
use super::{about, named, number, share};
use crate::record::{LockKind, LockOrder, LockSite, LockThread, LockUse, LockedProcess, LocksRecord};

/// Table of the locks: waiting times, then hold times.
pub(super) fn locks(record: &LocksRecord) -> Table {
    let locks = &record.locks;
    let wait = |head: &str, of: fn(&LockUse) -> &Reading<Nanos>, words: fn(&Nanos) -> String| {
        Column::numbers(head, locks, |lock| match of(lock) {
            Err(_) if lock.contended == 0 && lock.given_up == 0 => Cell::Nothing,
            reading => Cell::reading(reading, words),
        })
    };
    let hold = |head: &str, of: fn(&LockUse) -> &Reading<Nanos>, words: fn(&Nanos) -> String| {
        Column::numbers(head, locks, |lock| match of(lock) {
            Err(_) if !lock.kind.is_held() => Cell::Nothing,
            reading => Cell::reading(reading, words),
        })
    };
    let rounded = |time: &Nanos| about(*time);
    let mean_hold = if locks.iter().any(LockUse::has_estimated_holds) { "mean hold (about)" } else { "mean hold" };
    let name = |lock: &LockUse| match lock.probably_gil {
        true => format!("{}, probably the GIL", named(lock)),
        false => named(lock),
    };
    let mut columns = vec![Column::words("lock", locks, name)];
    columns.extend(of_process(record, locks, |lock| lock.process));
    columns.extend([
        Column::numbers("acquisitions", locks, |lock| number(lock.acquisitions)),
        Column::numbers("contended", locks, |lock| number(lock.contended)),
        Column::numbers("of all", locks, |lock| share(lock.contended as f64, lock.acquisitions as f64)),
    ]);
    if locks.iter().any(|lock| lock.given_up > 0) {
        columns.push(Column::numbers("given up", locks, |lock| number(lock.given_up)));
    }
    columns.extend([
        wait("waited", |lock| &lock.wait_seconds, exactly),
        wait("median wait", |lock| &lock.wait_median_seconds, rounded),
        wait("99\u{a0}% wait", |lock| &lock.wait_p99_seconds, rounded),
        wait("longest wait", |lock| &lock.wait_max_seconds, exactly),
        hold(mean_hold, |lock| &lock.hold_mean_seconds, rounded),
        hold("longest timed hold", |lock| &lock.hold_max_seconds, exactly),
        Column::numbers("threads", locks, |lock| number(u64::from(lock.threads))),
        Column::numbers("gain at most", locks, |lock| Cell::reading(&lock.gain_seconds, exactly)),
    ]);
    if locks.iter().any(|lock| lock.made_at.is_ok()) {
        let made = |lock: &LockUse| lock.made_at.as_ref().map_or(Cell::Nothing, |made| place(made).into());
        columns.push(Column::words("initialised by", locks, made));
    }
    Table { label: "Locks".to_owned(), rows: ("lock", "locks"), columns }
}

fn exactly(span: &Nanos) -> String {
    time(span.seconds())
}

/// Column with the process ID of each item, if there are several processes.
fn of_process<T>(record: &LocksRecord, items: &[T], process: impl Fn(&T) -> usize) -> Option<Column> {
    (record.processes.len() > 1).then(|| {
        Column::numbers("process", items, |item| match record.processes.get(process(item)) {
            Some(process) => process.pid.to_string().into(),
            None => Cell::Nothing,
        })
    })
}

/// A row of the table of call sites. The numbers of unknown call sites are not known.
struct SiteRow<'a> {
    lock: &'a LockUse,
    at: String,
    contended: Option<u64>,
    acquisitions: Option<u64>,
    waited: f64,
}

/// Table of the call sites that requested locks, grouped by lock.
pub(super) fn sites(record: &LocksRecord) -> Table {
    // With locks sorted by waiting time, call sites without waiting are of no interest on their own.
    let has_row = |site: &&LockSite| record.order != LockOrder::Wait || site.wait_seconds > Nanos::ZERO;
    let mut rows = Vec::new();
    for lock in record.locks.iter().filter(|lock| !lock.sites.is_empty()) {
        let (shown, others): (Vec<_>, Vec<_>) = lock.sites.iter().partition(has_row);
        rows.extend(shown.iter().map(|site| SiteRow {
            lock,
            at: place(&site.place()),
            contended: Some(site.contended),
            acquisitions: Some(site.acquisitions),
            waited: site.wait_seconds.seconds(),
        }));
        if !shown.is_empty() && !others.is_empty() {
            rows.push(SiteRow {
                lock,
                at: numbered(others.len() as u64, "other call site", "other call sites"),
                contended: Some(others.iter().map(|site| site.contended).sum()),
                acquisitions: Some(others.iter().map(|site| site.acquisitions).sum()),
                waited: 0.0,
            });
        }
        let unknown = lock.waited() - lock.sites.iter().map(|site| site.wait_seconds.seconds()).sum::<f64>();
        if unknown > 0.01 * lock.waited() {
            let at = "unknown call sites".to_owned();
            rows.push(SiteRow { lock, at, contended: None, acquisitions: None, waited: unknown });
        }
    }
    let columns = vec![
        Column::words("lock", &rows, |row| named(row.lock)),
        Column::numbers("waited", &rows, |row| time(row.waited)),
        Column::numbers("contended", &rows, |row| row.contended.map_or(Cell::Nothing, |many| number(many).into())),
        Column::numbers("acquisitions (about)", &rows, |row| {
            row.acquisitions.map_or(Cell::Nothing, |many| number(many).into())
        }),
        Column::words("requested by", &rows, |row| row.at.clone()),
    ];
    Table { label: "Call sites".to_owned(), rows: ("call site", "call sites"), columns }
}

/// The threads that still waited for a lock when their process ended.
struct Waiting {
    lock: String,
    who: String,
    held_by: Cell,
}

/// With more threads than this, only their number is shown.
const FEW: usize = 4;

/// Table of the locks that threads still waited for when their process ended, then totals of conditions and semaphores.
pub(super) fn ends(record: &LocksRecord) -> Table {
    let of_lock = |lock: &LockUse| {
        let who = match lock.waiting.len() {
            many if many > FEW => numbered(many as u64, "thread", "threads"),
            _ => lock.waiting.iter().map(|thread| waiting_thread(record, *thread)).collect::<Vec<_>>().join(", "),
        };
        let held_by = match &lock.held_by {
            Ok(thread) if lock.waiting == [*thread] => "itself".into(),
            holder => Cell::reading(holder, |thread| thread_name(record, *thread)),
        };
        Waiting { lock: named(lock), who, held_by }
    };
    let held = record.locks.iter().filter(|lock| !lock.waiting.is_empty() && lock.kind.is_held());
    let mut rows: Vec<Waiting> = held.map(of_lock).collect();
    for (kind, many) in [(LockKind::Condition, "conditions"), (LockKind::Semaphore, "semaphores")] {
        let of_kind = record.locks.iter().filter(|lock| lock.kind == kind);
        let waiting = of_kind.map(|lock| lock.waiting.len() as u64).sum::<u64>();
        if waiting > 0 {
            let who = numbered(waiting, "thread", "threads");
            rows.push(Waiting { lock: many.to_owned(), who, held_by: Cell::Nothing });
        }
    }
    Table {
        label: "Threads that still waited".to_owned(),
        rows: ("lock", "locks"),
        columns: vec![
            Column::words("waited for", &rows, |row| row.lock.clone()),
            Column::words("held by", &rows, |row| row.held_by.clone()),
            Column::words("threads", &rows, |row| row.who.clone()),
        ],
    }
}

/// Formats a thread with the call site that it waited at.
fn waiting_thread(record: &LocksRecord, thread: usize) -> String {
    let name = thread_name(record, thread);
    match record.threads.get(thread).map(|thread| &thread.waits_at) {
        Some(Ok(at)) => format!("{name} at {}", place(at)),
        _ => name,
    }
}

/// Formats a thread in a sentence: `thread 4242 push_all()`.
pub(super) fn thread_name(record: &LocksRecord, thread: usize) -> String {
    let Some(one) = record.threads.get(thread) else { return "a thread".to_owned() };
    let function = one.start.as_ref().ok().and_then(|start| start.function.as_ref().ok());
    function
        .map_or_else(|| format!("thread {}", one.tid), |function| format!("thread {} {}", one.tid, called(function)))
}

/// Table of the threads, in order of their waiting time for locks: the share of its lifetime that each waited, by
/// reason.
pub(super) fn threads(record: &LocksRecord) -> Table {
    let threads = record.threads_that_matter();
    let share_of = |head: &str, part: fn(&LockThread) -> f64| {
        Column::numbers(head, &threads, |thread| share(part(thread), thread.life_seconds.seconds()))
    };
    let mut columns = vec![Column::numbers("thread", &threads, |thread| thread.tid.to_string())];
    columns.extend(of_process(record, &threads, |thread| thread.process));
    columns.extend([
        Column::words("start function", &threads, |thread| start_function(record, thread)),
        Column::numbers("lifetime", &threads, |thread| exactly(&thread.life_seconds)),
        share_of("waiting for locks", |thread| thread.wait_seconds.seconds()),
        share_of("for conditions and semaphores", |thread| thread.wait_events_seconds.seconds()),
        share_of("for threads to end", |thread| thread.wait_joins_seconds.seconds()),
        share_of("other", |thread| {
            let waits = thread.wait_seconds + thread.wait_events_seconds + thread.wait_joins_seconds;
            (thread.life_seconds.seconds() - waits.seconds()).max(0.0)
        }),
    ]);
    Table { label: "Threads".to_owned(), rows: ("thread", "threads"), columns }
}

/// Formats the start function of a thread.
fn start_function(record: &LocksRecord, thread: &LockThread) -> Cell {
    let is_first = record.processes.get(thread.process).is_some_and(|process| process.pid == thread.tid);
    match &thread.start {
        Ok(start) => start.function.as_ref().map_or_else(|_| place(start), |function| called(function)).into(),
        Err(_) if is_first => "(main thread)".into(),
        Err(_) => Cell::Nothing,
    }
}

/// A process with the number of its locks and their total waiting time.
struct OfProcess<'a> {
    process: &'a LockedProcess,
    locks: u64,
    waited: f64,
}

/// Table of the processes, sorted by the total waiting time of their locks; empty unless there are several.
pub(super) fn processes(record: &LocksRecord) -> Table {
    let mut rows: Vec<OfProcess<'_>> =
        record.processes.iter().map(|process| OfProcess { process, locks: 0, waited: 0.0 }).collect();
    for lock in &record.locks {
        if let Some(one) = rows.get_mut(lock.process) {
            one.locks += 1;
            one.waited += lock.waited();
        }
    }
    rows.sort_by(|one, other| {
        let size = |row: &OfProcess<'_>| Reverse((row.locks, row.process.threads));
        other.waited.total_cmp(&one.waited).then_with(|| size(one).cmp(&size(other)))
    });
    if rows.len() < 2 {
        rows.clear();
    }
    let program = |row: &OfProcess<'_>| match &row.process.program {
        Ok(program) => one_line(program.rsplit('/').next().unwrap_or(program)).into(),
        Err(_) => Cell::Nothing,
    };
    Table {
        label: "Processes".to_owned(),
        rows: ("process", "processes"),
        columns: vec![
            Column::numbers("process", &rows, |row| row.process.pid.to_string()),
            Column::words("program", &rows, program),
            Column::words("started by", &rows, |row| if row.process.forked { "fork" } else { "exec" }),
            Column::numbers("lifetime", &rows, |row| exactly(&row.process.life_seconds)),
            Column::numbers("threads", &rows, |row| number(u64::from(row.process.threads))),
            Column::numbers("locks", &rows, |row| number(row.locks)),
            Column::numbers("folded", &rows, |row| number(row.process.folded_locks)),
            Column::numbers("waited", &rows, |row| time(row.waited)),
        ],
    }
}
