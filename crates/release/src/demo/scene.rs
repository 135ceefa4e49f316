//! What the demonstration is played in: a folder of its own, the agent, the server's socket; and one act of it.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, PipeWriter, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::TryRngCore;
use rand::rngs::OsRng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_agent::store::{Keep, Reader};
use steady_agent::table::Limits;
use steady_agent::{AgentError, Settings};
use steady_linux::clock;
use steady_linux::private::remove_own_tree;
use steady_model::Nanos;

use super::load::{self, Habit};
use super::site::Site;

/// The first argument that makes `steady` a process of the demonstration's server.
pub(crate) const WORKER: &str = "__release_worker";
/// The first argument that makes `steady` wait for the demonstration to end, and remove its folder, which follows.
pub(crate) const SWEEPER: &str = "__release_sweeper";

/// Processes of the server.
const WORKERS: usize = 2;
/// The CPU time of a request for the first route that is aimed at, where nothing else runs.
const REQUEST: Nanos = Nanos(1_200_000);
/// How long the agent may take to write what it was told.
const PATIENCE_TENTHS: u32 = 60;

/// Why the demonstration cannot go on.
#[derive(Debug)]
pub(super) enum Ended {
    Interrupted,
    Lost(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Ended::Lost(error.to_string())
    }
}

/// Which versions the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cast {
    Old,
    New,
    Coin,
}

impl Cast {
    pub(super) const ALL: [Cast; 3] = [Cast::Old, Cast::New, Cast::Coin];

    pub(super) fn name(self) -> &'static str {
        match self {
            Cast::Old => "old",
            Cast::New => "new",
            Cast::Coin => "coin",
        }
    }

    /// How versions are decided, as the protocol has it.
    pub(super) fn assignment(self) -> &'static str {
        if self == Cast::Coin { "random" } else { "none" }
    }
}

/// All that stays from one act to the next.
pub(super) struct Scene {
    folder: PathBuf,
    stop: OwnedFd,
    server: TcpListener,
    address: SocketAddr,
    things: u64,
    sweeper: Child,
    // Closed to have the agent end, and the sweeper.
    agent_lifeline: Option<PipeWriter>,
    sweeper_lifeline: Option<PipeWriter>,
    agent: Option<JoinHandle<Result<(), AgentError>>>,
}

impl Scene {
    /// Sets it: a folder among the `temporary` ones, the agent in a thread, the socket. `stop` can be read once the user asks to stop.
    pub(super) fn set(stop: OwnedFd, temporary: &Path) -> Result<Scene, Ended> {
        let folder = folder(temporary)?;
        let (theirs, sweeper_lifeline) = io::pipe()?;
        let mut sweeper = Command::new("/proc/self/exe");
        sweeper.arg(SWEEPER).arg(&folder).stdin(theirs).stdout(Stdio::null());
        let sweeper = sweeper.spawn()?;
        let (agent_stop, agent_lifeline) = io::pipe()?;
        let settings = Settings {
            socket: folder.join("agent.sock"),
            group: None,
            store: folder.join("agent.db"),
            keep: Keep { seconds: 86_400, bytes: 100_000_000 },
            limits: Limits::default(),
            outside: None,
            rulers: true,
            listen: None,
            shift: None,
        };
        let stopped = OwnedFd::from(agent_stop);
        let agent = thread::spawn(move || steady_agent::run(&settings, &stopped, &mut |_| {}));
        let server = TcpListener::bind("127.0.0.1:0")?;
        let address = server.local_addr()?;
        Ok(Scene {
            folder,
            stop,
            server,
            address,
            things: things(),
            sweeper,
            agent_lifeline: Some(agent_lifeline),
            sweeper_lifeline: Some(sweeper_lifeline),
            agent: Some(agent),
        })
    }

    /// The agent's store.
    pub(super) fn store(&self) -> PathBuf {
        self.folder.join("agent.db")
    }

