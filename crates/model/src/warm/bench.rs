//! What keeping programs warm gains: each program launched again and again, as usual and from snapshots.

use serde::{Deserialize, Serialize};

use crate::{Absent, Command, CounterScope, Ending, Host, Interval, Nanos, Outcome, Reading, Seed, Timestamp, Verdict};

/// How programs are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmMode {
    /// As without us.
    Normal,
    /// The snapshot is taken before the first launch.
    Prewarm,
    /// The snapshot is taken beside the launches, once there was a first.
    OnDemand,
}

impl WarmMode {
    /// All modes, in the order in which reports list them; all others are held against the first.
    pub const ALL: [WarmMode; 3] = [WarmMode::Normal, WarmMode::Prewarm, WarmMode::OnDemand];

    /// Its name in options, tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            WarmMode::Normal => "normal",
            WarmMode::Prewarm => "prewarm",
            WarmMode::OnDemand => "on-demand",
        }
    }
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmBenchPlan {
    /// The programs, with their arguments.
    pub programs: Vec<Command>,
    /// How often a session launches its program.
    pub count: u32,
    /// How often there is a session of each mode.
    pub runs: u32,
    /// How long a session rests after each launch but the last; that counts nowhere.
    pub pause: Nanos,
    /// Whether the page cache is dropped before each session.
    pub cold: bool,
    /// How long a launch may take.
    pub timeout: Nanos,
    /// The seed of the order.
    pub seed: Seed,
}

/// Time that was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmSpent {
    /// Wall time.
    pub wall: Nanos,
    /// CPU time, of all who took part.
    pub cpu: Nanos,
}

/// What the kernel and the CPU counted over the launches and all beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmCounts {
    /// Moves from one CPU to another.
    pub migrations: Option<u64>,
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// CPU cycles.
    pub cycles: Option<u64>,
}

/// One driver that launches one program again and again, in a store of its own that is empty at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmSession {
    /// How.
    pub mode: WarmMode,
    /// From the start of all to the driver's first line: `steady warm` itself, and what it takes beforehand.
    pub before: WarmSpent,
    /// Each launch, from before it to after its end: the driver's part and the program's. Rests are not in it.
    pub launches: Vec<WarmSpent>,
    /// CPU time of what ran beside them, or after them, to take snapshots.
    pub beside: Nanos,
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
    /// What was counted, in sessions that are counted and not timed: counters make launches dearer.
    pub counts: Option<WarmCounts>,
}

impl WarmSession {
    /// The first `launches` launches together.
    pub fn first(&self, launches: usize) -> WarmSpent {
        let sum = |of: fn(&WarmSpent) -> Nanos| self.launches.iter().take(launches).map(of).sum();
        WarmSpent { wall: sum(|spent| spent.wall), cpu: sum(|spent| spent.cpu) }
    }
}

/// A session of each mode, in the order that was drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmRun(pub Vec<WarmSession>);

impl WarmRun {
    /// The session of a mode, and its place in the order.
    pub fn of(&self, mode: WarmMode) -> Option<(usize, &WarmSession)> {
        self.0.iter().enumerate().find(|(_, session)| session.mode == mode)
    }
}

/// One program's sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarmTrial {
    /// Those that were timed.
    pub runs: Vec<WarmRun>,
    /// Those that were counted.
    pub counted: Vec<WarmSession>,
    /// Why it has no snapshot, where `steady warm why` told of a reason.
    pub refusal: Option<String>,
}

/// Everything that was measured. The report is a pure function of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmBenchRecord {
    /// What was to be done.
    pub plan: WarmBenchPlan,
    /// When it was begun: a label.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// Whose instructions and cycles are counted, or why they cannot be.
    pub counters: Reading<CounterScope>,
    /// Each program's, in the plan's order; absent where it could not be launched or did not end.
    pub trials: Vec<Reading<WarmTrial>>,
    /// From the start to the end.
    pub elapsed: Nanos,
    /// Why it ended.
    pub ending: Ending,
}

/// What is told of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmMeasure {
    /// Wall time of a launch: the mean over a session.
    Wall,
    /// CPU time of a launch: the driver's part and the program's.
    Cpu,
    /// The same with what the snapshots took, and `steady warm` itself, shared out over the session's launches.
    AllCpu,
    /// Wall time from the start of all, shared out likewise.
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

