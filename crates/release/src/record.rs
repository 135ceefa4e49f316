//! Record of a comparison of two versions of a service.
//!
//! Fields have the names and the order of the JSON export. Derived values are written to the export and ignored when it
//! is read.

mod json;
mod parts;
mod warnings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{Absent, FailIf, Interval, Nanos, Reading, RunKind, Timestamp, Verdict, WALL_SECONDS};
use steady_render::json::Schema;

use parts::{above_ratio, change_requests, ends, flat_requests, not_before, second, watched_requests};

pub use warnings::{LoadAlarm, Refusal, ReleaseWarning, Settling};

/// JSON schema of [`ReleaseReport`].
pub const SCHEMA: Schema = Schema { name: "steady.release/1", what: "a comparison of releases" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("release");

/// Question that a comparison answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseQuestion {
    /// Name of the service.
    pub service: String,
    /// Version to compare with, the baseline.
    pub old: String,
    /// Version that is compared with the baseline.
    pub new: String,
    /// When the comparison was requested. Not available in reports of earlier versions of steady.
    #[serde(default, with = "parts::asked")]
    #[schemars(with = "Reading<String>")]
    pub asked: Option<Timestamp>,
    /// First second of the window, since 1970. JSON has it as a timestamp, like all times except those in `course`.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub from: u64,
    /// End of the window (excluded), in seconds since 1970.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub to: u64,
    /// Whether routes are also compared separately.
    pub by_route: bool,
    /// Confidence level of all intervals, such as 0.95.
    pub confidence: f64,
    /// Smallest change that matters, as a ratio such as 0.01. The verdict `same` means that the change is smaller.
    pub resolution: f64,
    /// Condition of `--fail-if`, if it was given.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fail_if: Option<FailIf>,
    /// Whether the exit status is 4 without an answer (`--require-verdict`). False in reports of earlier versions.
    #[serde(default)]
    pub require_verdict: bool,
}

impl ReleaseQuestion {
    /// Returns the part of the window with whole distributions of wall times, which are stored for [`WALL_SECONDS`]
    /// seconds at a time.
    pub(crate) fn whole_walls(&self) -> WallTimes {
        WallTimes { from: self.from.next_multiple_of(WALL_SECONDS), to: self.to / WALL_SECONDS * WALL_SECONDS }
    }
}

/// Design of the comparison: how requests were assigned to versions. It is detected from the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseDesign {
    /// A coin chooses the version of each request.
    RandomPerRequest,
    /// A coin chooses the order of the versions in each pair of time slots.
    Switchback,
    /// Some processes run one version while others run the other.
    Canary,
    /// One version runs first, then the other.
    OneAfterTheOther,
}

impl ReleaseDesign {
    /// All designs, the one with the weakest assumptions first.
    pub const ALL: [ReleaseDesign; 4] = [
        ReleaseDesign::RandomPerRequest,
        ReleaseDesign::Switchback,
        ReleaseDesign::Canary,
        ReleaseDesign::OneAfterTheOther,
    ];

    /// Returns the name of the design in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ReleaseDesign::RandomPerRequest => "random-per-request",
            ReleaseDesign::Switchback => "switchback",
            ReleaseDesign::Canary => "canary",
            ReleaseDesign::OneAfterTheOther => "one-after-the-other",
        }
    }

    /// Returns whether the error follows from coins. Otherwise it follows from a model of the noise.
    pub fn is_randomised(self) -> bool {
        matches!(self, ReleaseDesign::RandomPerRequest | ReleaseDesign::Switchback)
    }
}

/// How the estimate is adjusted for load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestsOn {
    /// No adjustment is needed: coins chose the version, so both versions had the same load.
    Coins,
    /// Adjusted by rulers that ran before requests, on the threads of the requests. One version after the other: by the
    /// agent's ruler of memory, if the agent read it.
    WorkerRulers,
    /// Adjusted by the rulers of the agent alone.
    AgentRulers,
    /// Both versions are compared at the same times, under the same load.
    SameTime,
}

