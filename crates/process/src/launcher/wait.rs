//! Waits for the end of a child, while it enforces its time limit, reads its pipes and watches the connection to
//! `steady`.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rand::TryRngCore;
use rand::rngs::OsRng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::Root;
use steady_linux::clock;
use steady_linux::process::{self, Child, Killing, Status};
use steady_linux::procfs::{self, OwnMigrations, RunnableThreads, SchedstatFile, SchedstatReader};
use steady_model::{Nanos, Outcome};

use super::protocol::Reply;
use super::streams::Sink;
use crate::runner::RunnableTime;

/// Why a launcher stops.
pub(super) enum Stop {
    /// `steady` has ended or closed the connection.
    Abandoned,
    /// An error, which the launcher reports first.
    Reply(Reply),
}

/// The end of a child.
pub(super) struct End {
    /// When it ended, on the monotonic clock.
    pub(super) at: Nanos,
    /// Whether it ended before its time limit.
    pub(super) in_time: bool,
}

/// The launcher's own scheduler statistics.
pub(super) struct OwnScheduling {
    schedstat: SchedstatFile,
    migrations: OwnMigrations,
}

/// Numbers of events that the kernel counted for the launcher.
#[derive(PartialEq)]
struct Events {
    slept: u64,
    preempted: u64,
    migrated: u64,
}

/// The launcher's statistics before it slept.
struct BeforeSleep {
    events: Events,
    run_delay: Nanos,
}

impl OwnScheduling {
    /// Opens the statistics of this process. `None` if the kernel does not report all of them.
    pub(super) fn open(schedstat: &SchedstatReader) -> Option<OwnScheduling> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let migrations = OwnMigrations::open(&Root::default()).ok()?;
        Some(OwnScheduling { schedstat: schedstat.open(own).ok()?, migrations })
    }

    fn events(&self) -> Option<Events> {
        let usage = process::thread_usage().ok()?;
        let migrated = self.migrations.read().ok()?;
        Some(Events { slept: usage.voluntary_switches, preempted: usage.involuntary_switches, migrated })
    }

    fn run_delay(&self) -> Option<Nanos> {
        Some(self.schedstat.read().ok()?.run_delay)
    }

    fn before_sleep(&self) -> Option<BeforeSleep> {
        // The events are read first here and last after the sleep, so that none is missed that adds to the run delay.
        let events = self.events()?;
        Some(BeforeSleep { events, run_delay: self.run_delay()? })
    }

    /// How long the launcher waited for a CPU after the event that it had slept for. `None` if it is not known: if the
    /// launcher was preempted, a part of its wait may be from before the event, and if the kernel moved it while it
    /// slept, Linux (6.18) counts a part of the sleep as run delay.
    fn late_since(&self, before: &BeforeSleep) -> Option<Nanos> {
        let run_delay = self.run_delay()?;
        let one_sleep = Events { slept: before.events.slept + 1, ..before.events };
        (self.events()? == one_sleep).then(|| run_delay - before.run_delay)
    }
}

/// Samples the threads of a child's tree while it runs. On a busy machine, the CPU time does not show that a command
/// uses several CPUs if it gets them.
pub(super) struct ThreadSamples {
    begin: Nanos,
    /// The previous sample, or the begin.
    last: Nanos,
    next: Nanos,
    /// Each sample stands for the time since the previous one.
    pub(super) found: RunnableTime,
    /// The time without a runnable thread.
    pub(super) asleep: Nanos,
    threads: RunnableThreads,
}

impl ThreadSamples {
    /// The first sample is at a random moment in this time, because short commands have only one.
    const FIRST: Range<u64> = 100_000..2_000_000;
    /// The next sample is later by the time since the begin divided by this.
    const FRACTION: u64 = 50;
    /// It is also later by this many times the duration of the sample before, so that samples take a tenth of the time at most.
    const PAUSES: u64 = 10;

    /// Begins now.
    pub(super) fn begin() -> Self {
        let begin = clock::monotonic();
        let random = OsRng.try_next_u64().unwrap_or(begin.0);
        let next = begin + Nanos(Self::FIRST.start + random % (Self::FIRST.end - Self::FIRST.start));
        let threads = RunnableThreads::new(&Root::default());
        ThreadSamples { begin, last: begin, next, found: RunnableTime::default(), asleep: Nanos::ZERO, threads }
    }