impl WarmMeasure {
    /// All of them, in the order in which they are told.
    pub const ALL: [WarmMeasure; 9] = [
        WarmMeasure::Wall,
        WarmMeasure::Cpu,
        WarmMeasure::AllWall,
        WarmMeasure::AllCpu,
        WarmMeasure::Switches,
        WarmMeasure::Migrations,
        WarmMeasure::Faults,
        WarmMeasure::Cycles,
        WarmMeasure::Instructions,
    ];
    /// Those that modes are held against each other by.
    pub const JUDGED: [WarmMeasure; 4] =
        [WarmMeasure::Wall, WarmMeasure::Cpu, WarmMeasure::AllWall, WarmMeasure::AllCpu];

    /// Its name in JSON and CSV, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            WarmMeasure::Wall => "wall_seconds",
            WarmMeasure::Cpu => "cpu_seconds",
            WarmMeasure::AllCpu => "all_cpu_seconds",
            WarmMeasure::AllWall => "all_wall_seconds",
            WarmMeasure::Switches => "switches",
            WarmMeasure::Faults => "faults",
            WarmMeasure::Migrations => "migrations",
            WarmMeasure::Instructions => "instructions",
            WarmMeasure::Cycles => "cycles",
        }
    }

    /// Whether it is a time.
    pub fn is_time(self) -> bool {
        WarmMeasure::JUDGED.contains(&self)
    }
}

/// A mean over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmMean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sessions; absent with one.
    pub deviation: Option<f64>,
    /// How many sessions.
    pub sessions: usize,
}

/// A mode held against normal launches.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmEffect {
    /// By what.
    pub measure: WarmMeasure,
    /// The verdict.
    pub verdict: Verdict,
    /// The relative change.
    pub change: Reading<f64>,
    /// Its interval.
    pub interval: Reading<Interval>,
}

/// After how many launches a mode has cost no more than as many normal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaidBack {
    /// From so many on, as far as was measured.
    After(u64),
    /// From about so many on, if further launches are as the later ones were: more than were measured.
    Probably(u64),
    /// Later launches are no cheaper.
    Never,
}

/// When the taking of a snapshot is paid back.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// What taking costs before it is paid back, in seconds: the mean. Of wall time only what launches wait for.
    pub taking: f64,
    /// By the means of the runs.
    pub paid_back: PaidBack,
    /// From which launch on that is certain, at 95 %; `None` where it is not within those that were measured.
    pub certain: Option<u64>,
}

/// A mode in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmFigures {
    /// Which.
    pub mode: WarmMode,
    /// Means over sessions, of a launch, in the order of [`WarmMeasure::ALL`].
    pub means: Vec<(WarmMeasure, Reading<WarmMean>)>,
    /// The share of launches that were from a snapshot.
    pub warm_ratio: Reading<f64>,
    /// Held against normal launches; empty for those.
    pub effects: Vec<WarmEffect>,
    /// By wall time and by CPU time, when the taking is paid back; absent for normal launches.
    pub break_even: Reading<[BreakEven; 2]>,
    /// The mean wall and CPU time of each launch in its session, in seconds, from the first on.
    pub course: Vec<[f64; 2]>,
}

impl WarmFigures {
    /// A mean by its measure.
    pub fn mean(&self, measure: WarmMeasure) -> Reading<WarmMean> {
        let found = self.means.iter().find(|(of, _)| *of == measure);
        found.map_or_else(|| Err(Absent::because("not measured")), |(_, mean)| mean.clone())
    }

    /// An effect by its measure.
    pub fn effect(&self, measure: WarmMeasure) -> Option<&WarmEffect> {
        self.effects.iter().find(|effect| effect.measure == measure)
    }
}

/// A program in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmProgram {
    /// Each mode, in the order of [`WarmMode::ALL`].
    pub modes: Vec<WarmFigures>,
    /// What a reader must know: sentences.
    pub notes: Vec<String>,
}

/// `steady warm bench` as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmBenchReport {
    /// What was measured.
    pub record: WarmBenchRecord,
    /// Each program in figures, in the plan's order.
    pub programs: Vec<Reading<WarmProgram>>,
}
