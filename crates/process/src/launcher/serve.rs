//! The launcher's side: reads requests, makes runs, and reports measurements.

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
use super::run::RunContext;
use super::wait::Stop;
use crate::log::{Appender, Part};

/// Replies are collected for this time, so that short groups are reported together.
const SEND_INTERVAL: Nanos = Nanos(20_000_000);

/// Value of `STEADY_RUN` in runs that do not count.
const WARM_UP: &str = "warmup";

/// Opens the counters of a launcher's runs, with the given scope or the widest one that is allowed.
pub type Instrument<'a> = &'a dyn Fn(Option<CounterScope>) -> Reading<Meter>;

/// Main function of a launcher. The commands get `environment`, and `instrument` opens the counters. Returns when
/// `steady` closes the connection or an error occurs. No descendant is left then, except those that cannot be ended.
pub fn serve(environment: &[(OsString, OsString)], instrument: Instrument<'_>) {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    let mut folder = None;
    if let Err(Stop::Reply(reply)) = attend(&control, environment, instrument, &mut folder) {
        // This fails only if `steady` has ended, and then the reason is not needed.
        let _ = say(&control, &reply);
    }
    // There is no one to report an error to.
    let _ = process::end_descendants();
    // `steady` also removes the folder, unless it was killed.
    let _ = folder.map(|folder| remove_own_tree(&folder));
}

fn attend(
    control: &UnixStream,
    environment: &[(OsString, OsString)],
    instrument: Instrument<'_>,
    folder: &mut Option<PathBuf>,
) -> Result<(), Stop> {
    let failed = |error: String| Stop::Reply(Reply::Failed(error));
    let mut lines = BufReader::new(control).lines();
    let Some(Ok(line)) = lines.next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
    folder.clone_from(&setup.folder);
    let mut context = set_up(&setup, environment, instrument).map_err(|error| failed(error.to_string()))?;
    let mut log = setup.log.as_deref().and_then(|path| Appender::open(path).ok());
    say(control, &Reply::Ready { counters: context.counters() })?;
    while let Some(Ok(line)) = lines.next() {
        match serde_json::from_str(&line).map_err(|error| failed(error.to_string()))? {
            Request::Runs { groups, probe } => make_runs(&mut context, &groups, probe, &mut log, control)?,
            Request::Snapshots(snapshots) => {
                context.use_snapshots(&snapshots, environment)?;
                say(control, &Reply::Done)?;
            }
            Request::Script { hook, command, script } => {
                context.script(hook, command, &script, environment, control)?;
                say(control, &Reply::Done)?;
            }
        }
    }
    Ok(())
}

fn set_up(setup: &Setup, environment: &[(OsString, OsString)], instrument: Instrument<'_>) -> io::Result<RunContext> {
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
    RunContext::new(setup, environment, meter)
}

/// Makes the runs, logs them, and replies. Replies of short groups are sent together, because waking `steady` for each
/// would take a considerable share of their time.
fn make_runs(
    context: &mut RunContext,
    groups: &[Group],
    probe: bool,
    log: &mut Option<Appender>,
    control: &UnixStream,
) -> Result<(), Stop> {
    let mut pending = Vec::new();
    let mut sent_at = clock::monotonic();
    context.refresh();
    for group in groups {
        let word = group.block.map_or_else(|| WARM_UP.to_owned(), |block| block.to_string());
        let runs = group.jobs.iter().map(|job| context.run(*job, group.start, &word, probe, control));
        match runs.collect::<Result<Vec<RunReply>, Stop>>() {
            Ok(runs) => {
                if let (Some(appender), Some(block)) = (log.as_mut(), group.block) {
                    let all = runs.iter().map(|reply| &reply.run);
                    // A full disk ends the log, not the experiment.
                    if appender.runs(part(group, block), all).is_err() {
                        *log = None;
                    }
                }
                put(&mut pending, &Reply::Ran(runs))?;
            }
            Err(stop) => {
                send(control, &pending)?;
                return Err(stop);
            }
        }
        let now = clock::monotonic();
        if now - sent_at >= SEND_INTERVAL {
            send(control, &pending)?;
            pending.clear();
            sent_at = now;
        }
    }
    send(control, &pending)
}

/// Identifies a group's runs in the log.
fn part(group: &Group, block: u64) -> Part {
    Part { block, layout: group.layout, place: group.place, draw: group.draw, start: group.start }
}

fn say(control: &UnixStream, reply: &Reply) -> Result<(), Stop> {
    let mut line = Vec::new();
    put(&mut line, reply)?;
    send(control, &line)
}

fn put(lines: &mut Vec<u8>, reply: &Reply) -> Result<(), Stop> {
    serde_json::to_writer(&mut *lines, reply).map_err(|error| Stop::Reply(Reply::Failed(error.to_string())))?;
    lines.push(b'\n');
    Ok(())
}

fn send(mut control: &UnixStream, lines: &[u8]) -> Result<(), Stop> {
    control.write_all(lines).map_err(|_| Stop::Abandoned)
}
