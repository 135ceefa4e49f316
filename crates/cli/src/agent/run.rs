//! Being the agent.

use steady_agent::metrics::ListenPlan;
use steady_agent::outside::{CpuOf, OutsidePlan};
use steady_agent::socket::SocketError;
use steady_agent::store::Keep;
use steady_agent::table::Limits;
use steady_agent::{AgentError, Event, Settings};
use steady_feature::Interrupt;

use super::place;
use crate::failure::{Failure, notice};
use crate::flags::{AgentFlags, ListenFlags, OutsideFlags};

/// Listens until a signal asks it to end.
pub(super) fn run(flags: &AgentFlags) -> Result<u8, Failure> {
    let settings = settings(flags)?;
    let own = |error: std::io::Error| Failure::Own(format!("signals: {error}"));
    let (_interrupt, stop) = Interrupt::catch().map_err(own)?;
    let ended = steady_agent::run(&settings, &stop, &mut |event| notice(&said(&event, &settings)));
    ended.map(|()| 0).map_err(|error| match &error {
        AgentError::Socket { error: SocketError::System(_), .. }
        | AgentError::Thread(_)
        | AgentError::System(_)
        | AgentError::Unwritten { .. } => Failure::Own(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    })
}

fn settings(flags: &AgentFlags) -> Result<Settings, Failure> {
    let keep = Keep { seconds: (flags.keep.0 / 1_000_000_000).max(1), bytes: flags.store_limit };
    Ok(Settings {
        socket: place::socket(flags.place.socket.as_deref()),
        group: flags.group.as_deref().map(place::group).transpose()?,
        store: place::store(flags.place.store.as_deref())?,
        keep,
        limits: Limits { routes: flags.routes as usize, late_seconds: keep.seconds, ..Limits::default() },
        outside: outside(&flags.outside)?,
        rulers: !flags.no_rulers,
        listen: listen(&flags.listen),
        shift: flags.shift.clone(),
    })
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
            return Err(Failure::Usage("--requests: whose CPU time? --cgroup FOLDER or --pid PID".to_owned()));
        }
    };
    if flags.version.is_none() && flags.version_label.is_none() {
        return Err(Failure::Usage("--requests: of which version? --version NAME or --version-label LABEL".to_owned()));
    }
    Ok(Some(OutsidePlan {
        service: service.clone(),
        version: flags.version.clone(),
        version_label: flags.version_label.clone(),
        cpu,
        requests: requests.clone(),
    }))
}

fn said(event: &Event, settings: &Settings) -> String {
    match event {
        Event::Listening => {
            format!("agent: listens at '{}', keeps rows in '{}'", settings.socket.display(), settings.store.display())
        }
        Event::Shown(url) => format!("agent: shows metrics at {url}"),
        Event::NotWritten(why) => format!("agent: rows cannot be written: {why}; it goes on and tries again"),
        Event::Written { given_up: 0 } => "agent: rows are written again, and none is missing".to_owned(),
        Event::Written { given_up } => format!("agent: rows are written again; {given_up} requests had to be given up"),
        Event::Stepped(seconds) => {
            format!("agent: the time of day was set by {seconds:+.1} s; rows go on by the time before")
        }
        Event::NotCounted(why) => format!("agent: nothing can be counted from outside: {why}"),
        Event::Counted => "agent: requests are counted from outside again".to_owned(),
    }
}
