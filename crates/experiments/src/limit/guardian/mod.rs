//! The guardian: starts the command, reads, judges, ends, reaps, and says what became of it.

mod events;
mod finish;
mod limits;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;

use steady_linux::tree::ThreadWatch;
use steady_linux::{Root, clock, process, topology};
use steady_model::{LimitOutcome, Nanos, Outcome, Reading};

use super::course::Course;
use super::group::GroupSignals;
use super::pace::Pace;
use super::protocol::{Setup, Told, say};
use super::start::{Started, start};
use super::tree::end;

/// The whole life of a guardian, from the words behind [`super::ARGUMENT`]: the number of its socket, the program, and
/// the words that the program is started with. Returns once nothing is left of the command.
pub fn guard(arguments: impl Iterator<Item = OsString>) {
    let mut arguments = arguments;
    let number = arguments.next().and_then(|word| word.to_str()?.parse().ok());
    let socket = number.and_then(|number| process::inherited_descriptor(number).ok()).map(UnixStream::from);
    let (Some(socket), Some(program)) = (socket, arguments.next()) else { return };
    let words: Vec<OsString> = arguments.collect();
    if let Err(told) = attend(&socket, &program, &words) {
        // If nobody listens any more, nobody needs to know.
        let _ = say(&socket, &told);
    }
}

fn attend(socket: &UnixStream, program: &OsStr, words: &[OsString]) -> Result<(), Told> {
    let failed = |error: io::Error| Told::Refused(error.to_string());
    let mut orders = BufReader::new(socket);
    let mut line = String::new();
    orders.read_line(&mut line).map_err(failed)?;
    let setup: Setup = serde_json::from_str(&line).map_err(|error| failed(error.into()))?;
    let signals = GroupSignals::of(&setup.passed).map_err(failed)?;
    process::become_subreaper().map_err(failed)?;
    // Before the start, so that the time of the start is told in time; the command is scheduled as it would have been.
    let schedule = process::wake_soon();
    let started = start(&setup, &schedule, program, words)?;
    // Pipes end when the command closes them, and not when this process does.
    let_go_of_streams().map_err(failed)?;
    let group = started.meter.group().map(|group| group.directory().to_owned());
    let mut guardian = Guardian::new(&setup, started, signals);
    let guarded = say(socket, &Told::Started(group)).and_then(|()| guardian.guard(socket, &mut orders));
    let run = guarded.and_then(|()| guardian.finish());
    // However that went, nothing is left behind.
    let _ = end(guardian.started.meter.group());
    run.and_then(|run| say(socket, &Told::Ended(Box::new(run)))).map_err(failed)
}

fn let_go_of_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// A command under guard.
struct Guardian<'a> {
    setup: &'a Setup,
    started: Started,
    signals: GroupSignals,
    pace: Pace,
    course: Course,
    watch: Reading<ThreadWatch>,
    /// When the waiting is looked at next, and the CPU time of the tree at the look before.
    waiting_due: Nanos,
    waiting_cpu: Nanos,
    /// When to look at the limits.
    look_at: Nanos,
    /// The limit that was reached, and when what is left is killed.
    judged: Option<(LimitOutcome, Nanos)>,
    /// How the command ended, and when.
    ended: Option<(Outcome, Nanos)>,
    /// Whether this process has no child any more.
    alone: bool,
    /// What this process had used itself when it began to look.
    own_start: Nanos,
}

impl<'a> Guardian<'a> {
    fn new(setup: &'a Setup, started: Started, signals: GroupSignals) -> Self {
        // A limit on a group's CPU time still lets all CPUs be used at once for a while.
        let cpus = topology::allowed_cpus(&Root::default()).map_or(1, |cpus| cpus.len());
        // Where the kernel keeps statistics of this process, it does of the others.
        let watch = ThreadWatch::new(&Root::default(), rustix::process::getpid().as_raw_nonzero().get());
        let told = watch.as_ref().map(drop).map_err(Clone::clone);
        let at = started.at;
        let mut guardian = Guardian {
            setup,
            signals,
            pace: Pace::new(at, cpus, setup.plan.poll),
            course: Course::new(at, told),
            watch,
            waiting_due: at,
            waiting_cpu: Nanos::ZERO,
            look_at: at,
            judged: None,
            ended: None,
            alone: false,
            own_start: clock::process_cpu(),
            started,
        };
        guardian.plan_next_look(at, Nanos::ZERO, Nanos::ZERO);
        guardian
    }

    /// Until nothing is left of the tree, the command has ended by itself, or it is time to kill.
    ///
    /// # Errors
    /// The front is gone, or the system refuses something.
    fn guard(&mut self, socket: &UnixStream, orders: &mut BufReader<&UnixStream>) -> io::Result<()> {
        while !self.alone && (self.ended.is_none() || self.judged.is_some()) {
            let now = clock::monotonic();
            match self.judged {
                Some((_, kill_at)) if now >= kill_at => return Ok(()),
                None if now >= self.look_at => self.look(now),
                None if now >= self.waiting_due => {
                    self.look_at_waiting(now);
                }
                _ => self.sleep(now, socket, orders)?,
            }
        }
        Ok(())
    }
}
