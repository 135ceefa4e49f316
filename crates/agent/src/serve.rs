//! Being the agent: its settings from the flags, and what it says on standard error.

use steady_feature::{Failure, Interrupt, Session};

use crate::flags::{AgentFlags, ListenFlags, OutsideFlags};
use crate::metrics::ListenPlan;
use crate::outside::{CpuOf, OutsidePlan};
use crate::place;
use crate::run::{self, AgentError, Event, Settings};
use crate::socket::SocketError;
use crate::store::Keep;
use crate::table::Limits;

/// Listens until a signal asks it to end.
pub(crate) fn serve(flags: &AgentFlags, session: &dyn Session) -> Result<u8, Failure> {
    let settings = settings(flags, session)?;
    let own = |error: std::io::Error| Failure::Own(format!("signals: {error}"));
    let (_interrupt, stop) = Interrupt::catch().map_err(own)?;
    let ended = run::run(&settings, &stop, &mut |event| session.notice(&said(&event, &settings)));
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
    Ok(Settings {
        socket: place::socket(flags.place.socket.as_deref(), session),
        group: flags.group.as_deref().map(place::group).transpose()?,
        store: place::store(flags.place.store.as_deref(), session)?,
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
