//! An agent process for one test.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use steady_agent::store::Reader;
use steady_model::ReleaseRows;

use crate::steady::{output_of, steady};

/// The pause between two checks of a condition, and the largest number of checks.
const STEP: Duration = Duration::from_millis(50);
const STEPS: usize = 600;

/// A running agent, killed on drop.
pub(crate) struct Agent {
    pub(crate) folder: PathBuf,
    pub(crate) child: Child,
    store: PathBuf,
    args: Vec<String>,
    user: Option<u32>,
}

/// Creates a directory for one test. Its path is short, because that of a socket has at most 107 bytes.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("steady-agent-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

impl Agent {
    pub(crate) fn start(name: &str, options: &[&str]) -> Agent {
        let folder = folder(name);
        Agent::start_with(folder.join("agent.db"), folder, options)
    }

    /// Starts an agent with a variable in its environment.
    pub(crate) fn start_with_variable(name: &str, options: &[&str], variable: &str, value: &str) -> Agent {
        let folder = folder(name);
        let store = folder.join("agent.db");
        let child = Agent::command(&store, &folder, options, None).env(variable, value).spawn().unwrap();
        let args = options.iter().map(|word| (*word).to_owned()).collect();
        let agent = Agent { folder, child, store, args, user: None };
        agent.await_socket();
        agent
    }

    /// Starts an agent with a given store.
    pub(crate) fn start_with(store: PathBuf, folder: PathBuf, options: &[&str]) -> Agent {
        let agent = Agent::spawn(store, folder, options, None);
        agent.await_socket();
        agent
    }

    /// Starts an agent as another user. Returns `None` if that user has no access to the binary.
    pub(crate) fn start_as(user: u32, folder: &Path, options: &[&str]) -> Option<Agent> {
        let can = Command::new(env!("CARGO_BIN_EXE_steady"))
            .arg("--version")
            .stdout(Stdio::null())
            .uid(user)
            .gid(user)
            .status();
        can.is_ok_and(|status| status.success()).then(|| {
            let agent = Agent::spawn(folder.join("agent.db"), folder.to_owned(), options, Some(user));
            agent.await_socket();
            agent
        })
    }

    fn spawn(store: PathBuf, folder: PathBuf, options: &[&str], user: Option<u32>) -> Agent {
        let args = options.iter().map(|word| (*word).to_owned()).collect();
        let child = Agent::command(&store, &folder, options, user).spawn().unwrap();
        Agent { folder, child, store, args, user }
    }

    fn command(store: &Path, folder: &Path, options: &[&str], user: Option<u32>) -> Command {
        let log = fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = steady();
        command.arg("agent").arg("--socket").arg(folder.join("s/agent.sock"));
        command.arg("--store").arg(store).args(options).stderr(log);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command
    }

    fn await_socket(&self) {
        let socket = self.folder.join("s/agent.sock");
        let is_there = |_: &usize| UnixDatagram::unbound().unwrap().connect(&socket).is_ok();
        let found = (0..STEPS).inspect(|_| sleep(STEP / 10)).find(is_there);
        assert!(found.is_some(), "no socket: {}", self.log());
    }

    /// Returns the standard error of the agent.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.store.clone()
    }

    /// Kills the agent and starts it again with the same options.
    pub(crate) fn kill_and_start_again(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let options: Vec<&str> = self.args.iter().map(String::as_str).collect();
        self.child = Agent::command(&self.store, &self.folder, &options, self.user).spawn().unwrap();
        self.await_socket();
    }

    /// Starts the stopped agent again with the same options, and returns the log. Panics unless it exits with status 2.
    pub(crate) fn fail_to_start(&self) -> String {
        let options: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let status = Agent::command(&self.store, &self.folder, &options, self.user).status().unwrap();
        assert_eq!(status.code(), Some(2), "{}", self.log());
        self.log()
    }

    /// Returns a socket that is connected to the agent, as a service has it.
    pub(crate) fn sender(&self) -> UnixDatagram {
        let socket = UnixDatagram::unbound().unwrap();
        socket.connect(self.folder.join("s/agent.sock")).unwrap();
        socket
    }

    /// Runs `steady` with the socket of the agent. Returns the exit status, standard output and standard error.
    pub(crate) fn steady(&self, args: &[&str]) -> (i32, String, String) {
        output_of(steady().args(args).arg("--socket").arg(self.folder.join("s/agent.sock")).output().unwrap())
    }

    pub(crate) fn status(&self) -> Value {
        let (status, text, error) = self.steady(&["agent", "status", "--format", "json"]);
        assert_eq!(status, 0, "{error}");
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    /// Polls the status until `of` returns a value. Panics after 30 s.
    pub(crate) fn await_status<T>(&self, of: impl Fn(&Value) -> Option<T>) -> T {
        let found = (0..STEPS).inspect(|_| sleep(STEP)).find_map(|_| of(&self.status()));
        found.unwrap_or_else(|| panic!("timeout: {} {}", self.status(), self.log()))
    }

    /// Waits until the store has this many requests.
    pub(crate) fn await_requests(&self, number: u64) {
        self.await_status(|status| (stored_requests(status)? >= number).then_some(()));
    }

    /// Returns the status once this many requests have arrived at the running agent and are stored. Both conditions are
    /// needed, because the agent writes its status shortly before or after it stores requests.
    pub(crate) fn status_after_requests(&self, number: u64) -> Value {
        self.await_status(|status| {
            let arrived = status["agent"]["arrived"]["requests"].as_u64()?;
            (arrived >= number && stored_requests(status)? >= number).then(|| status.clone())
        })
    }

    /// Stops the agent and returns the stored rows of the service `shop`.
    pub(crate) fn end(mut self) -> ReleaseRows {
        self.stop();
        rows(&self.store())
    }

    /// Sends SIGTERM and panics unless the agent exits with status 0.
    pub(crate) fn stop(&mut self) {
        let process = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
    }
}

/// Returns the number of requests in the store.
fn stored_requests(status: &Value) -> Option<u64> {
    let services = status["store"]["services"].as_array()?;
    Some(services.iter().filter_map(|service| service["requests"].as_u64()).sum())
}

/// Returns all rows of the service `shop`.
pub(crate) fn rows(store: &Path) -> ReleaseRows {
    Reader::open(store).unwrap().rows("shop", 0, u64::MAX).unwrap()
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the protocol line of a request that ends now.
pub(crate) fn request(number: u64, version: &str, route: &str, more: &str) -> String {
    let now = steady_linux::clock::monotonic().0;
    format!("r\t{now}\t{number}\t{version}\t{route}\t200\t1500000\t2500000\t{more}\n")
}

/// Sends `number` requests of the service `shop`, one datagram each, numbered from 1.
pub(crate) fn requests(sender: &UnixDatagram, number: u64, line: impl Fn(u64) -> String) {
    for number in 1..=number {
        sender.send(format!("steady/1\tshop\t7\t1\n{}", line(number)).as_bytes()).unwrap();
    }
}
