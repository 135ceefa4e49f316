//! The processes of a tree, a row each.

use steady_model::{ExplainReport, ProcessUse};

use crate::text::Footnotes;
use crate::text::grid::{Column, Grid};
use crate::units::{thousands, time};
use crate::words::{count, cut, one_line};

/// The widest name; the kernel keeps 15 bytes of it.
const NAME: usize = 16;

/// The table of the processes that used most CPU time, at most so many; and what is to be said of the others. Nothing
/// where there are none to list.
pub(crate) fn processes(report: &ExplainReport, most: usize) -> Option<(Grid, Footnotes, String)> {
    let all = report.record.processes.as_ref().ok().filter(|all| !all.is_empty())?;
    let mut sorted: Vec<&ProcessUse> = all.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(one.cpu));
    let (shown, rest) = sorted.split_at(most.min(sorted.len()));
    let mut notes = Footnotes::default();
    let column = |head: &str, cell: &mut dyn FnMut(&ProcessUse) -> String| Column {
        head: head.to_owned(),
        cells: shown.iter().map(|one| cell(one)).collect(),
    };
    let mut columns = vec![
        column("process", &mut |one| one.pid.to_string()),
        column("of", &mut |one| one.parent.to_string()),
        column("name", &mut |one| cut(&one_line(&one.name), NAME)),
        column("threads", &mut |one| one.threads.to_string()),
        column("wall time", &mut |one| time(one.wall.seconds())),
        column("CPU time", &mut |one| time(one.cpu.seconds())),
    ];
    columns.push(column("waiting", &mut |one| match &one.waiting {
        Ok(waiting) => time(waiting.seconds()),
        Err(absent) => notes.mark(&format!("absent: {}", one_line(&absent.0))),
    }));
    columns.push(column("page faults", &mut |one| thousands(one.faults as usize)));
    columns.push(column("switches", &mut |one| thousands(one.switches as usize)));
    let more = if rest.is_empty() {
        String::new()
    } else {
        let cpu: f64 = rest.iter().map(|one| one.cpu.seconds()).sum();
        format!("{} used {} of CPU time together.", count(rest.len(), "other process", "other processes"), time(cpu))
    };
    Some((Grid(columns), notes, more))
}