    fn sample(&mut self) {
        let now = clock::monotonic();
        let (root, own) = (Root::default(), rustix::process::getpid().as_raw_nonzero().get());
        let tree = procfs::descendants(&root, own).unwrap_or_default();
        let runnable = self.threads.count(&tree);
        let passed = now - self.last;
        let time = |least: usize| if runnable >= least { passed } else { Nanos::ZERO };
        self.found += RunnableTime { any: time(1), several: time(2) };
        self.asleep += passed - time(1);
        let done = clock::monotonic();
        let pause = ((done - self.begin).0 / Self::FRACTION).max(Self::PAUSES * (done - now).0);
        (self.last, self.next) = (now, done + Nanos(pause));
    }
}

/// Waits for the child's end and reads its pipes. Kills its process group at the time limit. `own` are the launcher's
/// own statistics: on a busy machine it waits for a CPU before it notices the end, and that time is not the child's.
pub(super) fn wait_or_kill(
    child: &Child,
    limit: Option<Nanos>,
    control: BorrowedFd<'_>,
    sink: Option<&Sink>,
    own: Option<&OwnScheduling>,
    mut samples: Option<&mut ThreadSamples>,
) -> Result<End, Stop> {
    let deadline = limit.map(|limit| clock::monotonic() + limit);
    let mut in_time = true;
    // After the time limit, and when it checks next whether the child ends.
    let (mut killing, mut check_at) = (Killing::default(), None);
    loop {
        // poll(2) always reports a closed socket. Requests that arrive early are read later.
        let child_and_control =
            [PollFd::new(&child.pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control, PollFlags::empty())];
        let pipes = sink.into_iter().flat_map(Sink::readers);
        let pipes = pipes.map(|reader| PollFd::from_borrowed_fd(reader, PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = child_and_control.into_iter().chain(pipes).collect();
        let sample_at = samples.as_ref().map(|samples| samples.next);
        let next = deadline.into_iter().chain(sample_at).min().filter(|_| in_time).or(check_at);
        let left = next.map(|next| timespec(next - clock::monotonic()));
        let before = own.and_then(|own| Some((own, own.before_sleep()?)));
        let polled = poll(&mut watched, left.as_ref());
        let woken = clock::monotonic();
        let ready = |place: usize| watched.get(place).is_some_and(|fd| !fd.revents().is_empty());
        match polled {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(lost(error.into())),
        }
        if ready(1) {
            return Err(Stop::Abandoned);
        }
        if let Some(sink) = sink.filter(|_| ready(2) || ready(3)) {
            sink.drain();
        }
        if ready(0) {
            let late = before.and_then(|(own, before)| own.late_since(&before));
            return Ok(End { at: woken - late.unwrap_or(Nanos::ZERO), in_time });
        }
        // A pipe may always be ready, so these times pass also without a timeout of poll(2).
        // The sample is before the kill, which ends the threads.
        if let Some(samples) = samples.as_mut().filter(|samples| in_time && woken >= samples.next) {
            samples.sample();
        }
        if in_time && deadline.is_some_and(|deadline| woken >= deadline) {
            in_time = false;
            process::kill_group(child.pid);
            check_at = Some(woken);
        }
        if check_at.is_some_and(|at| woken >= at) {
            let pause = killing.kill(&[child.pid.as_raw_nonzero().get()]).map_err(lost)?;
            check_at = Some(clock::monotonic() + Nanos::from_seconds(pause.as_secs_f64()));
        }
    }
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}

pub(super) fn lost(error: io::Error) -> Stop {
    Stop::Reply(Reply::Failed(error.to_string()))
}

/// Converts the status of a run for reports, including an exceeded time limit.
pub fn outcome(status: Status, in_time: bool) -> Outcome {
    match status {
        _ if !in_time => Outcome::TimedOut,
        Status::Exited(status) => Outcome::Exited(status),
        Status::Signalled(signal) => Outcome::Signalled(signal),
    }
}
