//! Command-line options of `steady release` and their parsers.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use humantime::parse_rfc3339_weak;
use steady_feature::flags::{GateFlags, OutputFlags, PrecisionFlags, duration, span};
use steady_fleet::{Address, Matchers, header, label};
use steady_model::{Nanos, Timestamp};

/// Arguments of `steady release`: a subcommand.
#[derive(Debug, Args)]
pub(crate) struct ReleaseFlags {
    #[command(subcommand)]
    pub(crate) command: ReleaseCommands,
}

/// Subcommands of `steady release`.
#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommands {
    /// Compare the CPU time per request of two versions of a service, from the data that steady agent has stored
    Compare(Box<ReleaseCompareFlags>),
    /// Demonstrate a comparison in three minutes: a small server with two versions under changing load, and the verdict
    Demo(ReleaseDemoFlags),
}

const EXAMPLES: &str = "\
Examples:
  Compare requests of the last five minutes
      steady release compare --service shop v1 v2
  Each route separately, in the last half hour
      steady release compare --window 30m --by route v1 v2
  v2 replaced v1: choose a window that contains requests of both
      steady release compare --from '2026-11-21 09:00:00' --window 20m v1 v2
  Follow a release that has just started, until the answer is known
      steady release compare --watch --window 10m v1 v2
  Many hosts, from the Prometheus server that scrapes their agents
      steady release compare --prometheus http://prometheus:9090 v1 v2
  In a pipeline: stop the rollout if v2 certainly costs over 1 % more than v1
      steady release compare --watch --fail-if 'slower>1%' v1 v2

The design of the comparison is detected from the data. If a coin chose the
version of each request (steadyhand.split) or of each time slot
(steadyhand.switchback), the error rate holds under any load. If some processes
ran each version (a canary), or one version ran after the other, the report is
\"model-based\". If load and version cannot be separated, the comparison is
refused. The report then names a design that would give an answer, and the time
that it needs.

Exit status:
  0    done
  1    the condition of --fail-if certainly holds
  2    wrong usage, or there is no such store, service, version or request
  4    undecided or refused, with --require-verdict
  125  steady itself failed
  130  interrupted, with a report of what was found; after another signal
       128 plus its number";

/// Options of `steady release compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReleaseCompareFlags {
    /// Version that is the baseline
    pub(crate) old: String,

    /// Version to compare with the baseline
    pub(crate) new: String,

    /// Name of the service [default: the service in the store, if there is only one]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) service: Option<String>,

    /// Store of an agent. Repeat it to compare several hosts together, one store each [default: that of the agent at
    /// STEADY_SOCKET or this user's default socket, if one runs; else steady/agent.db in XDG_DATA_HOME or
    /// ~/.local/share]
    #[arg(long, value_name = "FILE", conflicts_with_all = FLEET)]
    pub(crate) store: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) fleet: FleetFlags,

    /// Length of the window to compare: 5m, 1h30m. It ends now unless --from or --to is given; with --watch it begins
    /// now unless --from is given. Without --watch, the last 5 s before now are left out, because their requests may
    /// not have arrived yet [default: 5m; with --from alone, until now; with --from and --watch, until 5m from now]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) window: Option<Nanos>,

    /// Start of the window, in UTC: '2026-11-21 09:00', 2026-11-21T09:00:00Z, 2026-11-21, or seconds since 1970
    #[arg(long, value_name = "DATE", value_parser = date, allow_hyphen_values = true)]
    pub(crate) from: Option<Timestamp>,

    /// End of the window, in the same formats as --from
    #[arg(long, value_name = "DATE", value_parser = date, allow_hyphen_values = true, conflicts_with = "watch")]
    pub(crate) to: Option<Timestamp>,

    /// Also compare each route separately
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<ByFlag>,

    /// Follow the release live: evaluate repeatedly, and end when it is known whether the change exceeds --resolution
    /// (with --fail-if, only whether it exceeds its limit), or the window is over. The error rate holds for all
    /// evaluations together
    #[arg(long)]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) precision: PrecisionFlags,

    #[command(flatten)]
    pub(crate) gate: GateFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,

    /// Do not store this comparison in the history
    #[arg(long)]
    pub(crate) no_history: bool,
}

/// Values of `--by`: what is compared separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByFlag {
    /// Routes of requests, by the names that the service reports
    Route,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  Run both parts, in about three minutes
      steady release demo
  Longer parts, for narrower intervals; write the reports as HTML pages
      steady release demo --seconds 5m --pages demo

Two processes of steady itself are the server. Its new version does 5 % more
work on every page. A client sends requests without waiting for the responses,
a neighbour process streams through memory, and the agent listens as in
production. In the first part, the new version replaces the old one, as in most
releases, and the neighbour stops during that part. In the second part, a coin
chooses the version of each request, and the neighbour starts and stops several
times. All numbers are measured on this machine during the demonstration.
Only the pages requested with --pages remain afterwards.";

/// Options of `steady release demo`.
#[derive(Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct ReleaseDemoFlags {
    /// Duration of each of the two parts: 40s or more. The first part takes at least 130 s, because a comparison of one
    /// version after the other needs a minute of each
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = part)]
    pub(crate) seconds: Nanos,

    /// Write the report of each part as an HTML page to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) pages: Option<PathBuf>,
}

