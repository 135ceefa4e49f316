//! The locks of a command as CSV.

use steady_model::{Nanos, Reading};
use steady_render::csv::{Column, seconds, table};

use crate::record::{CodePlace, LockSite, LockUse, LockedProcess, LocksRecord};

/// A lock and its process.
type Row<'a> = (&'a LockUse, Option<&'a LockedProcess>);

/// The columns of the CSV: one line for each lock. A field is empty if the record has no such reading. `process` is the
/// process ID, `site` the call site where threads waited longest for the lock, and `sites` the number of call sites.
fn columns<'a>() -> [Column<Row<'a>>; 29] {
    [
        ("id", |(lock, _)| lock.id.to_string()),
        ("kind", |(lock, _)| lock.kind.name().to_owned()),
        ("process", |(_, process)| process.map_or_else(String::new, |process| process.pid.to_string())),
        ("program", |(_, process)| process.and_then(|process| process.program.clone().ok()).unwrap_or_default()),
        ("address", |(lock, _)| format!("{:#x}", lock.address)),
        ("destroyed", |(lock, _)| lock.destroyed.to_string()),
        ("acquisitions", |(lock, _)| lock.acquisitions.to_string()),
        ("contended", |(lock, _)| lock.contended.to_string()),
        ("given_up", |(lock, _)| lock.given_up.to_string()),
        ("waits", |(lock, _)| count(&lock.waits)),
        ("wait_seconds", |(lock, _)| time(&lock.wait_seconds)),
        ("wait_median_seconds", |(lock, _)| time(&lock.wait_median_seconds)),
        ("wait_p99_seconds", |(lock, _)| time(&lock.wait_p99_seconds)),
        ("wait_max_seconds", |(lock, _)| time(&lock.wait_max_seconds)),
        ("hold_seconds", |(lock, _)| time(&lock.hold_seconds)),
        ("hold_mean_seconds", |(lock, _)| time(&lock.hold_mean_seconds)),
        ("hold_median_seconds", |(lock, _)| time(&lock.hold_median_seconds)),
        ("hold_p99_seconds", |(lock, _)| time(&lock.hold_p99_seconds)),
        ("hold_max_seconds", |(lock, _)| time(&lock.hold_max_seconds)),
        ("holds_timed_contended", |(lock, _)| count(&lock.holds_timed_contended)),
        ("holds_timed_sampled", |(lock, _)| count(&lock.holds_timed_sampled)),
        ("threads", |(lock, _)| lock.threads.to_string()),
        ("waiting_at_end", |(lock, _)| lock.waiting.len().to_string()),
        ("gain_seconds", |(lock, _)| time(&lock.gain_seconds)),
        ("made_at", |(lock, _)| lock.made_at.as_ref().map_or_else(|_| String::new(), place)),
        ("site", |(lock, _)| longest(lock).map_or_else(String::new, |site| place(&site.place()))),
        ("site_wait_seconds", |(lock, _)| longest(lock).map_or_else(String::new, |site| seconds(site.wait_seconds))),
        ("sites", |(lock, _)| lock.sites.len().to_string()),
        ("probably_gil", |(lock, _)| lock.probably_gil.to_string()),
    ]
}

/// Formats the locks of a record as CSV, with a header line.
pub(crate) fn csv(record: &LocksRecord) -> String {
    let rows: Vec<Row<'_>> = record.locks.iter().map(|lock| (lock, record.processes.get(lock.process))).collect();
    table(&columns(), &rows)
}

fn longest(lock: &LockUse) -> Option<&LockSite> {
    lock.sites.iter().max_by_key(|site| site.wait_seconds)
}

fn count(reading: &Reading<u64>) -> String {
    reading.as_ref().map_or_else(|_| String::new(), u64::to_string)
}

fn time(reading: &Reading<Nanos>) -> String {
    reading.as_ref().map_or_else(|_| String::new(), |time| seconds(*time))
}

/// Formats a call site in full: `push /home/me/queue.c:88`, `/usr/lib/libq.so+0x1a2b`.
fn place(place: &CodePlace) -> String {
    let offset = || format!("{}+{:#x}", place.module.as_deref().unwrap_or(""), place.offset);
    let at = place.line.clone().unwrap_or_else(|_| offset());
    place.function.as_ref().map_or(at.clone(), |function| format!("{function} {at}"))
}
