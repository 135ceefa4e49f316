//! Prices of events: what they are, and their JSON.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Absent, AluTime, Interval, KernelCall, Probe, Reading, Timestamp};

/// What events cost here. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prices {
    /// When they were measured: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub measured: Timestamp,
    /// The kernel that they were measured under, and its boot.
    pub kernel: Reading<String>,
    /// The identity of the boot (`/proc/sys/kernel/random/boot_id`): after another one they are measured again.
    pub boot: Reading<String>,
    /// How fast the CPU's clock ran while they were measured: the prices are for the mean of these readings.
    #[serde(flatten, with = "super::alu")]
    #[schemars(with = "super::alu::Fields")]
    pub alu: Reading<AluTime>,
    /// The prices; absent for what cannot be measured here.
    #[serde(rename = "events", with = "events")]
    #[schemars(with = "Vec<events::Event>")]
    pub prices: Vec<(Priced, Reading<Price>)>,
}

/// What one event costs, in seconds of CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// The median.
    pub seconds: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// An event that has a price. Prices are net: what an event brings about and is counted by itself is not in it. In JSON it is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priced {
    /// A page fault that needs no storage, and giving the page back: a page of few, which a cache still holds.
    MinorFault,
    /// The same with a page of many, more than a core's own caches hold, that were given back a moment ago.
    MinorFaultMany,
    /// The same with a page that no cache holds.
    MinorFaultCold,
    /// A switch from one process to another, without the calls around it.
    Switch,
    /// A process, its end and the wait for it, the calls for them included, without its faults and switches.
    Fork,
    /// A process that runs in its maker's memory until it executes a program (vfork(2), posix_spawn(3)), likewise.
    Vfork,
    /// A thread, likewise.
    Thread,
    /// Executing another program, likewise: the new program's own start is its own.
    Exec,
    /// An entry into the kernel and the way back: the least that any system call costs.
    KernelEntry,
    /// One of the system calls that were measured by name, at its cheapest.
    Call(KernelCall),
}

impl Prices {
    /// The price of something; absent if it was not or cannot be measured.
    pub fn of(&self, priced: Priced) -> Reading<Price> {
        let found = self.prices.iter().find(|(of, _)| *of == priced);
        found.map_or_else(|| Err(Absent::because("it was not measured")), |(_, price)| price.clone())
    }
}

impl Priced {
    /// Everything that has a price.
    pub fn all() -> impl Iterator<Item = Priced> {
        let plain = [
            Priced::MinorFault,
            Priced::MinorFaultMany,
            Priced::MinorFaultCold,
            Priced::Switch,
            Priced::Fork,
            Priced::Vfork,
            Priced::Thread,
            Priced::Exec,
            Priced::KernelEntry,
        ];
        plain.into_iter().chain(KernelCall::ALL.into_iter().map(Priced::Call))
    }

    /// Its name in JSON: `minor_fault`, `call_read`.
    pub fn name(self) -> &'static str {
        match self {
            Priced::MinorFault => "minor_fault",
            Priced::MinorFaultMany => "minor_fault_many",
            Priced::MinorFaultCold => "minor_fault_cold",
            Priced::Switch => "switch",
            Priced::Fork => "fork",
            Priced::Vfork => "vfork",
            Priced::Thread => "thread",
            Priced::Exec => "exec",
            Priced::KernelEntry => "kernel_entry",
            Priced::Call(call) => call.probe_name(),
        }
    }

    /// The probes that its price is made of.
    pub fn probes(self) -> Vec<Probe> {
        match self {
            Priced::MinorFault => vec![Probe::PageFault],
            Priced::MinorFaultMany => vec![Probe::PageFaultMany],
            Priced::MinorFaultCold => vec![Probe::PageFaultCold],
            Priced::Switch => vec![Probe::ProcessSwitch],
            Priced::Fork => vec![Probe::ForkExit, Probe::PageFault, Probe::ProcessSwitch],
            Priced::Vfork => vec![Probe::VforkExit, Probe::PageFault, Probe::ProcessSwitch],
            Priced::Thread => vec![Probe::ThreadStart, Probe::PageFault, Probe::ProcessSwitch],
            Priced::Exec => vec![Probe::SpawnStatic, Probe::VforkExit, Probe::PageFault, Probe::ProcessSwitch],
            Priced::KernelEntry => vec![Probe::SystemCall],
            Priced::Call(call) => vec![Probe::Call(call)],
        }
    }
}

impl Serialize for Priced {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Priced {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Priced::all().find(|priced| priced.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("'{name}' is no event that has a price")))
    }
}

/// Prices in JSON: `{"event": "switch", "price_seconds": 1.5e-6, "low_seconds": 1.4e-6, "high_seconds": 1.6e-6}`.
mod events {
    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(super) struct Event {
        /// The event, by name.
        #[schemars(with = "String")]
        event: Priced,
        /// CPU time of one.
        price_seconds: Reading<f64>,
        /// The lower end of its 95 % interval, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low_seconds: Option<f64>,
        /// The upper end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high_seconds: Option<f64>,
    }

    pub(super) fn serialize<S: Serializer>(
        prices: &[(Priced, Reading<Price>)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(prices.iter().map(|(event, price)| {
            let finite = |value: f64| Some(value).filter(|value| value.is_finite());
            let end = |of: fn(&Interval) -> f64| price.as_ref().ok().and_then(|price| finite(of(&price.interval)));
            let no_number = || Absent::because("not a number");
            let price_seconds = price.clone().and_then(|price| finite(price.seconds).ok_or_else(no_number));
            let (low_seconds, high_seconds) = (end(|interval| interval.low), end(|interval| interval.high));
            Event { event: *event, price_seconds, low_seconds, high_seconds }
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Priced, Reading<Price>)>, D::Error> {
        let read = |event: Event| {
            let low = event.low_seconds.unwrap_or(f64::NEG_INFINITY);
            let high = event.high_seconds.unwrap_or(f64::INFINITY);
            let price = |seconds| Price { seconds, interval: Interval { low, high } };
            (event.event, event.price_seconds.map(price))
        };
        Ok(Vec::<Event>::deserialize(deserializer)?.into_iter().map(read).collect())
    }
}
