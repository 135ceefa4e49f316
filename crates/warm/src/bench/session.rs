//! One session on a stage: the driver from its start to its end, and the captures that run during and after it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::command::without_hooks;
use crate::record::{BenchSession, LaunchMode, SessionCounts, Spent};
use crate::store::Counts;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::Value;
use steady_linux::counters::{self, Event, Meter};
use steady_linux::private::remove_own_tree;
use steady_linux::process::{self, Child, Program, Status, Stdio};
use steady_linux::{Root, clock};
use steady_model::{Absent, Nanos, Reading};

use super::DRIVER;
use super::protocol::{Account, Order, Setup, Task};
use steady_process::channel::{OWN_PROGRAM, timespec};
use steady_process::launcher::PADDING_MAX;

/// The events of a counted session, in the order of its two meters.
const EVENTS: [[Event; counters::EVENTS]; 2] = [
    [Event::INSTRUCTIONS, Event::CYCLES, Event::CPU_MIGRATIONS, Event::CONTEXT_SWITCHES],
    [Event::BRANCHES, Event::BRANCH_MISSES, Event::STALLED_FRONTEND, Event::STALLED_BACKEND],
];
/// Time allowed for starting the driver, in addition to its launches: without `steady warm`, and with it and its
/// captures.
const START: Nanos = Nanos(3_000_000_000);
const WARM_START: Nanos = Nanos(60_000_000_000);
/// Time allowed for captures after the driver has ended. They have a low priority then.
const CAPTURES: Nanos = Nanos(120_000_000_000);
const STEP: Duration = Duration::from_millis(1);
/// The value that drops the page cache, dentries and inodes (proc(5), `drop_caches`).
const ALL_CACHES: &str = "3";

/// Why a session has no result.
pub(super) enum Stop {
    /// `steady` has closed its end of the control socket.
    Abandoned,
    /// The stage itself failed and must end.
    Failed(String),
    /// The program cannot be launched, or does not end. Other sessions can follow.
    None(Absent),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Failed(error.to_string())
    }
}

/// Runs a session. Also returns why no launch was from a snapshot, if `steady warm why` gives a reason.
pub(super) fn session(
    setup: &Setup,
    order: &Order,
    environment: &[(OsString, OsString)],
    control: &UnixStream,
) -> Result<(BenchSession, Option<String>), Stop> {
    let folder = setup.folder.join("session");
    fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let done = in_folder(setup, order, environment, &folder, control);
    // Remove the store even after an error, because the next session must begin with an empty one.
    remove_own_tree(&folder)?;
    done
}

fn in_folder(
    setup: &Setup,
    order: &Order,
    environment: &[(OsString, OsString)],
    folder: &Path,
    control: &UnixStream,
) -> Result<(BenchSession, Option<String>), Stop> {
    let (program, words) =
        setup.programs.get(order.program).ok_or_else(|| Stop::Failed("the setup has no such program".to_owned()))?;
    let account = folder.join("account");
    let task = Task {
        account: account.clone(),
        program: program.clone(),
        words: words.clone(),
        count: order.count,
        pause: setup.pause,
        sync: setup.sync,
    };
    let mut driver = command(order.mode, program, &task, environment, folder)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let streams = Stdio { input: null.as_fd(), output: null.as_fd(), error: null.as_fd() };
    if setup.cold {
        rustix::fs::sync();
        fs::write("/proc/sys/vm/drop_caches", ALL_CACHES)?;
    }
    let mut meters = order.counted.then(|| EVENTS.map(|events| counters::open(&events, setup.scope)));
    meters.iter_mut().flatten().flatten().for_each(Meter::begin);
    let started = clock::monotonic();
    let child = driver.spawn("session", order.padding as usize, streams)?;
    let start = if order.mode == LaunchMode::Normal { START } else { WARM_START };
    let limit = start + Nanos((setup.timeout + setup.pause).0.saturating_mul(u64::from(order.count)));
    let in_time = wait(&child, started + limit, control)?;
    let whole = process::wait_for(child.pid)?;
    if !in_time {
        process::end_descendants()?;
        let why = format!("it had not ended after {} s", setup.timeout.seconds());
        return Err(Stop::None(Absent(why)));
    }
    let capture_cpu = wait_for_captures(control)?;
    let account = read(&account, whole.status)?;
    let used = whole.usage.user + whole.usage.system + capture_cpu;
    let warm = warm(order.mode, folder);
    // On demand, the last launch may end before the snapshot exists. Prewarmed, there must be a reason.
    let refused = warm == Ok(0) && order.mode == LaunchMode::Prewarm;
    let refusal = if refused { why(program, environment, folder) } else { None };
    let session = BenchSession {
        mode: order.mode,
        before_seconds: Spent { wall: account.begun - started, cpu: account.used },
        launches_seconds: account.launches,
        beside_seconds: capture_cpu,
        voluntary_switches: account.voluntary_switches,
        involuntary_switches: account.involuntary_switches,
        minor_faults: account.minor_faults,
        major_faults: account.major_faults,
        warm,
        ended: account.ended,
        alike: account.alike,
        counts: meters.map(|meters| counts(meters, used)),
    };
    Ok((session, refusal))
}

