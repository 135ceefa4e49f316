//! What a release changed, as it is told.

use serde::{Deserialize, Serialize};

use crate::{FailIf, Interval, Nanos, Reading, Timestamp, Verdict};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseQuestion {
    /// The service.
    pub service: String,
    /// The version that is compared with.
    pub old: String,
    /// The version that is judged.
    pub new: String,
    /// When the comparison was requested; `None` in reports of versions that did not record it.
    pub asked: Option<Timestamp>,
    /// The first second of the window, since 1970.
    pub from: u64,
    /// The second behind its last.
    pub to: u64,
    /// Whether routes are judged each by itself.
    pub by_route: bool,
    /// The confidence of all intervals, such as 0.95.
    pub confidence: f64,
    /// The change that is of interest, such as 0.01: `same` is said within it.
    pub resolution: f64,
    /// The condition of a gate.
    pub fail_if: Option<FailIf>,
}

/// How the two versions came to be compared, as the data show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseDesign {
    /// A coin for each request.
    RandomPerRequest,
    /// A coin for each pair of time slots.
    Switchback,
    /// Some processes run the one version while others run the other.
    Canary,
    /// First the one version, then the other.
    OneAfterTheOther,
}

impl ReleaseDesign {
    /// Every design, the strongest first.
    pub const ALL: [ReleaseDesign; 4] = [
        ReleaseDesign::RandomPerRequest,
        ReleaseDesign::Switchback,
        ReleaseDesign::Canary,
        ReleaseDesign::OneAfterTheOther,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ReleaseDesign::RandomPerRequest => "random-per-request",
            ReleaseDesign::Switchback => "switchback",
            ReleaseDesign::Canary => "canary",
            ReleaseDesign::OneAfterTheOther => "one-after-the-other",
        }
    }

    /// Whether its error follows from coins; else it follows from a model of the noise.
    pub fn is_randomised(self) -> bool {
        matches!(self, ReleaseDesign::RandomPerRequest | ReleaseDesign::Switchback)
    }
}

/// By what the load is taken off the costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestsOn {
    /// By nothing: both versions had the same load, for coins chose between them.
    Coins,
    /// By rulers that ran before requests, on their threads.
    WorkerRulers,
    /// By the agent's own rulers alone.
    AgentRulers,
    /// By what both did at the same time.
    SameTime,
}

/// One of the two versions within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSide {
    /// Its name.
    pub version: String,
    /// Requests that count.
    pub requests: u64,
    /// Of them, those that failed.
    pub failed: u64,
    /// Requests of processes that were still warming up; they do not count.
    pub warming: u64,
    /// Processes that served it; absent where rows are of all processes of a host together.
    pub processes: Reading<usize>,
    /// Hosts that served it.
    pub hosts: usize,
    /// Seconds in which it served anything.
    pub seconds: u64,
    /// Its mean CPU time a request, as it is.
    pub cpu_mean: Reading<Nanos>,
    /// Its mean wall time a request, as it is.
    pub wall_mean: Reading<Nanos>,
}

/// A change, NEW / OLD - 1, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeEstimate {
    /// The estimate.
    pub change: Reading<f64>,
    /// Its interval.
    pub interval: Reading<Interval>,
}

/// The change of the total CPU time, NEW / OLD - 1: what all requests need if all run NEW, over what they need if all run OLD,
/// at equal load and mix of routes and classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseChange {
    /// Requests of OLD and NEW that it rests on.
    pub requests: [u64; 2],
    /// The estimate, with load and mix taken off.
    pub change: Reading<f64>,
    /// Its interval.
    pub interval: Reading<Interval>,
    /// What that says.
    pub verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    pub within_resolution: bool,
    /// The change of the plain means.
    pub raw_change: Reading<f64>,
    /// How much of the raw change was load and mix: (1 + raw) / (1 + change) - 1.
    pub load_shift: Reading<f64>,
    /// In how many minutes of the same traffic it would probably be settled, where it is undecided and that can be told.
    pub minutes_to_settle: Option<f64>,
}

/// What one route did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRoute {
    /// Its template.
    pub route: String,
    /// Its share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Its change. Intervals of routes hold for all routes together (Holm).
    pub change: ReleaseChange,
    /// The change of its usual request.
    pub usual: ChangeEstimate,
    /// Its median wall time, OLD and NEW; absent where it was not told.
    pub wall_median: Reading<[Nanos; 2]>,
}

/// Requests of one route and class, split at three times their usual cost.
///
/// Both changes are of CPU time per request of the route and class, so that together they are the change of their total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseTail {
    /// The template of the route.
    pub route: String,
    /// The class; empty for requests without one.
    pub class: String,
    /// Its share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// The share of its requests that cost more than the bound, OLD and NEW.
    pub above_ratio: [f64; 2],
    /// The share of its CPU time that these have, both versions together.
    pub above_cpu_ratio: f64,
    /// The change of the CPU time of requests above the bound.
    pub above: ChangeEstimate,
    /// The change of the CPU time of the others.
    pub below: ChangeEstimate,
}

