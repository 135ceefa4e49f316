//! What a release changed: the record. Its fields are those of its JSON, in their order. What is derived is written and never read.

mod json;
mod parts;
mod warnings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{Absent, FailIf, Interval, Nanos, Reading, Timestamp, Verdict};
use steady_render::json::Schema;

use parts::{above_ratio, change_requests, ends, flat_requests, not_before, second, watched_requests};

pub use warnings::{LoadAlarm, Refusal, ReleaseWarning, Settling};

/// The schema of [`ReleaseReport`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.release/1", what: "what a release changed" };

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseQuestion {
    /// The service.
    pub service: String,
    /// The version that is compared with.
    pub old: String,
    /// The version that is judged.
    pub new: String,
    /// When the comparison was requested; absent in reports of versions that did not record it.
    #[serde(default, with = "parts::asked")]
    #[schemars(with = "Reading<String>")]
    pub asked: Option<Timestamp>,
    /// The first second of the window, since 1970; in JSON a time of day, as all moments but those of the course.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub from: u64,
    /// The second behind its last.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub to: u64,
    /// Whether routes are judged each by itself.
    pub by_route: bool,
    /// The confidence of all intervals, such as 0.95.
    pub confidence: f64,
    /// The change that is of interest, such as 0.01: `same` is said within it.
    pub resolution: f64,
    /// The condition of a gate.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fail_if: Option<FailIf>,
}

/// How the two versions came to be compared, as the data show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(rename = "served_seconds")]
    pub seconds: u64,
    /// Its mean CPU time a request, as it is.
    #[serde(rename = "cpu_mean_seconds")]
    pub cpu_mean: Reading<Nanos>,
    /// Its mean wall time a request, as it is.
    #[serde(rename = "wall_mean_seconds")]
    pub wall_mean: Reading<Nanos>,
}

/// A change, NEW / OLD - 1, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeEstimate {
    /// The estimate.
    pub change: Reading<f64>,
    /// The lower end of its interval.
    pub low: Reading<f64>,
    /// The upper end.
    pub high: Reading<f64>,
}

impl ChangeEstimate {
    /// A change with its interval.
    pub fn new(change: Reading<f64>, interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        ChangeEstimate { change, low, high }
    }

    /// Its interval.
    ///
    /// # Errors
    /// Why there is none.
    pub fn interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }
}

/// The change of the total CPU time, NEW / OLD - 1: what all requests need if all run NEW, over what they need if all run OLD,
/// at equal load and mix of routes and classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseChange {
    /// The estimate, with load and mix taken off.
    pub change: Reading<f64>,
    /// The lower end of its interval.
    pub low: Reading<f64>,
    /// The upper end.
    pub high: Reading<f64>,
    /// What that says.
    pub verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    pub within_resolution: bool,
    /// The change of the plain means.
    pub raw_change: Reading<f64>,
    /// How much of the raw change was load and mix: (1 + raw) / (1 + change) - 1.
    pub load_shift: Reading<f64>,
    /// Requests of OLD and NEW that it rests on.
    #[serde(flatten, with = "change_requests")]
    #[schemars(with = "parts::change_requests::Form")]
    pub requests: [u64; 2],
    /// In how many seconds of the same traffic it would probably be settled.
    pub settle_seconds: Reading<f64>,
}

impl ReleaseChange {
    /// Its interval.
    ///
    /// # Errors
    /// Why there is none.
    pub fn interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }

    /// The change with another interval.
    #[must_use]
    pub fn with_interval(self, interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        ReleaseChange { low, high, ..self }
    }

    /// Why [`ReleaseChange::settle_seconds`] is absent.
    pub fn not_settled() -> Absent {
        Absent::because("it is decided, or more of the same traffic would not settle it")
    }

    /// Why no other design is advised for a report with this total.
    pub fn no_advice(&self) -> Absent {
        Absent::because(match (self.verdict, &self.settle_seconds) {
            (_, Ok(_)) => "no other design is advised; total.settle_seconds says how long this one takes",
            (Verdict::Undecided, Err(_)) => "neither another design nor more of the same traffic is known to settle it",
            _ => "it is decided",
        })
    }

    /// What stands in its place until its fields are read.
    fn unread() -> Self {
        let none = || Err(Absent::because("it was not read"));
        ReleaseChange {
            change: none(),
            low: none(),
            high: none(),
            verdict: Verdict::Undecided,
            within_resolution: false,
            raw_change: none(),
            load_shift: none(),
            requests: [0; 2],
            settle_seconds: none(),
        }
    }
}

