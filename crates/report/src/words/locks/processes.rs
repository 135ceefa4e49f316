//! The processes, a row each.

use std::cmp::Reverse;

use steady_model::{LockedProcess, LocksReport};

use super::{number, waited};
use crate::text::grid::{Column, Grid};
use crate::units::time;
use crate::words::{count, cut, one_line};

/// The widest name of a program in the table.
const NAME: usize = 20;

/// A process, and what its locks come to.
struct Of<'a> {
    process: &'a LockedProcess,
    locks: u64,
    waited: f64,
}

/// All processes, those first whose locks were waited for longest, then those with most locks and threads.
fn sorted(report: &LocksReport) -> Vec<Of<'_>> {
    let mut all: Vec<Of<'_>> = report.processes.iter().map(|process| Of { process, locks: 0, waited: 0.0 }).collect();
    for lock in &report.locks {
        if let Some(one) = all.get_mut(lock.process) {
            one.locks += 1;
            one.waited += waited(lock);
        }
    }
    all.sort_by(|one, other| {
        let more = |one: &Of<'_>| Reverse((one.locks, one.process.threads));
        other.waited.total_cmp(&one.waited).then_with(|| more(one).cmp(&more(other)))
    });
    all
}

/// The first processes, at most so many; nothing where there is but one or none.
pub(crate) fn processes(report: &LocksReport, most: usize) -> Option<Grid> {
    if report.processes.len() < 2 {
        return None;
    }
    let mut shown = sorted(report);
    shown.truncate(most);
    let column = |head: &str, cell: &dyn Fn(&Of<'_>) -> String| Column {
        head: head.to_owned(),
        cells: shown.iter().map(cell).collect(),
    };
    Some(Grid(vec![
        column("process", &|of| of.process.pid.to_string()),
        column("program", &|of| program(of.process)),
        column("began by", &|of| if of.process.forked { "fork" } else { "exec" }.to_owned()),
        column("lived", &|of| time(of.process.life.seconds())),
        column("threads", &|of| number(u64::from(of.process.threads))),
        column("locks", &|of| number(of.locks)),
        column("folded", &|of| number(of.process.folded.locks)),
        column("waited", &|of| time(of.waited)),
    ]))
}

fn program(process: &LockedProcess) -> String {
    match &process.program {
        Ok(program) => cut(&one_line(program.rsplit('/').next().unwrap_or(program)), NAME),
        Err(_) => "–".to_owned(),
    }
}

/// What is to be said of the processes that are not shown; nothing where all are.
pub(crate) fn more_processes(report: &LocksReport, most: usize) -> Option<String> {
    let rest = report.processes.get(most..).filter(|rest| !rest.is_empty())?;
    Some(format!("{} not shown; JSON has each.", count(rest.len(), "process is", "processes are")))
}
