//! One run, from its start to its last descendant's end.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use steady_linux::process::{self, Child, LeftOvers, Program, Reaped, Status, Stdio};
use steady_linux::{Root, clock, procfs};
use steady_model::{Absent, Bytes, Nanos, Outcome, Output, Reading, Run};

use super::PADDING_MAX;
use super::protocol::{Job, Reply, RunReply, Setup};

/// The main thread's CPU time counts as the tree's where they differ by no more than this share, or by two ticks of
/// the microsecond clock that rusage has.
const SAME_CPU_TIME_RATIO: f64 = 0.02;
const SAME_CPU_TIME_GRAIN: Nanos = Nanos(4_000);

/// Peaks this close to the launcher's own may be the launcher's: the kernel batches its counts of pages.
const PEAK_MEMORY_GRAIN: Bytes = Bytes(256 * 1024);

/// Why a launcher does not go on.
pub(super) enum Stop {
    /// `steady` is gone.
    Abandoned,
    /// Something is to be said to it first.
    Say(Reply),
}

/// What runs need: programs ready to start, streams, limits.
pub(super) struct Stand {
    programs: Vec<Program>,
    preparations: Vec<Option<Program>>,
    null: File,
    input: Option<PathBuf>,
    output: OwnedFd,
    run_limit: Option<Nanos>,
    pinned: Option<usize>,
    epoch: Nanos,
    schedstat: Reading<procfs::SchedstatReader>,
    own_schedstat: Reading<procfs::SchedstatFile>,
    own_peak: Reading<Bytes>,
}

/// What was seen of a child until it became a zombie.
struct Seen {
    ended: Nanos,
    in_time: bool,
    main_thread: Reading<procfs::Schedstat>,
}

impl Stand {
    pub(super) fn new(setup: &Setup, environment: &[(OsString, OsString)]) -> io::Result<Self> {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let output = match setup.output {
            Output::Null => null.as_fd().try_clone_to_owned()?,
            Output::Stderr => io::stderr().as_fd().try_clone_to_owned()?,
        };
        let schedstat = procfs::SchedstatReader::new(&Root::default());
        let own_schedstat =
            schedstat.as_ref().map_err(Clone::clone).and_then(|reader| reader.open(number(rustix::process::getpid())));
        let programs = setup.commands.iter().map(|command| program(&command.program, &command.argv, environment));
        let shell = |script: &String| ["sh".to_owned(), "-c".to_owned(), script.clone()];
        let preparation = |script: &String| program(Path::new("/bin/sh"), &shell(script), environment);
        Ok(Stand {
            programs: programs.collect::<io::Result<_>>()?,
            preparations: setup
                .preparations
                .iter()
                .map(|script| script.as_ref().map(preparation).transpose())
                .collect::<io::Result<_>>()?,
            null,
            input: setup.input.clone(),
            output,
            run_limit: setup.run_limit,
            pinned: setup.pinned,
            epoch: setup.epoch,
            schedstat,
            own_schedstat,
            own_peak: Err(Absent::because("not read yet")),
        })
    }

    /// To be called before the runs of a request: reads what may have changed since the last.
    pub(super) fn refresh(&mut self) {
        self.own_peak = process::own_peak_memory();
    }

    /// Prepares and makes one run. `control` is the socket whose hang-up means that `steady` is gone.
    pub(super) fn run(&mut self, job: Job, probe: bool, control: &UnixStream) -> Result<RunReply, Stop> {
        self.prepare(job.command, control)?;
        let started = clock::monotonic();
        let child = self
            .start(job)
            .map_err(|error| Stop::Say(Reply::CannotStart { command: job.command, reason: error.to_string() }))?;
        let seen = self.watch(&child, control)?;
        let wrote_to_storage = probe && wrote_to_storage(child.pid);
        let left_its_cpu = probe && self.left_its_cpu(child.pid);
        let reaped = process::wait_for(child.pid).map_err(lost)?;
        let left = process::end_descendants().map_err(lost)?;
        Ok(RunReply { run: self.account(job, started, seen, &reaped, &left), wrote_to_storage, left_its_cpu })
    }

    fn start(&mut self, job: Job) -> io::Result<Child> {
        let input = self.input.as_ref().map(File::open).transpose()?;
        let streams = Stdio {
            input: input.as_ref().unwrap_or(&self.null).as_fd(),
            output: self.output.as_fd(),
            error: self.output.as_fd(),
        };
        self.programs[job.command].spawn(job.padding as usize, streams)
    }

    /// Waits until the child is a zombie.
    fn watch(&self, child: &Child, control: &UnixStream) -> Result<Seen, Stop> {
        // Opened while the child runs: afterwards every microsecond is between two measurements.
        let schedstat = self.schedstat.as_ref().map_err(Clone::clone);
        let main_thread = schedstat.and_then(|reader| reader.open(number(child.pid)));
        let delayed_before = self.own_run_delay();
        let in_time = wait_or_kill(child, self.run_limit, control.as_fd())?;
        // On a crowded machine the launcher itself waits for a CPU before it sees the end: that is not the child's time.
        let late = self.own_run_delay() - delayed_before;
        let ended = clock::monotonic() - late;
        Ok(Seen { ended, in_time, main_thread: main_thread.and_then(|file| file.read()) })
    }

