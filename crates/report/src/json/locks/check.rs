//! Whether what was read can be true.

use steady_model::LocksReport;

use crate::json::ReadError;
use crate::json::check::holds;

/// An error where something is of a process or a thread that there is not, or locks are numbered otherwise than from 1 on.
pub(super) fn check(report: &LocksReport) -> Result<(), ReadError> {
    let (processes, threads) = (report.processes.len(), report.threads.len());
    for (at, lock) in report.locks.iter().enumerate() {
        let path = format!("locks[{at}]");
        holds(usize::try_from(lock.id) == Ok(at + 1), &format!("{path}.id"), "they are numbered from 1 on")?;
        holds(lock.process < processes, &format!("{path}.process"), "there is no such process")?;
        holds(lock.waiting.iter().all(|one| *one < threads), &format!("{path}.waiting"), "there is no such thread")?;
        let held = lock.held_by.as_ref().map_or(true, |thread| *thread < threads);
        holds(held, &format!("{path}.held_by"), "there is no such thread")?;
    }
    for (at, thread) in report.threads.iter().enumerate() {
        holds(thread.process < processes, &format!("threads[{at}].process"), "there is no such process")?;
    }
    holds(report.sampled_one_in > 0, "sampled_one_in", "it must be above zero")
}
