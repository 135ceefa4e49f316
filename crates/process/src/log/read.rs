//! What a log tells.

use std::collections::BTreeMap;

use steady_model::{Absent, Activity, Block, Ending, LoadRecord, LoadRow, Look, Record, Run};

use super::{End, Entry, Part, load};
use crate::runner::Start;

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Logged {
    /// A comparison.
    Compare(Box<Record>),
    /// A load experiment.
    Load(Box<LoadRecord>),
}

/// What a log tells of what was measured. Where it did not come to its end: of a comparison all blocks that were whole, and
/// one look more, at where it broke off; of a load experiment all rows. `None` where nothing was measured yet.
///
/// A line that is not whole ends the log; what stands before it counts. No input makes it panic.
pub fn read(text: &str) -> Option<Logged> {
    let mut entries = text.lines().map_while(|line| serde_json::from_str(line).ok());
    match entries.next()? {
        Entry::Begun(begun) => comparison(*begun, entries).map(|record| Logged::Compare(Box::new(record))),
        Entry::LoadBegun(begun) => load_experiment(*begun, entries).map(|record| Logged::Load(Box::new(record))),
        _ => None,
    }
}

/// Whether a line makes no sense and others follow it: what they tell is not read.
pub(super) fn is_garbled(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| serde_json::from_str::<Entry>(line).is_err()) && lines.next().is_some()
}

/// A comparison that began as `record`.
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
            Entry::Begun(_) | Entry::LoadBegun(_) | Entry::Row(_) | Entry::LoadEnded(_) => return None,
        }
    }
    let commands = record.plan.commands.len();
    for (part, runs) in parts.into_values() {
        let as_usual = part.draw.is_some() && part.start == Start::Usual;
        let kept = if as_usual { &mut record.usual } else { &mut record.blocks };
        kept.extend(block(&part, runs, commands));
    }
    match end {
        Some(end) => finish(&mut record, end),
        None => break_off(&mut record),
    }
    (!record.blocks.is_empty()).then_some(record)
}

/// A load experiment that began as `begun`.
fn load_experiment(begun: LoadRecord, entries: impl Iterator<Item = Entry>) -> Option<LoadRecord> {
    let mut rows: Vec<LoadRow> = Vec::new();
    let mut end = None;
    for entry in entries {
        match entry {
            Entry::Row(row) => rows.push(*row),
            Entry::LoadEnded(ended) => end = Some(ended),
            _ => return None,
        }
    }
    load::assemble(begun, rows, end)
}

/// The block that these runs make, if none is missing.
fn block(part: &Part, mut runs: Vec<(usize, Run)>, commands: usize) -> Option<Block> {
    runs.sort_by_key(|(place, _)| *place);
    let block = Block::new(part.layout, runs.into_iter().map(|(_, run)| run).collect()).in_draw(part.draw);
    (block.is_whole(commands) && block.runs.iter().all(|run| run.command < commands)).then_some(block)
}

/// It came to its end, as it says itself.
fn finish(record: &mut Record, end: End) {
    record.blocks.truncate(end.blocks);
    record.usual.truncate(end.usual);
    (record.activity, record.elapsed, record.ending) = (end.activity, end.elapsed, end.ending);
    record.looks.retain(|look| look.blocks <= record.blocks.len());
}

/// It was killed.
fn break_off(record: &mut Record) {
    record.looks.retain(|look| look.blocks <= record.blocks.len());
    if record.looks.last().is_some_and(|look| look.last) {
        record.ending = Ending::Decided;
    } else {
        record.looks.push(Look { blocks: record.blocks.len(), fraction: 1.0, last: true });
        record.ending = Ending::Interrupted;
    }
    record.elapsed = record.blocks.iter().map(|block| block.ended).max().unwrap_or_default();
    let absent = || Err(Absent::because("the measuring was killed before it was read"));
    record.activity =
        Activity { busy_ratio: absent(), steal_ratio: absent(), pressure: absent(), throttled_ratio: absent() };
}