    fn account(&self, job: Job, started: Nanos, seen: Seen, reaped: &Reaped, left: &LeftOvers) -> Run {
        let usage = &reaped.usage;
        Run {
            command: job.command,
            cpu: self.pinned,
            padding: job.padding,
            started: started - self.epoch,
            wall: seen.ended - started,
            user: usage.user + left.cpu_time,
            system: usage.system,
            run_delay: run_delay(seen.main_thread, reaped, left),
            peak_memory: self.peak_memory(reaped),
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            left_behind: left.killed,
            outcome: outcome(reaped.status, seen.in_time),
        }
    }

    fn prepare(&mut self, command: usize, control: &UnixStream) -> Result<(), Stop> {
        let Some(program) = &mut self.preparations[command] else { return Ok(()) };
        let streams = Stdio { input: self.null.as_fd(), output: self.output.as_fd(), error: self.output.as_fd() };
        let child = program.spawn(0, streams).map_err(|error| lost(io::Error::other(format!("/bin/sh: {error}"))))?;
        wait_or_kill(&child, None, control.as_fd())?;
        let reaped = process::wait_for(child.pid).map_err(lost)?;
        process::end_descendants().map_err(lost)?;
        match reaped.status {
            Status::Exited(0) => Ok(()),
            status => Err(Stop::Say(Reply::PreparationFailed { command, outcome: outcome(status, true) })),
        }
    }

    /// How long this launcher has waited for a CPU so far; zero, and so no correction, where the kernel does not say.
    fn own_run_delay(&self) -> Nanos {
        let read = self.own_schedstat.as_ref().ok().and_then(|file| file.read().ok());
        read.map_or(Nanos::ZERO, |schedstat| schedstat.run_delay)
    }

    /// Whether the process, a zombie still, may use other CPUs than the launcher or ended on one.
    fn left_its_cpu(&self, pid: Pid) -> bool {
        let Some(pinned) = self.pinned else { return false };
        let allowed = rustix::thread::sched_getaffinity(Some(pid));
        let kept = allowed.is_ok_and(|set| set.is_set(pinned) && set.count() == 1);
        !kept || procfs::process_stat(&Root::default(), number(pid)).is_ok_and(|stat| stat.cpu != pinned)
    }

    fn peak_memory(&self, reaped: &Reaped) -> Reading<Bytes> {
        let own = self.own_peak.clone()?;
        let peak = reaped.usage.peak_memory;
        if peak.0 > own.0 + PEAK_MEMORY_GRAIN.0 {
            return Ok(peak);
        }
        Err(Absent::because(format!("not above the launcher's own {} KiB", own.0 / 1024)))
    }
}

fn program(path: &Path, words: &[String], environment: &[(OsString, OsString)]) -> io::Result<Program> {
    let variables = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    Ok(Program::new(path, words.iter().map(AsRef::as_ref), variables, PADDING_MAX as usize)?)
}

fn lost(error: io::Error) -> Stop {
    Stop::Say(Reply::Failed(error.to_string()))
}

/// Waits for the child's end; kills its group at the limit. Whether it ended in time.
fn wait_or_kill(child: &Child, limit: Option<Nanos>, control: BorrowedFd<'_>) -> Result<bool, Stop> {
    let deadline = limit.map(|limit| clock::monotonic() + limit);
    let mut in_time = true;
    loop {
        // Hang-ups are reported unasked; requests that come early are left for later.
        let mut watched =
            [PollFd::new(&child.pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control, PollFlags::empty())];
        let left = deadline.filter(|_| in_time).map(|deadline| timespec(deadline - clock::monotonic()));
        match poll(&mut watched, left.as_ref()) {
            Ok(0) => {
                in_time = false;
                process::kill_group(child.pid);
            }
            Ok(_) if !watched[1].revents().is_empty() => return Err(Stop::Abandoned),
            Ok(_) => return Ok(in_time),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(lost(error.into())),
        }
    }
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}

fn outcome(status: Status, in_time: bool) -> Outcome {
    match status {
        _ if !in_time => Outcome::TimedOut,
        Status::Exited(status) => Outcome::Exited(status),
        Status::Signalled(signal) => Outcome::Signalled(signal),
    }
}

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn wrote_to_storage(pid: Pid) -> bool {
    procfs::storage_io(&Root::default(), number(pid)).is_ok_and(|io| io.written.0 > 0)
}

/// The run delay of the main thread, where that thread did all the work.
fn run_delay(main: Reading<procfs::Schedstat>, reaped: &Reaped, left: &LeftOvers) -> Reading<Nanos> {
    let main = main?;
    let tree = reaped.usage.user + reaped.usage.system + left.cpu_time;
    let apart = Nanos(tree.0.abs_diff(main.cpu.0));
    if apart <= SAME_CPU_TIME_GRAIN || apart.seconds() <= SAME_CPU_TIME_RATIO * tree.seconds() {
        return Ok(main.run_delay);
    }
    Err(Absent::because("the kernel tells it of the main thread only, and other threads or processes did work"))
}
