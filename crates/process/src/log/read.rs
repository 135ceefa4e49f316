//! Reads the log of a comparison.

use std::collections::BTreeMap;

use steady_model::{Absent, Activity, Block, Ending, Look, Record, Run};

use super::{End, Entry, Part};
use crate::runner::Start;

/// Reads the log of a comparison. A log without an end gives all complete blocks, with an additional look after the
/// last one. Returns `None` if nothing was measured, or if it is the log of another feature.
///
/// Reading stops at an incomplete line; the lines before it count. No input causes a panic.
pub fn read(text: &str) -> Option<Record> {
    let mut entries = text.lines().map_while(|line| serde_json::from_str(line).ok());
    match entries.next()? {
        Entry::Begun(begun) => comparison(begun.resolved()?, entries),
        _ => None,
    }
}

/// Whether a line is valid in the log of a comparison.
pub fn is_line(line: &str) -> bool {
    serde_json::from_str::<Entry>(line).is_ok()
}

/// Whether an invalid line has other lines after it, which are then not read. A killed writer leaves an invalid line
/// only at the end.
pub fn is_garbled(text: &str, is_valid: impl Fn(&str) -> bool) -> bool {
    let mut lines = text.lines();
    lines.any(|line| !is_valid(line)) && lines.next().is_some()
}

/// Adds the entries of a log to the record of its first line.
fn comparison(mut record: Record, entries: impl Iterator<Item = Entry>) -> Option<Record> {
    let mut parts: BTreeMap<u64, (Part, Vec<(usize, Run)>)> = BTreeMap::new();
    let mut end = None;
    for entry in entries {
        match entry {
            Entry::Runs { part, runs } => {
                let parts = parts.entry(part.block).or_insert((part, Vec::new()));
                let placed = |(index, run)| (part.place.saturating_add(index), run);
                parts.1.extend(runs.into_iter().enumerate().map(placed));
            }
            Entry::Look(look) => record.looks.push(look),
            Entry::Moment(moment) => record.moments.push(moment),
            Entry::Ended(ended) => end = Some(ended),
            Entry::Begun(_) => return None,
        }
    }
    let commands = record.plan.commands.len();
    for (part, runs) in parts.into_values() {
        let as_usual = record.plan.warm && part.draw.is_some() && part.start == Start::Usual;
        let kept = if as_usual { &mut record.usual } else { &mut record.blocks };
        kept.extend(block(&part, runs, commands));
    }
    match end {
        Some(end) => finish(&mut record, end),
        None => break_off(&mut record),
    }
    (!record.blocks.is_empty()).then_some(record)
}

/// Makes a block of these runs, if none is missing.
fn block(part: &Part, mut runs: Vec<(usize, Run)>, commands: usize) -> Option<Block> {
    runs.sort_by_key(|(place, _)| *place);
    let block = Block::new(part.layout, runs.into_iter().map(|(_, run)| run).collect()).in_draw(part.draw);
    (block.is_whole(commands) && block.runs.iter().all(|run| run.command < commands)).then_some(block)
}

/// Completes a record whose log has an end.
fn finish(record: &mut Record, end: End) {
    record.blocks.truncate(end.blocks);
    record.usual.truncate(end.usual);
    (record.activity, record.elapsed, record.ending) = (end.activity, end.elapsed, end.ending);
    record.unfinished = end.unfinished.filter(|command| *command < record.plan.commands.len());
    record.looks.retain(|look| look.blocks <= record.blocks.len());
}

/// Completes a record whose log has no end, because the process was killed.
fn break_off(record: &mut Record) {
    record.looks.retain(|look| look.blocks <= record.blocks.len());
    if record.looks.last().is_some_and(|look| look.last) {
        record.ending = Ending::Decided;
    } else {
        record.ending = Ending::Interrupted;
    }
    record.elapsed = record.blocks.iter().map(|block| block.ended).max().unwrap_or_default();
    if record.ending == Ending::Interrupted {
        record.looks.push(Look { blocks: record.blocks.len(), fraction: record.spent(), last: false });
    }
    let absent = || Err(Absent::because("the process was killed before it was measured"));
    record.activity =
        Activity { busy_ratio: absent(), steal_ratio: absent(), pressure: absent(), throttled_ratio: absent() };
}
