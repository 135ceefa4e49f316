//! Environment of the demonstration: a temporary directory, the agent, the server's socket; and one phase of it.

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

/// First argument that makes `steady` a process of the demonstration's server.
pub(crate) const WORKER: &str = "__release_worker";
/// First argument that makes `steady` wait for the end of the demonstration and remove its directory, the next
/// argument.
pub(crate) const SWEEPER: &str = "__release_sweeper";

/// Number of processes of the server.
const WORKERS: usize = 2;
/// Intended CPU time of a request for the first route on an idle machine.
const REQUEST: Nanos = Nanos(1_200_000);
/// Longest time to wait until the agent has written all reports, in tenths of a second.
const PATIENCE_TENTHS: u32 = 60;

/// Reason why the demonstration ends early.
#[derive(Debug)]
pub(super) enum Ended {
    Interrupted,
    Failed(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Ended::Failed(error.to_string())
    }
}

/// Versions that the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Versions {
    Old,
    New,
    /// Both versions; a coin chooses for each request.
    Coin,
}

impl Versions {
    pub(super) const ALL: [Versions; 3] = [Versions::Old, Versions::New, Versions::Coin];

    pub(super) fn name(self) -> &'static str {
        match self {
            Versions::Old => "old",
            Versions::New => "new",
            Versions::Coin => "coin",
        }
    }

    /// Returns the word of the line protocol for how the version of a request is chosen.
    pub(super) fn assignment(self) -> &'static str {
        if self == Versions::Coin { "random" } else { "none" }
    }
}

/// State that is shared by all phases of the demonstration.
pub(super) struct Scene {
    folder: PathBuf,
    stop: OwnedFd,
    server: TcpListener,
    address: SocketAddr,
    things: u64,
    sweeper: Child,
    /// Pipe that the agent stops on when it is closed.
    agent_lifeline: Option<PipeWriter>,
    /// Pipe that the sweeper waits on until it is closed.
    sweeper_lifeline: Option<PipeWriter>,
    agent: Option<JoinHandle<Result<(), AgentError>>>,
}

impl Scene {
    /// Creates a directory in `temporary` and the socket, and starts the agent in a thread. `stop` becomes readable
    /// when the user interrupts.
    pub(super) fn new(stop: OwnedFd, temporary: &Path) -> Result<Scene, Ended> {
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

    /// Returns the path of the agent's store.
    pub(super) fn store(&self) -> PathBuf {
        self.folder.join("agent.db")
    }

    /// Runs one phase: the server with these versions, a client and the neighbour, for the time `long`.
    pub(super) fn play(&mut self, versions: Versions, long: Nanos, habit: Habit) -> Result<(), Ended> {
        let (theirs, lifeline) = io::pipe()?;
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            let mut worker = Command::new("/proc/self/exe");
            worker.args([WORKER, versions.name(), &self.things.to_string()]).arg(self.folder.join("agent.sock"));
            let listener = OwnedFd::from(self.server.try_clone()?);
            workers.push(worker.stdin(theirs.try_clone()?).stdout(listener).spawn()?);
        }
        drop(theirs);
        let done = AtomicBool::new(false);
        let (played, answered) = thread::scope(|scope| {
            let client = scope.spawn(|| load::send_requests(self.address, &done));
            let neighbour = scope.spawn(|| load::run_neighbour(habit, &done));
            let played = self.wait(long);
            done.store(true, Ordering::Relaxed);
            let ran = neighbour.join().unwrap_or_else(|_| Err(io::Error::other("the neighbour's thread failed")));
            (played.and(ran.map_err(Ended::from)), client.join().unwrap_or(0))
        });
        drop(lifeline);
        for mut worker in workers {
            worker.wait()?;
        }
        played?;
        if answered == 0 { Err(Ended::Failed("the server answered no request".to_owned())) } else { Ok(()) }
    }

    /// Waits for the start of the next second, and returns it as the first second of a phase.
    pub(super) fn next_second(&self) -> Result<u64, Ended> {
        let begun = clock::time_of_day().0;
        while clock::time_of_day().0 == begun {
            self.wait(Nanos(20_000_000))?;
        }
        Ok(begun + 1)
    }

    /// Waits for the time `long`. Returns an error if the user interrupts or the agent ends.
    fn wait(&self, long: Nanos) -> Result<(), Ended> {
        let until = clock::monotonic() + long;
        loop {
            if self.agent.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(Ended::Failed("the agent has ended".to_owned()));
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

    /// Waits until the agent has written all reports from before a second, or gives up after [`PATIENCE_TENTHS`].
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
            // An error of the agent no longer matters, because the store is removed.
            let _ = agent.join();
        }
        drop(self.sweeper_lifeline.take());
        let _ = self.sweeper.wait();
    }
}

/// Returns the number of items on a page that needs the intended CPU time on this machine.
fn things() -> u64 {
    const TRIED: u64 = 5_000;
    let site = Site::new();
    // The first page fills the caches.
    site.page(0, TRIED);
    let begun = clock::thread_cpu();
    site.page(1, TRIED);
    let each = (clock::thread_cpu() - begun).seconds() / TRIED as f64;
    ((REQUEST.seconds() / each.max(1e-9)) as u64).max(100)
}

/// Creates a directory that only this user can access.
fn folder(temporary: &Path) -> Result<PathBuf, Ended> {
    let number = OsRng.try_next_u64().map_err(|error| Ended::Failed(error.to_string()))?;
    let path = temporary.join(format!("steady-release-demo-{number:016x}"));
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}

/// Main function of the process that removes the directory after the demonstration has ended, also if it was killed.
pub(crate) fn sweep(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let Some(folder) = words.next() else { return ExitCode::SUCCESS };
    // In a session of its own, the process does not get the signal of Ctrl-C.
    let _ = steady_linux::process::leave_session();
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let folder = Path::new(&folder);
    let ours = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("steady-release-demo-"));
    if ours {
        let _ = remove_own_tree(folder);
    }
    ExitCode::SUCCESS
}
