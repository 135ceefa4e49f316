//! The options of `steady agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use steady_feature::flags::{OutputFlags, duration, size, whole_number};
use steady_model::Nanos;

use crate::metrics::ListenAt;
use crate::outside::Metric;

const EXAMPLES: &str = "\
Examples:
  Listen to this user's services until Ctrl-C
      steady agent
  As a system service, for services that run with the group www-data
      steady agent --socket /run/steady/agent.sock --group www-data \\
          --store /var/lib/steady/agent.db
  Show whether an agent runs, and what it receives and stores
      steady agent status
  Publish the sums at /metrics, for Prometheus and compatible stores
      steady agent --listen 0.0.0.0:9464 --listen-token /etc/steady/token \\
          --listen-cert /etc/steady/cert.pem --listen-key /etc/steady/key.pem
  Measure an application that cannot be changed but publishes a request counter
      steady agent --service shop --version v2 \\
          --cgroup /sys/fs/cgroup/system.slice/shop.service \\
          --requests 'http://localhost:8000/metrics#http_requests_total'

Services report requests in datagrams. The Python package does this for
WSGI and ASGI; docs/protocol.md describes the format. The agent stores sums by
second, process, version, route and class, for `steady release compare`.

Exit status:
  0    a signal ended the agent, and all rows are stored
  2    wrong usage, or the socket, the address or the store cannot be used
  125  the agent could not continue";

/// The options of `steady agent`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct AgentFlags {
    #[command(subcommand)]
    pub(crate) command: Option<AgentCommands>,

    #[command(flatten)]
    pub(crate) paths: AgentPathFlags,

    /// Let members of this group (a name or a number) send too [default: only this user]
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,

    /// Remove stored rows that are older than this
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = age)]
    pub(crate) keep: Nanos,

    /// The most disk space for the store and its journal; the oldest rows are removed first
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = store_size)]
    pub(crate) store_limit: u64,

    /// The number of routes to distinguish in each service; further routes count as the route (other)
    #[arg(long, value_name = "ROUTES", default_value_t = 200, value_parser = whole_number::<u32>(1..=10_000))]
    pub(crate) routes: u32,

    /// Do not run the agent's own rulers, and do not read the load of the host
    #[arg(long)]
    pub(crate) no_rulers: bool,

    #[command(flatten)]
    pub(crate) listen: ListenFlags,

    #[command(flatten)]
    pub(crate) outside: OutsideFlags,

    /// Shift the time of day by the number of seconds in this file (for tests)
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) shift: Option<PathBuf>,
}

/// The options that name the agent's socket and store.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentPathFlags {
    /// The Unix socket that services send to [default: STEADY_SOCKET, else steady/agent.sock in XDG_RUNTIME_DIR, else
    /// /tmp/steady-UID/agent.sock]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// The database file that stores the rows [default: steady/agent.db in XDG_DATA_HOME, or in ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// The options for publishing metrics.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Metrics for Prometheus and compatible stores")]
pub(crate) struct ListenFlags {
    /// Publish the sums at http://ADDRESS/metrics; ADDRESS is IP:PORT, or PORT for connections from this host only
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<ListenAt>,

    /// Answer only requests that carry the token in this file, as Authorization: Bearer TOKEN
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) listen_token: Option<PathBuf>,

    /// Use https, with the certificate in this file (PEM), followed by its intermediate certificates
    #[arg(long, value_name = "FILE", requires = "listen", requires = "listen_key")]
    pub(crate) listen_cert: Option<PathBuf>,

    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub(crate) listen_key: Option<PathBuf>,
}

/// The options for a service whose requests and CPU time the agent counts from outside.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "An application that cannot be changed")]
pub(crate) struct OutsideFlags {
    /// The application's counter of requests, on a page in the text format of Prometheus: http://HOST:PORT/PATH#METRIC,
    /// or the same with https; #METRIC{LABEL="VALUE",...} adds up only the series with these labels
    #[arg(long, value_name = "URL#METRIC", requires = "service")]
    pub(crate) requests: Option<Metric>,

    /// The application's control group, a directory below /sys/fs/cgroup: its CPU time is measured
    #[arg(long, value_name = "DIR", requires = "requests", conflicts_with = "pid")]
    pub(crate) cgroup: Option<PathBuf>,

    /// The application's process: its CPU time and that of its descendants are measured
    #[arg(long, value_name = "PID", requires = "requests", value_parser = whole_number::<i32>(1..))]
    pub(crate) pid: Option<i32>,

    /// The name of the application's service
    #[arg(long, value_name = "NAME", requires = "requests")]
    pub(crate) service: Option<String>,

    /// The version that the application runs
    #[arg(long, value_name = "NAME", requires = "requests")]
    pub(crate) version: Option<String>,

    /// The label of the metric that names the version, if the version may change while the agent runs
    #[arg(long, value_name = "LABEL", requires = "requests", conflicts_with = "version")]
    pub(crate) version_label: Option<String>,
}

/// The subcommands of `steady agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommands {
    /// Show whether an agent runs, and what it receives and stores
    Status(AgentStatusFlags),
    /// Unpack the library of the rulers that services run before requests, with its header and pkg-config file
    Library(LibraryFlags),
}

const STATUS_EXIT: &str = "\
Exit status:
  0    an agent runs
  1    no agent runs, or this user may not connect to its socket
  2    wrong usage
  125  steady itself failed";

/// The options of `steady agent status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_EXIT)]
pub(crate) struct AgentStatusFlags {
    #[command(flatten)]
    pub(crate) paths: AgentPathFlags,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// Parses the age of rows to remove. A number without a unit is refused, because data would be lost if it meant
/// seconds.
fn age(text: &str) -> Result<Nanos, String> {
    match text.trim().parse::<f64>() {
        Ok(_) => Err(format!("it has no unit; write {0}d, {0}h, {0}m or {0}s", text.trim())),
        Err(_) => duration(text),
    }
}

/// Parses the size limit of the store, in bytes.
fn store_size(text: &str) -> Result<u64, String> {
    /// A smaller store has no space for the names of a few services.
    const LEAST: u64 = 1 << 20;
    let bytes = size(text).ok().filter(|bytes| *bytes >= LEAST);
    bytes.ok_or_else(|| format!("write a number of bytes, at least {LEAST}, such as {LEAST}, 1MiB or 100MB"))
}

const LIBRARY_EXAMPLES: &str = "\
Examples:
  Build a service in C
      export PKG_CONFIG_PATH=\"$(steady agent library)\"
      cc service.c $(pkg-config --cflags --libs steady_rulers)
  Install the library for all users
      steady agent library /usr/local/lib/steady

Without DIR, the files are unpacked below this user's ~/.cache or, if that
is not possible, below /var/tmp or /tmp. The directory is printed.";

/// The options of `steady agent library`.
#[derive(Debug, Args)]
#[command(after_help = LIBRARY_EXAMPLES)]
pub(crate) struct LibraryFlags {
    /// The directory to write the files to; it is created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_a_size_are_accepted() {
        for wrong in ["1KB", "1MB", "128K", "x"] {
            let why = store_size(wrong).unwrap_err();
            let examples = why.split_once("such as ").unwrap().1.replace(" or ", ", ");
            assert!(examples.split(", ").all(|example| store_size(example).is_ok()), "{why}");
        }
    }

    #[test]
    fn the_age_of_rows_to_remove_has_a_unit() {
        assert_eq!(age("5m"), Ok(Nanos(300_000_000_000)));
        assert_eq!(age(" 5 "), Err("it has no unit; write 5d, 5h, 5m or 5s".to_owned()));
        assert!(age("x").is_err());
    }
}
