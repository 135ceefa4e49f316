//! The resources of a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// A resource that a ruler measures.
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