/// One host of several, by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseHost {
    /// Its name.
    pub host: String,
    /// Its share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Its change; absent where it served one version alone. The interval is its own, not widened for there being many hosts.
    pub change: ReleaseChange,
    /// Whether it lies further from the others than chance explains (at the error that the question allows, over all hosts
    /// together): of its change, or, where hosts have one version each, of its cost beside the hosts of the same version.
    pub outlying: bool,
}

/// Where wall time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WallPart {
    /// On a CPU.
    Cpu,
    /// Waiting for a CPU.
    Waiting,
    /// Anything else: other services, disks, locks.
    Blocked,
}

/// Wall time of OLD and NEW, as it was: what load did is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseWall {
    /// Shares (0.5, 0.9, ...) and the wall time that this share of the requests stayed below, OLD and NEW.
    pub quantiles: Vec<(f64, [Nanos; 2])>,
    /// The change of the median, mix of routes taken off.
    pub median_change: Reading<f64>,
    /// Its interval.
    pub median_interval: Reading<Interval>,
    /// Requests of OLD and NEW of which it is known how long they waited for a CPU.
    pub watched: [u64; 2],
    /// Mean time of each part, OLD and NEW, over the requests of which all parts are known, with that on a CPU and that
    /// blocked, in the order of [`WallPart`].
    pub parts: Reading<[[Nanos; 2]; 3]>,
    /// The distributions: upper ends of wall time, and the share of requests of OLD and of NEW below them since the last.
    pub distribution: Vec<(Nanos, [f64; 2])>,
}

/// What the change comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSaving {
    /// CPUs that the service keeps busy, both versions together, on all hosts.
    pub cpus_used: f64,
    /// How many CPUs less it would need for the same requests with NEW serving all of them than with OLD; negative where it
    /// would need more.
    pub cpus_saved: f64,
    /// The interval of that.
    pub interval: Interval,
}

/// CPU time of processes that is not that of their requests, as a share of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnexplainedCpu {
    /// Over all processes.
    pub ratio: f64,
    /// By version, OLD and NEW, where each interval of a process has one version.
    pub sides: Option<[f64; 2]>,
}

/// Why one version after the other gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Refusal {
    /// Given the rulers, the version is nearly known: what load did and what the version did cannot be told apart.
    LoadsDoNotOverlap {
        /// By how much knowing the load inflates the variance of the version's effect.
        variance_inflation: f64,
    },
    /// The CPUs were busier under the one than under the other.
    UtilisationDiffers {
        /// By how many standard deviations within the sides.
        deviations: f64,
    },
    /// Too few rows (seconds and processes) on one side.
    TooFewRows {
        /// How many there are.
        rows: u64,
        /// How many are asked for.
        needed: u64,
    },
    /// Too few stretches of time on one side.
    TooFewClusters {
        /// How many there are.
        clusters: u64,
        /// How many are asked for.
        needed: u64,
    },
    /// Rulers were read too rarely on one side.
    TooFewReadings {
        /// Readings a second.
        per_second: f64,
        /// How many are asked for.
        needed: f64,
    },
}

/// What would give an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// The design that would.
    pub design: ReleaseDesign,
    /// In how many minutes of the same traffic a change of the resolution would be found.
    pub minutes: f64,
}

/// Something in the data that says that load may have been mistaken for the version, or the version for load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadAlarm {
    /// The change by the rulers inside the workers.
    pub by_worker_rulers: f64,
    /// The change by the agent's own.
    pub by_agent_rulers: f64,
}

