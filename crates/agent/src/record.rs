//! The status of an agent and its store. The agent writes [`RunningAgent`] to its status file; `steady agent status`
//! adds the facts about the store.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Bytes, Reading, RequestRuler, Timestamp};
use steady_render::json::Schema;
use steady_render::timestamp;

/// The schema of the JSON of [`AgentStatus`].
pub const SCHEMA: Schema = Schema { name: "steady.agent/1", what: "the status of an agent" };

/// The faults that a datagram or a line of it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineFault {
    /// A datagram of another version of the protocol.
    Protocol,
    /// A datagram whose first line does not name the protocol, the service and the process.
    Head,
    /// A datagram that is longer than the protocol allows.
    TooLong,
    /// A line whose first letter is not one of the protocol's.
    Letter,
    /// A line with too few or too many fields.
    Fields,
    /// A number that is malformed or out of range.
    Number,
    /// A text that is not valid UTF-8, too long, or has an unknown escape sequence.
    Text,
    /// An unknown value of the field `ASSIGNMENT`.
    Assignment,
    /// A slot that is missing or impossible.
    Slot,
    /// An unknown field name. The rest of the line is used.
    Name,
}

impl LineFault {
    /// All faults, in the order of [`LineFault::index`].
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

    /// Returns the name of the fault in JSON and in metrics.
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

    /// Returns the position of the fault in [`LineFault::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Counts of what the agent has received since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arrived {
    /// Datagrams received, valid or not.
    pub datagrams: u64,
    /// Requests received in valid lines, folded ones included.
    pub requests: u64,
    /// Faults, in the order of [`LineFault::ALL`]; in JSON by their names.
    #[serde(with = "by_fault")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub faults: [u64; LineFault::ALL.len()],
    /// Lines that services report as dropped. A process that ends does not report those that it dropped last.
    pub lost: u64,
    /// Requests beyond a limit of services, versions, routes or classes: left out, or counted under `(other)`.
    pub folded: u64,
    /// Those of `folded` that were left out, because they are of further services or versions. 0 in reports of earlier
    /// versions of steady.
    #[serde(default)]
    pub left_out: u64,
    /// Requests with an impossible end time, which the time of receipt replaces.
    pub ends_replaced: u64,
}

/// A service that the agent has received datagrams from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentService {
    /// The name of the service.
    pub name: String,
    /// Versions of the last minute, sorted by name.
    pub versions: Vec<String>,
    /// The number of routes used in the last minute.
    pub routes: usize,
    /// The number of processes that have sent a datagram in the last minute.
    pub processes: usize,
    /// Requests per second, over the last minute.
    #[serde(rename = "requests_per_second")]
    pub per_second: f64,
    /// Requests since the agent started.
    pub requests: u64,
    /// Seconds since the last datagram of the service.
    pub silent_seconds: u64,
}

/// The agent's own rulers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRulers {
    /// Readings per second of each ruler, in the last second; in JSON by their names.
    #[serde(rename = "readings_per_second", with = "by_ruler")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub per_second: Vec<(RequestRuler, f64)>,
    /// The share of one CPU that the thread of the rulers uses, smoothed over the last seconds. The thread also reads
    /// the load of the host.
    pub cpu_ratio: f64,
    /// The largest share of one CPU that the thread may use.
    pub cpu_limit_ratio: f64,
}

/// The steps of the time of day, and the time that the rows use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentClock {
    /// How often the time of day was set since the agent started.
    pub steps: u64,
    /// The size of the last step, in seconds; positive if the time of day was set forward.
    pub last_step_seconds: Reading<f64>,
    /// How far the time of the rows is ahead of the time of day, in seconds.
    pub ahead_seconds: f64,
}

/// What the agent has written to the store, and what it could not write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentWriting {
    /// Rows written since the agent started.
    pub rows: u64,
    /// Attempts to write that failed.
    pub failures: u64,
    /// The error of the last attempt, if it failed.
    pub trouble: Option<String>,
    /// Batches that wait to be written; there is usually one for each second.
    pub waiting: usize,
    /// Requests that were given up because too many rows waited.
    pub given_up: u64,
}

/// The service whose requests are counted from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentOutside {
    /// The name of the service.
    pub service: String,
    /// The version of the last requests, if known.
    pub version: Option<String>,
    /// Attempts to read the counter and the CPU time.
    pub readings: u64,
    /// Attempts that failed, or gave values that cannot be used.
    pub failures: u64,
    /// The error of the last attempt, if it failed.
    pub trouble: Option<String>,
    /// Requests counted since the agent started.
    pub requests: u64,
}

/// The publication of metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMetrics {
    /// The URL of the metrics.
    pub url: String,
    /// Scrapes that were answered with a complete page.
    pub scrapes: u64,
    /// Requests without the correct token.
    pub refused: u64,
}

/// The status of a running agent, which it writes once a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningAgent {
    /// The process ID of the agent.
    pub pid: u32,
    /// The time when the agent started.
    #[serde(with = "timestamp")]
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// The time since the agent started, in seconds.
    #[serde(rename = "running_seconds")]
    pub seconds: u64,
    /// The absolute path of the store.
    pub store: String,
    /// Counts of what the agent has received.
    pub arrived: Arrived,
    /// The services that the agent has received datagrams from.
    pub services: Vec<AgentService>,
    /// The agent's own rulers.
    pub rulers: Reading<AgentRulers>,
    /// Steps of the time of day.
    pub clock: AgentClock,
    /// What the agent has written to the store.
    pub writing: AgentWriting,
    /// The service whose requests are counted from outside.
    pub outside: Reading<AgentOutside>,
    /// The publication of metrics.
    pub metrics: Reading<AgentMetrics>,
    /// The largest resident memory of the agent since it started.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Reading<Bytes>,
}

/// A service whose rows are in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoredService {
    /// The name of the service.
    pub name: String,
    /// Its versions, sorted by name.
    pub versions: Vec<String>,
    /// The first second with requests of the service.
    #[serde(with = "timestamp")]
    #[schemars(with = "String")]
    pub first: Timestamp,
    /// The last second with requests of the service.
    #[serde(with = "timestamp")]
    #[schemars(with = "String")]
    pub last: Timestamp,
    /// The number of its requests in the store; a minute whose rows were removed in part counts as a whole.
    pub requests: u64,
}

/// The contents of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentStore {
    /// The size of the store with its journal.
    #[serde(rename = "size_bytes")]
    pub bytes: Bytes,
    /// The first second with rows.
    #[serde(serialize_with = "moment")]
    #[schemars(with = "Reading<String>")]
    pub first: Reading<Timestamp>,
    /// The last second with rows.
    #[serde(serialize_with = "moment")]
    #[schemars(with = "Reading<String>")]
    pub last: Reading<Timestamp>,
    /// The services whose rows are in the store.
    pub services: Vec<StoredService>,
}

/// The answer of `steady agent status`. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentStatus {
    /// Whether an agent listens at the socket.
    pub running: bool,
    /// Whether it is known if an agent runs. If this user may not connect to the socket, it is not, and `running` is
    /// false.
    pub running_known: bool,
    /// The path of the socket.
    pub socket: String,
    /// The status of the agent; not available, with the reason, if no agent runs. If `running` is false, the file of
    /// its socket was removed.
    pub agent: Reading<RunningAgent>,
    /// The path of the store; not available, with the reason, if it is not known.
    pub store_path: Reading<String>,
    /// The contents of the store; not available, with the reason, if it cannot be read.
    pub store: Reading<AgentStore>,
}

/// Serializes a time of day in the format of RFC 3339, or the reason why there is none.
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