/// What one route did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseRoute {
    /// Its template.
    pub route: String,
    /// Its share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Its change. Intervals of routes hold for all routes together (Holm).
    #[serde(flatten, skip_deserializing, default = "ReleaseChange::unread")]
    pub change: ReleaseChange,
    /// The change of its usual request.
    #[serde(default = "not_before")]
    #[schemars(!default)]
    pub usual: ChangeEstimate,
    /// Its median wall time under OLD.
    #[serde(rename = "old_wall_median_seconds")]
    pub old_wall_median: Reading<Nanos>,
    /// The same under NEW.
    #[serde(rename = "new_wall_median_seconds")]
    pub new_wall_median: Reading<Nanos>,
}

/// Requests of one route and class, split at three times their usual cost.
///
/// Both changes are of CPU time per request of the route and class, so that together they are the change of their total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseTail {
    /// The template of the route.
    pub route: String,
    /// The class; empty for requests without one.
    pub class: String,
    /// Its share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// The share of its requests that cost more than the bound, OLD and NEW.
    #[serde(flatten, with = "above_ratio")]
    #[schemars(with = "parts::above_ratio::Form")]
    pub above_ratio: [f64; 2],
    /// The share of its CPU time that these have, both versions together.
    pub above_cpu_ratio: f64,
    /// The change of the CPU time of requests above the bound.
    pub above: ChangeEstimate,
    /// The change of the CPU time of the others.
    pub below: ChangeEstimate,
}

/// One host of several, by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseHost {
    /// Its name.
    pub host: String,
    /// Its share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Its change; absent where it served one version alone. The interval is its own, not widened for there being many hosts.
    #[serde(flatten, skip_deserializing, default = "ReleaseChange::unread")]
    pub change: ReleaseChange,
    /// Whether it lies further from the others than chance explains (at the error that the question allows, over all hosts
    /// together): of its change, or, where hosts have one version each, of its cost beside the hosts of the same version.
    pub outlying: bool,
}

/// Mean wall time of OLD and NEW by where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallParts {
    /// On a CPU.
    #[serde(flatten, with = "parts::cpu_seconds")]
    #[schemars(with = "parts::cpu_seconds::Form")]
    pub cpu: [Nanos; 2],
    /// Waiting for a CPU.
    #[serde(flatten, with = "parts::waiting_seconds")]
    #[schemars(with = "parts::waiting_seconds::Form")]
    pub waiting: [Nanos; 2],
    /// Anything else: other services, disks, locks.
    #[serde(flatten, with = "parts::blocked_seconds")]
    #[schemars(with = "parts::blocked_seconds::Form")]
    pub blocked: [Nanos; 2],
}

impl WallParts {
    /// On a CPU, waiting for one, blocked.
    pub fn in_order(&self) -> [[Nanos; 2]; 3] {
        [self.cpu, self.waiting, self.blocked]
    }
}

/// A quantile of wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallQuantile {
    /// The share of the requests that stayed below: 0.5, 0.9, ...
    pub ratio: f64,
    /// Their longest time, OLD and NEW.
    #[serde(flatten, with = "parts::seconds")]
    #[schemars(with = "parts::seconds::Form")]
    pub times: [Nanos; 2],
}

/// A bin of the distribution of wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallBin {
    /// Its upper end.
    #[serde(rename = "below_seconds")]
    pub below: Nanos,
    /// The share of requests in it, of OLD and of NEW.
    #[serde(flatten, with = "parts::ratio")]
    #[schemars(with = "parts::ratio::Form")]
    pub shares: [f64; 2],
}

