//! Refusals, advice for another design, and warnings of a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::Interval;

use super::{ReleaseDesign, parts};

/// Reason why a comparison of one version after the other is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Refusal {
    /// The rulers nearly identify the version, so the effects of load and of the version cannot be separated.
    LoadsDoNotOverlap {
        /// Factor by which adjusting for load inflates the variance of the version's effect.
        #[serde(deserialize_with = "super::parts::or_infinite")]
        variance_inflation: f64,
    },
    /// The utilisation of the CPUs differed between the versions.
    UtilisationDiffers {
        /// Difference in standard deviations within the versions.
        deviations: f64,
    },
    /// One version has too few rows (a second of a process each).
    TooFewRows {
        /// Name of the version. Missing in reports of earlier versions of steady.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        /// Number of rows that there are.
        rows: u64,
        /// Number of rows that are needed.
        needed: u64,
    },
    /// One version ran in too few stretches of time, of 10 seconds each.
    TooFewClusters {
        /// Name of the version. Missing in reports of earlier versions of steady.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        /// Number of stretches that there are.
        clusters: u64,
        /// Number of stretches that are needed.
        needed: u64,
    },
    /// The rulers were read too rarely while one version ran.
    TooFewReadings {
        /// Readings of rulers per second.
        per_second: f64,
        /// Readings per second that are needed.
        needed: f64,
    },
}

/// Another design that would probably give a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settling {
    /// Design that is recommended.
    pub design: ReleaseDesign,
    /// Seconds of the same traffic in which that design would find a change as large as the resolution.
    pub seconds: f64,
}

/// Changes by two kinds of rulers that disagree: the effects of load and of the version may have been confused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadAlarm {
    /// Change if the rulers inside the workers describe the load.
    pub by_worker_rulers: f64,
    /// Change if the agent's own rulers describe the load.
    pub by_agent_rulers: f64,
}

