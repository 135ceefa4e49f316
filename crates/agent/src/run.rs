//! The agent's main loop: it receives datagrams and adds them up, passes the rows on once a second, and writes the
//! status file.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use steady_linux::datagrams::Datagrams;
use steady_linux::{Root, clock, host, process, procfs};
use steady_model::{Absent, Reading, Timestamp};
use thiserror::Error;

use crate::line::LONGEST;
use crate::metrics::{ListenPlan, Metrics, Server};
use crate::outside::{Outside, OutsidePlan};
use crate::own_rulers::OwnRulers;
use crate::record::RunningAgent;
use crate::socket::{Listener, Socket, SocketError, any_status, listener, status_file, trusted_status};
use crate::store::{Batch, Keep, StoreError, Writer};
use crate::table::{Limits, Now, Table};
use crate::time::{ClockWatch, Clocks, SECOND, Stop, seconds_ahead};
use crate::writing::WriterThread;

/// Datagrams that one system call reads: more than the kernel queues for a Unix socket by default (unix(7),
/// `net.unix.max_dgram_qlen`).
const BATCH_LENGTH: usize = 16;
/// Batches of datagrams that are read before the loop polls for a signal again.
const BATCHES: usize = 8;

/// The settings of an agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path of the socket that services send to.
    pub socket: PathBuf,
    /// The number of a group whose members may send too; without it, only this user may.
    pub group: Option<u32>,
    /// The absolute path of the store, which the agent publishes.
    pub store: PathBuf,
    /// The limits of the store: age and size.
    pub keep: Keep,
    /// The limits of the table of rows in memory.
    pub limits: Limits,
    /// The service whose requests are counted from outside.
    pub outside: Option<OutsidePlan>,
    /// Whether the agent's own rulers run; without them, the load of the host is not read either.
    pub rulers: bool,
    /// The address at which metrics are published.
    pub listen: Option<ListenPlan>,
    /// A file with the number of seconds by which the time of day is shifted, to test steps of the clock.
    pub shift: Option<PathBuf>,
}

/// An event that the user should know of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The agent listens at its socket.
    Listening,
    /// The agent publishes metrics at this URL.
    Publishing(String),
    /// Rows cannot be written, for this reason; the agent continues and tries again.
    WriteFailed(String),
    /// Rows can be written again.
    WriteResumed {
        /// Requests that were given up since the agent started, because too many rows waited.
        given_up: u64,
    },
    /// The store was removed or replaced. Rows go to the file that is there now, a new one if there was none.
    StoreOpenedAgain,
    /// The time of day was set, by this number of seconds.
    Stepped(f64),
    /// Requests cannot be counted from outside, for this reason.
    CountFailed(String),
    /// Requests can be counted from outside again.
    CountResumed,
}

