//! Waits for the end of a child, while it enforces its time limit, reads its pipes and watches the connection to
//! `steady`.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::clock;
use steady_linux::process::{self, Child, Status};
use steady_model::{Nanos, Outcome};

use super::protocol::Reply;
use super::streams::Sink;

/// Why a launcher stops.
pub(super) enum Stop {
    /// `steady` has ended or closed the connection.
    Abandoned,
    /// An error, which the launcher reports first.
    Reply(Reply),
}

/// Waits for the child's end and reads its pipes. Kills its process group at the time limit. Returns whether it ended in
/// time.
pub(super) fn wait_or_kill(
    child: &Child,
    limit: Option<Nanos>,
    control: BorrowedFd<'_>,
    sink: Option<&Sink>,
) -> Result<bool, Stop> {
    let deadline = limit.map(|limit| clock::monotonic() + limit);
    let mut in_time = true;
    loop {
        // poll(2) always reports a closed socket. Requests that arrive early are read later.
        let child_and_control =
            [PollFd::new(&child.pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control, PollFlags::empty())];
        let pipes = sink.into_iter().flat_map(Sink::readers);
        let pipes = pipes.map(|reader| PollFd::from_borrowed_fd(reader, PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = child_and_control.into_iter().chain(pipes).collect();
        let left = deadline.filter(|_| in_time).map(|deadline| timespec(deadline - clock::monotonic()));
        let polled = poll(&mut watched, left.as_ref());
        let ready = |place: usize| watched.get(place).is_some_and(|fd| !fd.revents().is_empty());
        match polled {
            Ok(0) => {
                in_time = false;
                process::kill_group(child.pid);
            }
            Ok(_) if ready(1) => return Err(Stop::Abandoned),
            Ok(_) => {
                if let Some(sink) = sink.filter(|_| ready(2) || ready(3)) {
                    sink.drain();
                }
                if ready(0) {
                    return Ok(in_time);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(lost(error.into())),
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
