//! The machine: its CPUs and their topology, and its resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, Quota, Reading};

/// The logical CPUs: which exist, which share a core, and which may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The logical CPUs that are online, ascending. If the system does not report them, those that may be used.
    pub online: Vec<usize>,
    /// The logical CPUs that are present and offline, ascending; not available if the kernel does not report them.
    pub offline: Reading<Vec<usize>>,
    /// The CPUs that this process may use (affinity mask, `--cpus`), ascending. If the system does not report them,
    /// all.
    pub allowed: Vec<usize>,
    /// The allowed CPUs by core, one list per core; not available if the kernel does not report the topology.
    pub cores: Reading<Vec<Vec<usize>>>,
    /// The number of packages (sockets) of the allowed CPUs.
    pub packages: Reading<usize>,
    /// On machines with several kinds of cores: the name of each kind and its allowed CPUs. Empty if all cores are
    /// alike.
    #[serde(with = "kinds")]
    #[schemars(with = "Vec<kinds::Kind>")]
    pub kinds: Vec<(String, Vec<usize>)>,
    /// The control group's limit on CPU time, if one is set.
    #[serde(rename = "cpu_quota", alias = "quota")]
    pub quota: Reading<Option<Quota>>,
}

impl Machine {
    /// Returns how many CPUs can be used concurrently: the number of allowed CPUs, or the quota if that is smaller.
    pub fn usable_cpus(&self) -> f64 {
        let allowed = self.allowed.len() as f64;
        match &self.quota {
            Ok(Some(quota)) => quota.cpus().min(allowed),
            _ => allowed,
        }
    }

    /// Returns the number of cores of the allowed CPUs.
    pub fn core_count(&self) -> Reading<usize> {
        self.cores.as_ref().map(Vec::len).map_err(Clone::clone)
    }

    /// Returns the greatest number of allowed CPUs on one core: 2 with hyper-threading, 1 without.
    pub fn threads_per_core(&self) -> Reading<usize> {
        let widest = |cores: &Vec<Vec<usize>>| cores.iter().map(Vec::len).max().unwrap_or(1);
        self.cores.as_ref().map(widest).map_err(Clone::clone)
    }
}

/// The JSON of kinds of cores: `{"name": "performance", "cpus": [0, 1]}`.
mod kinds {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A kind of cores, and the allowed CPUs of it.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "CoreKind")]
    pub(super) struct Kind {
        name: String,
        cpus: Vec<usize>,
    }

    pub(super) fn serialize<S: Serializer>(kinds: &[(String, Vec<usize>)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(kinds.iter().map(|kind| Kind { name: kind.0.clone(), cpus: kind.1.clone() }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, Vec<usize>)>, D::Error> {
        let kinds = Vec::<Kind>::deserialize(deserializer)?;
        Ok(kinds.into_iter().map(|kind| (kind.name, kind.cpus)).collect())
    }
}

/// A resource that a ruler measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// A chain of dependent integer operations in registers.
    Alu,
    /// Dependent loads from the first-level data cache.
    L1,
    /// Dependent loads from the largest cache that belongs to one core.
    L2,
    /// Dependent loads from the smallest cache that several cores share.
    Shared,
    /// Dependent loads from memory, beyond all caches.
    Memory,
    /// Calls of many small functions in permuted order, which load the instruction fetch.
    Fetch,
    /// The cheapest system call.
    SystemCall,
}

impl Resource {
    /// All resources, from the core outwards.
    pub const ALL: [Resource; 7] = [
        Resource::Alu,
        Resource::L1,
        Resource::L2,
        Resource::Shared,
        Resource::Memory,
        Resource::Fetch,
        Resource::SystemCall,
    ];

    /// Returns the name in tables and in JSON.
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

/// The CPU time of one step of dependent arithmetic, which depends only on the clock rate of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AluTime {
    /// The mean of the readings, in seconds.
    pub seconds: f64,
    /// The interval of the mean, from the spread of the readings.
    pub interval: Interval,
    /// The number of readings.
    pub readings: u32,
}
