//! Rulers: short fixed kernels, one per resource of the machine, whose CPU time tells how much slower it is right now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Activity, Bytes, Ending, Host, Interval, Machine, Nanos, Reading, Seed, Timestamp};

/// What a ruler measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// A chain of dependent integer operations, in registers alone.
    Alu,
    /// Dependent loads from the first level of data cache.
    L1,
    /// Dependent loads from the last level that no other core shares.
    L2,
    /// Dependent loads from the first level of cache that is shared between cores.
    Shared,
    /// Dependent loads from beyond all caches.
    Memory,
    /// Calls of many small functions in permuted order: the fetching of instructions.
    Fetch,
    /// The cheapest system call.
    SystemCall,
}

impl Resource {
    /// All of them, from the core outwards.
    pub const ALL: [Resource; 7] = [
        Resource::Alu,
        Resource::L1,
        Resource::L2,
        Resource::Shared,
        Resource::Memory,
        Resource::Fetch,
        Resource::SystemCall,
    ];

    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Alu => "alu",
            Resource::L1 => "l1",
            Resource::L2 => "l2",
            Resource::Shared => "shared",
            Resource::Memory => "memory",
            Resource::Fetch => "fetch",
            Resource::SystemCall => "system_call",
        }
    }
}

/// What one ruler read at one time, or over the rounds of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulerReading {
    /// The ruler.
    pub resource: Resource,
    /// How large its working set is, for those that have one.
    pub working_set: Option<Bytes>,
    /// CPU time per unit of work (one operation, load or call), in seconds: the median of its repetitions.
    pub seconds_per_unit: f64,
    /// How far the repetitions of this reading, or the rounds of the row, lay apart: their interquartile range over their median.
    pub spread_ratio: f64,
    /// `seconds_per_unit` over the best that this host has shown; 1 where it is the best.
    pub slowdown_ratio: f64,
    /// CPU time that the reading took, warming up included; of several, the dearest.
    pub cost: Nanos,
}

/// Neighbours that take something from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbour {
    /// Keeps a CPU busy, and no memory.
    Spin,
    /// Streams through more memory than the caches hold.
    Stream,
    /// Hashes, out of the first level of cache.
    Hash,
}

impl Neighbour {
    /// Its name on the command line, in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Neighbour::Spin => "spin",
            Neighbour::Stream => "stream",
            Neighbour::Hash => "hash",
        }
    }
}

/// What all rulers read beside so many neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulerRow {
    /// How many neighbours ran meanwhile.
    pub neighbours: u32,
    /// The readings, each ruler's median over the rounds of the row; absent for a resource that this machine does not
    /// have, or whose size it does not tell.
    pub readings: Vec<(Resource, Reading<RulerReading>)>,
    /// What the machine was doing meanwhile.
    pub activity: Activity,
}

/// Everything that `steady load --rulers` measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulerRecord {
    /// When it was begun: a label.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// What the neighbours did; none where none were asked for.
    pub neighbour: Option<Neighbour>,
    /// The seed of the order of the rows and rulers.
    pub seed: Seed,
    /// The rows by number of neighbours.
    pub rows: Vec<RulerRow>,
    /// From the first reading to the end.
    pub elapsed: Nanos,
    /// Why it ended.
    pub ending: Ending,
    /// Why it ended early, where neighbours were lost or could not be had; the rows that are whole are there.
    pub failure: Option<String>,
}

/// How fast a CPU's clock ran: the CPU time of a step of dependent arithmetic, which follows nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AluTime {
    /// The mean of the readings, in seconds.
    pub seconds: f64,
    /// Where it lies, as far as the spread of the readings shows.
    pub interval: Interval,
    /// How many readings there were.
    pub readings: u32,
}