/// One of the two versions within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseSide {
    /// Name of the version.
    pub version: String,
    /// Number of requests in the comparison.
    pub requests: u64,
    /// Number of these requests that failed.
    pub failed: u64,
    /// Requests that were among the first of their process. They are not part of `requests`.
    #[serde(rename = "warming")]
    pub first_requests: u64,
    /// Number of processes that served the version. Not available if rows are sums over all processes of a host.
    pub processes: Reading<usize>,
    /// Number of hosts that served the version.
    pub hosts: usize,
    /// Number of seconds in which the version served at least one request.
    #[serde(rename = "served_seconds")]
    pub seconds: u64,
    /// Mean CPU time per request, not adjusted for load or mix.
    #[serde(rename = "cpu_mean_seconds")]
    pub cpu_mean: Reading<Nanos>,
    /// Mean wall time per request, not adjusted for load or mix.
    #[serde(rename = "wall_mean_seconds")]
    pub wall_mean: Reading<Nanos>,
}

/// A change, NEW / OLD - 1, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeEstimate {
    /// Estimate of the change, as a ratio.
    pub change: Reading<f64>,
    /// Lower end of the interval.
    pub low: Reading<f64>,
    /// Upper end of the interval.
    pub high: Reading<f64>,
}

impl ChangeEstimate {
    /// Creates an estimate from a change and its interval.
    pub fn new(change: Reading<f64>, interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        ChangeEstimate { change, low, high }
    }

    /// Returns the interval of the change.
    ///
    /// # Errors
    /// The reason why there is no interval.
    pub fn interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }
}

/// Change of the total CPU time, NEW / OLD - 1: the CPU time of all requests if all ran NEW, divided by that if all ran
/// OLD, at equal load and mix of routes and classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseChange {
    /// Estimate of the change, adjusted for load and mix.
    pub change: Reading<f64>,
    /// Lower end of the interval.
    pub low: Reading<f64>,
    /// Upper end of the interval.
    pub high: Reading<f64>,
    /// Verdict from the interval and the resolution.
    pub verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    pub within_resolution: bool,
    /// Change of the mean CPU time per request, not adjusted for load or mix.
    pub raw_change: Reading<f64>,
    /// Part of the raw change that load and mix caused: (1 + raw) / (1 + change) - 1.
    pub load_shift: Reading<f64>,
    /// Requests of OLD and NEW that the estimate uses.
    #[serde(flatten, with = "change_requests")]
    #[schemars(with = "parts::change_requests::Form")]
    pub requests: [u64; 2],
    /// Seconds of the same traffic that would probably be enough for a verdict, if the change is as estimated.
    pub settle_seconds: Reading<f64>,
}

impl ReleaseChange {
    /// Returns the interval of the change.
    ///
    /// # Errors
    /// The reason why there is no interval.
    pub fn interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }

    /// Replaces the interval of the change.
    #[must_use]
    pub fn with_interval(self, interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        ReleaseChange { low, high, ..self }
    }

    /// Returns the reason why [`ReleaseChange::settle_seconds`] is not available.
    pub fn not_settled(verdict: Verdict, is_refused: bool) -> Absent {
        Absent::because(match (is_refused, verdict) {
            (true, _) => "the comparison is refused",
            (false, Verdict::Undecided) => "more of the same traffic is not known to lead to a verdict",
            (false, _) => "there is a verdict",
        })
    }

    /// Returns the reason why a report with this total recommends no other design.
    pub fn no_advice(&self) -> Absent {
        Absent::because(match (self.verdict, &self.settle_seconds) {
            (_, Ok(_)) => "no other design is needed; total.settle_seconds says how long this one takes",
            (Verdict::Undecided, Err(_)) => {
                "neither another design nor more of the same traffic is known to lead to a verdict"
            }
            _ => "there is a verdict",
        })
    }

    /// Creates the placeholder that is used until the fields are read from JSON.
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

