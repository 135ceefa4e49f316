//! What keeping programs warm gains: each program launched many times, as usual and from snapshots.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json as literal};
use steady_feature::attended::AttendedCommand;
use steady_model::{Absent, CounterScope, Ending, Host, Interval, Nanos, Outcome, Reading, Seed, Timestamp, Verdict};
use steady_render::json::{self, ReadError};

use super::SCHEMA;
use crate::bench::judged;

/// The field of a program that is written only where raw samples are wanted.
const SAMPLES: &str = "samples";
/// No session lasts longer: 97 days. Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// Nothing happens more often: a double, and so any reader of JSON, counts it exactly.
const MOST: u64 = 1 << 53;

/// Everything that `steady warm bench` measured, and what follows from it. Its fields are those of its JSON. What is derived
/// (figures, verdicts, notes) is written and never read: [`judged`] derives it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRecord {
    /// What it is a record of.
    pub kind: BenchKind,
    /// The seed of the order.
    #[schemars(with = "String")]
    pub seed: Seed,
    /// When it was begun: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// From the start to the end.
    pub elapsed_seconds: Nanos,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// Whose instructions and cycles are counted.
    pub counters: Reading<CounterScope>,
    /// The programs.
    pub programs: Vec<BenchProgram>,
    /// The confidence of verdicts and intervals.
    #[serde(skip_deserializing, default = "confidence")]
    pub confidence: f64,
    /// Why it ended.
    pub ending: Ending,
    /// How programs were launched.
    pub plan: BenchPlan,
}

/// What a [`BenchRecord`] is a record of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BenchKind {
    /// Of a bench.
    #[default]
    Bench,
}

/// How programs are launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchPlan {
    /// How often a session launches its program.
    pub count: u32,
    /// How often there is a session of each mode.
    pub runs: u32,
    /// How long a session rests after each launch but the last; that counts nowhere.
    pub pause_seconds: Nanos,
    /// Whether the page cache is dropped before each session.
    pub cold: bool,
    /// How long a launch may take.
    pub timeout_seconds: Nanos,
}

/// A program: what was measured of it, and the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchProgram {
    /// The program with its arguments.
    #[serde(flatten)]
    pub command: AttendedCommand,
    /// The figures of each mode, in the order of [`LaunchMode::ALL`]. Absent if it could not be launched or did not end.
    #[serde(skip_deserializing, default = "not_judged")]
    pub modes: Reading<Vec<ModeFigures>>,
    /// What a reader must know, as sentences; none without figures.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
    /// The sessions; left out unless raw samples are wanted.
    #[schemars(skip_serializing_if = "Result::is_err")]
    pub samples: Reading<BenchTrial>,
}

/// How a program is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchMode {
    /// As without `steady`.
    Normal,
    /// The snapshot is created before the first launch.
    Prewarm,
    /// The snapshot is created next to the launches, after the first.
    OnDemand,
}

impl LaunchMode {
    /// All modes, in the order of reports. The others are compared with the first.
    pub const ALL: [LaunchMode; 3] = [LaunchMode::Normal, LaunchMode::Prewarm, LaunchMode::OnDemand];

    /// Its name in options, tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            LaunchMode::Normal => "normal",
            LaunchMode::Prewarm => "prewarm",
            LaunchMode::OnDemand => "on-demand",
        }
    }
}

/// A mode in figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeFigures {
    /// Which.
    pub mode: LaunchMode,
    /// The share of launches that were from a snapshot.
    pub warm_ratio: Reading<f64>,
    /// Means over sessions, of a launch.
    #[serde(flatten)]
    pub means: Means,
    /// Compared with normal launches; empty for those.
    #[serde(rename = "verdicts")]
    pub effects: Vec<Effect>,
    /// When the snapshot is paid back; absent for normal launches.
    pub break_even: Reading<BreakEven>,
    /// The mean wall time of each launch in its session, from the first on.
    pub launch_wall_seconds: Vec<f64>,
    /// The same of CPU time.
    pub launch_cpu_seconds: Vec<f64>,
}

/// Means by their measures, in the order of [`Measure::ALL`]. In JSON each has three fields: `wall_seconds`,
/// `wall_deviation_seconds` (null with one session) and `wall_sessions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Means(pub Vec<(Measure, Reading<Mean>)>);

