//! What speaks against a figure: why there is none, what would give one, and what the reader should know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::Interval;

use super::ReleaseDesign;

/// Why one version after the other gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Refusal {
    /// Given the rulers, the version is nearly known: what load did and what the version did cannot be told apart.
    LoadsDoNotOverlap {
        /// By how much knowing the load inflates the variance of the version's effect.
        #[serde(deserialize_with = "super::parts::or_infinite")]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settling {
    /// The design that would.
    pub design: ReleaseDesign,
    /// In how many seconds of the same traffic a change of the resolution would be found.
    pub seconds: f64,
}

/// Something in the data that says that load may have been mistaken for the version, or the version for load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadAlarm {
    /// The change by the rulers inside the workers.
    pub by_worker_rulers: f64,
    /// The change by the agent's own.
    pub by_agent_rulers: f64,
}

/// Something that the reader should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
