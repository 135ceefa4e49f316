//! The machine: its CPUs as an experiment with several processes sees them, and its resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, Quota, Reading};

/// Which logical CPUs there are, which of them share a core, and which of them may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The logical CPUs that are online, ascending; where the system does not tell, those that may be used.
    pub online: Vec<usize>,
    /// Those that are there but switched off, ascending; absent where the kernel does not say.
    pub offline: Reading<Vec<usize>>,
    /// Those that this process may use (affinity mask, `--cpus`), ascending; where the system does not tell, all.
    pub allowed: Vec<usize>,
    /// The allowed CPUs by core: the threads of one core stand together. Absent where the topology does not tell.
    pub cores: Reading<Vec<Vec<usize>>>,
    /// How many packages (sockets) the allowed CPUs are in.
    pub packages: Reading<usize>,
    /// On machines with several kinds of cores: the kind's name and the allowed CPUs of it. Empty where all are alike.
    #[serde(with = "kinds")]
    #[schemars(with = "Vec<kinds::Kind>")]
    pub kinds: Vec<(String, Vec<usize>)>,
    /// The control group's limit on CPU time, where one is set.
    #[serde(rename = "cpu_quota", alias = "quota")]
    pub quota: Reading<Option<Quota>>,
}

impl Machine {
    /// How many CPUs' worth of time can be had at once: the allowed CPUs, or the quota where that is less.
    pub fn usable_cpus(&self) -> f64 {
        let allowed = self.allowed.len() as f64;
        match &self.quota {
            Ok(Some(quota)) => quota.cpus().min(allowed),
            _ => allowed,
        }
    }

    /// How many cores the allowed CPUs are on.
    pub fn core_count(&self) -> Reading<usize> {
        self.cores.as_ref().map(Vec::len).map_err(Clone::clone)
    }

    /// The most allowed CPUs that are threads of one core: 2 with hyper-threading, 1 without.
    pub fn threads_per_core(&self) -> Reading<usize> {
        let widest = |cores: &Vec<Vec<usize>>| cores.iter().map(Vec::len).max().unwrap_or(1);
        self.cores.as_ref().map(widest).map_err(Clone::clone)
    }
}

/// Kinds of cores in JSON: `{"name": "performance", "cpus": [0, 1]}`.
mod kinds {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A kind of cores.
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