/// What is known of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Wall time of a launch: the mean over a session.
    Wall,
    /// CPU time of a launch: the driver's part and the program's.
    Cpu,
    /// The same with what the snapshots took, and `steady warm` itself, divided by the number of launches.
    AllCpu,
    /// Wall time from the start of all, divided likewise.
    AllWall,
    /// Context switches of a launch.
    Switches,
    /// Page faults of a launch.
    Faults,
    /// Moves between CPUs of a launch.
    Migrations,
    /// Instructions of a launch.
    Instructions,
    /// Cycles of a launch.
    Cycles,
}

impl Measure {
    /// All of them, in the order of reports.
    pub const ALL: [Measure; 9] = [
        Measure::Wall,
        Measure::Cpu,
        Measure::AllWall,
        Measure::AllCpu,
        Measure::Switches,
        Measure::Migrations,
        Measure::Faults,
        Measure::Cycles,
        Measure::Instructions,
    ];
    /// Those that modes are compared by.
    pub const JUDGED: [Measure; 4] = [Measure::Wall, Measure::Cpu, Measure::AllWall, Measure::AllCpu];

    /// Its name in JSON and CSV, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Wall => "wall_seconds",
            Measure::Cpu => "cpu_seconds",
            Measure::AllCpu => "all_cpu_seconds",
            Measure::AllWall => "all_wall_seconds",
            Measure::Switches => "switches",
            Measure::Faults => "faults",
            Measure::Migrations => "migrations",
            Measure::Instructions => "instructions",
            Measure::Cycles => "cycles",
        }
    }

    /// Its name without its unit.
    pub(crate) fn base(self) -> &'static str {
        self.name().trim_end_matches("_seconds")
    }

    /// Whether it is a time.
    pub fn is_time(self) -> bool {
        Measure::JUDGED.contains(&self)
    }

    /// The names of the three fields of its mean.
    fn fields(self) -> [String; 3] {
        let unit = if self.is_time() { "_seconds" } else { "" };
        [self.name().to_owned(), format!("{}_deviation{unit}", self.base()), format!("{}_sessions", self.base())]
    }
}

/// A mean over sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sessions; none with one.
    pub deviation: Option<f64>,
    /// How many sessions.
    pub sessions: usize,
}

/// A mode compared with normal launches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// By what.
    #[serde(rename = "metric")]
    pub measure: Measure,
    /// The verdict.
    pub verdict: Verdict,
    /// The relative change.
    pub change: Reading<f64>,
    /// The lower end of its interval.
    pub low: Reading<f64>,
    /// The upper end.
    pub high: Reading<f64>,
}

impl Effect {
    /// The interval of the change.
    ///
    /// # Errors
    /// Why there is none.
    pub fn interval(&self) -> Reading<Interval> {
        Ok(Interval { low: self.low.clone()?, high: self.high.clone()? })
    }
}

/// When a snapshot is paid back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BreakEven {
    /// By the wall time that launches wait.
    pub wall: PaidBack,
    /// By CPU time, with that of creating the snapshot.
    pub cpu: PaidBack,
}

/// After how many launches a mode has cost no more than as many normal ones.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PaidBack {
    /// What creating the snapshot costs: the mean. Of wall time only what launches wait for.
    pub taking_seconds: Reading<f64>,
    /// From which launch on it is paid back, by the means of the runs; absent if later launches are no cheaper.
    pub launches: Reading<u64>,
    /// Whether those are more than were measured: about so many if further launches are as the later ones were.
    pub extrapolated: bool,
    /// From which launch on that is certain, at 95 %.
    pub certain_launches: Reading<u64>,
}

/// One program's sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchTrial {
    /// How many sessions each run has: one of each mode, in the order that was drawn.
    runs: Vec<usize>,
    /// The sessions of the runs, which were timed, then those that were counted.
    sessions: Vec<BenchSession>,
    /// Why it has no snapshot, if `steady warm why` gave a reason.
    pub refusal: Option<String>,
}

impl BenchTrial {
    /// The runs: the sessions of each, in the order that was drawn.
    pub fn runs(&self) -> impl Iterator<Item = &[BenchSession]> {
        let mut rest = self.sessions.as_slice();
        self.runs.iter().map(move |sessions| {
            let (run, others) = rest.split_at(rest.len().min(*sessions));
            rest = others;
            run
        })
    }

    /// How many runs there are.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// The sessions that were counted.
    pub fn counted(&self) -> &[BenchSession] {
        self.sessions.get(self.runs.iter().sum()..).unwrap_or_default()
    }

