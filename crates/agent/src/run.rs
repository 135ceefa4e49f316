//! The agent as a whole: it listens and adds up, once a second hands over what was gathered, and tells of itself.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::record::RunningAgent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::datagrams::Datagrams;
use steady_linux::{Root, host, process, procfs};
use steady_model::{Absent, Reading, Timestamp};
use thiserror::Error;

use crate::keeper::Keeper;
use crate::line::LONGEST;
use crate::metrics::{ListenPlan, Metrics, Server};
use crate::outside::{Outside, OutsidePlan};
use crate::socket::{Socket, SocketError, is_listened_to, status_file};
use crate::store::{Batch, Keep, StoreError, Writer};
use crate::table::{Limits, Now, Table};
use crate::time::{Clocks, SECOND, Stop, Watch, seconds_ahead};
use crate::witness::Witness;

/// Datagrams that are read at once: more than the kernel keeps waiting, unless it was told otherwise.
const AT_ONCE: usize = 16;
/// Batches of datagrams that are read before it is seen whether the second is over.
const BATCHES: usize = 8;

/// What the agent is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where services send to.
    pub socket: PathBuf,
    /// The group that may, besides this user.
    pub group: Option<u32>,
    /// The file of the store.
    pub store: PathBuf,
    /// How much is kept.
    pub keep: Keep,
    /// What bounds the memory.
    pub limits: Limits,
    /// What is counted from outside.
    pub outside: Option<OutsidePlan>,
    /// Whether the agent's own rulers run; without them there is nothing of the host either.
    pub rulers: bool,
    /// Where its sums are shown as metrics.
    pub listen: Option<ListenPlan>,
    /// A file with seconds by which the time of day is shifted: for tests of what happens when it is set.
    pub shift: Option<PathBuf>,
}

/// What somebody should hear of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It listens.
    Listening,
    /// It shows metrics at this address.
    Shown(String),
    /// Nothing can be written, for this reason; it goes on and tries again.
    NotWritten(String),
    /// It can be written again; so many requests were given up in all.
    Written {
        /// How many.
        given_up: u64,
    },
    /// The time of day was set, by so many seconds.
    Stepped(f64),
    /// What is counted from outside cannot be, for this reason.
    NotCounted(String),
    /// It can be counted again.
    Counted,
}

/// Why the agent does not run, or ran and could not end well.
#[derive(Debug, Error)]
pub enum AgentError {
    /// Of its socket.
    #[error("'{path}': {error}")]
    Socket {
        /// Where.
        path: String,
        /// Why.
        error: SocketError,
    },
    /// Of its store.
    #[error("'{path}': {error}")]
    Store {
        /// Where.
        path: String,
        /// Why.
        error: StoreError,
    },
    /// What is to be counted from outside cannot be.
    #[error("{0}")]
    Outside(String),
    /// Metrics cannot be shown where and as they were to be.
    #[error("{0}")]
    Listen(String),
    /// What was gathered last could not be written.
    #[error("the last {rows} rows, of {requests} requests, could not be written: {why}")]
    Unwritten {
        /// How many rows: of requests, rulers, processes and the host.
        rows: usize,
        /// How many requests they tell of.
        requests: u64,
        /// Why.
        why: String,
    },
    /// A thread that it needs could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// What the system says.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Runs until `stop` can be read; `tell` hears of what happens.
///
/// # Errors
/// [`AgentError`]
pub fn run(settings: &Settings, stop: &OwnedFd, tell: &mut dyn FnMut(Event)) -> Result<(), AgentError> {
    let socket = Socket::listen(&settings.socket, settings.group);
    let socket = socket.map_err(|error| AgentError::Socket { path: shown(&settings.socket), error })?;
    let mut agent = Agent::new(settings)?;
    tell(Event::Listening);
    if let Some((_, server)) = &agent.shown {
        tell(Event::Shown(server.told().url));
    }
    // Services do not wait: what finds no room in the kernel's short queue is dropped.
    process::wake_soon();
    let listened = agent.listen(&socket, stop, tell);
    let ended = agent.end(tell);
    listened.and(ended)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// An agent that runs.
struct Agent<'a> {
    settings: &'a Settings,
    clocks: Clocks,
    host: String,
    began: Now,
    second: u64,
    table: Table,
    watch: Watch,
    stop: Arc<Stop>,
    keeper: Keeper,
    witness: Option<Witness>,
    outside: Option<Outside>,
    shown: Option<(Arc<Metrics>, Server)>,
    events: Receiver<Event>,
}

impl<'a> Agent<'a> {
    fn new(settings: &'a Settings) -> Result<Self, AgentError> {
        let failed = |error| AgentError::Store { path: shown(&settings.store), error };
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
            settings.outside.as_ref().map(|plan| Outside::begin(plan, ahead, Arc::clone(&stop), sender.clone()));
        let outside = outside.transpose().map_err(AgentError::Outside)?;
        let shown = settings.listen.as_ref().map(|plan| show(plan, settings.limits, began)).transpose()?;
        let witness = settings.rulers.then(|| Witness::begin(ahead, monotonic, Arc::clone(&stop))).transpose();
        let witness = witness.map_err(AgentError::Thread)?;
        Ok(Agent {
            settings,
            clocks,
            host,
            began,
            second: began.second(),
            table: Table::new(settings.limits),
            watch: Watch::new(ahead, by_day),
            stop,
            keeper: Keeper::begin(writer, sender).map_err(AgentError::Thread)?,
            witness,
            outside,
            shown,
            events,
        })
    }

