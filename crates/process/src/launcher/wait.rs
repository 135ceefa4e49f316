//! Waiting for the end of a child: its limit, its pipe, and whether `steady` is still there.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::clock;
use steady_linux::process::{self, Child, Status};
use steady_model::{Nanos, Outcome};

use super::protocol::Reply;
use super::streams::Sink;

/// Why a launcher does not go on.
pub(super) enum Stop {
    /// `steady` is gone.
    Abandoned,
    /// Something is to be said to it first.
    Say(Reply),
}

/// Waits for the child's end, emptying its pipe meanwhile; kills its group at the limit. Whether it ended in time.
pub(super) fn wait_or_kill(
    child: &Child,
    limit: Option<Nanos>,
    control: BorrowedFd<'_>,
    sink: Option<&Sink>,
) -> Result<bool, Stop> {
    let deadline = limit.map(|limit| clock::monotonic() + limit);
    let mut in_time = true;
    loop {
        // Hang-ups are reported unasked; requests that come early are left for later.
        let child_and_control =
            [PollFd::new(&child.pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control, PollFlags::empty())];
        let pipe = sink.and_then(Sink::reader).map(|reader| PollFd::from_borrowed_fd(reader, PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = child_and_control.into_iter().chain(pipe).collect();
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
                if let Some(sink) = sink.filter(|_| ready(2)) {
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
    Stop::Say(Reply::Failed(error.to_string()))
}

/// How a run ended that may have exceeded its time.
pub fn outcome(status: Status, in_time: bool) -> Outcome {
    match status {
        _ if !in_time => Outcome::TimedOut,
        Status::Exited(status) => Outcome::Exited(status),
        Status::Signalled(signal) => Outcome::Signalled(signal),
    }
}
