//! The locks, a row each.

use steady_model::{LockHolds, LockOrder, LockTimes, LockUse, LocksReport, Nanos, Reading};

use super::{about, fitting, named, number, numbered, share, waited};
use crate::text::Footnotes;
use crate::text::grid::{Column, Grid};
use crate::units::time;
use crate::words::one_line;

/// What stands where there is nothing to tell.
const NOTHING: &str = "–";

/// What stands above the table: by what it is put in order.
pub(crate) fn heading(report: &LocksReport) -> &'static str {
    match report.order {
        LockOrder::Wait => "Locks by how long threads waited for them",
        LockOrder::Contended => "Locks by contended acquisitions",
        LockOrder::Acquisitions => "Locks by acquisitions",
    }
}

/// The first locks, at most so many; what was waited, then what was held.
pub(crate) fn locks(report: &LocksReport, most: usize, room: usize) -> (Grid, Footnotes) {
    let shown = &report.locks[..most.min(report.locks.len())];
    let mut notes = Footnotes::default();
    let column = |head: &str, cell: &mut dyn FnMut(&LockUse) -> String| Column {
        head: head.to_owned(),
        cells: shown.iter().map(cell).collect(),
    };
    let mut columns = vec![column("lock", &mut named)];
    if report.processes.len() > 1 {
        let pid = |lock: &LockUse| report.processes.get(lock.process).map_or(0, |process| process.pid);
        columns.push(column("process", &mut |lock| pid(lock).to_string()));
    }
    columns.extend([
        column("acquisitions", &mut |lock| number(lock.acquisitions)),
        column("contended", &mut |lock| number(lock.contended)),
        column("of all", &mut |lock| share(lock.contended as f64, lock.acquisitions as f64)),
    ]);
    let mut wait = |head: &str, told: &dyn Fn(&LockTimes) -> String| {
        column(head, &mut |lock| match &lock.waits {
            Ok(waits) => told(waits),
            Err(_) if lock.contended == 0 && lock.given_up == 0 => NOTHING.to_owned(),
            Err(absent) => notes.mark(&format!("absent: {}", fitting(&one_line(&absent.0), room))),
        })
    };
    columns.extend([
        wait("waited", &|waits| time(waits.total.seconds())),
        wait("median wait", &|waits| about(waits.median)),
        wait("99\u{a0}% wait", &|waits| about(waits.p99)),
        wait("longest wait", &|waits| time(waits.most.seconds())),
    ]);
    let mut hold = |head: &str, told: &dyn Fn(&LockHolds) -> String| {
        column(head, &mut |lock| match &lock.holds {
            Ok(holds) => told(holds),
            Err(_) if !lock.kind.is_held() => NOTHING.to_owned(),
            Err(absent) => notes.mark(&format!("absent: {}", fitting(&one_line(&absent.0), room))),
        })
    };
    columns.extend([
        hold("mean hold", &|holds| about(holds.mean)),
        hold("longest hold", &|holds| time(holds.most.seconds())),
    ]);
    columns.push(column("threads", &mut |lock| number(u64::from(lock.threads))));
    columns.push(column("gain at most", &mut |lock| gain(&lock.gain, &mut notes, room)));
    (Grid(columns), notes)
}

/// By how much the wall time would be shorter at most.
fn gain(gain: &Reading<Nanos>, notes: &mut Footnotes, room: usize) -> String {
    match gain {
        Ok(gain) => time(gain.seconds()),
        Err(absent) => notes.mark(&format!("absent: {}", fitting(&one_line(&absent.0), room))),
    }
}

/// What is to be said of the locks that are not shown; nothing where all are.
pub(crate) fn more_locks(report: &LocksReport, most: usize) -> Option<String> {
    let rest = report.locks.get(most..).filter(|rest| !rest.is_empty())?;
    let sum = |of: fn(&LockUse) -> u64| rest.iter().fold(0u64, |sum, lock| sum.saturating_add(of(lock)));
    Some(format!(
        "{} not shown: {}, {} contended, waited {}; JSON and CSV have each.",
        numbered(rest.len() as u64, "lock is", "locks are"),
        numbered(sum(|lock| lock.acquisitions), "acquisition", "acquisitions"),
        number(sum(|lock| lock.contended)),
        time(rest.iter().map(waited).sum()),
    ))
}
