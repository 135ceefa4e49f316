//! The machine's CPUs, and what a ruler read.

use serde::{Deserialize, Serialize};
use steady_model::{Bytes, Machine, Quota, Resource, RulerReading};

use super::host::{QuotaWire, join_none};
use super::{Seconds, join, required, split};
use crate::json::ReadError;

/// [`Machine`] in JSON.
#[derive(Serialize, Deserialize)]
pub(in crate::json) struct MachineWire {
    online: Vec<usize>,
    #[serde(deserialize_with = "required")]
    offline: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offline_absent: Option<String>,
    allowed: Vec<usize>,
    #[serde(deserialize_with = "required")]
    cores: Option<Vec<Vec<usize>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cores_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    packages: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packages_absent: Option<String>,
    kinds: Vec<KindWire>,
    #[serde(deserialize_with = "required")]
    cpu_quota: Option<QuotaWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_quota_absent: Option<String>,
}

/// One kind of cores.
#[derive(Serialize, Deserialize)]
struct KindWire {
    name: String,
    cpus: Vec<usize>,
}

impl From<&Machine> for MachineWire {
    fn from(machine: &Machine) -> Self {
        let (offline, offline_absent) = split(&machine.offline, |cpus| cpus);
        let (cores, cores_absent) = split(&machine.cores, |cores| cores);
        let (packages, packages_absent) = split(&machine.packages, |packages| packages);
        let (cpu_quota, cpu_quota_absent) = split(&machine.quota, |quota| quota.map(QuotaWire::from));
        let kind = |(name, cpus): &(String, Vec<usize>)| KindWire { name: name.clone(), cpus: cpus.clone() };
        MachineWire {
            online: machine.online.clone(),
            offline,
            offline_absent,
            allowed: machine.allowed.clone(),
            cores,
            cores_absent,
            packages,
            packages_absent,
            kinds: machine.kinds.iter().map(kind).collect(),
            cpu_quota: cpu_quota.flatten(),
            cpu_quota_absent,
        }
    }
}

impl MachineWire {
    /// The machine; an error where a reading has neither value nor reason.
    pub(in crate::json) fn into_machine(self) -> Result<Machine, ReadError> {
        Ok(Machine {
            online: self.online,
            offline: join("offline", self.offline, self.offline_absent)?,
            allowed: self.allowed,
            cores: join("cores", self.cores, self.cores_absent)?,
            packages: join("packages", self.packages, self.packages_absent)?,
            kinds: self.kinds.into_iter().map(|kind| (kind.name, kind.cpus)).collect(),
            quota: join_none("cpu_quota", self.cpu_quota, self.cpu_quota_absent)?.map(|found| found.map(Quota::from)),
        })
    }
}

/// [`RulerReading`] in JSON.
#[derive(Serialize, Deserialize)]
pub(in crate::json) struct RulerReadingWire {
    resource: Resource,
    /// Null for a ruler that has none.
    #[serde(deserialize_with = "required")]
    working_set_bytes: Option<u64>,
    seconds_per_unit: f64,
    spread_ratio: f64,
    slowdown_ratio: f64,
    cost_seconds: Seconds,
}

impl From<&RulerReading> for RulerReadingWire {
    fn from(reading: &RulerReading) -> Self {
        RulerReadingWire {
            resource: reading.resource,
            working_set_bytes: reading.working_set.map(|bytes| bytes.0),
            seconds_per_unit: reading.seconds_per_unit,
            spread_ratio: reading.spread_ratio,
            slowdown_ratio: reading.slowdown_ratio,
            cost_seconds: Seconds(reading.cost),
        }
    }
}

impl From<RulerReadingWire> for RulerReading {
    fn from(wire: RulerReadingWire) -> Self {
        RulerReading {
            resource: wire.resource,
            working_set: wire.working_set_bytes.map(Bytes),
            seconds_per_unit: wire.seconds_per_unit,
            spread_ratio: wire.spread_ratio,
            slowdown_ratio: wire.slowdown_ratio,
            cost: wire.cost_seconds.0,
        }
    }
}