/// Something that the reader should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ReleaseWarning {
    /// The two kinds of rulers disagree: NEW may be moving its own ruler.
    RulersDisagree(LoadAlarm),
    /// One process a side: processes that run the same code differ by two or three per cent, and that is not covered.
    OneProcessASide,
    /// Few processes a side: their number, OLD and NEW.
    FewProcesses {
        /// How many.
        processes: [usize; 2],
    },
    /// The versions failed unequally often: shares of OLD and NEW.
    UnequalFailures {
        /// Those.
        shares: [f64; 2],
    },
    /// Rows from before CPU time was summed in levels: the total is the plain ratio of means within seconds and routes, which
    /// is less precise.
    NotAdjusted {
        /// Requests in such rows.
        requests: u64,
    },
    /// Some routes and classes were served by one version only, or as good as that, with this share of the CPU time; they are in
    /// no figure. Where it is more than the resolution, the total is absent.
    RoutesOfOneVersion {
        /// How many routes.
        routes: usize,
        /// Their share of CPU time.
        cpu_ratio: f64,
    },
    /// A coin chose the version, and some routes were served by the versions in other shares than it gave: the version decides which
    /// requests are on them, so these were compared together, whichever their route.
    UnequalRoutes {
        /// How many routes.
        routes: usize,
        /// The first of them, by CPU time.
        named: Vec<String>,
        /// Their share of CPU time.
        cpu_ratio: f64,
    },
    /// Lines that were lost on the way to the agent, or requests folded into others for want of room.
    Lost {
        /// Lines lost.
        lost: u64,
        /// Requests folded.
        folded: u64,
    },
    /// Much of the CPU time of the processes is not that of requests, such as of a thread pool. The change is that of the CPU time
    /// of the processes.
    ProcessCpuCounted {
        /// The share of the processes' CPU time that is not that of requests.
        ratio: f64,
    },
    /// The same, where versions share processes: it may belong to either. The interval of the change holds both extremes.
    UnexplainedCpu {
        /// The share of the processes' CPU time that is not that of requests.
        ratio: f64,
        /// The interval of the change of the CPU time of requests alone.
        interval: Interval,
    },
    /// Requests that came to have their version in another way, or while no coin could fall otherwise, which were left out.
    OtherAssignments {
        /// How many.
        requests: u64,
    },
    /// Seconds of the window without any row: the agent did not run, or nothing was asked of the service.
    Gaps {
        /// How many seconds.
        seconds: u64,
    },
    /// Hosts differ in what the change is by more than chance.
    HostsDiffer {
        /// The standard deviation of the change between hosts, as a ratio.
        deviation: f64,
        /// Whether the interval holds for hosts like these; with few hosts it is that of these alone.
        covered: bool,
    },
    /// Scrapes of a fleet's store that are missing, or in which an agent began anew: those intervals are left out.
    MissingScrapes {
        /// Intervals of one host each.
        intervals: u64,
        /// Of so many that were looked for.
        of: u64,
        /// Hosts with such intervals.
        hosts: usize,
    },
    /// So much is kept in a fleet's store that it was asked for longer blocks of time than its scrapes are: what load
    /// did within one is taken off by less.
    LongBlocks {
        /// How long, in seconds.
        seconds: u64,
        /// How long it is between scrapes.
        scrape_seconds: u64,
    },
}

/// One stretch of the window, for charts. Means are absent where nothing was served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseMoment {
    /// Its first second, since 1970.
    pub second: u64,
    /// Requests of OLD and NEW.
    pub requests: [u64; 2],
    /// CPU time a request as it was, OLD and NEW.
    pub raw: [Option<Nanos>; 2],
    /// The same with load and mix taken off.
    pub adjusted: [Option<Nanos>; 2],
    /// The share of CPU time in which the hosts' CPUs did something.
    pub busy: Option<f64>,
    /// What the rulers read, over their mean within the window.
    pub rulers: Option<f64>,
}

/// The window as a course of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReleaseCourse {
    /// How long a stretch is, in seconds.
    pub step_seconds: u64,
    /// The stretches, in the order of time; those without anything are left out.
    pub moments: Vec<ReleaseMoment>,
}

/// What was known after a look of those that follow live.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSight {
    /// The second behind the last that was looked at.
    pub to: u64,
    /// Requests of OLD and NEW until then.
    pub requests: [u64; 2],
    /// The estimate.
    pub change: Option<f64>,
    /// The interval, as all looks so far leave it.
    pub interval: Option<Interval>,
}

/// What a release changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseReport {
    /// What was asked.
    pub question: ReleaseQuestion,
    /// How the versions came to be compared.
    pub design: ReleaseDesign,
    /// By what the load is taken off.
    pub rests_on: RestsOn,
    /// Whether requests were counted from outside.
    pub from_outside: bool,
    /// Whether services told the class of requests.
    pub has_classes: bool,
    /// Why there is no answer, where there is none; else empty. The total and the routes have no change then.
    pub refused: Vec<Refusal>,
    /// What would give one.
    pub settle: Option<Settling>,
    /// OLD and NEW.
    pub sides: [ReleaseSide; 2],
    /// The service as a whole.
    pub total: ReleaseChange,
    /// The usual request: the change of the logarithm of cost, by Huber's estimate. It says what most requests did, and not
    /// what the service needs.
    pub usual: ChangeEstimate,
    /// Which requests changed, the routes and classes with the most CPU time first; empty where the total and the usual request
    /// agree.
    pub tails: Vec<ReleaseTail>,
    /// Its routes, the dearest first; empty unless asked for.
    pub routes: Vec<ReleaseRoute>,
    /// Its hosts, those furthest from the others first; empty where there is one.
    pub hosts: Vec<ReleaseHost>,
    /// Wall time; absent where it was not told.
    pub wall: Reading<ReleaseWall>,
    /// What the change comes to; absent where there is none.
    pub saving: Reading<ReleaseSaving>,
    /// CPU time of processes that is not that of their requests.
    pub unexplained: Reading<UnexplainedCpu>,
    /// The course of the window.
    pub course: ReleaseCourse,
    /// The looks, where it was followed live.
    pub looks: Vec<ReleaseSight>,
    /// What the reader should know.
    pub warnings: Vec<ReleaseWarning>,
}
