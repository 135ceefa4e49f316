//! What a keeper waits for: wishes, its turn, and the end of its command.

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

/// What was seen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A wish, or the time that was given.
    Something,
    /// The end of the command.
    Ended,
}

pub(super) struct Watch {
    wishes: OwnedFd,
    command: OwnedFd,
}

/// How long a keeper waits at most before it tries again to get its turn.
const PATIENCE: Nanos = Nanos(2_000_000_000);
/// How often it tries when another one has just ended: its file is closed a moment before the lock is given back.
const TRIES: u32 = 20;

impl Watch {
    pub(super) fn new(store: &Store, command: OwnedFd) -> io::Result<Self> {
        let wishes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&wishes, store.wanted(), WatchFlags::CREATE | WatchFlags::MOVED_TO)?;
        Ok(Watch { wishes, command })
    }

    /// The lock of the keeper that works, once it is free; none where the command ended before that.
    pub(super) fn turn(&self, store: &Store) -> io::Result<Option<File>> {
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
                if self.wait_for(&ends, Nanos::ZERO)? != Seen::Something {
                    return Ok(None);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            if self.wait_for(&ends, PATIENCE)? == Seen::Ended {
                return Ok(None);
            }
        }
    }

    /// Waits for a wish, the end of the command, or so long.
    pub(super) fn wait(&self, time: Nanos) -> io::Result<Seen> {
        self.wait_for(&self.wishes, time)
    }

    fn wait_for(&self, events: &OwnedFd, time: Nanos) -> io::Result<Seen> {
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
        Ok(if ended { Seen::Ended } else { Seen::Something })
    }
}

/// Reads all that was told, for what there is to do is looked up afterwards.
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