/// Returns the command that starts the driver in a mode.
fn command(
    mode: LaunchMode,
    program: &Path,
    task: &Task,
    environment: &[(OsString, OsString)],
    folder: &Path,
) -> Result<Program, Stop> {
    let failed = |error: &dyn ToString| Stop::Failed(error.to_string());
    let task = serde_json::to_string(task).map_err(|error| failed(&error))?;
    let own = [OWN_PROGRAM, DRIVER, &task].map(OsString::from);
    let mut words: Vec<OsString> = vec!["steady".into()];
    match mode {
        LaunchMode::Normal => words.extend(own.into_iter().skip(1)),
        LaunchMode::OnDemand => {
            words.extend(["warm", "--mode", "on-demand", "--"].map(OsString::from));
            words.extend(own);
        }
        LaunchMode::Prewarm => {
            words.extend(["warm", "--mode", "prewarm", "--programs"].map(OsString::from));
            words.push(program.into());
            words.push("--".into());
            words.extend(own);
        }
    }
    start(&words, environment, folder)
}

/// Returns this binary with these arguments, and with `folder` as the directory for caches.
fn start(words: &[OsString], environment: &[(OsString, OsString)], folder: &Path) -> Result<Program, Stop> {
    const CACHE: &str = "XDG_CACHE_HOME";
    let environment = without_hooks(environment);
    let inherited = environment.iter().filter(|(name, _)| name != CACHE);
    let all = inherited.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let all = all.chain([(OsStr::new(CACHE), folder.as_os_str())]);
    let words = words.iter().map(OsString::as_os_str);
    Program::new(Path::new(OWN_PROGRAM), words, all, PADDING_MAX as usize)
        .map_err(|error| Stop::Failed(error.to_string()))
}