/// Change of one route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseRoute {
    /// Template of the route, such as `/item/<id>`.
    pub route: String,
    /// Share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Change of the route's CPU time. The intervals of the routes hold for all routes together
    /// (Bonferroni).
    #[serde(flatten, skip_deserializing, default = "ReleaseChange::unread")]
    pub change: ReleaseChange,
    /// Change of the usual request of the route.
    #[serde(default = "not_before")]
    #[schemars(!default)]
    pub usual: ChangeEstimate,
    /// Median wall time of the route with OLD.
    #[serde(rename = "old_wall_median_seconds")]
    pub old_wall_median: Reading<Nanos>,
    /// Median wall time of the route with NEW.
    #[serde(rename = "new_wall_median_seconds")]
    pub new_wall_median: Reading<Nanos>,
}

/// Requests of one route and class, split at a bound of three times their usual cost.
///
/// Both changes are CPU time per request of the route and class. Together they are the change of its total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseTail {
    /// Template of the route, such as `/item/<id>`.
    pub route: String,
    /// Class of the requests; empty for requests without a class.
    pub class: String,
    /// Share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Share of the requests that cost more than the bound, with OLD and with NEW.
    #[serde(flatten, with = "above_ratio")]
    #[schemars(with = "parts::above_ratio::Form")]
    pub above_ratio: [f64; 2],
    /// Share of the CPU time of the route and class that requests above the bound need, both versions together.
    pub above_cpu_ratio: f64,
    /// Change of the CPU time of requests above the bound.
    pub above: ChangeEstimate,
    /// Change of the CPU time of requests below the bound.
    pub below: ChangeEstimate,
}

impl ReleaseTail {
    /// Returns whether some of the requests certainly changed. Without an interval, every change counts; so do
    /// expensive requests that one version has too few of.
    pub(crate) fn has_changed(&self) -> bool {
        let may_be_zero = |part: &ChangeEstimate| part.interval().is_ok_and(|interval| interval.holds(0.0));
        let below = self.below.change.is_ok() && !may_be_zero(&self.below);
        below || (self.has_above() && !may_be_zero(&self.above))
    }

    /// Returns whether there is anything to say about the requests above the bound: their change, or that they need
    /// much of the CPU time.
    pub(crate) fn has_above(&self) -> bool {
        /// Expensive requests with a smaller share of CPU time are not mentioned if they are too few to compare.
        const NEGLIGIBLE: f64 = 0.01;
        self.above.change.is_ok() || self.above_cpu_ratio >= NEGLIGIBLE
    }
}

/// Change of one host, if there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseHost {
    /// Name of the host.
    pub host: String,
    /// Share of the service's CPU time within the window, both versions together.
    pub cpu_ratio: f64,
    /// Change of the host. Not available if it served only one version. The interval is not widened for the number of
    /// hosts.
    #[serde(flatten, skip_deserializing, default = "ReleaseChange::unread")]
    pub change: ReleaseChange,
    /// Whether the host is an outlier, at the error rate of the question over all hosts together. The test compares its
    /// change with the other hosts; if hosts have one version each, its cost with the hosts of the same version.
    pub outlying: bool,
}

/// Mean wall time per request of OLD and NEW, split into its parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallParts {
    /// Time on a CPU.
    #[serde(flatten, with = "parts::cpu_seconds")]
    #[schemars(with = "parts::cpu_seconds::Form")]
    pub cpu: [Nanos; 2],
    /// Time waiting for a CPU.
    #[serde(flatten, with = "parts::waiting_seconds")]
    #[schemars(with = "parts::waiting_seconds::Form")]
    pub waiting: [Nanos; 2],
    /// All other time: waiting for other services, disks or locks.
    #[serde(flatten, with = "parts::blocked_seconds")]
    #[schemars(with = "parts::blocked_seconds::Form")]
    pub blocked: [Nanos; 2],
}

impl WallParts {
    /// Returns the parts in the order of reports: on a CPU, waiting for a CPU, blocked.
    pub fn in_order(&self) -> [[Nanos; 2]; 3] {
        [self.cpu, self.waiting, self.blocked]
    }
}