    /// All sessions.
    pub fn sessions(&self) -> &[BenchSession] {
        &self.sessions
    }

    /// Adds a run. Called before any session is counted.
    pub fn push_run(&mut self, sessions: Vec<BenchSession>) {
        self.runs.push(sessions.len());
        self.sessions.extend(sessions);
    }

    /// Adds a session that was counted.
    pub fn push_counted(&mut self, session: BenchSession) {
        self.sessions.push(session);
    }
}

/// The session of a mode in a run, and its place in the order.
pub(crate) fn of_mode(run: &[BenchSession], mode: LaunchMode) -> Option<(usize, &BenchSession)> {
    run.iter().enumerate().find(|(_, session)| session.mode == mode)
}

/// One driver that launches one program many times, in a store of its own that is empty at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchSession {
    /// How.
    pub mode: LaunchMode,
    /// From the start of all to the driver's first line: `steady warm` itself, and the snapshots that it creates first.
    pub before_seconds: Spent,
    /// Each launch, from before it to after its end: the driver's part and the program's. Rests are not in it.
    pub launches_seconds: Vec<Spent>,
    /// CPU time of what ran next to them, or after them, to create snapshots.
    pub beside_seconds: Nanos,
    /// Times that the driver, or a program, gave its CPU up to wait.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken from one of them.
    pub involuntary_switches: u64,
    /// Their page faults served without reading from storage.
    pub minor_faults: u64,
    /// Those that read from storage.
    pub major_faults: u64,
    /// How many launches were from a snapshot, as the hook counted.
    pub warm: Reading<u64>,
    /// How the launches ended: all in the same way, or this is the first that differs from the first of all.
    pub ended: Outcome,
    /// Whether all ended in the same way.
    pub alike: bool,
    /// What was counted, in sessions that are counted and not timed: counters make launches more expensive.
    pub counts: Option<SessionCounts>,
}

impl BenchSession {
    /// All launches together.
    pub fn all(&self) -> Spent {
        let sum = |of: fn(&Spent) -> Nanos| self.launches_seconds.iter().map(of).sum();
        Spent { wall: sum(|spent| spent.wall), cpu: sum(|spent| spent.cpu) }
    }
}

/// Time that was spent; in JSON wall time, then CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(Nanos, Nanos)", into = "(Nanos, Nanos)")]
#[schemars(with = "(Nanos, Nanos)")]
pub struct Spent {
    /// Wall time.
    pub wall: Nanos,
    /// CPU time, of all processes that took part.
    pub cpu: Nanos,
}

impl From<(Nanos, Nanos)> for Spent {
    fn from(times: (Nanos, Nanos)) -> Self {
        Spent { wall: times.0, cpu: times.1 }
    }
}

impl From<Spent> for (Nanos, Nanos) {
    fn from(spent: Spent) -> Self {
        (spent.wall, spent.cpu)
    }
}

/// What the kernel and the CPU counted over the launches and all next to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCounts {
    /// Moves from one CPU to another.
    pub migrations: Option<u64>,
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// CPU cycles.
    pub cycles: Option<u64>,
}

impl BenchProgram {
    /// A program and its sessions, not judged.
    pub fn new(command: AttendedCommand, samples: Reading<BenchTrial>) -> Self {
        BenchProgram { command, modes: not_judged(), notes: None, samples }
    }

    /// The figures of a mode, if there are any.
    pub fn figures(&self, mode: LaunchMode) -> Option<&ModeFigures> {
        self.modes.as_ref().ok()?.iter().find(|figures| figures.mode == mode)
    }
}

impl ModeFigures {
    /// A mean by its measure.
    ///
    /// # Errors
    /// Why there is none.
    pub fn mean(&self, measure: Measure) -> Reading<Mean> {
        let found = self.means.0.iter().find(|(of, _)| *of == measure);
        found.map_or_else(|| Err(Absent::because("not measured")), |(_, mean)| mean.clone())
    }

    /// An effect by its measure.
    pub fn effect(&self, measure: Measure) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.measure == measure)
    }
}

impl Serialize for Means {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (measure, mean) in &self.0 {
            let [value, deviation, sessions] = measure.fields();
            let known = mean.as_ref().ok();
            map.serialize_entry(&value, &mean.as_ref().map_err(Clone::clone).and_then(|mean| finite(mean.mean)))?;
            map.serialize_entry(&deviation, &known.and_then(|mean| mean.deviation))?;
            map.serialize_entry(&sessions, &known.map_or(0, |mean| mean.sessions))?;
        }
        map.end()
    }
}

