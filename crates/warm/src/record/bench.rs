//! The record of `steady warm bench`: each program launched many times, as usual and from snapshots.

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

/// The field of a program with the raw samples, which is written only if requested.
const SAMPLES: &str = "samples";
/// The upper limit of a session's duration, 97 days. Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// The upper limit of a count. A double, and thus any reader of JSON, represents it exactly.
const MOST: u64 = 1 << 53;

/// Everything that `steady warm bench` measured, and its evaluation. The fields are those of the JSON. Derived values
/// (figures, verdicts, notes) are written but not read: [`judged`] derives them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRecord {
    /// Which record of the schema this is.
    pub kind: BenchKind,
    /// The seed of the random order of sessions.
    #[schemars(with = "String")]
    pub seed: Seed,
    /// The time of day at the start; for information only.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Wall time from the start to the end of the bench.
    pub elapsed_seconds: Nanos,
    /// The host it ran on.
    pub host: Host,
    /// The git revision of the working directory.
    pub revision: Reading<String>,
    /// The scope in which instructions and cycles are counted.
    pub counters: Reading<CounterScope>,
    /// The programs and their measurements.
    pub programs: Vec<BenchProgram>,
    /// The confidence of verdicts and intervals.
    #[serde(skip_deserializing, default = "confidence")]
    pub confidence: f64,
    /// Why the bench ended.
    pub ending: Ending,
    /// How programs were launched.
    pub plan: BenchPlan,
}

/// What a [`BenchRecord`] is a record of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BenchKind {
    /// The record of a bench.
    #[default]
    Bench,
}

/// How programs are launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchPlan {
    /// Launches in each session.
    pub count: u32,
    /// Sessions of each mode.
    pub runs: u32,
    /// The pause after each launch of a session except the last. It is not counted.
    pub pause_seconds: Nanos,
    /// Whether the page cache is dropped before each session.
    pub cold: bool,
    /// Whether written data is sent to disks before each launch (sync(2)). It is not counted.
    #[serde(default)]
    pub sync: bool,
    /// The longest time that a launch may take.
    pub timeout_seconds: Nanos,
}

/// A program with its measurements and figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchProgram {
    /// The program with its arguments.
    #[serde(flatten)]
    pub command: AttendedCommand,
    /// The figures of each mode, in the order of [`LaunchMode::ALL`]. Absent if the program could not be launched or
    /// did not end.
    #[serde(skip_deserializing, default = "not_judged")]
    pub modes: Reading<Vec<ModeFigures>>,
    /// Remarks on the measurements that readers should know, as sentences; left out without figures.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
    /// The sessions; only written if raw samples are requested.
    #[schemars(skip_serializing_if = "Result::is_err")]
    pub samples: Reading<BenchTrial>,
}

/// How a program is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchMode {
    /// As usual, without `steady`.
    Normal,
    /// From a snapshot that is captured before the first launch.
    Prewarm,
    /// From a snapshot that is captured while the launches run, after the first launch.
    OnDemand,
}

impl LaunchMode {
    /// All modes, in the order of reports. The others are compared with the first.
    pub const ALL: [LaunchMode; 3] = [LaunchMode::Normal, LaunchMode::Prewarm, LaunchMode::OnDemand];

    /// The mode's name in options, tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            LaunchMode::Normal => "normal",
            LaunchMode::Prewarm => "prewarm",
            LaunchMode::OnDemand => "on-demand",
        }
    }
}

/// The figures of a mode.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeFigures {
    /// The mode that the figures belong to.
    pub mode: LaunchMode,
    /// The share of launches of the program that were from a snapshot, 0 to 1. Programs that it starts do not count.
    pub warm_ratio: Reading<f64>,
    /// The mean of each measure per launch, over the sessions.
    #[serde(flatten)]
    pub means: Means,
    /// The comparisons with normal launches; empty for normal launches.
    #[serde(rename = "verdicts")]
    pub effects: Vec<Effect>,
    /// When the snapshot pays for itself; not available for normal launches.
    pub break_even: Reading<BreakEven>,
    /// Mean wall time of each launch over the sessions, by its position in the session, from the first on.
    pub launch_wall_seconds: Vec<f64>,
    /// Mean CPU time of each launch, likewise.
    pub launch_cpu_seconds: Vec<f64>,
}