/// Waits until the driver ends, and kills it at the limit. Returns whether it ended in time.
fn wait(child: &Child, limit: Nanos, control: &UnixStream) -> Result<bool, Stop> {
    let mut in_time = true;
    loop {
        let mut watched = [PollFd::new(&child.pidfd, PollFlags::IN), PollFd::new(control, PollFlags::empty())];
        let patience = in_time.then(|| timespec(limit - clock::monotonic()));
        match poll(&mut watched, patience.as_ref()) {
            Ok(0) => {
                in_time = false;
                process::kill_group(child.pid);
            }
            Ok(_) if !watched[1].revents().is_empty() => return Err(Stop::Abandoned),
            Ok(_) => return Ok(in_time),
            Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Waits for the descendants that the driver left: the keeper runs until no request is left. Returns their CPU time.
fn wait_for_captures(control: &UnixStream) -> Result<Nanos, Stop> {
    let until = clock::monotonic() + CAPTURES;
    let mut used = Nanos::ZERO;
    loop {
        match process::wait_any() {
            Ok(Some(reaped)) => used += reaped.usage.user + reaped.usage.system,
            Ok(None) if clock::monotonic() > until => {
                process::end_descendants()?;
                return Err(Stop::None(Absent::because("capturing its snapshots did not end within 120 s")));
            }
            Ok(None) => {
                let mut watched = [PollFd::new(control, PollFlags::empty())];
                if matches!(poll(&mut watched, Some(&timespec(Nanos::ZERO))), Ok(1..)) {
                    return Err(Stop::Abandoned);
                }
                thread::sleep(STEP);
            }
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => return Ok(used),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads the account that the driver has written, if it succeeded.
fn read(account: &Path, status: Status) -> Result<Account, Stop> {
    let ended = match status {
        Status::Exited(0) => fs::read(account),
        Status::Exited(status) => {
            return Err(Stop::None(Absent(format!("the driver that launches it exited with status {status}"))));
        }
        Status::Signalled(signal) => {
            return Err(Stop::None(Absent(format!("the driver that launches it was killed by signal {signal}"))));
        }
    };
    let account: Result<Account, String> =
        serde_json::from_slice(&ended?).map_err(|error| Stop::Failed(error.to_string()))?;
    account.map_err(|error| Stop::None(Absent(format!("it cannot be launched: {error}"))))
}

/// Reads from the session's store how many launches by the driver were from snapshots. Programs may start others, which
/// do not count.
fn warm(mode: LaunchMode, folder: &Path) -> Reading<u64> {
    if mode == LaunchMode::Normal {
        return Ok(0);
    }
    let stores = fs::read_dir(folder.join("steady/warm")).map_err(|error| Absent(format!("no store: {error}")))?;
    let counts = stores.flatten().find_map(|store| Counts::open(&store.path().join("counts")).ok()?.observed().ok());
    counts.ok_or_else(|| Absent::because("its store has no counts"))
}

/// Returns the reasons of `steady warm why` against a snapshot of the program. `None` if it knows none: the session may
/// have ended before the snapshot existed.
fn why(program: &Path, environment: &[(OsString, OsString)], folder: &Path) -> Option<String> {
    let answer: PathBuf = folder.join("why");
    let file = File::create(&answer).ok()?;
    let null = File::open("/dev/null").ok()?;
    let words = ["steady", "warm", "why", "--format", "json"].map(OsString::from);
    let words = words.into_iter().chain([program.into()]).collect::<Vec<_>>();
    let mut command = start(&words, environment, folder).ok()?;
    let streams = Stdio { input: null.as_fd(), output: file.as_fd(), error: null.as_fd() };
    let child = command.spawn("why", 0, streams).ok()?;
    process::wait_for(child.pid).ok()?;
    against(&fs::read_to_string(answer).ok()?)
}

/// Returns the reasons against a snapshot in the JSON of `steady warm why`; `None` if there are none.
fn against(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let reasons = answer.pointer("/programs/0/against")?.as_array()?;
    let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn counts(meters: [Reading<Meter>; 2], used: Nanos) -> SessionCounts {
    let ended = meters.map(|meter| meter.map_or_else(|_| Default::default(), |mut meter| meter.end_each(used)));
    let [[instructions, cycles, migrations, _], [branches, branch_misses, stalled_frontend, stalled_backend]] = ended;
    // A count of 0 means that the counter did not run: every session executes instructions and branches.
    let some = |count: Option<u64>| count.filter(|count| *count > 0);
    SessionCounts {
        migrations,
        instructions: some(instructions),
        cycles: some(cycles),
        branches: some(branches),
        branch_misses: some(branch_misses),
        stalled_frontend: some(stalled_frontend),
        stalled_backend: some(stalled_backend),
    }
}

/// Checks whether the page cache can be dropped here.
pub(super) fn can_drop_caches() -> Reading<()> {
    let opened = File::options().write(true).open(Root::default().path("/proc/sys/vm/drop_caches"));
    opened.map(drop).map_err(|error| Absent(format!("/proc/sys/vm/drop_caches: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasons_against_a_snapshot_are_a_refusal() {
        let why = |against: &str| super::against(&format!("{{\"programs\": [{{\"against\": {against}}}]}}"));
        assert_eq!(why("[]"), None);
        assert_eq!(why("[\"it is static\", \"a\"]").as_deref(), Some("it is static; a"));
        assert_eq!(against("{\"programs\": [{\"program\": \"/usr/bin/true\"}]}"), None);
        assert_eq!(against(""), None);
    }
}
