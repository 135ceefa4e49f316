//! The raw samples.

use serde::{Deserialize, Serialize};
use steady_model::{Block, Bytes, Counters, Layout, Look, Moment, Outcome, Record, Run};

use super::{Seconds, join, required, split};
use crate::json::ReadError;

/// The blocks and looks of a [`Record`] in JSON.
#[derive(Serialize, Deserialize)]
pub(in crate::json) struct SamplesWire {
    looks: Vec<LookWire>,
    moments: Vec<MomentWire>,
    blocks: Vec<BlockWire>,
    /// Left out where no runs were to start from snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usual: Option<Vec<BlockWire>>,
}

/// [`Look`] in JSON.
#[derive(Serialize, Deserialize)]
struct LookWire {
    blocks: usize,
    fraction_ratio: f64,
    last: bool,
}

/// [`Moment`] in JSON: what could not be read is null, for the reasons in `load`.
#[derive(Serialize, Deserialize)]
struct MomentWire {
    at_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    busy_ratio: Option<f64>,
    #[serde(deserialize_with = "required")]
    steal_ratio: Option<f64>,
    #[serde(deserialize_with = "required")]
    pressure: Option<f64>,
}

impl From<&Moment> for MomentWire {
    fn from(moment: &Moment) -> Self {
        MomentWire {
            at_seconds: Seconds(moment.at),
            busy_ratio: moment.busy_ratio,
            steal_ratio: moment.steal_ratio,
            pressure: moment.pressure,
        }
    }
}

impl From<MomentWire> for Moment {
    fn from(wire: MomentWire) -> Self {
        Moment {
            at: wire.at_seconds.0,
            busy_ratio: wire.busy_ratio,
            steal_ratio: wire.steal_ratio,
            pressure: wire.pressure,
        }
    }
}

/// [`Block`] in JSON.
#[derive(Serialize, Deserialize)]
struct BlockWire {
    layout: Layout,
    ended_seconds: Seconds,
    /// Left out where runs were started as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draw: Option<u64>,
    runs: Vec<RunWire>,
}

/// [`Run`] in JSON.
#[derive(Serialize, Deserialize)]
struct RunWire {
    command: usize,
    #[serde(deserialize_with = "required")]
    cpu: Option<usize>,
    padding_bytes: u32,
    started_seconds: Seconds,
    wall_seconds: Seconds,
    user_seconds: Seconds,
    system_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    run_delay_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_delay_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    peak_memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peak_memory_bytes_absent: Option<String>,
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    left_behind: u32,
    outcome: Outcome,
    /// Left out where the CPU's counters were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counters: Option<CountersWire>,
}

/// [`Counters`] in JSON.
#[derive(Serialize, Deserialize)]
struct CountersWire {
    #[serde(deserialize_with = "required")]
    instructions: Option<u64>,
    #[serde(deserialize_with = "required")]
    cycles: Option<u64>,
    #[serde(deserialize_with = "required")]
    branch_misses: Option<u64>,
    #[serde(deserialize_with = "required")]
    cache_misses: Option<u64>,
}

impl From<Counters> for CountersWire {
    fn from(counters: Counters) -> Self {
        let Counters { instructions, cycles, branch_misses, cache_misses } = counters;
        CountersWire { instructions, cycles, branch_misses, cache_misses }
    }
}

impl From<CountersWire> for Counters {
    fn from(wire: CountersWire) -> Self {
        let CountersWire { instructions, cycles, branch_misses, cache_misses } = wire;
        Counters { instructions, cycles, branch_misses, cache_misses }
    }
}

impl From<&Record> for SamplesWire {
    fn from(record: &Record) -> Self {
        let look = |look: &Look| LookWire { blocks: look.blocks, fraction_ratio: look.fraction, last: look.last };
        let block = |block: &Block| BlockWire {
            layout: block.layout,
            ended_seconds: Seconds(block.ended),
            draw: block.draw,
            runs: block.runs.iter().map(RunWire::from).collect(),
        };
        SamplesWire {
            looks: record.looks.iter().map(look).collect(),
            moments: record.moments.iter().map(MomentWire::from).collect(),
            blocks: record.blocks.iter().map(block).collect(),
            usual: record.is_warm().then(|| record.usual.iter().map(block).collect()),
        }
    }
}