/// The reason why the agent could not start, or could not end normally.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The socket cannot be used.
    #[error("'{path}': {error}")]
    Socket {
        /// The path of the socket.
        path: String,
        /// What is wrong with it.
        error: SocketError,
    },
    /// The store cannot be used.
    #[error("'{path}': {error}")]
    Store {
        /// The path of the store.
        path: String,
        /// What is wrong with it.
        error: StoreError,
    },
    /// The application that should be counted from outside cannot be read.
    #[error("{0}")]
    Outside(String),
    /// Metrics cannot be published as requested.
    #[error("{0}")]
    Listen(String),
    /// The last rows could not be written.
    #[error(
        "the last {rows} row{ending}, of {requests} request{request_ending}, could not be written: {why}",
        ending = plural(*.rows as u64),
        request_ending = plural(*.requests)
    )]
    Unwritten {
        /// The number of lost rows: those of requests, rulers, processes and the host.
        rows: usize,
        /// The number of requests in these rows.
        requests: u64,
        /// The error of the last attempt.
        why: String,
    },
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The ending of a regular plural.
fn plural(number: u64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// Runs an agent until `stop` is readable, and passes its events to `report`.
///
/// # Errors
/// [`AgentError`]
pub fn run(settings: &Settings, stop: &OwnedFd, report: &mut dyn FnMut(Event)) -> Result<(), AgentError> {
    let socket = Socket::listen(&settings.socket, settings.group);
    let socket = socket.map_err(|error| AgentError::Socket { path: display(&settings.socket), error })?;
    let mut agent = Agent::new(settings)?;
    report(Event::Listening);
    if let Some((_, server)) = &agent.published {
        report(Event::Publishing(server.status().url));
    }
    // Services do not wait: they drop datagrams while the kernel's short queue is full.
    process::wake_soon();
    let listened = agent.listen(&socket, stop, report);
    let ended = agent.end(report);
    listened.and(ended)
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

/// The state of a running agent.
struct Agent<'a> {
    settings: &'a Settings,
    clocks: Clocks,
    host: String,
    began: Now,
    second: u64,
    table: Table,
    clock_watch: ClockWatch,
    stop: Arc<Stop>,
    writer: WriterThread,
    own_rulers: Option<OwnRulers>,
    outside: Option<Outside>,
    published: Option<(Arc<Metrics>, Server)>,
    events: Receiver<Event>,
}

impl<'a> Agent<'a> {
    fn new(settings: &'a Settings) -> Result<Self, AgentError> {
        let failed = |error| AgentError::Store { path: display(&settings.store), error };
        let (root, clocks) = (Root::default(), Clocks::new(settings.shift.clone()));
        let host = procfs::hostname(&root).unwrap_or_else(|_| "localhost".to_owned());
        let mut writer = Writer::open(&settings.store, settings.keep).map_err(failed)?;
        let boot = host::boot_id(&root).unwrap_or_default();
        let before = writer.clock(&host).map_err(failed)?.filter(|(then, _)| *then == boot && !boot.is_empty());
        let next = writer.last_second().map_err(failed)?.map_or(0, |last| last + 1);
        let (monotonic, by_day) = (clocks.monotonic(), clocks.ahead());
        let ahead = seconds_ahead(by_day, before.map(|(_, ahead)| ahead), monotonic, next);
        let began = Now { monotonic, ahead };
        writer.keep_clock(&host, &boot, ahead, began.second()).map_err(failed)?;
        let (sender, events) = channel();
        let stop = Arc::new(Stop::default());
        let outside =
            settings.outside.as_ref().map(|plan| Outside::start(plan, ahead, Arc::clone(&stop), sender.clone()));
        let outside = outside.transpose().map_err(AgentError::Outside)?;
        let published = settings.listen.as_ref().map(|plan| publish(plan, settings.limits, began)).transpose()?;
        let own_rulers = settings.rulers.then(|| OwnRulers::start(ahead, monotonic, Arc::clone(&stop))).transpose();
        let own_rulers = own_rulers.map_err(AgentError::Thread)?;
        Ok(Agent {
            settings,
            clocks,
            host,
            began,
            second: began.second(),
            table: Table::new(settings.limits),
            clock_watch: ClockWatch::new(ahead, by_day),
            stop,
            writer: WriterThread::start(writer, sender).map_err(AgentError::Thread)?,
            own_rulers,
            outside,
            published,
            events,
        })
    }

    fn now(&self) -> Now {
        Now { monotonic: self.clocks.monotonic(), ahead: self.began.ahead }
    }

    fn listen(&mut self, socket: &Socket, stop: &OwnedFd, report: &mut dyn FnMut(Event)) -> Result<(), AgentError> {
        // One byte more than a datagram may have, so that a datagram that is too long is recognized.
        let mut buffer = Datagrams::new(BATCH_LENGTH, LONGEST + 1);
        self.report_status(socket, report);
        loop {
            let left = SECOND - self.now().monotonic % SECOND;
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.min(SECOND - 1) as _ };
            let mut files = [PollFd::new(socket, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut files, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let stops = !files[1].revents().is_empty();
            if stops {
                // Services keep what they cannot send any more. What they have sent is received below.
                shutdown(socket, Shutdown::Read).map_err(io::Error::from)?;
            }
            for _ in 0..BATCHES {
                // Rows of the previous second must be passed on before requests of the new one are added.
                if self.now().second() != self.second {
                    self.tick(socket, report);
                }
                if self.receive(socket, &mut buffer)? < BATCH_LENGTH {
                    break;
                }
            }
            if stops {
                while self.receive(socket, &mut buffer)? > 0 {}
                return Ok(());
            }
        }
    }

    /// Adds one batch of datagrams to the table, and returns their number.
    fn receive(&mut self, socket: &Socket, buffer: &mut Datagrams) -> Result<usize, AgentError> {
        let received = buffer.receive(socket)?;
        let now = self.now();
        for datagram in buffer.all() {
            match datagram {
                Some(datagram) => self.table.take_in(datagram, now),
                None => self.table.too_long(),
            }
            if self.table.is_full() {
                self.hand_over();
            }
        }
        Ok(received)
    }

    /// Ends the current second: passes its rows on, checks the time of day, and writes the status.
    fn tick(&mut self, socket: &Socket, report: &mut dyn FnMut(Event)) {
        self.hand_over();
        self.second = self.now().second();
        self.table.tick();
        if let Some(step) = self.clock_watch.check(self.clocks.ahead()) {
            report(Event::Stepped(step));
        }
        self.report_status(socket, report);
    }

    /// Passes all rows since the last call to the metrics and to the thread that writes the store.
    fn hand_over(&mut self) {
        let mut services = self.table.take(&self.host);
        services.extend(self.outside.as_ref().and_then(|outside| outside.fetch(&self.host)));
        let (rulers, seconds) = self.own_rulers.as_ref().map(OwnRulers::fetch).unwrap_or_default();
        let batch = Batch { second: self.second, host: self.host.clone(), services, rulers, seconds };
        if let Some((metrics, _)) = &self.published {
            metrics.add(&batch, self.table.arrived(), self.writer.status().given_up);
        }
        if let Some(batch) = self.writer.hand_over(batch) {
            self.table.give_up(&batch.services);
            if let Some((metrics, _)) = &self.published {
                metrics.give_up(&batch.services);
            }
        }
    }

    /// Reports pending events, and then replaces the status file. The status is read first, so every problem that the
    /// file mentions has been reported on standard error before.
    fn report_status(&self, socket: &Socket, report: &mut dyn FnMut(Event)) {
        let now = self.now();
        let status = RunningAgent {
            pid: std::process::id(),
            since: Timestamp(self.began.second()),
            seconds: (now.monotonic - self.began.monotonic) / SECOND,
            store: display(&self.settings.store),
            arrived: *self.table.arrived(),
            services: self.table.services(now),
            rulers: self
                .own_rulers
                .as_ref()
                .map_or_else(|| Err(Absent::because("--no-rulers was given")), OwnRulers::status),
            clock: self.clock_watch.status(),
            writing: self.writer.status(),
            outside: self
                .outside
                .as_ref()
                .map(Outside::status)
                .ok_or_else(|| Absent::because("--requests was not given")),
            metrics: self
                .published
                .as_ref()
                .map(|(_, server)| server.status())
                .ok_or_else(|| Absent::because("--listen was not given")),
            peak_memory: process::own_peak_memory(),
        };
        self.events.try_iter().for_each(report);
        // If the file cannot be written, only `steady agent status` is affected.
        let _ = serde_json::to_vec(&status).map(|text| socket.report(&text));
    }

    fn end(mut self, report: &mut dyn FnMut(Event)) -> Result<(), AgentError> {
        self.stop.request();
        self.hand_over();
        if let Some(own_rulers) = self.own_rulers.take() {
            own_rulers.join();
        }
        if let Some(outside) = self.outside.take() {
            outside.join();
        }
        if let Some((_, server)) = self.published.take() {
            server.end();
        }
        let before = self.writer.status().given_up;
        let (status, rows) = self.writer.end();
        self.events.try_iter().for_each(report);
        match status.trouble {
            Some(why) => Err(AgentError::Unwritten { rows, requests: status.given_up - before, why }),
            None => Ok(()),
        }
    }
}

/// Starts to publish metrics; their sums begin at 0.
fn publish(plan: &ListenPlan, limits: Limits, began: Now) -> Result<(Arc<Metrics>, Server), AgentError> {
    // In milliseconds, because the start time distinguishes this agent from the previous one.
    let start = (began.monotonic % SECOND / 1_000_000) as f64 / 1e3 + began.second() as f64;
    let metrics = Arc::new(Metrics::new(limits, start));
    let server = Server::start(plan, Arc::clone(&metrics)).map_err(AgentError::Listen)?;
    Ok((metrics, server))
}

/// Reads the status of the agent that listens at a socket.
///
/// # Errors
/// The reason why it is not available: no agent listens there, or its status cannot be read.
pub fn running_agent(socket: &Path) -> Reading<RunningAgent> {
    match listener(socket) {
        Listener::Present => status_of(socket),
        Listener::Missing(why) | Listener::Unknown(why) => Err(why),
    }
}

/// Returns the store of the agent that listens at a socket; `None` if no agent listens, or other users could have
/// written its status.
pub fn trusted_store(socket: &Path) -> Option<PathBuf> {
    if listener(socket) != Listener::Present {
        return None;
    }
    let agent: RunningAgent = serde_json::from_slice(&trusted_status(socket)?).ok()?;
    Some(PathBuf::from(agent.store))
}

/// Returns whether it is known that no agent listens at a socket.
pub fn is_stopped(socket: &Path) -> bool {
    matches!(listener(socket), Listener::Missing(_))
}

/// Reads the status of an agent that listens at a socket.
pub(crate) fn status_of(socket: &Path) -> Reading<RunningAgent> {
    let file = status_file(socket);
    let text = any_status(socket).map_err(|error| Absent::because(format!("'{}': {error}", display(&file))))?;
    serde_json::from_slice(&text).map_err(|_| Absent::because("the agent there is another version of steady"))
}

/// Reads the status of an agent that still runs although the file of its socket was removed. The agent writes its
/// status once a second, so this waits for the next one. One that was killed leaves the last one.
pub fn unreachable_agent(socket: &Path) -> Option<RunningAgent> {
    /// The largest age of the status of a running agent. A busy host may delay it.
    const NEWEST: Duration = Duration::from_secs(10);
    /// The longest time until the next status.
    const NEXT: Duration = Duration::from_secs(4);
    const STEP: Duration = Duration::from_millis(100);
    let written = || fs::metadata(status_file(socket)).and_then(|facts| facts.modified()).ok();
    let last = written()?;
    if socket.exists() || last.elapsed().is_ok_and(|age| age > NEWEST) {
        return None;
    }
    let began = clock::monotonic();
    while Duration::from(clock::monotonic() - began) < NEXT {
        if written()? != last {
            return status_of(socket).ok();
        }
        std::thread::sleep(STEP);
    }
    None
}
