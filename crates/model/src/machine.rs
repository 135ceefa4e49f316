//! The CPUs of the machine as an experiment with several processes sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Quota, Reading};

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