/// Wall time of OLD and NEW, as it was: what load did is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseWall {
    /// The change of the median, mix of routes taken off.
    pub median_change: Reading<f64>,
    /// The lower end of its interval.
    pub low: Reading<f64>,
    /// The upper end.
    pub high: Reading<f64>,
    /// Quantiles, the least first.
    pub quantiles: Vec<WallQuantile>,
    /// Requests of OLD and NEW of which it is known how long they waited for a CPU.
    #[serde(flatten, with = "watched_requests")]
    #[schemars(with = "parts::watched_requests::Form")]
    pub watched: [u64; 2],
    /// Mean time of each part, over the requests of which all parts are known.
    pub parts: Reading<WallParts>,
    /// The distributions.
    pub distribution: Vec<WallBin>,
}

impl ReleaseWall {
    /// The interval of the change of the median.
    ///
    /// # Errors
    /// Why there is none.
    pub fn median_interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }

    /// The wall time with another interval of the median's change.
    #[must_use]
    pub fn with_median_interval(self, interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        ReleaseWall { low, high, ..self }
    }
}

/// What the change comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseSaving {
    /// CPUs that the service keeps busy, both versions together, on all hosts.
    pub cpus_used: f64,
    /// How many CPUs less it would need for the same requests with NEW serving all of them than with OLD; negative where it
    /// would need more.
    pub cpus_saved: f64,
    /// The interval of that.
    #[serde(flatten)]
    pub interval: Interval,
}

/// CPU time of processes that is not that of their requests, as a share of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnexplainedCpu {
    /// Over all processes.
    pub ratio: f64,
    /// That of OLD, if each interval of a process has one version.
    pub old_ratio: Reading<f64>,
    /// That of NEW.
    pub new_ratio: Reading<f64>,
}

impl UnexplainedCpu {
    /// Shares of all processes, and by version if that is known.
    pub fn new(ratio: f64, sides: Option<[f64; 2]>) -> Self {
        let of =
            |side: usize| sides.map(|sides| sides[side]).ok_or_else(|| Absent::because("versions share processes"));
        UnexplainedCpu { ratio, old_ratio: of(0), new_ratio: of(1) }
    }

    /// By version, OLD and NEW.
    pub fn sides(&self) -> Option<[f64; 2]> {
        Some([*self.old_ratio.as_ref().ok()?, *self.new_ratio.as_ref().ok()?])
    }
}

/// One stretch of the window, for charts. Means are absent where nothing was served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseMoment {
    /// Its first second, since 1970.
    pub at_seconds: u64,
    /// Requests of OLD.
    pub old_requests: u64,
    /// CPU time a request as it was, OLD.
    pub old_raw_seconds: Reading<Nanos>,
    /// The same with load and mix taken off.
    pub old_adjusted_seconds: Reading<Nanos>,
    /// Requests of NEW.
    pub new_requests: u64,
    /// CPU time a request as it was, NEW.
    pub new_raw_seconds: Reading<Nanos>,
    /// The same with load and mix taken off.
    pub new_adjusted_seconds: Reading<Nanos>,
    /// The share of CPU time in which the hosts' CPUs did something.
    pub busy_ratio: Reading<f64>,
    /// What the rulers read, over their mean within the window.
    pub rulers_ratio: Reading<f64>,
}

impl ReleaseMoment {
    /// A stretch that begins at a second, its readings of OLD and NEW.
    pub fn new(at_seconds: u64, requests: [u64; 2], raw: [Option<Nanos>; 2], adjusted: [Option<Nanos>; 2]) -> Self {
        let known = |mean: Option<Nanos>| mean.ok_or_else(|| Absent::because("it served nothing"));
        let [old_requests, new_requests] = requests;
        let ([old_raw_seconds, new_raw_seconds], [old_adjusted_seconds, new_adjusted_seconds]) =
            (raw.map(known), adjusted.map(known));
        ReleaseMoment {
            at_seconds,
            old_requests,
            old_raw_seconds,
            old_adjusted_seconds,
            new_requests,
            new_raw_seconds,
            new_adjusted_seconds,
            busy_ratio: Err(Absent::because("not read")),
            rulers_ratio: Err(Absent::because("not read")),
        }
    }

    /// The stretch with its load: how busy CPUs were, and what the rulers read.
    #[must_use]
    pub fn with_load(self, busy: Option<f64>, rulers: Option<f64>) -> Self {
        let known = |load: Option<f64>| load.ok_or_else(|| Absent::because("not read"));
        ReleaseMoment { busy_ratio: known(busy), rulers_ratio: known(rulers), ..self }
    }