/// Means by measure, in the order of [`Measure::ALL`]. In JSON each mean has three fields: `wall_seconds`,
/// `wall_deviation_seconds` (not available if there is only one session) and `wall_sessions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Means(pub Vec<(Measure, Reading<Mean>)>);

/// What is measured of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Wall time of a launch: the mean over a session.
    Wall,
    /// CPU time of a launch: of the driver and the program.
    Cpu,
    /// CPU time of the whole session, including captures and `steady warm` itself, divided by the number of launches.
    AllCpu,
    /// Wall time of the whole session, including its start, divided by the number of launches.
    AllWall,
    /// Context switches per launch.
    Switches,
    /// Page faults per launch.
    Faults,
    /// Migrations between CPUs per launch.
    Migrations,
    /// Instructions retired per launch.
    Instructions,
    /// CPU cycles per launch.
    Cycles,
    /// Branches retired per launch.
    Branches,
    /// Mispredicted branches per launch.
    BranchMisses,
    /// Cycles per launch in which no instruction could be issued.
    StalledFrontend,
    /// Cycles per launch in which no instruction retired.
    StalledBackend,
}

impl Measure {
    /// All measures, in the order of reports.
    pub const ALL: [Measure; 13] = [
        Measure::Wall,
        Measure::Cpu,
        Measure::AllWall,
        Measure::AllCpu,
        Measure::Switches,
        Measure::Migrations,
        Measure::Faults,
        Measure::Cycles,
        Measure::StalledFrontend,
        Measure::StalledBackend,
        Measure::Instructions,
        Measure::Branches,
        Measure::BranchMisses,
    ];
    /// The measures by which modes are compared.
    pub const JUDGED: [Measure; 4] = [Measure::Wall, Measure::Cpu, Measure::AllWall, Measure::AllCpu];

    /// The measure's name in JSON and CSV, with its unit.
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
            Measure::Branches => "branches",
            Measure::BranchMisses => "branch_misses",
            Measure::StalledFrontend => "stalled_cycles_frontend",
            Measure::StalledBackend => "stalled_cycles_backend",
        }
    }

    /// The measure's name without its unit.
    pub(crate) fn base(self) -> &'static str {
        self.name().trim_end_matches("_seconds")
    }

    /// Whether the measure is a time.
    pub fn is_time(self) -> bool {
        Measure::JUDGED.contains(&self)
    }

    /// The names of the three JSON fields of its mean.
    pub(crate) fn fields(self) -> [String; 3] {
        let unit = if self.is_time() { "_seconds" } else { "" };
        [self.name().to_owned(), format!("{}_deviation{unit}", self.base()), format!("{}_sessions", self.base())]
    }
}

/// The mean of a measure over sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean; for times in seconds.
    pub mean: f64,
    /// The standard deviation of the sessions; `None` if there is only one.
    pub deviation: Option<f64>,
    /// The number of sessions.
    pub sessions: usize,
}

/// The comparison of a mode with normal launches by one measure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// The measure that is compared.
    #[serde(rename = "metric")]
    pub measure: Measure,
    /// The result of the test.
    pub verdict: Verdict,
    /// The relative change: -0.1 is 10 % less than normal launches.
    pub change: Reading<f64>,
    /// The lower end of the interval of the change.
    pub low: Reading<f64>,
    /// The upper end of the interval of the change.
    pub high: Reading<f64>,
}

impl Effect {
    /// Returns the interval of the change.
    ///
    /// # Errors
    /// The reason if there is no interval.
    pub fn interval(&self) -> Reading<Interval> {
        Ok(Interval { low: self.low.clone()?, high: self.high.clone()? })
    }
}

/// When a snapshot pays for itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BreakEven {
    /// In wall time that launches wait.
    pub wall: PaidBack,
    /// In CPU time, including the capture.
    pub cpu: PaidBack,
}

/// The number of launches after which a mode has cost no more than as many normal launches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PaidBack {
    /// Mean cost of the capture, in seconds. In wall time, only the part that launches wait for.
    pub capture_seconds: Reading<f64>,
    /// The launch from which on the means of the runs show no loss; not available if too few launches were from a
    /// snapshot, or if it is not within the measured launches and launches do not certainly take less time.
    pub launches: Reading<u64>,
    /// Whether `launches` is more than the measured launches. It then assumes that further launches cost as much as the
    /// last measured ones.
    pub extrapolated: bool,
    /// The launch from which on there is certainly no loss, at 95 % confidence.
    pub certain_launches: Reading<u64>,
}

