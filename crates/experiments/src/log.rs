//! The log of a comparison: everything measured, appended as it happens, so that a kill loses no more than what was
//! being measured. One JSON value a line; the launchers append the runs themselves.
//!
//! ```text
//! {"begun": {..the record, without blocks..}}
//! {"runs": {"block": 0, "layout": "turns", "place": 0, "runs": [..]}}
//! {"look": ..}  {"moment": ..}
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use steady_model::{Absent, Activity, Block, Ending, Layout, Look, Moment, Record, Run};

/// Appends to a log; several processes may append to one, each line whole.
pub struct Appender {
    file: File,
    line: Vec<u8>,
}

/// A line, to be written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Begun(&'a Record),
    Runs { block: u64, layout: Layout, place: usize, runs: Vec<&'a Run> },
    Look(&'a Look),
    Moment(&'a Moment),
}

/// A line, read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Begun(Box<Record>),
    Runs { block: u64, layout: Layout, place: usize, runs: Vec<Run> },
    Look(Look),
    Moment(Moment),
}

impl Appender {
    /// Opens the log at `path`, and makes it if there is none.
    ///
    /// # Errors
    /// What open(2) says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Appender { file, line: Vec::new() })
    }

    /// The beginning: the record before anything was measured.
    ///
    /// # Errors
    /// What write(2) says; so for all that follow.
    pub fn begun(&mut self, record: &Record) -> io::Result<()> {
        self.append(&Line::Begun(record))
    }

    /// Runs of block number `block`, the first of which has `place` in it.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn runs<'a>(
        &mut self,
        block: u64,
        layout: Layout,
        place: usize,
        runs: impl Iterator<Item = &'a Run>,
    ) -> io::Result<()> {
        self.append(&Line::Runs { block, layout, place, runs: runs.collect() })
    }

    /// A look at what had been measured.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn look(&mut self, look: &Look) -> io::Result<()> {
        self.append(&Line::Look(look))
    }

    /// What the machine was doing.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn moment(&mut self, moment: &Moment) -> io::Result<()> {
        self.append(&Line::Moment(moment))
    }

    /// In one call, so that lines of several processes do not mix.
    fn append(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }
}

/// What a log tells of a comparison that did not come to its end: all blocks that were whole, and one look more, at
/// where it broke off. `None` where nothing was measured yet.
///
/// A line that is not whole ends the log; what stands before it counts. No input makes it panic.
pub fn read(text: &str) -> Option<Record> {
    let mut entries = text.lines().map_while(|line| serde_json::from_str(line).ok());
    let Some(Entry::Begun(begun)) = entries.next() else { return None };
    let mut record = *begun;
    let mut parts: BTreeMap<u64, (Layout, Vec<(usize, Run)>)> = BTreeMap::new();
    for entry in entries {
        match entry {
            Entry::Begun(_) => return None,
            Entry::Runs { block, layout, place, runs } => {
                let part = parts.entry(block).or_insert((layout, Vec::new()));
                part.1.extend(runs.into_iter().enumerate().map(|(index, run)| (place.saturating_add(index), run)));
            }
            Entry::Look(look) => record.looks.push(look),
            Entry::Moment(moment) => record.moments.push(moment),
        }
    }
    let commands = record.plan.commands.len();
    record.blocks = parts.into_values().filter_map(|(layout, runs)| block(layout, runs, commands)).collect();
    finish(&mut record);
    (!record.blocks.is_empty()).then_some(record)
}

/// The block that these runs make, if none is missing.
fn block(layout: Layout, mut runs: Vec<(usize, Run)>, commands: usize) -> Option<Block> {
    runs.sort_by_key(|(place, _)| *place);
    let block = Block::new(layout, runs.into_iter().map(|(_, run)| run).collect());
    (block.is_whole(commands) && block.runs.iter().all(|run| run.command < commands)).then_some(block)
}

fn finish(record: &mut Record) {
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
