//! The processes, a row each.

use steady_model::{LockedProcess, LocksReport};

use super::number;
use crate::text::grid::{Column, Grid};
use crate::units::time;
use crate::words::{count, cut, one_line};

/// The widest name of a program in the table.
const NAME: usize = 20;

/// The first processes, at most so many; nothing where there is but one or none.
pub(crate) fn processes(report: &LocksReport, most: usize) -> Option<Grid> {
    let shown = report.processes.get(..most.min(report.processes.len())).filter(|_| report.processes.len() > 1)?;
    let column = |head: &str, cell: &dyn Fn(&LockedProcess) -> String| Column {
        head: head.to_owned(),
        cells: shown.iter().map(cell).collect(),
    };
    let locks = |process: &LockedProcess| {
        let own = report.locks.iter().filter(|lock| report.processes.get(lock.process) == Some(process));
        own.count() as u64
    };
    Some(Grid(vec![
        column("process", &|process| process.pid.to_string()),
        column("program", &program),
        column("began by", &|process| if process.forked { "fork" } else { "exec" }.to_owned()),
        column("lived", &|process| time(process.life.seconds())),
        column("threads", &|process| number(u64::from(process.threads))),
        column("locks", &|process| number(locks(process))),
        column("folded", &|process| number(process.folded.locks)),
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