impl From<&Run> for RunWire {
    fn from(run: &Run) -> Self {
        let (run_delay_seconds, run_delay_seconds_absent) = split(&run.run_delay, Seconds);
        let (peak_memory_bytes, peak_memory_bytes_absent) = split(&run.peak_memory, |bytes| bytes.0);
        RunWire {
            command: run.command,
            cpu: run.cpu,
            padding_bytes: run.padding,
            started_seconds: Seconds(run.started),
            wall_seconds: Seconds(run.wall),
            user_seconds: Seconds(run.user),
            system_seconds: Seconds(run.system),
            run_delay_seconds,
            run_delay_seconds_absent,
            peak_memory_bytes,
            peak_memory_bytes_absent,
            minor_faults: run.minor_faults,
            major_faults: run.major_faults,
            voluntary_switches: run.voluntary_switches,
            involuntary_switches: run.involuntary_switches,
            left_behind: run.left_behind,
            outcome: run.outcome,
            counters: run.counters.map(CountersWire::from),
        }
    }
}

/// What the samples hold of a record.
pub(in crate::json) struct Parts {
    pub(in crate::json) blocks: Vec<Block>,
    pub(in crate::json) usual: Vec<Block>,
    pub(in crate::json) looks: Vec<Look>,
    pub(in crate::json) moments: Vec<Moment>,
}

impl SamplesWire {
    /// The blocks and the looks; an error where a reading has neither value nor reason.
    pub(in crate::json) fn into_parts(self) -> Result<Parts, ReadError> {
        let look = |look: LookWire| Look { blocks: look.blocks, fraction: look.fraction_ratio, last: look.last };
        let (blocks, usual) =
            (into_blocks(self.blocks, "blocks")?, into_blocks(self.usual.unwrap_or_default(), "usual")?);
        let looks = self.looks.into_iter().map(look).collect();
        Ok(Parts { blocks, usual, looks, moments: self.moments.into_iter().map(Moment::from).collect() })
    }
}

/// The blocks of the samples by that name.
fn into_blocks(all: Vec<BlockWire>, name: &str) -> Result<Vec<Block>, ReadError> {
    let mut blocks = Vec::with_capacity(all.len());
    for (index, block) in all.into_iter().enumerate() {
        let runs = block.runs.into_iter().enumerate().map(|(place, run)| {
            run.into_run().map_err(|error| error.within(&format!("samples.{name}[{index}].runs[{place}]")))
        });
        let runs = runs.collect::<Result<_, _>>()?;
        blocks.push(Block { layout: block.layout, ended: block.ended_seconds.0, runs, draw: block.draw });
    }
    Ok(blocks)
}

impl RunWire {
    fn into_run(self) -> Result<Run, ReadError> {
        let delay = join("run_delay_seconds", self.run_delay_seconds, self.run_delay_seconds_absent)?;
        let memory = join("peak_memory_bytes", self.peak_memory_bytes, self.peak_memory_bytes_absent)?;
        Ok(Run {
            command: self.command,
            cpu: self.cpu,
            padding: self.padding_bytes,
            started: self.started_seconds.0,
            wall: self.wall_seconds.0,
            user: self.user_seconds.0,
            system: self.system_seconds.0,
            run_delay: delay.map(|seconds| seconds.0),
            peak_memory: memory.map(Bytes),
            minor_faults: self.minor_faults,
            major_faults: self.major_faults,
            voluntary_switches: self.voluntary_switches,
            involuntary_switches: self.involuntary_switches,
            left_behind: self.left_behind,
            outcome: self.outcome,
            counters: self.counters.map(Counters::from),
        })
    }
}
