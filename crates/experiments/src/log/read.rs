//! What a log tells.

use std::collections::BTreeMap;

use steady_model::{Absent, Activity, Block, Ending, Layout, Look, Record, Run};

use super::{End, Entry};

/// What a log tells of a comparison. Where it did not come to its end: all blocks that were whole, and one look more, at
/// where it broke off. `None` where nothing was measured yet.
///
/// A line that is not whole ends the log; what stands before it counts. No input makes it panic.
pub fn read(text: &str) -> Option<Record> {
    let mut entries = text.lines().map_while(|line| serde_json::from_str(line).ok());
    let Some(Entry::Begun(begun)) = entries.next() else { return None };
    let mut record = *begun;
    let mut parts: BTreeMap<u64, (Layout, Vec<(usize, Run)>)> = BTreeMap::new();
    let mut end = None;
    for entry in entries {
        match entry {
            Entry::Begun(_) => return None,
            Entry::Runs { block, layout, place, runs } => {
                let part = parts.entry(block).or_insert((layout, Vec::new()));
                part.1.extend(runs.into_iter().enumerate().map(|(index, run)| (place.saturating_add(index), run)));
            }
            Entry::Look(look) => record.looks.push(look),
            Entry::Moment(moment) => record.moments.push(moment),
            Entry::Ended(ended) => end = Some(ended),
        }
    }
    let commands = record.plan.commands.len();
    record.blocks = parts.into_values().filter_map(|(layout, runs)| block(layout, runs, commands)).collect();
    match end {
        Some(end) => finish(&mut record, end),
        None => break_off(&mut record),
    }
    (!record.blocks.is_empty()).then_some(record)
}

/// The block that these runs make, if none is missing.
fn block(layout: Layout, mut runs: Vec<(usize, Run)>, commands: usize) -> Option<Block> {
    runs.sort_by_key(|(place, _)| *place);
    let block = Block::new(layout, runs.into_iter().map(|(_, run)| run).collect());
    (block.is_whole(commands) && block.runs.iter().all(|run| run.command < commands)).then_some(block)
}

/// It came to its end, as it says itself.
fn finish(record: &mut Record, end: End) {
    record.blocks.truncate(end.blocks);
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