/// A quantile of the wall time per request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallQuantile {
    /// Share of the requests below the quantile: 0.5, 0.9, ...
    pub ratio: f64,
    /// Value of the quantile with OLD and with NEW.
    #[serde(flatten, with = "parts::seconds")]
    #[schemars(with = "parts::seconds::Form")]
    pub times: [Nanos; 2],
    /// Lower end of the interval of the change: NEW divided by OLD, minus 1.
    #[serde(default = "parts::none_before")]
    #[schemars(!default)]
    low: Reading<f64>,
    /// Upper end of the interval.
    #[serde(default = "parts::none_before")]
    #[schemars(!default)]
    high: Reading<f64>,
}

impl WallQuantile {
    /// Creates a quantile with the interval of its change.
    pub fn new(ratio: f64, times: [Nanos; 2], interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        WallQuantile { ratio, times, low, high }
    }

    /// Returns the interval of the change.
    ///
    /// # Errors
    /// The reason why there is no interval.
    pub fn interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }
}

/// A bin of the distribution of the wall time per request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallBin {
    /// Upper end of the bin.
    #[serde(rename = "below_seconds")]
    pub below: Nanos,
    /// Share of the requests in the bin, with OLD and with NEW.
    #[serde(flatten, with = "parts::ratio")]
    #[schemars(with = "parts::ratio::Form")]
    pub shares: [f64; 2],
}

/// A part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WallTimes {
    /// Its first second, since 1970.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub from: u64,
    /// Its end (excluded), in seconds since 1970.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub to: u64,
}

/// Wall time per request of OLD and NEW, not adjusted for load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseWall {
    /// Change of the median, adjusted for the mix of routes.
    pub median_change: Reading<f64>,
    /// Lower end of the interval of the median's change.
    pub low: Reading<f64>,
    /// Upper end of the interval of the median's change.
    pub high: Reading<f64>,
    /// Quantiles in ascending order.
    pub quantiles: Vec<WallQuantile>,
    /// Time that the quantiles and the distribution cover: the part of the window with whole distributions. Missing in
    /// reports without quantiles, and in those of earlier versions of steady, whose quantiles included distributions
    /// that lie partly outside the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<WallTimes>,
    /// Requests of OLD and NEW whose time waiting for a CPU is known.
    #[serde(flatten, with = "watched_requests")]
    #[schemars(with = "parts::watched_requests::Form")]
    pub watched: [u64; 2],
    /// Mean time of each part, over the requests whose parts are all known.
    pub parts: Reading<WallParts>,
    /// Distributions of both versions, in bins of ascending time.
    pub distribution: Vec<WallBin>,
}

impl ReleaseWall {
    /// Returns the interval of the change of the median.
    ///
    /// # Errors
    /// The reason why there is no interval.
    pub fn median_interval(&self) -> Reading<Interval> {
        parts::interval(&self.low, &self.high)
    }

    /// Replaces the interval of the change of the median.
    #[must_use]
    pub fn with_median_interval(self, interval: Reading<Interval>) -> Self {
        let [low, high] = ends(interval);
        ReleaseWall { low, high, ..self }
    }
}

/// The change of the total, in CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseSaving {
    /// Number of CPUs that the requests of both versions used on average, from the first in the window to the last
    /// without gaps in which no agent ran, on all hosts together. If the change includes CPU time that requests do not explain, so does this number.
    pub cpus_used: f64,
    /// Number of CPUs that would be used less if NEW served all these requests instead of OLD. Negative if more would
    /// be used.
    pub cpus_saved: f64,
    /// Interval of the number of CPUs saved.
    #[serde(flatten)]
    pub interval: Interval,
}

/// Share of the CPU time of processes that their requests do not explain, such as thread pools and garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnexplainedCpu {
    /// Share over all processes.
    pub ratio: f64,
    /// Share in processes of OLD. Not available if versions share processes.
    pub old_ratio: Reading<f64>,
    /// Share in processes of NEW. Not available if versions share processes.
    pub new_ratio: Reading<f64>,
}