/// The sessions of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchTrial {
    /// The number of sessions of each run: one of each mode, in random order.
    runs: Vec<usize>,
    /// The timed sessions of all runs, then the counted sessions.
    sessions: Vec<BenchSession>,
    /// Why the program has no snapshot, if `steady warm why` gave a reason.
    pub refusal: Option<String>,
}

impl BenchTrial {
    /// Returns the sessions of each run, in the order in which they ran.
    pub fn runs(&self) -> impl Iterator<Item = &[BenchSession]> {
        let mut rest = self.sessions.as_slice();
        self.runs.iter().map(move |sessions| {
            let (run, others) = rest.split_at(rest.len().min(*sessions));
            rest = others;
            run
        })
    }

    /// Returns the number of runs.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Returns the counted sessions.
    pub fn counted(&self) -> &[BenchSession] {
        self.sessions.get(self.runs.iter().sum()..).unwrap_or_default()
    }

    /// Returns all sessions, timed and counted.
    pub fn sessions(&self) -> &[BenchSession] {
        &self.sessions
    }

    /// Adds a run. All runs must be added before the first counted session.
    pub fn push_run(&mut self, sessions: Vec<BenchSession>) {
        self.runs.push(sessions.len());
        self.sessions.extend(sessions);
    }

    /// Adds a counted session.
    pub fn push_counted(&mut self, session: BenchSession) {
        self.sessions.push(session);
    }
}

/// Returns the session of a mode in a run, and its position in the run.
pub(crate) fn of_mode(run: &[BenchSession], mode: LaunchMode) -> Option<(usize, &BenchSession)> {
    run.iter().enumerate().find(|(_, session)| session.mode == mode)
}

/// A session: one driver process that launches one program many times, with a store of its own that is empty at the
/// start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchSession {
    /// How the program is launched.
    pub mode: LaunchMode,
    /// Cost from the start of the session to the driver's first statement: `steady warm` itself, and the captures of
    /// prewarm.
    pub before_seconds: Spent,
    /// Cost of each launch, from before it starts to after its end: of the driver and the program. Pauses are not
    /// included.
    pub launches_seconds: Vec<Spent>,
    /// CPU time of the processes that capture programs while the launches run, or after them.
    pub beside_seconds: Nanos,
    /// Voluntary context switches of the driver and the programs.
    pub voluntary_switches: u64,
    /// Involuntary context switches of the driver and the programs.
    pub involuntary_switches: u64,
    /// Page faults of the driver and the programs that need no I/O.
    pub minor_faults: u64,
    /// Page faults of the driver and the programs that need I/O.
    pub major_faults: u64,
    /// Number of launches from a snapshot, as the hook counts them. Programs that the program starts do not count.
    pub warm: Reading<u64>,
    /// How the launches ended. If they ended differently: how the first one ended that differs from the first launch.
    pub ended: Outcome,
    /// Whether all launches ended in the same way.
    pub alike: bool,
    /// Counter readings. Only counted sessions have them, and these are not timed, because counters make launches more
    /// expensive.
    pub counts: Option<SessionCounts>,
}

impl BenchSession {
    /// Returns the sum of all launches.
    pub fn all(&self) -> Spent {
        let sum = |of: fn(&Spent) -> Nanos| self.launches_seconds.iter().map(of).sum();
        Spent { wall: sum(|spent| spent.wall), cpu: sum(|spent| spent.cpu) }
    }
}

/// Wall time and CPU time; in JSON a pair of both, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(Nanos, Nanos)", into = "(Nanos, Nanos)")]
#[schemars(with = "(Nanos, Nanos)")]
pub struct Spent {
    /// Wall time from start to end.
    pub wall: Nanos,
    /// CPU time of all processes that took part.
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

/// Events that the kernel and the CPU counted during the launches, in all processes of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCounts {
    /// Migrations from one CPU to another.
    pub migrations: Option<u64>,
    /// Number of instructions retired.
    pub instructions: Option<u64>,
    /// Number of CPU cycles.
    pub cycles: Option<u64>,
    /// Number of branches retired.
    #[serde(default)]
    pub branches: Option<u64>,
    /// Number of mispredicted branches.
    #[serde(default)]
    pub branch_misses: Option<u64>,
    /// Number of cycles in which no instruction could be issued.
    #[serde(default)]
    pub stalled_frontend: Option<u64>,
    /// Number of cycles in which no instruction retired.
    #[serde(default)]
    pub stalled_backend: Option<u64>,
}

