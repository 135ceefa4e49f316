//! The process that starts and ends the neighbours, and the neighbour process itself.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::process::{self, Status};
use steady_workloads::{hash, spin, stream};

use super::Neighbour;
use crate::stage::{Order, Reply};
use steady_process::channel::OWN_PROGRAM;

/// The first argument that makes `steady` a neighbour. Its kind and its bytes of memory follow.
pub const NEIGHBOUR: &str = "__neighbour";

/// Interval between checks whether a neighbour has ended.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Main function of the process that starts neighbours. Returns when `steady` closes the connection or an error occurs.
/// No neighbour is left then.
pub fn serve() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    if let Err(why) = attend(&control) {
        // This fails only if `steady` has ended, and then the reason is not needed.
        let _ = say(&control, &Reply::Failed(why));
    }
    // There is no one to report an error to.
    let _ = process::end_descendants();
}

fn attend(control: &UnixStream) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let mut line = String::new();
    BufReader::new(control).read_line(&mut line).map_err(text)?;
    let order: Order = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    process::leave_session().and_then(|()| process::become_subreaper()).map_err(text)?;
    if let Some(cpus) = &order.cpus {
        process::keep_to(cpus).map_err(text)?;
    }
    let (theirs, _lifeline) = io::pipe().map_err(text)?;
    let (ready, at_work) = io::pipe().map_err(text)?;
    for number in 1..=order.count {
        let started = start(&order, &theirs, &at_work);
        started.map_err(|error| format!("neighbour {number} of {} cannot be started: {error}", order.count))?;
    }
    drop(at_work);
    watch(order.count as usize, ready, control)
}

/// Starts one neighbour. Its standard input reaches the end of file when this process ends. It writes a byte to
/// standard output once it is running.
fn start(order: &Order, lifeline: &PipeReader, at_work: &PipeWriter) -> io::Result<()> {
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("steady").args([NEIGHBOUR, order.kind.name(), &order.memory.0.to_string()]);
    command.stdin(lifeline.try_clone()?).stdout(at_work.try_clone()?).spawn().map(drop)
}

/// Reports when all neighbours are running, and if one ends. Returns when `steady` closes the connection.
fn watch(count: usize, mut ready: PipeReader, control: &UnixStream) -> Result<(), String> {
    let mut at_work = 0;
    loop {
        let mut watched = vec![PollFd::new(control, PollFlags::empty())];
        if at_work < count {
            watched.push(PollFd::new(&ready, PollFlags::IN));
        }
        match poll(&mut watched, Some(&LOOK_EVERY)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
        let is_ready = |place: usize| watched.get(place).is_some_and(|fd| !fd.revents().is_empty());
        if is_ready(0) {
            return Ok(());
        }
        if is_ready(1) {
            at_work += ready.read(&mut [0; 4096]).map_err(|error| error.to_string())?;
            if at_work >= count && say(control, &Reply::Ready).is_err() {
                return Ok(());
            }
        }
        if let Ok(Some(ended)) = process::wait_any() {
            return Err(match ended.status {
                Status::Exited(status) => format!("a neighbour ended with status {status}"),
                Status::Signalled(signal) => format!("a neighbour was ended by signal {signal}"),
            });
        }
    }
}

fn say(mut control: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// Main function of a neighbour. `words` are its kind and its bytes of memory. It runs until its standard input ends.
pub fn run_neighbour(words: &mut dyn Iterator<Item = OsString>) {
    let kind = words.next().and_then(|word| kind_of(&word));
    let bytes = words.next().and_then(|word| word.to_str()?.parse::<usize>().ok());
    let (Some(kind), Some(bytes)) = (kind, bytes) else { return };
    let mut memory = match kind {
        Neighbour::Stream => vec![1_u64; bytes / size_of::<u64>()],
        Neighbour::Spin | Neighbour::Hash => Vec::new(),
    };
    let ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    let listener = thread::Builder::new().spawn(move || {
        // Nothing is ever written to standard input: reading returns when the other end is closed.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        seen.store(true, Ordering::Relaxed);
    });
    if listener.is_err() || io::stdout().write_all(b".").and_then(|()| io::stdout().flush()).is_err() {
        return;
    }
    let done = || ended.load(Ordering::Relaxed);
    match kind {
        Neighbour::Spin => spin(done),
        Neighbour::Hash => hash(done),
        Neighbour::Stream => stream(&mut memory, done),
    }
}

fn kind_of(word: &OsStr) -> Option<Neighbour> {
    [Neighbour::Spin, Neighbour::Stream, Neighbour::Hash].into_iter().find(|kind| word == kind.name())
}