impl UnexplainedCpu {
    /// Creates the value from the share over all processes, and the shares of OLD and NEW if they are known.
    pub fn new(ratio: f64, sides: Option<[f64; 2]>) -> Self {
        let of =
            |side: usize| sides.map(|sides| sides[side]).ok_or_else(|| Absent::because("versions share processes"));
        UnexplainedCpu { ratio, old_ratio: of(0), new_ratio: of(1) }
    }

    /// Returns the shares of OLD and NEW, if both are known.
    pub fn sides(&self) -> Option<[f64; 2]> {
        Some([*self.old_ratio.as_ref().ok()?, *self.new_ratio.as_ref().ok()?])
    }
}

/// One time step of the window, for charts. A mean is not available if the version served no request in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseMoment {
    /// First second of the step, since 1970.
    pub at_seconds: u64,
    /// Number of requests of OLD.
    pub old_requests: u64,
    /// CPU time per request of OLD, not adjusted.
    pub old_raw_seconds: Reading<Nanos>,
    /// CPU time per request of OLD, adjusted for load and mix. Not available if the versions did not serve the same
    /// routes on the same host in this step.
    pub old_adjusted_seconds: Reading<Nanos>,
    /// Number of requests of NEW.
    pub new_requests: u64,
    /// CPU time per request of NEW, not adjusted.
    pub new_raw_seconds: Reading<Nanos>,
    /// CPU time per request of NEW, adjusted for load and mix.
    pub new_adjusted_seconds: Reading<Nanos>,
    /// Utilisation of the hosts' CPUs, between 0 and 1.
    pub busy_ratio: Reading<f64>,
    /// Reading of the rulers, divided by their mean in all steps. Above 1 the machine is slower than on average.
    pub rulers_ratio: Reading<f64>,
}

impl ReleaseMoment {
    /// Creates a step that begins at a second, with requests and means of OLD and NEW and without its load.
    pub fn new(at_seconds: u64, requests: [u64; 2], raw: [Option<Nanos>; 2], adjusted: [Option<Nanos>; 2]) -> Self {
        let known = |mean: Option<Nanos>, why: &str| mean.ok_or_else(|| Absent::because(why));
        let apart = "the versions did not serve the same routes at the same time";
        let [old_requests, new_requests] = requests;
        let [old_raw_seconds, new_raw_seconds] = raw.map(|mean| known(mean, "it served nothing"));
        let [old_adjusted_seconds, new_adjusted_seconds] = adjusted.map(|mean| known(mean, apart));
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

    /// Adds the load of the step: the utilisation of the CPUs and the reading of the rulers.
    #[must_use]
    pub fn with_load(self, busy: Option<f64>, rulers: Option<f64>) -> Self {
        let known = |load: Option<f64>| load.ok_or_else(|| Absent::because("not read"));
        ReleaseMoment { busy_ratio: known(busy), rulers_ratio: known(rulers), ..self }
    }

    /// Returns the numbers of requests of OLD and NEW.
    pub fn requests(&self) -> [u64; 2] {
        [self.old_requests, self.new_requests]
    }

    /// Returns the CPU time per request of OLD and NEW, not adjusted.
    pub fn raw(&self) -> [Option<Nanos>; 2] {
        [&self.old_raw_seconds, &self.new_raw_seconds].map(|mean| mean.as_ref().ok().copied())
    }

    /// Returns the CPU time per request of OLD and NEW, adjusted for load and mix.
    pub fn adjusted(&self) -> [Option<Nanos>; 2] {
        [&self.old_adjusted_seconds, &self.new_adjusted_seconds].map(|mean| mean.as_ref().ok().copied())
    }
}

/// The window as a time series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseCourse {
    /// Length of a step, in seconds.
    pub step_seconds: u64,
    /// Steps in ascending order of time. Steps without any data are left out.
    pub moments: Vec<ReleaseMoment>,
}

