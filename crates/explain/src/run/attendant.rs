//! What the guardian of an explained command does: starts it within the instruments, looks at it, and sums up.

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
use super::watch::Watch;
use crate::record::Progress;
use steady_process::attended::{Attendant, End, Moment, Next, Starter, Unattended, members};

/// How often the exit records of tasks are read, before it is too much.
const TAKE: Nanos = Nanos(100_000_000);
/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

/// What it is asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// Whether a tracer counts its system calls.
    pub(super) trace: bool,
}

/// A command with its instruments.
pub(super) struct Explainer {
    command: i32,
    /// What there was before it was the program: when it was made and when that ended, and what it took.
    born: Nanos,
    started: Nanos,
    before: Usage,
    delayed_before: Reading<Schedstat>,
    ends: Reading<Ends>,
    instrument: Instrument,
    watch: Watch,
    /// The statistics of its first thread, and what they were at the end.
    main: Reading<SchedstatFile>,
    main_at_end: Reading<Schedstat>,
    own: Own,
    reaped: Usage,
    take_due: Nanos,
    stopped: StoppedThreads,
}

/// Who counts at the kernel.
enum Instrument {
    Points(Reading<Tracepoints>),
    Tracer(Reading<Tracer>),
    /// The counters have been read and are gone.
    Done,
}

/// Counters that have begun: only those that exit records do not make up for, since each process that is made inherits them.
fn counting(ends: &Reading<Ends>) -> Reading<Tracepoints> {
    let mut points = if ends.is_ok() { Tracepoints::of_calls()? } else { Tracepoints::open()? };
    points.begin().map_err(|error| Absent::because(format!("the counters could not be read: {error}")))?;
    Ok(points)
}

/// How late this process is, since it waits for a CPU too.
struct Own {
    schedstat: Reading<SchedstatFile>,
    /// How long it had waited when it was at work last.
    delay: Nanos,
    late: Nanos,
}

impl Own {
    fn new() -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let schedstat = SchedstatReader::new(&Root::default()).and_then(|reader| reader.open(own));
        let mut new = Own { schedstat, delay: Nanos::ZERO, late: Nanos::ZERO };
        new.note();
        new
    }

    /// Zero, and so no correction, where the kernel does not say.
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

/// The time that threads of the tree were stopped, all together: each lived that long without doing anything.
#[derive(Default)]
struct StoppedThreads {
    since: Option<(Nanos, u64)>,
    sum: Nanos,
}

impl StoppedThreads {
    /// Counts those that are stopped now, while the command is. Those of a tracer that are stopped as others are held by it.
    fn count(&mut self, now: Nanos, traced: bool) {
        let since = self.since.map_or(now, |(since, _)| since);
        let root = Root::default();
        let threads = tree::threads(&root, &members(None));
        let is_stopped = |state: char| state == 'T' || traced && state == 't';
        let stopped = |thread: &i32| procfs::process_stat(&root, *thread).is_ok_and(|stat| is_stopped(stat.state));
        self.since = Some((since, threads.iter().filter(|thread| stopped(thread)).count() as u64));
    }

    fn go_on(&mut self, now: Nanos) {
        if let Some((since, threads)) = self.since.take() {
            self.sum += Nanos((now - since).0.saturating_mul(threads));
        }
    }
}

impl Attendant for Explainer {
    const WORD: &str = "__guardian-explain";
    type Task = Task;
    type Run = ExplainRun;

    fn start(task: Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended> {
        let failed = |why: NotStarted| match why {
            NotStarted::NoChild(error) => Unattended::Refused(format!("no process could be started: {error}")),
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
        self.take_due.min(self.watch.due)
    }

    fn look(&mut self, moment: Moment) -> Option<Nanos> {
        self.take(moment.now);
        if moment.now >= self.watch.due {
            let before = clock::process_cpu();
            self.watch.look(moment, self.reaped, self.before);
            if moment.is_stopped {
                self.count_stopped(moment.now);
            }
            self.watch.plan(moment, clock::process_cpu() - before);
        }
        self.own.note();
        None
    }

    fn stopped(&mut self, moment: Moment) {
        self.count_stopped(moment.now);
        self.own.note();
    }

    fn went_on(&mut self, moment: Moment) {
        self.stopped.go_on(moment.now);
        self.own.note();
    }

    fn ended(&mut self, moment: Moment) {
        // On a crowded machine this process waits for a CPU before it sees the end: that is not the command's time.
        self.own.note_late();
        self.stopped.go_on(moment.now);
        self.main_at_end = self.main.as_ref().map_err(Clone::clone).and_then(SchedstatFile::read);
        self.watch.look_last(moment, self.reaped, self.before);
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
        let unread = Absent::because("it had ended before it was looked at");
        Explainer {
            command,
            born: begun.born,
            started: begun.at,
            before: begun.usage.into(),
            delayed_before: begun.schedstat.clone(),
            watch: Watch::new(begun, ends.is_err()),
            take_due: if ends.is_ok() { begun.at + TAKE } else { NEVER },
            ends,
            instrument,
            main: SchedstatReader::new(&Root::default()).and_then(|reader| reader.open(command)),
            main_at_end: Err(unread),
            own: Own::new(),
            reaped: Usage::default(),
            stopped: StoppedThreads::default(),
        }
    }

    fn take(&mut self, now: Nanos) {
        if now >= self.take_due
            && let Ok(ends) = &mut self.ends
        {
            ends.take();
            self.take_due = now + TAKE;
        }
    }

    fn count_stopped(&mut self, now: Nanos) {
        let traced = self.is_traced();
        self.stopped.count(now, traced);
    }

    fn is_traced(&self) -> bool {
        matches!(self.instrument, Instrument::Tracer(Ok(_)))
    }

    /// What was counted at the kernel, of a tree of which nothing is left.
    fn counted(&mut self, usage: Usage) -> Counted {
        match &mut self.instrument {
            Instrument::Tracer(Ok(tracer)) => Counted::by_tracer(tracer.counts()),
            Instrument::Tracer(Err(why)) => Counted::nothing(why),
            Instrument::Points(points) => {
                let inherited = points.as_ref().map_or(0, Tracepoints::inherited);
                let counts = points.as_mut().map_err(|why| why.clone()).and_then(|points| points.end(usage.cpu()));
                // What one of them costs can be told from nothing only where there is none.
                self.instrument = Instrument::Done;
                Counted::at_points(counts, inherited)
            }
            Instrument::Done => Counted::nothing(&Absent::because("the counters were read already")),
        }
    }
}
