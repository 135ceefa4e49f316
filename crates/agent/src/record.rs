//! What is reported of an agent and its store. The agent writes [`RunningAgent`] to its status file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Bytes, Reading, RequestRuler, Timestamp};
use steady_render::json::Schema;
use steady_render::timestamp;

/// The schema of [`AgentStatus`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.agent/1", what: "the status of an agent" };

/// What may be wrong with what services send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineFault {
    /// A datagram of another version of the protocol.
    Protocol,
    /// A datagram whose first line does not say who speaks.
    Head,
    /// A datagram that is too long.
    TooLong,
    /// A line that begins with another letter.
    Letter,
    /// A line with too few fields, or too many.
    Fields,
    /// A number that is none, or cannot be.
    Number,
    /// A text that is no UTF-8, too long, or has a backslash that means nothing.
    Text,
    /// A way to decide versions that is not known.
    Assignment,
    /// A slot that is missing, or cannot be.
    Slot,
    /// Not a fault of the line, which counts all the same: a name in it that is not known.
    Name,
}

impl LineFault {
    /// Every kind.
    pub const ALL: [LineFault; 10] = [
        LineFault::Protocol,
        LineFault::Head,
        LineFault::TooLong,
        LineFault::Letter,
        LineFault::Fields,
        LineFault::Number,
        LineFault::Text,
        LineFault::Assignment,
        LineFault::Slot,
        LineFault::Name,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LineFault::Protocol => "protocol",
            LineFault::Head => "head",
            LineFault::TooLong => "too-long",
            LineFault::Letter => "letter",
            LineFault::Fields => "fields",
            LineFault::Number => "number",
            LineFault::Text => "text",
            LineFault::Assignment => "assignment",
            LineFault::Slot => "slot",
            LineFault::Name => "name",
        }
    }

    /// The position in [`LineFault::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What has arrived at the agent since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arrived {
    /// Datagrams.
    pub datagrams: u64,
    /// Lines of requests that were taken.
    pub requests: u64,
    /// What was wrong, in the order of [`LineFault::ALL`]; in JSON by their names.
    #[serde(with = "by_fault")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub faults: [u64; LineFault::ALL.len()],
    /// Lines that services say they have dropped.
    pub lost: u64,
    /// Requests that are not in rows of their own, for their service, version or route was one too many.
    pub folded: u64,
    /// Requests whose end could not be: the time of receipt stands in its place.
    pub ends_replaced: u64,
}

/// A service that the agent has heard of lately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentService {
    /// Its name.
    pub name: String,
    /// Its versions.
    pub versions: Vec<String>,
    /// How many routes it has.
    pub routes: usize,
    /// Processes that have answered within the last minute.
    pub processes: usize,
    /// Requests a second, over the last ten seconds.
    #[serde(rename = "requests_per_second")]
    pub per_second: f64,
    /// Requests since the agent began.
    pub requests: u64,
    /// Seconds since its last datagram.
    pub silent_seconds: u64,
}

/// The agent's own rulers, over the last seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRulers {
    /// Readings a second of each; in JSON by their names.
    #[serde(rename = "readings_per_second", with = "by_ruler")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub per_second: Vec<(RequestRuler, f64)>,
    /// The share of one CPU that they take, with the host's state.
    pub cpu_ratio: f64,
    /// The most that they may take.
    pub cpu_limit_ratio: f64,
}

/// The time of day, as the agent sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentClock {
    /// How often it was set since the agent began.
    pub steps: u64,
    /// By how many seconds it was set last.
    pub last_step_seconds: Reading<f64>,
    /// How far the store's time is ahead of the time of day.
    pub ahead_seconds: f64,
}

/// How the writing goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentWriting {
    /// Rows written.
    pub rows: u64,
    /// Writes that failed.
    pub failures: u64,
    /// What the last one failed for, unless one has succeeded since.
    pub trouble: Option<String>,
    /// Seconds that wait to be written.
    pub waiting: usize,
    /// Requests that were given up, for there was no room to wait.
    pub given_up: u64,
}

