//! The machine, and what it was doing.

use serde::{Deserialize, Serialize};
use steady_model::{Activity, Bytes, Host, Quota, Reading};

use super::{Seconds, join, required, split, split_ratio};
use crate::json::ReadError;

/// [`Host`] in JSON.
#[derive(Serialize, Deserialize)]
pub(in crate::json) struct HostWire {
    #[serde(deserialize_with = "required")]
    hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hostname_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    kernel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kernel_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    cpu_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_model_absent: Option<String>,
    cpus_allowed: usize,
    cpus_online: usize,
    #[serde(deserialize_with = "required")]
    cpu_quota: Option<QuotaWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_quota_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_bytes_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    hypervisor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hypervisor_absent: Option<String>,
}

/// [`Quota`] in JSON.
#[derive(Serialize, Deserialize)]
struct QuotaWire {
    quota_seconds: Seconds,
    period_seconds: Seconds,
}

impl From<Quota> for QuotaWire {
    fn from(quota: Quota) -> Self {
        QuotaWire { quota_seconds: Seconds(quota.quota), period_seconds: Seconds(quota.period) }
    }
}

impl From<QuotaWire> for Quota {
    fn from(wire: QuotaWire) -> Self {
        Quota { quota: wire.quota_seconds.0, period: wire.period_seconds.0 }
    }
}

impl From<&Host> for HostWire {
    fn from(host: &Host) -> Self {
        let (hostname, hostname_absent) = split(&host.hostname, |name| name);
        let (kernel, kernel_absent) = split(&host.kernel, |name| name);
        let (cpu_model, cpu_model_absent) = split(&host.cpu_model, |name| name);
        let (cpu_quota, cpu_quota_absent) = split(&host.cpu_quota, |found| found.map(QuotaWire::from));
        let (memory_bytes, memory_bytes_absent) = split(&host.memory, |bytes| bytes.0);
        let (hypervisor, hypervisor_absent) = split(&host.hypervisor, |name| name);
        HostWire {
            hostname,
            hostname_absent,
            kernel,
            kernel_absent,
            cpu_model,
            cpu_model_absent,
            cpus_allowed: host.cpus_allowed,
            cpus_online: host.cpus_online,
            cpu_quota: cpu_quota.flatten(),
            cpu_quota_absent,
            memory_bytes,
            memory_bytes_absent,
            hypervisor: hypervisor.flatten(),
            hypervisor_absent,
        }
    }
}

impl HostWire {
    /// The host; an error where a reading has neither value nor reason.
    pub(in crate::json) fn into_host(self) -> Result<Host, ReadError> {
        Ok(Host {
            hostname: join("hostname", self.hostname, self.hostname_absent)?,
            kernel: join("kernel", self.kernel, self.kernel_absent)?,
            cpu_model: join("cpu_model", self.cpu_model, self.cpu_model_absent)?,
            cpus_allowed: self.cpus_allowed,
            cpus_online: self.cpus_online,
            cpu_quota: join_none("cpu_quota", self.cpu_quota, self.cpu_quota_absent)?
                .map(|found| found.map(Quota::from)),
            memory: join("memory_bytes", self.memory_bytes, self.memory_bytes_absent)?.map(Bytes),
            hypervisor: join_none("hypervisor", self.hypervisor, self.hypervisor_absent)?,
        })
    }
}

/// As [`join`], for readings that may say "there is none": null without a reason.
fn join_none<T>(name: &str, value: Option<T>, absent: Option<String>) -> Result<Reading<Option<T>>, ReadError> {
    if value.is_none() && absent.is_none() { Ok(Ok(None)) } else { join(name, value.map(Some), absent) }
}

/// [`Activity`] in JSON: some of the fields of `load`.
#[derive(Serialize, Deserialize)]
pub(in crate::json) struct ActivityWire {
    #[serde(deserialize_with = "required")]
    steal_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steal_ratio_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    pressure: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pressure_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    busy_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    busy_ratio_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    throttled_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throttled_ratio_absent: Option<String>,
}

impl From<&Activity> for ActivityWire {
    fn from(activity: &Activity) -> Self {
        let (steal_ratio, steal_ratio_absent) = split_ratio(&activity.steal_ratio);
        let (pressure, pressure_absent) = split_ratio(&activity.pressure);
        let (busy_ratio, busy_ratio_absent) = split_ratio(&activity.busy_ratio);
        let (throttled_ratio, throttled_ratio_absent) = split_ratio(&activity.throttled_ratio);
        ActivityWire {
            steal_ratio,
            steal_ratio_absent,
            pressure,
            pressure_absent,
            busy_ratio,
            busy_ratio_absent,
            throttled_ratio,
            throttled_ratio_absent,
        }
    }
}

impl ActivityWire {
    /// The activity; an error where a reading has neither value nor reason.
    pub(in crate::json) fn into_activity(self) -> Result<Activity, ReadError> {
        Ok(Activity {
            busy_ratio: join("busy_ratio", self.busy_ratio, self.busy_ratio_absent)?,
            steal_ratio: join("steal_ratio", self.steal_ratio, self.steal_ratio_absent)?,
            pressure: join("pressure", self.pressure, self.pressure_absent)?,
            throttled_ratio: join("throttled_ratio", self.throttled_ratio, self.throttled_ratio_absent)?,
        })
    }
}