    /// Requests of OLD and NEW.
    pub fn requests(&self) -> [u64; 2] {
        [self.old_requests, self.new_requests]
    }

    /// CPU time a request as it was, OLD and NEW.
    pub fn raw(&self) -> [Option<Nanos>; 2] {
        [&self.old_raw_seconds, &self.new_raw_seconds].map(|mean| mean.as_ref().ok().copied())
    }

    /// The same with load and mix taken off.
    pub fn adjusted(&self) -> [Option<Nanos>; 2] {
        [&self.old_adjusted_seconds, &self.new_adjusted_seconds].map(|mean| mean.as_ref().ok().copied())
    }
}

/// The window as a course of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseCourse {
    /// How long a stretch is, in seconds.
    pub step_seconds: u64,
    /// The stretches, in the order of time; those without anything are left out.
    pub moments: Vec<ReleaseMoment>,
}

/// What was known after a look of those that follow live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseSight {
    /// The second behind the last that was looked at.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub to: u64,
    /// Requests of OLD and NEW until then.
    #[serde(flatten, with = "flat_requests")]
    #[schemars(with = "parts::flat_requests::Form")]
    pub requests: [u64; 2],
    /// The estimate.
    pub change: Reading<f64>,
    /// The lower end of the interval, as all looks so far leave it.
    pub low: Reading<f64>,
    /// The upper end.
    pub high: Reading<f64>,
}

impl ReleaseSight {
    /// What a look has shown.
    pub fn new(to: u64, requests: [u64; 2], change: Option<f64>, interval: Option<Interval>) -> Self {
        let not_yet = || Absent::because("too little was known");
        let [low, high] = ends(interval.ok_or_else(not_yet));
        ReleaseSight { to, requests, change: change.ok_or_else(not_yet), low, high }
    }

    /// Its interval, if there is one.
    pub fn interval(&self) -> Option<Interval> {
        parts::interval(&self.low, &self.high).ok()
    }
}

/// What a release changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseReport {
    /// What was asked.
    #[serde(flatten)]
    pub question: ReleaseQuestion,
    /// How the versions came to be compared.
    pub design: ReleaseDesign,
    /// By what the load is taken off.
    pub rests_on: RestsOn,
    /// Whether requests were counted from outside.
    pub from_outside: bool,
    /// Whether services told the class of requests.
    #[serde(default)]
    pub has_classes: bool,
    /// Why there is no answer, where there is none; else empty. The total and the routes have no change then.
    #[serde(rename = "refusals")]
    pub refused: Vec<Refusal>,
    /// What would give one.
    pub settle: Reading<Settling>,
    /// The service as a whole.
    pub total: ReleaseChange,
    /// The usual request: the change of the logarithm of cost, by Huber's estimate. It says what most requests did, and not
    /// what the service needs.
    #[serde(default = "not_before")]
    #[schemars(!default)]
    pub usual: ChangeEstimate,
    /// Which requests changed, the routes and classes with the most CPU time first; empty where the total and the usual request
    /// agree.
    #[serde(default)]
    pub tails: Vec<ReleaseTail>,
    /// Its routes, the dearest first; empty unless asked for.
    pub routes: Vec<ReleaseRoute>,
    /// Its hosts, those furthest from the others first; empty where there is one.
    #[serde(default)]
    pub hosts: Vec<ReleaseHost>,
    /// OLD and NEW.
    pub sides: [ReleaseSide; 2],
    /// Wall time; absent where it was not told.
    pub wall: Reading<ReleaseWall>,
    /// What the change comes to; absent where there is none.
    pub saving: Reading<ReleaseSaving>,
    /// CPU time of processes that is not that of their requests.
    #[serde(default = "parts::none_before")]
    #[schemars(!default)]
    pub unexplained: Reading<UnexplainedCpu>,
    /// The course of the window.
    pub course: ReleaseCourse,
    /// The looks, where it was followed live.
    pub looks: Vec<ReleaseSight>,
    /// What the reader should know.
    pub warnings: Vec<ReleaseWarning>,
}