    fn now(&self) -> Now {
        Now { monotonic: self.clocks.monotonic(), ahead: self.began.ahead }
    }

    fn listen(&mut self, socket: &Socket, stop: &OwnedFd, tell: &mut dyn FnMut(Event)) -> Result<(), AgentError> {
        // A byte more than may be: what fills it is too long.
        let mut room = Datagrams::new(AT_ONCE, LONGEST + 1);
        self.tell_status(socket, tell);
        loop {
            let left = SECOND - self.now().monotonic % SECOND;
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.min(SECOND - 1) as _ };
            let mut files = [PollFd::new(socket, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut files, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let stops = !files[1].revents().is_empty();
            for _ in 0..BATCHES {
                // Before what is of the new second is added.
                if self.now().second() != self.second {
                    self.tick(socket, tell);
                }
                if self.receive(socket, &mut room)? < AT_ONCE {
                    break;
                }
            }
            if stops {
                return Ok(());
            }
        }
    }

    /// Takes in what waits; how many datagrams that was.
    fn receive(&mut self, socket: &Socket, room: &mut Datagrams) -> Result<usize, AgentError> {
        let received = room.receive(socket)?;
        let now = self.now();
        for datagram in room.all() {
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

    /// A second is over.
    fn tick(&mut self, socket: &Socket, tell: &mut dyn FnMut(Event)) {
        self.hand_over();
        self.second = self.now().second();
        self.table.tick();
        if let Some(step) = self.watch.look(self.clocks.ahead()) {
            tell(Event::Stepped(step));
        }
        self.tell_status(socket, tell);
    }

    /// Has what was gathered written.
    fn hand_over(&mut self) {
        let mut services = self.table.take(&self.host);
        services.extend(self.outside.as_ref().and_then(|outside| outside.fetch(&self.host)));
        let (rulers, seconds) = self.witness.as_ref().map(Witness::fetch).unwrap_or_default();
        let batch = Batch { second: self.second, host: self.host.clone(), services, rulers, seconds };
        if let Some((metrics, _)) = &self.shown {
            metrics.add(&batch, self.table.arrived(), self.keeper.told().given_up);
        }
        if batch.is_empty() {
            return;
        }
        if let Some(batch) = self.keeper.hand_over(batch) {
            self.table.give_up(&batch.services);
            if let Some((metrics, _)) = &self.shown {
                metrics.give_up(&batch.services);
            }
        }
    }

    /// Tells what has happened, and then writes what is told of this agent where those find it who ask: nothing that
    /// stands there has not been said.
    fn tell_status(&self, socket: &Socket, tell: &mut dyn FnMut(Event)) {
        let now = self.now();
        let status = RunningAgent {
            pid: std::process::id(),
            since: Timestamp(self.began.second()),
            seconds: (now.monotonic - self.began.monotonic) / SECOND,
            store: shown(&self.settings.store),
            arrived: *self.table.arrived(),
            services: self.table.services(now),
            rulers: self.witness.as_ref().map_or_else(|| Err(Absent::because("--no-rulers was given")), Witness::told),
            clock: self.watch.told(),
            writing: self.keeper.told(),
            outside: self
                .outside
                .as_ref()
                .map(Outside::told)
                .ok_or_else(|| Absent::because("nothing is counted from outside")),
            metrics: self
                .shown
                .as_ref()
                .map(|(_, server)| server.told())
                .ok_or_else(|| Absent::because("--listen was not given")),
            peak_memory: process::own_peak_memory(),
        };
        self.events.try_iter().for_each(tell);
        // Where it cannot be written nobody is told; nothing else suffers.
        let _ = serde_json::to_vec(&status).map(|text| socket.report(&text));
    }

    fn end(mut self, tell: &mut dyn FnMut(Event)) -> Result<(), AgentError> {
        self.stop.ask();
        self.hand_over();
        if let Some(witness) = self.witness.take() {
            witness.join();
        }
        if let Some(outside) = self.outside.take() {
            outside.join();
        }
        if let Some((_, server)) = self.shown.take() {
            server.end();
        }
        let before = self.keeper.told().given_up;
        let (told, rows) = self.keeper.end();
        self.events.try_iter().for_each(tell);
        match told.trouble {
            Some(why) => Err(AgentError::Unwritten { rows, requests: told.given_up - before, why }),
            None => Ok(()),
        }
    }
}

/// Begins to show what is added up from now on.
fn show(plan: &ListenPlan, limits: Limits, began: Now) -> Result<(Arc<Metrics>, Server), AgentError> {
    // To the millisecond: it tells one agent from the next.
    let start = (began.monotonic % SECOND / 1_000_000) as f64 / 1e3 + began.second() as f64;
    let metrics = Arc::new(Metrics::new(limits, start));
    let server = Server::begin(plan, Arc::clone(&metrics)).map_err(AgentError::Listen)?;
    Ok((metrics, server))
}

/// What the agent behind a socket tells of itself.
///
/// # Errors
/// Why there is none: absent.
pub fn ask(socket: &Path) -> Reading<RunningAgent> {
    is_listened_to(socket)?;
    let file = status_file(socket);
    let text = fs::read(&file).map_err(|error| Absent::because(format!("'{}': {error}", shown(&file))))?;
    serde_json::from_slice(&text).map_err(|_| Absent::because("the agent there is of another version"))
}
