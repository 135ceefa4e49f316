//! The options of `steady release`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use humantime::parse_rfc3339_weak;
use steady_feature::flags::{GateFlags, OutputFlags, PrecisionFlags, duration, span};
use steady_fleet::{Address, Matchers, header, label};
use steady_model::{Nanos, Timestamp};

/// The options of `steady release`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseFlags {
    #[command(subcommand)]
    pub(crate) command: ReleaseCommands,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommands {
    /// Tell whether requests to a service cost less with its new version, from what steady agent has kept
    Compare(Box<ReleaseCompareFlags>),
    /// See it work in two minutes: a small server with two versions, load that moves, and the verdict
    Demo(ReleaseDemoFlags),
}

const EXAMPLES: &str = "\
Examples:
  Did v2 make requests of the last five minutes cheaper?
      steady release compare --service shop v1 v2
  Each route by itself, in the last half hour
      steady release compare --window 30m --by route v1 v2
  One after the other: a window that holds some of both
      steady release compare --from '2026-11-21 09:00:00' --window 20m v1 v2
  Follow a release that has just begun, until it is decided
      steady release compare --watch --window 10m v1 v2
  A fleet, from the Prometheus that scrapes its agents
      steady release compare --prometheus http://prometheus:9090 v1 v2
  In a pipeline: stop the rollout if it is surely more than 1 % dearer
      steady release compare --watch --fail-if 'slower>1%' v1 v2

It sees from the data how the versions came to be compared. Where a coin chose
between them, for each request (steadyhand.split) or for slots of time
(steadyhand.switchback), the error rate follows from the coins. Some processes
on each version (a canary) and one version after the other are told as
model-based; where the load of the two does not allow an answer it is refused,
and the report says what would give one, and in how many minutes.

Exit status:
  0    done
  1    the --fail-if condition is met
  2    wrong usage; no store, service, version or request there
  4    undecided or refused, with --require-verdict
  125  steady itself failed
  130  interrupted before there was anything to report";

/// The options of `steady release compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReleaseCompareFlags {
    /// The version to compare with
    pub(crate) old: String,

    /// The version that is judged
    pub(crate) new: String,

    /// The service [default: the only one there is]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) service: Option<String>,

    /// The store that an agent keeps; several, of as many hosts, where it is given several times [default: that of this user's
    /// agent]
    #[arg(long, value_name = "FILE", conflicts_with = "prometheus")]
    pub(crate) store: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) fleet: FleetFlags,

    /// How much time to look at: 5m, 1h30m. It ends now, unless --from or --to say otherwise; with --watch it begins now
    /// [default: 5m]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) window: Option<Nanos>,

    /// The beginning of the window, in UTC: '2026-11-21 09:00:00', 2026-11-21T09:00:00Z, or seconds since 1970
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) from: Option<Timestamp>,

    /// The end of the window, likewise
    #[arg(long, value_name = "DATE", value_parser = date, conflicts_with = "watch")]
    pub(crate) to: Option<Timestamp>,

    /// Judge each route by itself, too
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<ByFlag>,

    /// Follow it live: look now and then, end when it is decided or the window is over. The error rate holds all the same
    #[arg(long)]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) precision: PrecisionFlags,

    #[command(flatten)]
    pub(crate) gate: GateFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Keep nothing of this in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}

/// `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByFlag {
    /// Routes, as the service names them
    Route,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  The whole story, in about two minutes
      steady release demo
  Longer parts resolve more; keep the pages to look at
      steady release demo --seconds 90s --pages demo

This program itself is the server, two processes of it, and its new version
does 5 % more work on every page. A client sends requests at moments that do
not wait for answers, and a neighbour streams through memory. The agent runs
beside, as in production. First the new version follows the old one, as
releases usually do, and the neighbour leaves meanwhile; then a coin chooses
for each request, and the neighbour comes and goes. All of it is measured here
and now, and nothing stays behind but the pages that were asked for.";

