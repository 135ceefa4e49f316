//! The processes of a tree, a row each.

use std::cmp::Reverse;

use steady_render::document::{Block, Emphasis, Section, Shown};
use steady_render::letters::{count, cut, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{thousands, time};

use crate::record::{ExplainRecord, ProcessUse};

/// More processes than this are not listed one by one.
const MOST: usize = 40;
/// The widest name; the kernel keeps 15 bytes of it.
const NAME: usize = 16;

/// The processes that used most CPU time. A terminal shows them if they were asked for.
pub(super) fn section(record: &ExplainRecord) -> Option<Section> {
    let said = |text: String| vec![Block::Paragraph(vec![(Emphasis::Plain, text)])];
    let blocks = match &record.processes {
        Ok(all) if !all.is_empty() => table(all),
        Ok(_) if !record.by_process => return None,
        Ok(_) => said("No process was seen.".to_owned()),
        Err(absent) => said(format!("By process: absent: {}", one_line(&absent.0))),
    };
    let shown = if record.by_process { Shown::Everywhere } else { Shown::OffTerminal };
    Some(Section::new("By process", blocks).shown(shown).folded().whole())
}

fn table(all: &[ProcessUse]) -> Vec<Block> {
    let mut sorted: Vec<&ProcessUse> = all.iter().collect();
    sorted.sort_by_key(|one| Reverse(one.cpu_seconds));
    let (shown, rest) = sorted.split_at(MOST.min(sorted.len()));
    let columns = vec![
        Column::numbers("process", shown, |one| one.pid.to_string()),
        Column::numbers("of", shown, |one| one.parent.to_string()),
        Column::words("name", shown, |one| cut(&one_line(&one.name), NAME)),
        Column::numbers("threads", shown, |one| one.threads.to_string()),
        Column::numbers("wall time", shown, |one| time(one.wall_seconds.seconds())),
        Column::numbers("CPU time", shown, |one| time(one.cpu_seconds.seconds())),
        Column::numbers("waiting", shown, |one| Cell::reading(&one.waiting_seconds, |waiting| time(waiting.seconds()))),
        Column::numbers("page faults", shown, |one| number(one.faults)),
        Column::numbers("switches", shown, |one| number(one.switches)),
    ];
    let table = Table { label: "Processes".to_owned(), rows: ("process", "processes"), columns };
    let others = (!rest.is_empty()).then(|| {
        let cpu: f64 = rest.iter().map(|one| one.cpu_seconds.seconds()).sum();
        let others = count(rest.len(), "other process", "other processes");
        let text = format!("{others} used {} of CPU time together; JSON has each.", time(cpu));
        Block::Paragraph(vec![(Emphasis::Plain, text)])
    });
    std::iter::once(Block::Table(table)).chain(others).collect()
}

fn number(count: u64) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}
