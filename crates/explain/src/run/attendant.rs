//! The guardian of an explained command: starts it with the instruments, samples it, and computes the account.

use std::io;

use serde::{Deserialize, Serialize};
use steady_linux::process::{self, Begun, Joining, NotStarted, Reaped};
use steady_linux::procfs::{Schedstat, SchedstatFile, SchedstatReader};
use steady_linux::tracepoints::Tracepoints;
use steady_linux::tracer::{self, Tracer};
use steady_linux::{Root, clock, procfs, tree};
use steady_model::{Absent, Nanos, Reading};

use super::ExplainRun;
use super::account::{Counted, Seen, account};
use super::ends::Ends;
use super::usage::Usage;
use super::watch::TreeSampler;
use crate::record::Progress;
use steady_process::attended::{Attendant, End, Moment, Next, Starter, Unattended, members};

/// Interval between reads of exit records, short enough to keep the socket buffer from overflowing.
const RECEIVE: Nanos = Nanos(100_000_000);
/// A time that is never reached.
const NEVER: Nanos = Nanos(u64::MAX);

/// Request to the guardian.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// Whether a tracer counts the system calls.
    pub(super) trace: bool,
}

/// A running command with its instruments.
pub(super) struct Explainer {
    command: i32,
    /// Time of the fork.
    born: Nanos,
    /// Time of the exec.
    started: Nanos,
    /// CPU time, faults and switches before the exec.
    before: Usage,
    /// Scheduler statistics before the exec.
    delayed_before: Reading<Schedstat>,
    ends: Reading<Ends>,
    instrument: Instrument,
    watch: TreeSampler,
    /// Scheduler statistics of the first thread.
    main: Reading<SchedstatFile>,
    /// Their values when the command ended.
    main_at_end: Reading<Schedstat>,
    own: OwnDelay,
    reaped: Usage,
    receive_due: Nanos,
    stopped: StoppedThreads,
}

/// The instrument that counts events in the kernel.
enum Instrument {
    Points(Reading<Tracepoints>),
    Tracer(Reading<Tracer>),
    /// The counters have been read and closed.
    Done,
}

/// Starts the counters. If exit records are available, only the counters of system calls and execs are used: each counter
/// adds cost to each new process, and the records show the forks and threads. They show only one exec of each process.
fn counting(ends: &Reading<Ends>) -> Reading<Tracepoints> {
    let mut points = if ends.is_ok() { Tracepoints::of_calls_and_execs()? } else { Tracepoints::open()? };
    points.begin().map_err(|error| Absent::because(format!("the counters could not be read: {error}")))?;
    Ok(points)
}

/// How late this process notices the end of the command, because it waits for a CPU itself.
struct OwnDelay {
    schedstat: Reading<SchedstatFile>,
    /// Its total run delay when it last ran.
    delay: Nanos,
    late: Nanos,
}

impl OwnDelay {
    fn new() -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let schedstat = SchedstatReader::new(&Root::default()).and_then(|reader| reader.open(own));
        let mut new = OwnDelay { schedstat, delay: Nanos::ZERO, late: Nanos::ZERO };
        new.note();
        new
    }

    /// Reads the run delay. If the kernel does not report it, it is zero, which means no correction.
    fn read(&self) -> Nanos {
        let read = self.schedstat.as_ref().ok().and_then(|file| file.read().ok());
        read.map_or(Nanos::ZERO, |schedstat| schedstat.run_delay)
    }

    fn note(&mut self) {
        self.delay = self.read();
    }

    fn note_late(&mut self) {
        self.late = self.read() - self.delay;
    }
}

/// Total time in which threads of the tree were stopped.
#[derive(Default)]
struct StoppedThreads {
    current: Option<Stop>,
    sum: Nanos,
}

/// A time in which the command is stopped.
struct Stop {
    since: Nanos,
    /// The number of stopped threads when they were counted last.
    threads: u64,
    /// When to count them again: on a busy machine, threads need a CPU before they stop.
    due: Nanos,
}

/// The time after which stopped threads are counted again. It doubles each time.
const RECOUNT: Nanos = Nanos(10_000_000);

impl StoppedThreads {
    /// Counts the threads that are stopped while the command is stopped. Under a tracer, threads in a tracing stop
    /// count too, because the tracer then holds them.
    fn count(&mut self, now: Nanos, traced: bool) {
        let since = self.current.as_ref().map_or(now, |stop| stop.since);
        let root = Root::default();
        let threads = tree::threads(&root, &members(None));
        let is_stopped = |state: char| state == 'T' || traced && state == 't';
        let stopped = |thread: &i32| procfs::process_stat(&root, *thread).is_ok_and(|stat| is_stopped(stat.state));
        let threads = threads.iter().filter(|thread| stopped(thread)).count() as u64;
        self.current = Some(Stop { since, threads, due: now + (now - since).max(RECOUNT) });
    }

    fn resume(&mut self, now: Nanos) {
        if let Some(stop) = self.current.take() {
            self.sum += Nanos((now - stop.since).0.saturating_mul(stop.threads));
        }
    }
}

impl Attendant for Explainer {
    const WORD: &str = "__guardian-explain";
    type Task = Task;
    type Run = ExplainRun;