/// Result of a look of `--watch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseSight {
    /// End of the evaluated time (excluded), in seconds since 1970.
    #[serde(with = "second")]
    #[schemars(with = "String")]
    pub to: u64,
    /// Requests of OLD and NEW until then.
    #[serde(flatten, with = "flat_requests")]
    #[schemars(with = "parts::flat_requests::Form")]
    pub requests: [u64; 2],
    /// Estimate of the change, as a ratio.
    pub change: Reading<f64>,
    /// Lower end of the intersection of the intervals of all looks so far.
    pub low: Reading<f64>,
    /// Upper end of the intersection of the intervals of all looks so far.
    pub high: Reading<f64>,
}

impl ReleaseSight {
    /// Creates the result of a look. `change` and `interval` are missing if there were too few data.
    pub fn new(to: u64, requests: [u64; 2], change: Option<f64>, interval: Option<Interval>) -> Self {
        let not_yet = || Absent::because("there were too few data");
        let [low, high] = ends(interval.ok_or_else(not_yet));
        ReleaseSight { to, requests, change: change.ok_or_else(not_yet), low, high }
    }

    /// Returns the interval after this look, if there is one.
    pub fn interval(&self) -> Option<Interval> {
        parts::interval(&self.low, &self.high).ok()
    }
}

/// Comparison of two versions of a service: the question, the estimates and the warnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseReport {
    /// Question that the comparison answers.
    #[serde(flatten)]
    pub question: ReleaseQuestion,
    /// Design of the comparison, detected from the data.
    pub design: ReleaseDesign,
    /// How the estimate is adjusted for load.
    pub rests_on: RestsOn,
    /// Whether the service's own counter counted the requests (`steady agent --requests`), instead of middleware.
    pub from_outside: bool,
    /// Whether requests have classes.
    #[serde(default)]
    pub has_classes: bool,
    /// Reasons why the comparison is refused; empty if it is not. If it is refused, the total and the routes have no
    /// change.
    #[serde(rename = "refusals")]
    pub refused: Vec<Refusal>,
    /// Another design that would probably give a verdict.
    pub settle: Reading<Settling>,
    /// Change of the total CPU time of the service.
    pub total: ReleaseChange,
    /// Change of the usual request: of the mean logarithm of the cost, robustly estimated (Huber). It describes most
    /// requests, not the total CPU time of the service.
    #[serde(default = "not_before")]
    #[schemars(!default)]
    pub usual: ChangeEstimate,
    /// Changes of expensive and other requests of routes and classes. Those that contribute most to the difference
    /// between the total and the usual request are first. Empty if these agree.
    #[serde(default)]
    pub tails: Vec<ReleaseTail>,
    /// Routes, those with the most CPU time first. Empty unless they were requested with `--by route`.
    pub routes: Vec<ReleaseRoute>,
    /// Hosts, those furthest from the others first. Empty if there is only one host.
    #[serde(default)]
    pub hosts: Vec<ReleaseHost>,
    /// Descriptions of OLD and of NEW within the window.
    pub sides: [ReleaseSide; 2],
    /// Seconds between the first and the last request that the design uses, without those in which no agent ran.
    /// `total.settle_seconds` is the duration that this would have to reach.
    #[serde(default = "parts::none_before")]
    #[schemars(!default)]
    pub traffic_seconds: Reading<f64>,
    /// Wall time per request. Not available if the service did not report it.
    pub wall: Reading<ReleaseWall>,
    /// The change in CPUs. Not available if there is no change of the total.
    pub saving: Reading<ReleaseSaving>,
    /// CPU time of processes that their requests do not explain.
    #[serde(default = "parts::none_before")]
    #[schemars(!default)]
    pub unexplained: Reading<UnexplainedCpu>,
    /// The window as a time series, for charts.
    pub course: ReleaseCourse,
    /// Results of the looks of `--watch`; empty without it.
    pub looks: Vec<ReleaseSight>,
    /// Warnings about what may mislead the reader.
    pub warnings: Vec<ReleaseWarning>,
}

impl ReleaseReport {
    /// Returns whether the change includes CPU time of processes that requests do not explain.
    pub(crate) fn includes_unexplained(&self) -> bool {
        self.warnings.iter().any(|warning| {
            matches!(warning, ReleaseWarning::ProcessCpuCounted { .. } | ReleaseWarning::UnexplainedCpu { .. })
        })
    }
}
