//! Waits for the events of a keeper: requests, the lock of the store, and the end of the command.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use steady_model::Nanos;

use crate::store::Store;

pub(super) struct RequestWatch {
    requests: OwnedFd,
    command: OwnedFd,
}

/// How long a keeper waits before it tries again to get the lock.
const PATIENCE: Nanos = Nanos(2_000_000_000);
/// How often it tries after another keeper has closed the file: the kernel releases the lock shortly after that.
const TRIES: u32 = 20;

impl RequestWatch {
    pub(super) fn new(store: &Store, command: OwnedFd) -> io::Result<Self> {
        let requests = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&requests, store.wanted(), WatchFlags::CREATE | WatchFlags::MOVED_TO)?;
        Ok(RequestWatch { requests, command })
    }

    /// Waits for the lock of the working keeper and returns it; `None` if the command ended before that.
    pub(super) fn lock(&self, store: &Store) -> io::Result<Option<File>> {
        let ends = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let lock = store.keeper_lock()?;
        inotify::add_watch(&ends, store.keeper_path(), WatchFlags::CLOSE_WRITE | WatchFlags::DELETE_SELF)?;
        loop {
            for _ in 0..TRIES {
                match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Ok(Some(lock)),
                    Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                if self.wait_for_lock(&ends, Nanos::ZERO)? {
                    return Ok(None);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            if self.wait_for_lock(&ends, PATIENCE)? {
                return Ok(None);
            }
        }
    }

    /// Waits for a request or the given time, and for the end of the command if that is not `known`.
    pub(super) fn wait(&self, time: Nanos, known: bool) -> io::Result<()> {
        let mut each = vec![PollFd::new(&self.requests, PollFlags::IN)];
        each.extend((!known).then(|| PollFd::new(&self.command, PollFlags::IN)));
        wait_for(&mut each, time)?;
        drain(&self.requests)
    }

    /// Returns whether the command has ended.
    pub(super) fn has_ended(&self) -> io::Result<bool> {
        let mut command = [PollFd::new(&self.command, PollFlags::IN)];
        wait_for(&mut command, Nanos::ZERO)?;
        Ok(!command[0].revents().is_empty())
    }

    /// Waits for another keeper or the given time. Returns whether the command has ended.
    fn wait_for_lock(&self, ends: &OwnedFd, time: Nanos) -> io::Result<bool> {
        let mut both = [PollFd::new(ends, PollFlags::IN), PollFd::new(&self.command, PollFlags::IN)];
        wait_for(&mut both, time)?;
        let ended = !both[1].revents().is_empty();
        drain(ends)?;
        Ok(ended)
    }
}

/// Waits until the process of a pidfd has ended.
pub(super) fn wait_for_end(command: &OwnedFd) -> io::Result<()> {
    loop {
        let mut command = [PollFd::new(command, PollFlags::IN)];
        match poll(&mut command, None) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn wait_for(each: &mut [PollFd<'_>], time: Nanos) -> io::Result<()> {
    let time = Timespec {
        tv_sec: i64::try_from(time.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (time.0 % 1_000_000_000) as _,
    };
    match poll(each, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads and discards all events; the caller then looks up what there is to do.
fn drain(events: &OwnedFd) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(events.as_fd(), &mut buffer);
    loop {
        match reader.next() {
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