/// Parses the duration of a part of the demonstration.
fn part(text: &str) -> Result<Nanos, String> {
    // A shorter second part often leaves the verdict undecided.
    const LEAST: Nanos = Nanos(40_000_000_000);
    span(text).and_then(|long| if long < LEAST { Err("a part takes at least 40 s".to_owned()) } else { Ok(long) })
}

/// Parses a date, a date with a time of day (UTC), or seconds since 1970. Seconds of the time of day may be left out.
fn date(text: &str) -> Result<Timestamp, String> {
    if let Ok(second) = text.parse() {
        return Ok(Timestamp(second));
    }
    let ends = ["", ":00", " 00:00:00"];
    let time = ends.iter().find_map(|end| parse_rfc3339_weak(&format!("{text}{end}")).ok());
    let time = time.ok_or_else(|| match duration(text.trim_start_matches('-')) {
        Ok(_) => format!("it is not a date; for a window that ends now, use --window {}", text.trim_start_matches('-')),
        Err(_) => "write '2026-05-31 12:00' (UTC), 2026-05-31T12:00:00Z, 2026-05-31, or seconds since 1970".to_owned(),
    })?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| "it must be after 1970".to_owned())?;
    Ok(Timestamp(since.as_secs()))
}

const HEADING: &str = "Store of a fleet";

/// Options of the store of a fleet, which have no effect on those of agents.
const FLEET: [&str; 6] = ["prometheus", "select", "host_label", "block", "header", "timeout"];

/// Options that say where the store of a fleet is and how to query it.
#[derive(Debug, Args)]
pub(crate) struct FleetFlags {
    /// Read from the store that scrapes the agents: Prometheus, Mimir, Thanos, VictoriaMetrics. /api/v1/query is
    /// appended to the address
    #[arg(help_heading = HEADING, long, value_name = "URL")]
    pub(crate) prometheus: Option<Address>,

    /// Read only agents with these labels, in the syntax of PromQL: 'job="steady",dc=~"eu-.*"'
    #[arg(help_heading = HEADING, long, value_name = "MATCHERS", default_value = "", requires = "prometheus")]
    #[arg(hide_default_value = true)]
    pub(crate) select: Matchers,

    /// Label that identifies a host
    #[arg(help_heading = HEADING, long, value_name = "NAME", default_value = "instance", requires = "prometheus")]
    #[arg(value_parser = host_label)]
    pub(crate) host_label: String,

    /// Length of the blocks of time that are compared [default: the scrape interval]
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = duration, requires = "prometheus")]
    pub(crate) block: Option<Nanos>,

    /// Send this HTTP header: 'Authorization: Bearer ...', 'X-Scope-OrgID: shop'. @FILE reads headers from a file, one
    /// per line, so that the list of processes does not show them
    #[arg(help_heading = HEADING, long, value_name = "HEADER", requires = "prometheus")]
    pub(crate) header: Vec<HeaderFlag>,

    /// Time limit for each response of the store
    #[arg(help_heading = HEADING, long, value_name = "TIME", default_value = "30s", requires = "prometheus")]
    #[arg(value_parser = span)]
    pub(crate) timeout: Nanos,
}

/// Value of `--header`: a header, or a file of headers.
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

/// Parses the value of `--host-label`. Refuses labels that the agents set themselves, because they do not identify
/// hosts.
fn host_label(text: &str) -> Result<String, String> {
    const OWN: [&str; 6] = ["service", "version", "route", "assigned", "ruler", "__name__"];
    label(text).and_then(|name| match OWN.contains(&name.as_str()) {
        true => {
            Err(format!("agents use '{name}' for something else; name a label of the scrape targets, such as instance"))
        }
        false => Ok(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_parsed_in_utc() {
        let day = Timestamp(1_795_737_600);
        let nine = Timestamp(day.0 + 9 * 3_600);
        assert_eq!(date("2026-11-27"), Ok(day));
        for text in
            ["2026-11-27 09:00", "2026-11-27T09:00", "2026-11-27 09:00:00", "2026-11-27T09:00:00Z", "1795770000"]
        {
            assert_eq!(date(text), Ok(nine), "{text}");
        }
        let error = |text| date(text).unwrap_err();
        assert!(error("yesterday").contains("(UTC)") && error("2026-11-27T09:00+01:00").contains("(UTC)"));
        assert!(error("-5m").ends_with("use --window 5m"), "{}", error("-5m"));
    }

    #[test]
    fn a_header_is_literal_or_names_a_file() {
        assert_eq!("@/run/token".parse(), Ok(HeaderFlag::File("/run/token".into())));
        assert_eq!("a: b".parse(), Ok(HeaderFlag::One("a".to_owned(), "b".to_owned())));
        assert!("token".parse::<HeaderFlag>().is_err());
    }

    #[test]
    fn the_host_label_is_not_one_of_the_agents_own_labels() {
        assert_eq!(host_label("node"), Ok("node".to_owned()));
        assert!(host_label("version").is_err() && host_label("no de").is_err());
    }
}