impl JsonSchema for Means {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Means".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for measure in Measure::ALL {
            let [value, deviation, sessions] = measure.fields();
            properties.insert(value.clone(), literal!({ "type": ["number", "null"], "description": "The mean." }));
            properties.insert(format!("{value}_absent"), literal!({ "type": "string" }));
            let of_sessions = "The standard deviation of the sessions; null with one.";
            properties.insert(deviation.clone(), literal!({ "type": ["number", "null"], "description": of_sessions }));
            properties.insert(sessions.clone(), literal!({ "type": "integer", "minimum": 0 }));
            required.extend([value, deviation, sessions]);
        }
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

impl BenchRecord {
    /// The record in a JSON text that was written with its samples, exactly as it was measured, and judged again.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic, and no sum of its times or counts overflows.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let read: Result<Self, ReadError> = json::record(&SCHEMA, text);
        if read.is_err() {
            let value = SCHEMA.value(text)?;
            let without = |program: &Value| program.is_object() && program.get(SAMPLES).is_none();
            if value.get("programs").and_then(Value::as_array).is_some_and(|programs| programs.iter().any(without)) {
                return Err(ReadError::WithoutSamples);
            }
        }
        let record = read?;
        record.check()?;
        Ok(judged(record))
    }

    /// The JSON, each program with its sessions if `samples`: only then can it be judged again.
    pub fn value(&self, samples: bool) -> Value {
        let mut value = json::value(&SCHEMA, self);
        if !samples {
            let programs = value.get_mut("programs").and_then(Value::as_array_mut).into_iter().flatten();
            for program in programs.filter_map(Value::as_object_mut) {
                program.shift_remove(SAMPLES);
                program.shift_remove("samples_absent");
            }
        }
        value
    }

    /// Whether its numbers can be, and their sums too.
    fn check(&self) -> Result<(), ReadError> {
        holds(self.elapsed_seconds < LONGEST, "elapsed_seconds", "longer than any measuring")?;
        for (at, program) in self.programs.iter().enumerate() {
            let Ok(trial) = &program.samples else { continue };
            let path = format!("programs[{at}].{SAMPLES}");
            let of_runs = trial.runs.iter().try_fold(0_usize, |sum, sessions| sum.checked_add(*sessions));
            let is_whole = of_runs.is_some_and(|of_runs| of_runs <= trial.sessions.len());
            holds(is_whole, &format!("{path}.runs"), "there are fewer sessions")?;
            for (at, session) in trial.sessions.iter().enumerate() {
                session.check(&format!("{path}.sessions[{at}]"))?;
            }
        }
        Ok(())
    }
}

impl BenchSession {
    fn check(&self, path: &str) -> Result<(), ReadError> {
        let holds = |condition, name: &str, problem| holds(condition, &format!("{path}.{name}"), problem);
        holds(!self.launches_seconds.is_empty(), "launches_seconds", "there is none")?;
        let is_short = |spent: &Spent| spent.wall < LONGEST && spent.cpu < LONGEST;
        let are_short = self.launches_seconds.iter().all(is_short) && is_short(&self.all());
        holds(are_short, "launches_seconds", "longer than any measuring")?;
        holds(is_short(&self.before_seconds), "before_seconds", "longer than any measuring")?;
        holds(self.beside_seconds < LONGEST, "beside_seconds", "longer than any measuring")?;
        let counts = [
            ("voluntary_switches", self.voluntary_switches),
            ("involuntary_switches", self.involuntary_switches),
            ("minor_faults", self.minor_faults),
            ("major_faults", self.major_faults),
        ];
        counts.iter().try_for_each(|(name, count)| holds(*count <= MOST, name, "more than there can be"))?;
        let warm = self.warm.as_ref().map_or(0, |warm| *warm);
        holds(warm <= self.launches_seconds.len() as u64, "warm", "more than there were launches")
    }
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// A number, unless it is infinite or none: JSON has neither.
pub(crate) fn finite(value: f64) -> Reading<f64> {
    Some(value).filter(|value| value.is_finite()).ok_or_else(|| Absent::because("not a number"))
}

/// The confidence of all verdicts.
pub(crate) fn confidence() -> f64 {
    0.95
}

fn not_judged() -> Reading<Vec<ModeFigures>> {
    Err(Absent::because("it was not judged"))
}