    /// One act: the server with these versions, a client, and the neighbour as its habit is, for so long.
    pub(super) fn play(&mut self, cast: Cast, long: Nanos, habit: Habit) -> Result<(), Ended> {
        let (theirs, lifeline) = io::pipe()?;
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            let mut worker = Command::new("/proc/self/exe");
            worker.args([WORKER, cast.name(), &self.things.to_string()]).arg(self.folder.join("agent.sock"));
            let listener = OwnedFd::from(self.server.try_clone()?);
            workers.push(worker.stdin(theirs.try_clone()?).stdout(listener).spawn()?);
        }
        drop(theirs);
        let done = AtomicBool::new(false);
        let (played, answered) = thread::scope(|scope| {
            let client = scope.spawn(|| load::ask(self.address, &done));
            let neighbour = scope.spawn(|| load::live(habit, &done));
            let played = self.pass(long);
            done.store(true, Ordering::Relaxed);
            let lived = neighbour.join().unwrap_or_else(|_| Err(io::Error::other("the neighbour's thread failed")));
            (played.and(lived.map_err(Ended::from)), client.join().unwrap_or(0))
        });
        drop(lifeline);
        for mut worker in workers {
            worker.wait()?;
        }
        played?;
        if answered == 0 { Err(Ended::Lost("the server answered no request".to_owned())) } else { Ok(()) }
    }

    /// Waits for the next second, which is the first of the act that follows.
    pub(super) fn next_second(&self) -> Result<u64, Ended> {
        let begun = clock::time_of_day().0;
        while clock::time_of_day().0 == begun {
            self.pass(Nanos(20_000_000))?;
        }
        Ok(begun + 1)
    }

    /// Lets time pass, unless the user asks to stop or the agent has ended.
    fn pass(&self, long: Nanos) -> Result<(), Ended> {
        let until = clock::monotonic() + long;
        loop {
            if self.agent.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(Ended::Lost("the agent has ended".to_owned()));
            }
            let left = until - clock::monotonic();
            if left == Nanos::ZERO {
                return Ok(());
            }
            let step = left.0.min(500_000_000);
            let timeout = Timespec { tv_sec: 0, tv_nsec: step as _ };
            let mut watched = [PollFd::new(&self.stop, PollFlags::IN)];
            if poll(&mut watched, Some(&timeout)).is_ok_and(|ready| ready > 0) {
                return Err(Ended::Interrupted);
            }
        }
    }

    /// Waits until the agent has written all that was told before a second.
    pub(super) fn wait_for(&self, second: u64) {
        for _ in 0..PATIENCE_TENTHS {
            let last = Reader::open(&self.store()).ok().and_then(|reader| reader.last_second().ok().flatten());
            if last.is_some_and(|last| last >= second) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.agent_lifeline.take());
        if let Some(agent) = self.agent.take() {
            // What it could not write is nobody's any more.
            let _ = agent.join();
        }
        drop(self.sweeper_lifeline.take());
        let _ = self.sweeper.wait();
    }
}

/// How many things a page needs to take as long as it is to.
fn things() -> u64 {
    const TRIED: u64 = 5_000;
    let site = Site::new();
    // The first time the catalogue comes into the caches.
    site.page(0, TRIED);
    let begun = clock::thread_cpu();
    site.page(1, TRIED);
    let each = (clock::thread_cpu() - begun).seconds() / TRIED as f64;
    ((REQUEST.seconds() / each.max(1e-9)) as u64).max(100)
}

/// A new folder for this user alone.
fn folder(temporary: &Path) -> Result<PathBuf, Ended> {
    let number = OsRng.try_next_u64().map_err(|error| Ended::Lost(error.to_string()))?;
    let path = temporary.join(format!("steady-release-demo-{number:016x}"));
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}

/// The whole life of the process that removes the folder once the demonstration has ended, however it did.
pub(crate) fn sweep(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let Some(folder) = words.next() else { return ExitCode::SUCCESS };
    // Keys of the terminal that end the demonstration are not meant for this.
    let _ = steady_linux::process::leave_session();
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let folder = Path::new(&folder);
    let ours = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("steady-release-demo-"));
    if ours {
        let _ = remove_own_tree(folder);
    }
    ExitCode::SUCCESS
}