/// The options of `steady release demo`.
#[derive(Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct ReleaseDemoFlags {
    /// How long each of its two parts takes: 40s or more
    #[arg(long, value_name = "TIME", default_value = "50s", value_parser = part)]
    pub(crate) seconds: Nanos,

    /// Write the report of each part as a page of HTML into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) pages: Option<PathBuf>,
}

/// How long a part of the demonstration takes: in less, one version after the other is no longer seen as that.
fn part(text: &str) -> Result<Nanos, String> {
    const LEAST: Nanos = Nanos(40_000_000_000);
    span(text).and_then(|long| if long < LEAST { Err("it takes 40 s at least".to_owned()) } else { Ok(long) })
}

/// A day, a time of day, or seconds since 1970.
fn date(text: &str) -> Result<Timestamp, String> {
    if let Ok(second) = text.parse() {
        return Ok(Timestamp(second));
    }
    let time = parse_rfc3339_weak(text).or_else(|_| parse_rfc3339_weak(&format!("{text} 00:00:00")));
    let time = time.map_err(|_| "write '2026-05-31 12:00:00' or 2026-05-31T12:00:00Z".to_owned())?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| "it must be after 1970".to_owned())?;
    Ok(Timestamp(since.as_secs()))
}

const HEADING: &str = "A fleet's store";

/// Where a fleet's store is, and what is asked of it.
#[derive(Debug, Args)]
pub(crate) struct FleetFlags {
    /// Ask the store that scrapes the agents: Prometheus, Mimir, Thanos, VictoriaMetrics. /api/v1/query follows the
    /// address
    #[arg(help_heading = HEADING, long, value_name = "URL")]
    pub(crate) prometheus: Option<Address>,

    /// Only agents whose labels are so, as PromQL has it: 'job="steady",dc=~"eu-.*"'
    #[arg(help_heading = HEADING, long, value_name = "MATCHERS", default_value = "", requires = "prometheus")]
    #[arg(hide_default_value = true)]
    pub(crate) select: Matchers,

    /// The label that tells hosts
    #[arg(help_heading = HEADING, long, value_name = "NAME", default_value = "instance", requires = "prometheus")]
    #[arg(value_parser = host_label)]
    pub(crate) host_label: String,

    /// How long the blocks of time are that are compared [default: as long as from scrape to scrape]
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = duration, requires = "prometheus")]
    pub(crate) block: Option<Nanos>,

    /// Send this header: 'Authorization: Bearer ...', 'X-Scope-OrgID: shop'; @FILE has one a line, which others cannot
    /// see in the list of processes
    #[arg(help_heading = HEADING, long, value_name = "HEADER", requires = "prometheus")]
    pub(crate) header: Vec<HeaderFlag>,

    /// How long an answer may take
    #[arg(help_heading = HEADING, long, value_name = "TIME", default_value = "30s", requires = "prometheus")]
    #[arg(value_parser = span)]
    pub(crate) timeout: Nanos,
}

/// `--header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFlag {
    One(String, String),
    File(PathBuf),
}

impl FromStr for HeaderFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<HeaderFlag, String> {
        match text.strip_prefix('@') {
            Some(file) => Ok(HeaderFlag::File(file.into())),
            None => header(text).map(|(name, value)| HeaderFlag::One(name, value)),
        }
    }
}

/// A label that is none of the agents' own.
fn host_label(text: &str) -> Result<String, String> {
    const OWN: [&str; 6] = ["service", "version", "route", "assigned", "ruler", "__name__"];
    label(text).and_then(|name| match OWN.contains(&name.as_str()) {
        true => Err("hosts are told by a label of the targets, such as instance".to_owned()),
        false => Ok(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_stand_there_or_in_a_file() {
        assert_eq!("@/run/token".parse(), Ok(HeaderFlag::File("/run/token".into())));
        assert_eq!("a: b".parse(), Ok(HeaderFlag::One("a".to_owned(), "b".to_owned())));
        assert!("token".parse::<HeaderFlag>().is_err());
    }

    #[test]
    fn hosts_have_a_label_of_the_targets() {
        assert_eq!(host_label("node"), Ok("node".to_owned()));
        assert!(host_label("version").is_err() && host_label("no de").is_err());
    }
}
