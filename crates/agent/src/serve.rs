//! Runs the agent: resolves the options into its settings, and reports its events on standard error.

use steady_feature::{Failure, Interrupt, Session};

use crate::flags::{AgentFlags, ListenFlags, OutsideFlags};
use crate::metrics::ListenPlan;
use crate::outside::{CpuOf, OutsidePlan};
use crate::paths;
use crate::run::{self, AgentError, Event, Settings};
use crate::socket::SocketError;
use crate::store::Keep;
use crate::table::Limits;

/// Runs the agent until it gets a signal to end, and returns the exit status.
pub(crate) fn serve(flags: &AgentFlags, session: &dyn Session) -> Result<u8, Failure> {
    let settings = settings(flags, session)?;
    let own = |error: std::io::Error| Failure::Own(format!("signals cannot be caught: {error}"));
    let (_interrupt, stop) = Interrupt::catch().map_err(own)?;
    let ended = run::run(&settings, &stop, &mut |event| session.notice(&notice(&event, &settings)));
    ended.map(|()| 0).map_err(|error| match &error {
        AgentError::Socket { error: SocketError::System(_), .. }
        | AgentError::Thread(_)
        | AgentError::System(_)
        | AgentError::Unwritten { .. } => Failure::Own(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    })
}

fn settings(flags: &AgentFlags, session: &dyn Session) -> Result<Settings, Failure> {
    let keep = Keep { seconds: (flags.keep.0 / 1_000_000_000).max(1), bytes: flags.store_limit };
    let store = paths::store(flags.paths.store.as_deref(), session)?;
    Ok(Settings {
        socket: paths::socket(flags.paths.socket.as_deref(), session),
        group: flags.group.as_deref().map(paths::group).transpose()?,
        store: std::path::absolute(&store)
            .map_err(|error| Failure::Usage(format!("'{}': {error}", store.display())))?,
        keep,
        limits: limits(flags.routes as usize, keep),
        outside: outside(&flags.outside)?,
        rulers: !flags.no_rulers,
        listen: listen(&flags.listen),
        shift: flags.shift.clone(),
    })
}

/// Returns the limits of the sums. A request is added to its second as long as the rows of that second are stored, and
/// a small store gets small batches and short names.
fn limits(routes: usize, keep: Keep) -> Limits {
    let limits = Limits::default();
    let (rows, route_bytes) = (limits.rows.min(keep.rows()), keep.route_bytes());
    Limits { routes, route_bytes, late_seconds: keep.seconds, rows, ..limits }
}

fn listen(flags: &ListenFlags) -> Option<ListenPlan> {
    let tls = flags.listen_cert.clone().zip(flags.listen_key.clone());
    flags.listen.map(|address| ListenPlan { address, token: flags.listen_token.clone(), tls })
}

fn outside(flags: &OutsideFlags) -> Result<Option<OutsidePlan>, Failure> {
    let (Some(requests), Some(service)) = (&flags.requests, &flags.service) else { return Ok(None) };
    let cpu = match (&flags.cgroup, flags.pid) {
        (Some(folder), _) => CpuOf::Group(folder.clone()),
        (None, Some(pid)) => CpuOf::Tree(pid),
        (None, None) => {
            return Err(Failure::Usage(
                "--requests needs a source of CPU time; add --cgroup DIR or --pid PID".to_owned(),
            ));
        }
    };
    if flags.version.is_none() && flags.version_label.is_none() {
        return Err(Failure::Usage(
            "--requests needs a version; add --version NAME or --version-label LABEL".to_owned(),
        ));
    }
    Ok(Some(OutsidePlan {
        service: service.clone(),
        version: flags.version.clone(),
        version_label: flags.version_label.clone(),
        cpu,
        requests: requests.clone(),
    }))
}

/// Returns a warning if others on the network can read the metrics or the token, to be appended to a line.
fn exposed(settings: &Settings) -> &'static str {
    match &settings.listen {
        Some(plan) if plan.address.0.ip().is_loopback() => "",
        Some(ListenPlan { token: None, .. }) => {
            "\nagent: anyone on the network can read them; --listen-token restricts that"
        }
        Some(ListenPlan { tls: None, .. }) => {
            "\nagent: the token is sent unencrypted over the network; add --listen-cert and --listen-key"
        }
        _ => "",
    }
}

/// Returns the line that reports an event on standard error.
fn notice(event: &Event, settings: &Settings) -> String {
    match event {
        Event::Listening => {
            format!("agent: listens at '{}', stores rows in '{}'", settings.socket.display(), settings.store.display())
        }
        Event::Publishing(url) => format!("agent: publishes metrics at {url}{}", exposed(settings)),
        Event::WriteFailed(why) => format!("agent: rows cannot be written: {why}; the agent continues and tries again"),
        Event::WriteResumed { given_up: 0 } => "agent: rows are written again; no request was lost".to_owned(),
        Event::WriteResumed { given_up: 1 } => {
            "agent: rows are written again; 1 request was lost since the start".to_owned()
        }
        Event::WriteResumed { given_up } => {
            format!("agent: rows are written again; {given_up} requests were lost since the start")
        }
        Event::StoreOpenedAgain => {
            "agent: the store was removed or replaced; rows go to the file that is there now".to_owned()
        }
        Event::Stepped(seconds) => {
            format!("agent: the time of day was set by {seconds:+.1} s; rows continue with the previous time")
        }
        Event::CountFailed(why) => format!("agent: requests cannot be counted from outside: {why}"),
        Event::CountResumed => "agent: requests are counted from outside again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_be_as_late_as_rows_are_kept() {
        let keep = Keep { seconds: 7 * 86_400, bytes: 1 << 20 };
        assert_eq!(limits(200, keep).late_seconds, 7 * 86_400);
    }

    /// Otherwise a large `--routes` would have another effect than it says.
    #[test]
    fn the_default_store_has_space_for_the_longest_names_of_ten_thousand_routes() {
        const LONGEST: usize = 500;
        let keep = Keep { seconds: 86_400, bytes: 100_000_000 };
        assert!(limits(10_000, keep).route_bytes >= 10_000 * LONGEST);
    }
}
