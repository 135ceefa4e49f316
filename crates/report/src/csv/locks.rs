//! The locks of a command as comma-separated values.

use steady_model::{CodePlace, LockHolds, LockTimes, LockUse, LocksReport, Nanos, Reading};

use super::{field, quoted, seconds};

/// The columns, in their order; those with a unit end with it.
const COLUMNS: [&str; 28] = [
    "id",
    "kind",
    "process",
    "program",
    "address",
    "destroyed",
    "acquisitions",
    "contended",
    "given_up",
    "waits",
    "wait_seconds",
    "wait_median_seconds",
    "wait_p99_seconds",
    "wait_max_seconds",
    "hold_seconds",
    "hold_mean_seconds",
    "hold_median_seconds",
    "hold_p99_seconds",
    "hold_max_seconds",
    "holds_timed_contended",
    "holds_timed_sampled",
    "threads",
    "waiting_at_end",
    "gain_seconds",
    "made_at",
    "site",
    "site_wait_seconds",
    "sites",
];

/// One line per lock, below a line of names; a field is empty where there is no such reading. `process` is the number of the
/// process; `site` is where it was waited for longest, and `sites` how many places it was taken at.
pub fn locks_csv(report: &LocksReport) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for lock in &report.locks {
        out.push_str(&(line(report, lock).join(",") + "\n"));
    }
    out
}

fn line(report: &LocksReport, lock: &LockUse) -> [String; COLUMNS.len()] {
    let process = report.processes.get(lock.process);
    let program = process.and_then(|process| process.program.as_ref().ok());
    let wait = |of: fn(&LockTimes) -> Nanos| time(&lock.waits.as_ref().map(of));
    let hold = |of: fn(&LockHolds) -> Nanos| time(&lock.holds.as_ref().map(of));
    let timed = |of: fn(&LockHolds) -> u64| field(lock.holds.as_ref().ok().map(of));
    let site = lock.sites.iter().max_by_key(|site| site.wait);
    [
        lock.id.to_string(),
        lock.kind.name().to_owned(),
        field(process.map(|process| process.pid)),
        program.map_or_else(String::new, |program| quoted(program)),
        format!("{:#x}", lock.address),
        lock.destroyed.to_string(),
        lock.acquisitions.to_string(),
        lock.contended.to_string(),
        lock.given_up.to_string(),
        field(lock.waits.as_ref().ok().map(|waits| waits.count)),
        wait(|waits| waits.total),
        wait(|waits| waits.median),
        wait(|waits| waits.p99),
        wait(|waits| waits.most),
        hold(|holds| holds.total),
        hold(|holds| holds.mean),
        hold(|holds| holds.median),
        hold(|holds| holds.p99),
        hold(|holds| holds.most),
        timed(|holds| holds.timed_contended),
        timed(|holds| holds.timed_sampled),
        lock.threads.to_string(),
        lock.waiting.len().to_string(),
        time(&lock.gain.as_ref().copied()),
        lock.made_at.as_ref().map_or_else(|_| String::new(), place),
        site.map_or_else(String::new, |site| place(&site.place)),
        field(site.map(|site| seconds(site.wait))),
        lock.sites.len().to_string(),
    ]
}

fn time<E>(time: &Result<Nanos, E>) -> String {
    time.as_ref().map_or_else(|_| String::new(), |time| seconds(*time))
}

/// A place as fully as it is known: `push /home/me/queue.c:88`, `/usr/lib/libq.so+0x1a2b`.
fn place(place: &CodePlace) -> String {
    let offset = || format!("{}+{:#x}", place.module.as_deref().unwrap_or(""), place.offset);
    let at = place.line.clone().unwrap_or_else(|_| offset());
    quoted(&known(&place.function).map_or(at.clone(), |function| format!("{function} {at}")))
}

fn known(reading: &Reading<String>) -> Option<&String> {
    reading.as_ref().ok()
}
