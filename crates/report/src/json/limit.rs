//! The JSON of a limited command, and the way back.

use serde::{Deserialize, Serialize, Serializer};
use steady_model::{Command, CpuSource, LimitOutcome, LimitPlan, LimitReport, Nanos, Outcome, Reading, Timestamp};

use super::schema::{Schema, fields};
use super::wire::{self, HostWire, PathWire, Seconds, join, read_started, required, split, split_ratio};
use super::{ReadError, pretty};
use crate::words::wall_limit;

/// The name and version of what [`limit_json_text`] writes.
pub const LIMIT_SCHEMA: &str = "steady.limit/1";
const SCHEMA: Schema = Schema { name: LIMIT_SCHEMA, what: "a limited command" };

/// Why there is no interval of polling.
const NO_POLL: &str = "it was looked as often as exactness needs";

/// [`LimitReport`] in JSON, in the order of the output contract.
#[derive(Serialize, Deserialize)]
struct LimitWire {
    schema: String,
    #[serde(serialize_with = "write_started", deserialize_with = "read_started")]
    started: Timestamp,
    command: LimitedWire,
    host: HostWire,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revision_absent: Option<String>,
    cpu_limit_seconds: Seconds,
    wall_factor: f64,
    /// For readers of the file: the factor says it.
    #[serde(default)]
    wall_limit_seconds: f64,
    #[serde(deserialize_with = "required")]
    poll_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    poll_seconds_absent: Option<String>,
    kill_after_seconds: Seconds,
    outcome: LimitOutcome,
    ended: Outcome,
    cpu_seconds: Seconds,
    wall_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    waiting_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting_seconds_absent: Option<String>,
    stopped_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    overshoot_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overshoot_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    steal_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steal_ratio_absent: Option<String>,
    source: CpuSource,
    passed_over: Vec<String>,
    left_behind: u32,
}

/// The command that was limited.
#[derive(Serialize, Deserialize)]
struct LimitedWire {
    name: String,
    argv: Vec<String>,
    program: PathWire,
}

/// The report as indented JSON that ends with a newline. A reading that is absent is null, with the reason in
/// `<name>_absent` beside it.
pub fn limit_json_text(report: &LimitReport) -> String {
    pretty::indented(&wire::to_value(&LimitWire::from(report)))
}

/// The report in a JSON export, exactly as it was.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic.
pub fn read_limit_report(json: &str) -> Result<LimitReport, ReadError> {
    let wire: LimitWire = fields(SCHEMA.value(json)?)?;
    wire.into_report()
}

impl From<&LimitReport> for LimitWire {
    fn from(report: &LimitReport) -> Self {
        let plan = &report.plan;
        let (revision, revision_absent) = split(&report.revision, |revision| revision);
        let (waiting_seconds, waiting_seconds_absent) = split(&report.waiting, Seconds);
        let (overshoot_seconds, overshoot_seconds_absent) = split(&report.overshoot, Seconds);
        let (steal_ratio, steal_ratio_absent) = split_ratio(&report.steal_ratio);
        LimitWire {
            schema: LIMIT_SCHEMA.to_owned(),
            started: report.started,
            command: LimitedWire::from(&plan.command),
            host: HostWire::from(&report.host),
            revision,
            revision_absent,
            cpu_limit_seconds: Seconds(plan.cpu),
            wall_factor: plan.wall_factor,
            wall_limit_seconds: Seconds(wall_limit(report)).as_f64(),
            poll_seconds: plan.poll.map(Seconds),
            poll_seconds_absent: plan.poll.is_none().then(|| NO_POLL.to_owned()),
            kill_after_seconds: Seconds(plan.kill_after),
            outcome: report.outcome,
            ended: report.ended,
            cpu_seconds: Seconds(report.cpu),
            wall_seconds: Seconds(report.wall),
            waiting_seconds,
            waiting_seconds_absent,
            stopped_seconds: Seconds(report.stopped),
            overshoot_seconds,
            overshoot_seconds_absent,
            steal_ratio,
            steal_ratio_absent,
            source: report.source,
            passed_over: report.passed_over.clone(),
            left_behind: report.left_behind,
        }
    }
}

impl LimitWire {
    /// The report; an error where a reading has neither value nor reason.
    fn into_report(self) -> Result<LimitReport, ReadError> {
        if !(self.wall_factor.is_finite() && self.wall_factor > 0.0) {
            return Err(ReadError::field("wall_factor", "it must be above zero"));
        }
        let plan = LimitPlan {
            command: self.command.into(),
            cpu: self.cpu_limit_seconds.0,
            wall_factor: self.wall_factor,
            poll: self.poll_seconds.map(|poll| poll.0),
            kill_after: self.kill_after_seconds.0,
        };
        Ok(LimitReport {
            plan,
            started: self.started,
            host: self.host.into_host().map_err(|error| error.within("host"))?,
            revision: join("revision", self.revision, self.revision_absent)?,
            outcome: self.outcome,
            ended: self.ended,
            cpu: self.cpu_seconds.0,
            wall: self.wall_seconds.0,
            waiting: seconds("waiting_seconds", self.waiting_seconds, self.waiting_seconds_absent)?,
            stopped: self.stopped_seconds.0,
            overshoot: seconds("overshoot_seconds", self.overshoot_seconds, self.overshoot_seconds_absent)?,
            steal_ratio: join("steal_ratio", self.steal_ratio, self.steal_ratio_absent)?,
            source: self.source,
            passed_over: self.passed_over,
            left_behind: self.left_behind,
        })
    }
}

impl From<&Command> for LimitedWire {
    fn from(command: &Command) -> Self {
        let program = command.program.as_path().into();
        LimitedWire { name: command.name.clone(), argv: command.argv.clone(), program }
    }
}

impl From<LimitedWire> for Command {
    fn from(wire: LimitedWire) -> Self {
        Command { name: wire.name, argv: wire.argv, program: wire.program.into(), ..Command::default() }
    }
}

fn seconds(name: &str, value: Option<Seconds>, absent: Option<String>) -> Result<Reading<Nanos>, ReadError> {
    Ok(join(name, value, absent)?.map(|seconds| seconds.0))
}

fn write_started<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&wire::started(*at))
}