impl BenchProgram {
    /// Creates a program with its sessions, before they are evaluated.
    pub fn new(command: AttendedCommand, samples: Reading<BenchTrial>) -> Self {
        BenchProgram { command, modes: not_judged(), notes: None, samples }
    }

    /// Returns the figures of a mode, if there are any.
    pub fn figures(&self, mode: LaunchMode) -> Option<&ModeFigures> {
        self.modes.as_ref().ok()?.iter().find(|figures| figures.mode == mode)
    }
}

/// With a smaller share of launches from a snapshot, reports and exports state nothing about what snapshots save.
const ENOUGH: f64 = 0.5;

impl ModeFigures {
    /// Whether so few launches of the mode were from a snapshot that their time says little about snapshots.
    pub(crate) fn has_few_snapshots(&self) -> bool {
        self.warm_ratio.as_ref().is_ok_and(|ratio| *ratio < ENOUGH)
    }

    /// Returns the mean of a measure.
    ///
    /// # Errors
    /// The reason if there is no mean.
    pub fn mean(&self, measure: Measure) -> Reading<Mean> {
        let found = self.means.0.iter().find(|(of, _)| *of == measure);
        found.map_or_else(|| Err(Absent::because("not measured")), |(_, mean)| mean.clone())
    }

    /// Returns the comparison by a measure.
    pub fn effect(&self, measure: Measure) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.measure == measure)
    }
}

impl Serialize for Means {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (measure, mean) in &self.0 {
            let [value, deviation, sessions] = measure.fields();
            let known = mean.as_ref().map_err(Clone::clone);
            let spread = |mean: &Mean| mean.deviation.ok_or_else(|| Absent::because("there is only one session"));
            map.serialize_entry(&value, &known.clone().and_then(|mean| finite(mean.mean)))?;
            map.serialize_entry(&deviation, &known.clone().and_then(spread))?;
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
            let of_sessions = "The standard deviation of the sessions; null if there is only one.";
            properties.insert(deviation.clone(), literal!({ "type": ["number", "null"], "description": of_sessions }));
            properties.insert(sessions.clone(), literal!({ "type": "integer", "minimum": 0 }));
            required.extend([value, deviation, sessions]);
        }
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

impl BenchRecord {
    /// Reads the record from a JSON text that includes the samples, and evaluates it again.
    ///
    /// # Errors
    /// What is wrong with the text, and where. No input causes a panic or an overflow.
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

    /// The record as JSON. Each program has its sessions if `samples`; only then can the record be read again.
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

    /// Checks that numbers are possible, and that their sums do not overflow.
    fn check(&self) -> Result<(), ReadError> {
        holds(self.elapsed_seconds < LONGEST, "elapsed_seconds", "longer than 97 days")?;
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
        holds(are_short, "launches_seconds", "longer than 97 days")?;
        holds(is_short(&self.before_seconds), "before_seconds", "longer than 97 days")?;
        holds(self.beside_seconds < LONGEST, "beside_seconds", "longer than 97 days")?;
        let counts = [
            ("voluntary_switches", self.voluntary_switches),
            ("involuntary_switches", self.involuntary_switches),
            ("minor_faults", self.minor_faults),
            ("major_faults", self.major_faults),
        ];
        counts.iter().try_for_each(|(name, count)| holds(*count <= MOST, name, "more than 2^53"))?;
        let warm = self.warm.as_ref().map_or(0, |warm| *warm);
        holds(warm <= self.launches_seconds.len() as u64, "warm", "more than the number of launches")
    }
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Returns a finite number; JSON cannot represent others.
pub(crate) fn finite(value: f64) -> Reading<f64> {
    Some(value).filter(|value| value.is_finite()).ok_or_else(|| Absent::because("not a number"))
}

/// The confidence level of all verdicts.
pub(crate) fn confidence() -> f64 {
    0.95
}

fn not_judged() -> Reading<Vec<ModeFigures>> {
    Err(Absent::because("it was not judged"))
}