    fn start(task: Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended> {
        let failed = |why: NotStarted| match why {
            NotStarted::NoChild(error) => {
                Unattended::Refused(format!("a process for the command could not be created: {error}"))
            }
            NotStarted::NoProgram(error) => Unattended::NotStarted(error.raw_os_error().unwrap_or(0)),
        };
        let ends = Ends::open();
        let (begun, instrument) = if task.trace {
            let (begun, tracer) = starter.start_traced(Joining::Stay).map_err(failed)?;
            (begun, Instrument::Tracer(tracer))
        } else {
            let points = counting(&ends);
            (starter.start(Joining::Stay).map_err(failed)?, Instrument::Points(points))
        };
        let explainer = Explainer::new(&begun, ends, instrument);
        Ok((begun, explainer))
    }

    fn due(&self) -> Nanos {
        let recount = self.stopped.current.as_ref().map_or(Nanos(u64::MAX), |stop| stop.due);
        self.receive_due.min(self.watch.due).min(recount)
    }

    fn check(&mut self, moment: Moment) -> Option<Nanos> {
        self.receive(moment.now);
        if moment.now >= self.watch.due {
            let before = clock::process_cpu();
            self.watch.look(moment, self.reaped, self.before, &mut self.ends);
            self.watch.plan(moment, clock::process_cpu() - before);
        }
        if self.stopped.current.as_ref().is_some_and(|stop| moment.now >= stop.due) {
            self.count_stopped(moment.now);
        }
        self.own.note();
        None
    }

    fn stopped(&mut self, moment: Moment) {
        self.count_stopped(moment.now);
        self.own.note();
    }

    fn continued(&mut self, moment: Moment) {
        self.stopped.resume(moment.now);
        self.own.note();
    }

    fn ended(&mut self, moment: Moment) {
        // On a busy machine this process waits for a CPU before it notices the end. That time is not the command's.
        self.own.note_late();
        self.stopped.resume(moment.now);
        self.main_at_end = self.main.as_ref().map_err(Clone::clone).and_then(SchedstatFile::read);
        self.watch.look_last(moment, self.reaped, self.before, &mut self.ends);
    }

    fn reaped(&mut self, reaped: &Reaped) {
        self.reaped += reaped.usage.into();
    }

    fn next(&mut self) -> io::Result<Next> {
        match &mut self.instrument {
            Instrument::Tracer(Ok(tracer)) => Ok(match tracer.next_change()? {
                tracer::Next::Happened(change) => Next::Happened(change),
                tracer::Next::More => Next::More,
                tracer::Next::Nothing => Next::Nothing,
            }),
            _ => Ok(process::next_change()?.map_or(Next::Nothing, Next::Happened)),
        }
    }

    fn finish(&mut self, end: End) -> io::Result<ExplainRun> {
        let usage = self.reaped.without(self.before);
        let counted = self.counted(usage);
        let mut run = account(Seen {
            command: self.command,
            outcome: end.outcome,
            left_behind: end.left_behind,
            wall: end.moment.now - self.own.late - self.started - end.moment.stopped,
            stopped: end.moment.stopped,
            threads_stopped: self.stopped.sum,
            to_exec: self.started - self.born,
            delayed_before: self.delayed_before.clone(),
            before: self.before,
            usage,
            main: self.main_at_end.clone(),
            alone: self.watch.alone,
            tasks: self.ends.as_mut().map_err(|why| why.clone()).and_then(Ends::tree),
            counted,
            traced: self.is_traced(),
            seen: self.watch.processes(),
        });
        if !run.traced {
            run.progress = self.watch.series(Progress {
                at_seconds: run.wall,
                cpu_seconds: run.user + run.system,
                user_seconds: run.user,
                waiting_seconds: run.waiting.clone().ok(),
            });
        }
        Ok(run)
    }
}

impl Explainer {
    fn new(begun: &Begun, mut ends: Reading<Ends>, instrument: Instrument) -> Self {
        let command = begun.child.pid.as_raw_nonzero().get();
        if let Ok(ends) = &mut ends {
            ends.begun(command);
        }
        let unread = Absent::because("the command ended before it was sampled");
        Explainer {
            command,
            born: begun.born,
            started: begun.at,
            before: begun.usage.into(),
            delayed_before: begun.schedstat.clone(),
            watch: TreeSampler::new(begun, ends.is_err()),
            receive_due: if ends.is_ok() { begun.at + RECEIVE } else { NEVER },
            ends,
            instrument,
            main: SchedstatReader::new(&Root::default()).and_then(|reader| reader.open(command)),
            main_at_end: Err(unread),
            own: OwnDelay::new(),
            reaped: Usage::default(),
            stopped: StoppedThreads::default(),
        }
    }

    fn receive(&mut self, now: Nanos) {
        if now >= self.receive_due
            && let Ok(ends) = &mut self.ends
        {
            ends.receive();
            self.receive_due = now + RECEIVE;
        }
    }

    fn count_stopped(&mut self, now: Nanos) {
        let traced = self.is_traced();
        self.stopped.count(now, traced);
    }

    fn is_traced(&self) -> bool {
        matches!(self.instrument, Instrument::Tracer(Ok(_)))
    }

    /// Reads the counters. All processes of the tree must have ended.
    fn counted(&mut self, usage: Usage) -> Counted {
        match &mut self.instrument {
            Instrument::Tracer(Ok(tracer)) => Counted::by_tracer(tracer.counts()),
            Instrument::Tracer(Err(why)) => Counted::nothing(why),
            Instrument::Points(points) => {
                let inherited = points.as_ref().map_or(0, Tracepoints::inherited);
                let counts = points.as_mut().map_err(|why| why.clone()).and_then(|points| points.end(usage.cpu()));
                // The cost of a counter is measured against runs without one, so the counters are closed first.
                self.instrument = Instrument::Done;
                Counted::at_points(counts, inherited)
            }
            Instrument::Done => Counted::nothing(&Absent::because("the counters were read already")),
        }
    }
}
