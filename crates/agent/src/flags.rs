//! The options of `steady agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use steady_feature::flags::{OutputFlags, duration, size};
use steady_model::Nanos;

use crate::metrics::ListenAt;
use crate::outside::Metric;

const EXAMPLES: &str = "\
Examples:
  Listen to the services of this user, until Ctrl-C
      steady agent
  As a service of the system, for the web server's group
      steady agent --socket /run/steady/agent.sock --group www-data \\
          --store /var/lib/steady/agent.db
  How is it doing?
      steady agent status
  Show the sums to a Prometheus, or whatever scrapes like it, at /metrics
      steady agent --listen 0.0.0.0:9464 --listen-token /etc/steady/token \\
          --listen-cert /etc/steady/cert.pem --listen-key /etc/steady/key.pem
  An application that cannot be touched, but counts its requests for Prometheus
      steady agent --service shop --version v2 \\
          --cgroup /sys/fs/cgroup/system.slice/shop.service \\
          --requests 'http://localhost:8000/metrics#http_requests_total'

Services tell it of their requests by datagrams: by the Python package, or as
docs/protocol.md says. It keeps sums by second, process, version and route, for
`steady release compare`.

Exit status:
  0    it was asked to end, and all is written
  2    wrong usage, or somebody else listens at that socket or address
  125  it could not go on";

/// The options of `steady agent`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct AgentFlags {
    #[command(subcommand)]
    pub(crate) question: Option<AgentCommands>,

    #[command(flatten)]
    pub(crate) place: AgentPlaceFlags,

    /// Let this group send, too: its name or its number [default: this user alone]
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,

    /// Keep rows for so long
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = duration)]
    pub(crate) keep: Nanos,

    /// Keep no more than this on the disk; the oldest rows go first
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = store_size)]
    pub(crate) store_limit: u64,

    /// Tell so many routes of a service apart; those that come later count as the route (other)
    #[arg(long, value_name = "ROUTES", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) routes: u32,

    /// Run no rulers of the agent's own, and look at nothing of the host
    #[arg(long)]
    pub(crate) no_rulers: bool,

    #[command(flatten)]
    pub(crate) listen: ListenFlags,

    #[command(flatten)]
    pub(crate) outside: OutsideFlags,

    /// Shift the time of day by the seconds in this file: for tests
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) shift: Option<PathBuf>,
}

/// Where an agent is.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentPlaceFlags {
    /// The socket that services send to [default: STEADY_SOCKET, else steady/agent.sock in XDG_RUNTIME_DIR, else
    /// /tmp/steady-UID/agent.sock]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// The file that rows are kept in [default: steady/agent.db in XDG_DATA_HOME, or in ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// Where the sums are shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Metrics, for Prometheus and its like")]
pub(crate) struct ListenFlags {
    /// Show what is added up at http://ADDRESS/metrics; a port alone is seen on this host only
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<ListenAt>,

    /// Show it only to those who send the token in this file, as Authorization: Bearer TOKEN
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) listen_token: Option<PathBuf>,

    /// Show it by https, with the certificate in this file (PEM), and those that vouch for it behind it
    #[arg(long, value_name = "FILE", requires = "listen", requires = "listen_key")]
    pub(crate) listen_cert: Option<PathBuf>,

    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub(crate) listen_key: Option<PathBuf>,
}

/// What is counted from outside.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "An application that cannot be touched")]
pub(crate) struct OutsideFlags {
    /// Its counter of requests, on a page for Prometheus: http://HOST:PORT/PATH#METRIC, or the same with https; or #METRIC{LABEL="VALUE"}
    #[arg(long, value_name = "URL#METRIC", requires = "service")]
    pub(crate) requests: Option<Metric>,

    /// The control group whose CPU time its requests take, a folder below /sys/fs/cgroup
    #[arg(long, value_name = "FOLDER", requires = "requests", conflicts_with = "pid")]
    pub(crate) cgroup: Option<PathBuf>,

    /// The process whose CPU time its requests take, with all below it
    #[arg(long, value_name = "PID", requires = "requests", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: Option<i32>,

    /// What it is called
    #[arg(long, value_name = "NAME", requires = "requests")]
    pub(crate) service: Option<String>,

    /// Its version
    #[arg(long, value_name = "NAME", requires = "requests")]
    pub(crate) version: Option<String>,

    /// The label of the metric that names its version, which may change
    #[arg(long, value_name = "LABEL", requires = "requests", conflicts_with = "version")]
    pub(crate) version_label: Option<String>,
}

/// What the agent has besides listening.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommands {
    /// Whether an agent runs, what arrives, what is kept
    Status(AgentStatusFlags),
    /// Where the rulers are that services run before a request: a library, its header and its file for pkg-config
    Library(LibraryFlags),
}

/// The options of `steady agent status`.
#[derive(Debug, Args)]
pub(crate) struct AgentStatusFlags {
    #[command(flatten)]
    pub(crate) place: AgentPlaceFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// A size that a store can keep within.
fn store_size(text: &str) -> Result<u64, String> {
    /// Less has no room for the names of a few services.
    const LEAST: u64 = 1 << 20;
    match size(text)? {
        bytes if bytes < LEAST => Err("it must be at least 1 MiB".to_owned()),
        bytes => Ok(bytes),
    }
}

const LIBRARY_EXAMPLES: &str = "\
Examples:
  Build a service in C
      export PKG_CONFIG_PATH=\"$(steady agent library)\"
      cc service.c $(pkg-config --cflags --libs steady_rulers)
  Put them where they are to stay
      steady agent library /usr/local/lib/steady

Without a folder they are unpacked into one of this user's in ~/.cache or,
where that cannot be done, in /var/tmp or /tmp. It prints the folder.";

/// The options of `steady agent library`.
#[derive(Debug, Args)]
#[command(after_help = LIBRARY_EXAMPLES)]
pub(crate) struct LibraryFlags {
    /// The folder to write them to; it is made where it is missing
    pub(crate) folder: Option<PathBuf>,
}
