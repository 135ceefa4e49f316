//! Whether what was read can be true: what the judging may rely on.

use std::collections::BTreeSet;

use steady_model::{LoadRecord, LoadRow, LoadRun, LoadWork, Nanos};

use crate::json::ReadError;
use crate::json::check::{LONGEST, MOST, holds};

/// An error where the record contradicts itself, or where its sums would overflow.
pub(super) fn check(record: &LoadRecord) -> Result<(), ReadError> {
    if let LoadWork::Command { command, .. } = &record.plan.work {
        holds(!command.argv.is_empty(), "plan.work.command.command.argv", "empty")?;
    }
    holds(record.plan.procs.iter().all(|procs| *procs > 0), "plan.procs", "a row of no processes")?;
    holds(record.elapsed < LONGEST, "elapsed_seconds", "longer than any measuring")?;
    let mut seen = BTreeSet::new();
    let mut sums = Sums::default();
    for row in &record.rows {
        let path = format!("the row of N = {}", row.procs);
        holds(row.procs > 0, &path, "there is no such row")?;
        holds(seen.insert(row.procs), &path, "it stands there twice")?;
        self::row(row, &path, &mut sums)?;
    }
    Ok(())
}

/// Whether a row's times and counts are such that there can be.
fn row(row: &LoadRow, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
    let times = [
        ("started_seconds", row.started),
        ("elapsed_seconds", row.elapsed),
        ("others_cpu_seconds", *row.others_cpu.as_ref().unwrap_or(&Nanos::ZERO)),
        ("own_cpu_seconds", *row.own_cpu.as_ref().unwrap_or(&Nanos::ZERO)),
    ];
    for (name, time) in times {
        // Of many CPUs that work at once there may be more than there is of time.
        holds(time < Nanos(LONGEST.0.saturating_mul(1024)), &format!("{path}: {name}"), "longer than any measuring")?;
    }
    sums.add(&[row.started.0, row.elapsed.0], 0, path)?;
    for (index, run) in row.runs.iter().enumerate() {
        self::run(run, &format!("{path}: runs[{index}]"), sums)?;
    }
    Ok(())
}

/// Whether a run's times and counts are such that there can be.
fn run(run: &LoadRun, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
    let times = [
        ("user_seconds", run.user),
        ("system_seconds", run.system),
        ("wall_seconds", run.wall),
        ("run_delay_seconds", *run.run_delay.as_ref().unwrap_or(&Nanos::ZERO)),
        ("overshoot_seconds", *run.overshoot.as_ref().unwrap_or(&Nanos::ZERO)),
    ];
    for (name, time) in times {
        holds(time < LONGEST, &format!("{path}.{name}"), "longer than any measuring")?;
    }
    holds(run.work <= MOST, &format!("{path}.work"), "more than there can be")?;
    sums.add(&times.map(|(_, time)| time.0), run.work, path)
}

/// Running totals, kept so that no sum made of the record later can overflow.
#[derive(Default)]
struct Sums {
    time: u64,
    work: u64,
}

impl Sums {
    fn add(&mut self, times: &[u64], work: u64, path: &str) -> Result<(), ReadError> {
        let time = times.iter().try_fold(self.time, |sum, time| sum.checked_add(*time));
        match (time, self.work.checked_add(work)) {
            (Some(time), Some(work)) => (self.time, self.work) = (time, work),
            _ => return Err(ReadError::inconsistent(path, "what is above adds up to more than there can be")),
        }
        Ok(())
    }
}
