//! The launcher's side: read requests, make the runs, say what was measured.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use steady_linux::counters::Meter;
use steady_linux::private::remove_own_tree;
use steady_linux::{clock, process};
use steady_model::{CounterScope, Nanos, Reading};

use super::protocol::{Group, Reply, Request, RunReply, Setup};
use super::run::Stand;
use super::wait::Stop;
use crate::log::{Appender, Part};

/// Groups of runs shorter than this are reported together.
const SAY_EVERY: Nanos = Nanos(20_000_000);

/// What runs that do not count find in `STEADY_RUN`.
const WARM_UP: &str = "warmup";

/// Opens the counters of a launcher's runs: those of a scope, or of the widest that is allowed.
pub type Instrument<'a> = &'a dyn Fn(Option<CounterScope>) -> Reading<Meter>;

/// The whole life of a launcher; the commands get `environment`, and `instrument` counts what they do. Returns when
/// `steady` hangs up or something it cannot go on from happens; by then no descendant is left.
pub fn serve(environment: &[(OsString, OsString)], instrument: Instrument<'_>) {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    let mut folder = None;
    if let Err(Stop::Say(reply)) = attend(&control, environment, instrument, &mut folder) {
        // If nobody listens any more, nobody needs to know.
        let _ = say(&control, &reply);
    }
    // Errors leave nothing to be done: there is nobody to tell.
    let _ = process::end_descendants();
    // `steady` may have been killed, and removes it as well where it was not.
    let _ = folder.map(|folder| remove_own_tree(&folder));
}

fn attend(
    control: &UnixStream,
    environment: &[(OsString, OsString)],
    instrument: Instrument<'_>,
    folder: &mut Option<PathBuf>,
) -> Result<(), Stop> {
    let failed = |error: String| Stop::Say(Reply::Failed(error));
    let mut lines = BufReader::new(control).lines();
    let Some(Ok(line)) = lines.next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
    folder.clone_from(&setup.folder);
    let mut stand = set_up(&setup, environment, instrument).map_err(|error| failed(error.to_string()))?;
    let mut log = setup.log.as_deref().and_then(|path| Appender::open(path).ok());
    say(control, &Reply::Ready { counters: stand.counters() })?;
    while let Some(Ok(line)) = lines.next() {
        match serde_json::from_str(&line).map_err(|error| failed(error.to_string()))? {
            Request::Runs { groups, probe } => answer(&mut stand, &groups, probe, &mut log, control)?,
            Request::Snapshots(snapshots) => {
                stand.put(&snapshots, environment)?;
                say(control, &Reply::Done)?;
            }
            Request::Script { hook, command, script } => {
                stand.script(hook, command, &script, environment, control)?;
                say(control, &Reply::Done)?;
            }
        }
    }
    Ok(())
}

fn set_up(setup: &Setup, environment: &[(OsString, OsString)], instrument: Instrument<'_>) -> io::Result<Stand> {
    process::leave_session()?;
    process::become_subreaper()?;
    if let Some(cpus) = &setup.cpus {
        process::keep_to(cpus)?;
    }
    let meter = match &setup.counters {
        None => instrument(None),
        Some(Ok(scope)) => instrument(Some(*scope)),
        Some(Err(absent)) => Err(absent.clone()),
    };
    let stand = Stand::new(setup, environment, meter)?;
    process::shed_memory();
    Ok(stand)
}

/// Makes the runs, logs them, and says what was measured: each group at once, unless they are so short that waking
/// `steady` for each would cost a share of the time that they take.
fn answer(
    stand: &mut Stand,
    groups: &[Group],
    probe: bool,
    log: &mut Option<Appender>,
    control: &UnixStream,
) -> Result<(), Stop> {
    let mut unsaid = Vec::new();
    let mut said_at = clock::monotonic();
    stand.refresh();
    for group in groups {
        let word = group.block.map_or_else(|| WARM_UP.to_owned(), |block| block.to_string());
        let runs = group.jobs.iter().map(|job| stand.run(*job, group.start, &word, probe, control));
        match runs.collect::<Result<Vec<RunReply>, Stop>>() {
            Ok(runs) => {
                if let (Some(appender), Some(block)) = (log.as_mut(), group.block) {
                    let all = runs.iter().map(|reply| &reply.run);
                    // A full disk ends the log, not the measuring.
                    if appender.runs(part(group, block), all).is_err() {
                        *log = None;
                    }
                }
                put(&mut unsaid, &Reply::Ran(runs))?;
            }
            Err(stop) => {
                send(control, &unsaid)?;
                return Err(stop);
            }
        }
        let now = clock::monotonic();
        if now - said_at >= SAY_EVERY {
            send(control, &unsaid)?;
            unsaid.clear();
            said_at = now;
        }
    }
    send(control, &unsaid)
}

/// What a line of the log says of a group's runs.
fn part(group: &Group, block: u64) -> Part {
    Part { block, layout: group.layout, place: group.place, draw: group.draw, start: group.start }
}

fn say(control: &UnixStream, reply: &Reply) -> Result<(), Stop> {
    let mut line = Vec::new();
    put(&mut line, reply)?;
    send(control, &line)
}

fn put(lines: &mut Vec<u8>, reply: &Reply) -> Result<(), Stop> {
    serde_json::to_writer(&mut *lines, reply).map_err(|error| Stop::Say(Reply::Failed(error.to_string())))?;
    lines.push(b'\n');
    Ok(())
}

fn send(mut control: &UnixStream, lines: &[u8]) -> Result<(), Stop> {
    control.write_all(lines).map_err(|_| Stop::Abandoned)
}