/// Something that may mislead the reader of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ReleaseWarning {
    /// The two kinds of rulers disagree: NEW may be changing the speed of the rulers in its own workers.
    RulersDisagree(LoadAlarm),
    /// Each version has one process, or one host. Such units differ although they run the same code, and one per
    /// version does not show by how much.
    OneProcessASide {
        /// What the intervals include for this difference at both ends, as a logarithm. Missing for two hosts, which are
        /// not compared, and in reports of earlier versions of steady, whose intervals do not include it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowance: Option<f64>,
    },
    /// Each version ran in processes of its own: both versions at the same time on the same hosts, or one after the other.
    /// Those of a version that one process forked may differ from others together, although they run the same code.
    ForkedProcesses {
        /// What the intervals include for this difference at both ends, as a logarithm.
        allowance: f64,
    },
    /// Each version has only a few processes.
    FewProcesses {
        /// Number of processes of OLD and of NEW.
        #[serde(flatten, with = "parts::processes")]
        #[schemars(with = "parts::processes::Form")]
        processes: [usize; 2],
    },
    /// The share of failed requests differs between the versions.
    UnequalFailures {
        /// Share of failed requests of OLD and of NEW.
        #[serde(flatten, with = "parts::failed_ratio")]
        #[schemars(with = "parts::failed_ratio::Form")]
        shares: [f64; 2],
    },
    /// Some rows are from earlier agents that did not sum CPU time in levels. The total is the ratio of the means
    /// within seconds and routes, which is less precise.
    NotAdjusted {
        /// Number of requests in such rows.
        requests: u64,
    },
    /// Only one version, or almost only one, served some routes and classes. They are left out of all estimates. If
    /// their share of the CPU time exceeds the resolution, there is no total.
    RoutesOfOneVersion {
        /// Number of such routes.
        routes: usize,
        /// Share of the CPU time of such routes.
        cpu_ratio: f64,
    },
    /// A coin chose the version, but the shares of the versions on some routes contradict it: which requests are on
    /// these routes depends on the version. These requests are compared together, regardless of their route.
    UnequalRoutes {
        /// Number of such routes.
        routes: usize,
        /// Names of the routes with the most CPU time.
        named: Vec<String>,
        /// Share of the CPU time of all such routes.
        cpu_ratio: f64,
    },
    /// Lines were lost on the way to the agent, or requests were added to rows of others because the agent's limits
    /// were reached.
    Lost {
        /// Number of lost lines, at least: a process that ends does not report those that it dropped last.
        lost: u64,
        /// Number of requests in rows of others.
        folded: u64,
    },
    /// Requests leave much of the CPU time of the processes unexplained, for example that of a thread pool. The change
    /// compares the CPU time of the processes.
    ProcessCpuCounted {
        /// Share of the processes' CPU time that requests do not explain.
        ratio: f64,
    },
    /// Requests leave much of the CPU time of the processes unexplained, and both versions share the processes. It may
    /// belong to either version, so the interval of the change includes both extremes.
    UnexplainedCpu {
        /// Share of the processes' CPU time that requests do not explain.
        ratio: f64,
        /// Interval of the change of the CPU time of requests alone.
        interval: Interval,
    },
    /// Requests were left out: their version was chosen in another way than for the rest, or at a time when the coin
    /// could choose only one version.
    OtherAssignments {
        /// Number of requests left out.
        requests: u64,
    },
    /// Hosts were left out because they served only one version and others served both: hosts differ, so versions are
    /// compared within hosts.
    HostsOfOneVersion {
        /// Number of hosts left out.
        hosts: usize,
        /// Number of their requests.
        requests: u64,
    },
    /// Some seconds of the window have no row: the agent did not run, or the service had no requests.
    Gaps {
        /// Number of seconds without a row.
        seconds: u64,
    },
    /// The window that was asked for begins before the oldest rows: the agent removed earlier ones because its store
    /// reached the limit of size (`--store-limit`).
    RowsRemoved {
        /// The second, since 1970, before which rows were removed. JSON has it as a timestamp.
        #[serde(with = "parts::second")]
        #[schemars(with = "String")]
        before: u64,
    },
    /// The change differs between hosts by more than chance explains.
    HostsDiffer {
        /// Standard deviation of the change between hosts, as a ratio.
        deviation: f64,
        /// Whether the interval holds for similar hosts too. With few hosts it holds only for these.
        covered: bool,
    },
    /// Scrapes of a fleet's store are missing, or an agent restarted. The intervals concerned are left out.
    MissingScrapes {
        /// Number of intervals left out, of one host each.
        intervals: u64,
        /// Number of intervals that were requested.
        of: u64,
        /// Number of hosts with such intervals.
        hosts: usize,
    },
    /// One version ran after the other, and one of them for a short time.
    ShortVersions {
        /// Number of seconds in which OLD and NEW served requests.
        #[serde(flatten, with = "parts::served_seconds")]
        #[schemars(with = "parts::served_seconds::Form")]
        seconds: [u64; 2],
    },
    /// A signal ended `--watch` before the end of the window.
    Interrupted,
    /// The time that is compared is much shorter than the window: a fleet's store has no data before it, or few blocks
    /// of time lie in the window as a whole.
    ShortWindow {
        /// Length of the requested window, in seconds.
        requested_seconds: u64,
        /// Length of the time that is compared, in seconds.
        seconds: u64,
        /// Length of a block, in seconds.
        block_seconds: u64,
        /// Time between the beginning of the window and that of the time that is compared, in seconds. Missing in
        /// reports of earlier versions of steady.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before_seconds: Option<u64>,
    },
    /// The fleet is large, so its store was queried for blocks of time longer than the scrape interval. Load that
    /// changes within a block is adjusted for less.
    LongBlocks {
        /// Length of a block, in seconds.
        seconds: u64,
        /// Interval between scrapes, in seconds.
        scrape_seconds: u64,
    },
}
