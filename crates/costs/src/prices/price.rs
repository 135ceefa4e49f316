//! Prices of events, and their JSON.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Absent, AluTime, Interval, KernelCall, Probe, Reading, Timestamp};

/// Prices of events on this machine. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prices {
    /// Time of day when the prices were measured.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub measured: Timestamp,
    /// The kernel that was running.
    pub kernel: Reading<String>,
    /// Identity of the boot (`/proc/sys/kernel/random/boot_id`). The prices are not used after another boot.
    pub boot: Reading<String>,
    /// CPU clock rate during the measurement. The prices are scaled to the mean of these readings.
    #[serde(flatten, with = "super::alu")]
    #[schemars(with = "super::alu::Fields")]
    pub alu: Reading<AluTime>,
    /// The prices. A price is absent if it cannot be measured on this machine.
    #[serde(rename = "events", with = "events")]
    #[schemars(with = "Vec<events::Event>")]
    pub prices: Vec<(Priced, Reading<Price>)>,
}

/// CPU time of one event, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Median over the repetitions.
    pub seconds: f64,
    /// 95 % interval of the median.
    pub interval: Interval,
}

/// An event that has a price. Prices are net: they do not include other events that the event causes and that are
/// counted separately. In JSON, an event is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priced {
    /// A page fault without reading from storage, and freeing the page, where few pages are reused and a cache holds
    /// them.
    MinorFault,
    /// The same with more recently freed pages than the private caches of a core hold.
    MinorFaultMany,
    /// The same with pages that no cache holds.
    MinorFaultCold,
    /// A context switch from one process to another, without the system calls around it.
    Switch,
    /// Creating, ending and reaping a process, with the system calls for that, without its faults and switches.
    Fork,
    /// The same for a process that shares its parent's memory until it executes a program (vfork(2), posix_spawn(3)).
    Vfork,
    /// The same for a thread.
    Thread,
    /// Executing a program, without its faults and switches, and without the work of the new program itself.
    Exec,
    /// Entering the kernel and returning: a lower bound for every system call.
    KernelEntry,
    /// A system call that was measured by name, in its cheapest case.
    Call(KernelCall),
}

impl Prices {
    /// Returns the price of an event; absent if it was not measured.
    pub fn of(&self, priced: Priced) -> Reading<Price> {
        let found = self.prices.iter().find(|(of, _)| *of == priced);
        found.map_or_else(|| Err(Absent::because("it was not measured")), |(_, price)| price.clone())
    }
}

impl Priced {
    /// All events that have a price.
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

    /// Name in JSON: `minor_fault`, `call_read`.
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

    /// The probes that the price is computed from.
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
        found.ok_or_else(|| D::Error::custom(format!("there is no price of an event '{name}'")))
    }
}

/// Prices in JSON: `{"event": "switch", "price_seconds": 1.5e-6, "low_seconds": 1.4e-6, "high_seconds": 1.6e-6}`.
mod events {
    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(super) struct Event {
        /// Name of the event.
        #[schemars(with = "String")]
        event: Priced,
        /// CPU time of one event.
        price_seconds: Reading<f64>,
        /// Lower end of the 95 % interval; missing if it is infinite.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low_seconds: Option<f64>,
        /// Upper end of the 95 % interval; missing if it is infinite.
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