/// What is counted from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentOutside {
    /// The service.
    pub service: String,
    /// Its version now, where it is known.
    pub version: Option<String>,
    /// How often its counter was read.
    pub readings: u64,
    /// How often that failed, or told nothing that could be used.
    pub failures: u64,
    /// What it failed for, unless it has worked since.
    pub trouble: Option<String>,
    /// Requests counted.
    pub requests: u64,
}

/// How what the agent adds up is shown as metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMetrics {
    /// Where.
    pub url: String,
    /// Scrapes that were answered with all of the page.
    pub scrapes: u64,
    /// Requests that did not show the token.
    pub refused: u64,
}

/// An agent that runs, or did when it last said so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningAgent {
    /// Its process.
    pub pid: u32,
    /// Since when.
    #[serde(with = "timestamp")]
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// For how many seconds.
    #[serde(rename = "running_seconds")]
    pub seconds: u64,
    /// The file of its store.
    pub store: String,
    /// What has arrived.
    pub arrived: Arrived,
    /// Services.
    pub services: Vec<AgentService>,
    /// Its rulers.
    pub rulers: Reading<AgentRulers>,
    /// The clock.
    pub clock: AgentClock,
    /// The store.
    pub writing: AgentWriting,
    /// What is counted from outside.
    pub outside: Reading<AgentOutside>,
    /// Where its sums are shown.
    pub metrics: Reading<AgentMetrics>,
    /// The most memory that it has needed.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Reading<Bytes>,
}

/// A service in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoredService {
    /// Its name.
    pub name: String,
    /// Its versions.
    pub versions: Vec<String>,
    /// The first second of which there are rows.
    #[serde(with = "timestamp")]
    #[schemars(with = "String")]
    pub first: Timestamp,
    /// The last.
    #[serde(with = "timestamp")]
    #[schemars(with = "String")]
    pub last: Timestamp,
    /// Requests.
    pub requests: u64,
}

/// What is in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentStore {
    /// How large it is.
    #[serde(rename = "size_bytes")]
    pub bytes: Bytes,
    /// The first second that anything is kept of.
    #[serde(serialize_with = "moment")]
    #[schemars(with = "Reading<String>")]
    pub first: Reading<Timestamp>,
    /// The last.
    #[serde(serialize_with = "moment")]
    #[schemars(with = "Reading<String>")]
    pub last: Reading<Timestamp>,
    /// Services.
    pub services: Vec<StoredService>,
}

/// The answer of `steady agent status`. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentStatus {
    /// Whether an agent runs.
    pub running: bool,
    /// The socket that was asked about.
    pub socket: String,
    /// The agent behind it; the reason where none runs.
    pub agent: Reading<RunningAgent>,
    /// The store's file; the reason where it is not known.
    pub store_path: Reading<String>,
    /// What is in it; the reason where it cannot be read.
    pub store: Reading<AgentStore>,
}

/// A time of day as RFC 3339 has it, or why there is none.
fn moment<S: Serializer>(at: &Reading<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    at.as_ref().map(|at| timestamp::text(*at)).serialize(serializer)
}

/// Counts of faults as an object: the name of each fault and its count.
mod by_fault {
    use super::*;

    type Counts = [u64; LineFault::ALL.len()];

    pub(super) fn serialize<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(counts.len()))?;
        LineFault::ALL.iter().try_for_each(|fault| map.serialize_entry(fault.name(), &counts[fault.index()]))?;
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
        let named = BTreeMap::<String, u64>::deserialize(deserializer)?;
        Ok(LineFault::ALL.map(|fault| named.get(fault.name()).copied().unwrap_or(0)))
    }
}

/// A number for each ruler as an object: the name of the ruler and its number.
mod by_ruler {
    use super::*;

    pub(super) fn serialize<S: Serializer>(rates: &[(RequestRuler, f64)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(rates.iter().map(|(ruler, rate)| (ruler.name(), rate)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(RequestRuler, f64)>, D::Error> {
        let named = BTreeMap::<String, f64>::deserialize(from)?;
        let found = |ruler: RequestRuler| Some((ruler, *named.get(ruler.name())?));
        Ok(RequestRuler::ALL.into_iter().filter_map(found).collect())
    }
}
