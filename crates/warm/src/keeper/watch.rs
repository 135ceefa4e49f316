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

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A request came, or the time is over.
    Something,
    /// The command has ended.
    Ended,
}

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
                if self.wait_for(&ends, Nanos::ZERO)? != Event::Something {
                    return Ok(None);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            if self.wait_for(&ends, PATIENCE)? == Event::Ended {
                return Ok(None);
            }
        }
    }

    /// Waits for a request, the end of the command, or the given time.
    pub(super) fn wait(&self, time: Nanos) -> io::Result<Event> {
        self.wait_for(&self.requests, time)
    }

    fn wait_for(&self, events: &OwnedFd, time: Nanos) -> io::Result<Event> {
        let mut both = [PollFd::new(events, PollFlags::IN), PollFd::new(&self.command, PollFlags::IN)];
        let time = Timespec {
            tv_sec: i64::try_from(time.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (time.0 % 1_000_000_000) as _,
        };
        match poll(&mut both, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = !both[1].revents().is_empty();
        drain(events)?;
        Ok(if ended { Event::Ended } else { Event::Something })
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
