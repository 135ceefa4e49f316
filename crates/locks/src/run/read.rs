//! Reads the data on locks from the bytes of an area. Accepts any bytes; invalid entries are skipped.

use std::collections::HashMap;
use std::mem::offset_of;

use steady_model::{Absent, Nanos};
use steady_preload::area::{Folded, Origin, Process};

use super::area::{Bytes, Entry, place_at, places, tables, unmapped};
use super::found::{FoldedLocks, Found, FoundProcess, Modules, sites};
use super::place::{Facts, PlaceReader};

/// Maximum number of locks in a report, and of threads.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// Start and end of the process of a place.
#[derive(Clone, Copy, Debug)]
struct Span {
    place: u32,
    pid: u32,
    forked: bool,
    began: Nanos,
    ended: Option<Nanos>,
}

/// Reads all places of an area.
pub(crate) fn read(bytes: &(impl Bytes + ?Sized), facts: &Facts) -> Found {
    let (there, asked) = places(bytes);
    let mut spans: Vec<Span> = (0..there).filter_map(|place| span(bytes, place)).collect();
    spans.sort_by_key(|span| (span.began, span.place));
    let mut found = Found { unwatched: asked.saturating_sub(there) + unmapped(bytes), ..Found::default() };
    let mut modules = Modules::default();
    for (number, span) in spans.iter().enumerate() {
        let process = entry(bytes, span.place);
        let end = end_of(span, &spans[number + 1..], facts);
        let sites = sites(bytes, span.place, &process, &mut modules);
        let alone = spans.len() == 1;
        let place = PlaceReader {
            number: found.processes.len(),
            place: span.place,
            pid: span.pid,
            began: span.began,
            end,
            cpu: cpu_of(&process).or(alone.then_some(facts.cpu)),
            facts,
            sites,
        };
        let (locks, threads, known) = place.read(bytes);
        found.processes.push(found_process(&process, span, end, known));
        let first = found.threads.len();
        found.threads.extend(threads);
        found.locks.extend(locks.into_iter().map(|mut lock| {
            lock.waiting.iter_mut().for_each(|thread| *thread += first);
            lock.held_by = lock.held_by.map(|thread| thread + first);
            lock
        }));
        if found.locks.len() > 4 * MAX_ENTRIES {
            fold(&mut found);
        }
        if found.threads.len() > 4 * MAX_ENTRIES {
            keep_threads(&mut found);
        }
    }
    fold(&mut found);
    keep_threads(&mut found);
    found.modules = modules.into_list();
    found
}

fn entry(bytes: &(impl Bytes + ?Sized), place: u32) -> Entry<'static> {
    Entry::read::<Process>(bytes, place_at(place) + tables::PROCESS as u64)
}

fn span(bytes: &(impl Bytes + ?Sized), place: u32) -> Option<Span> {
    let process = entry(bytes, place);
    let pid = process.u32(offset_of!(Process, pid));
    let time = |at: usize| Nanos(process.u64(at));
    let ended = Some(time(offset_of!(Process, ended))).filter(|ended| *ended > Nanos::ZERO);
    (pid != 0).then(|| Span {
        place,
        pid,
        forked: process.u32(offset_of!(Process, origin)) == Origin::Fork as u32,
        began: time(offset_of!(Process, began)),
        ended,
    })
}

/// Returns when a process ended: the time that its watcher recorded, or else the start of the next watched program that
/// it executed, or else when it was no longer found, or else the end of the command.
fn end_of(span: &Span, later: &[Span], facts: &Facts) -> Nanos {
    let successor = later.iter().find(|other| other.pid == span.pid && !other.forked).map(|other| other.began);
    let gone = facts.gone.get(&span.pid).copied().filter(|gone| *gone > span.began);
    let end = span.ended.or(successor).or(gone).unwrap_or(facts.ended);
    end.clamp(span.began, facts.ended.max(span.began))
}

fn cpu_of(process: &Entry<'_>) -> Option<Nanos> {
    Some(Nanos(process.u64(offset_of!(Process, cpu)))).filter(|cpu| *cpu > Nanos::ZERO)
}

fn found_process(process: &Entry<'_>, span: &Span, end: Nanos, known_threads: u32) -> FoundProcess {
    let most = steady_preload::area::MODULE_PATH_BYTES;
    let length = process.u64(offset_of!(Process, program_length));
    let program = process.text(offset_of!(Process, program), length, most);
    let folded = offset_of!(Process, folded);
    FoundProcess {
        pid: span.pid,
        program: program.ok_or_else(|| Absent::because("the watcher could not read the path")),
        forked: span.forked,
        life: end - span.began,
        ended_itself: span.ended.is_some(),
        threads: process.u32(offset_of!(Process, threads)).max(known_threads),
        folded: FoldedLocks {
            locks: process.u64(folded + offset_of!(Folded, locks)),
            acquisitions: process.u64(folded + offset_of!(Folded, acquisitions)),
            contended: process.u64(folded + offset_of!(Folded, contended)),
            wait: Nanos(process.u64(folded + offset_of!(Folded, wait))),
        },
    }
}

/// Keeps at most [`MAX_ENTRIES`] locks and adds the others to the totals of their processes.
fn fold(found: &mut Found) {
    found.locks.sort_by_key(|lock| std::cmp::Reverse((lock.waited(), lock.contended, lock.acquisitions)));
    for lock in found.locks.drain(MAX_ENTRIES.min(found.locks.len())..) {
        let folded = &mut found.processes[lock.process].folded;
        folded.locks = folded.locks.saturating_add(1);
        folded.acquisitions = folded.acquisitions.saturating_add(lock.acquisitions);
        folded.contended = folded.contended.saturating_add(lock.contended);
        folded.wait = Nanos(folded.wait.0.saturating_add(lock.waited().0));
    }
}

/// Keeps at most [`MAX_ENTRIES`] threads, those that waited longest, and updates the indices of threads in the locks.
fn keep_threads(found: &mut Found) {
    let waits = |thread: &super::found::FoundThread| {
        let all = thread.wait.0.saturating_add(thread.wait_events.0).saturating_add(thread.wait_joins.0);
        std::cmp::Reverse((thread.wait, all, thread.life))
    };
    let mut order: Vec<usize> = (0..found.threads.len()).collect();
    order.sort_by_key(|index| waits(&found.threads[*index]));
    order.truncate(MAX_ENTRIES);
    let renumbered: HashMap<usize, usize> = order.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    found.threads = order.iter().map(|old| found.threads[*old].clone()).collect();
    for lock in &mut found.locks {
        lock.waiting = lock.waiting.iter().filter_map(|old| renumbered.get(old).copied()).collect();
        lock.held_by = std::mem::replace(&mut lock.held_by, Ok(0)).and_then(|old| {
            let kept = renumbered.get(&old).copied();
            kept.ok_or_else(|| {
                Absent::because(format!("that thread is not among the {MAX_ENTRIES} threads of the report"))
            })
        });
    }
}
