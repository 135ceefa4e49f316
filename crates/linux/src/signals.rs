//! Signals for a program that stands between a shell and a command: it keeps them from itself, passes them on, and
//! stops and dies as the command did.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Resource, Rlimit};

use crate::sys::signals::{self, Disposition};

/// The first and the last of the signals without a meaning of their own; the C library keeps those below for itself.
const FIRST_REAL_TIME: i32 = 34;
const LAST: i32 = 64;

/// The signals that people and programs send to a command: all but those that nothing can catch, those that tell of
/// the program's own faults, and that of children.
const PASSED: [i32; 16] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGSTKFLT,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGWINCH,
    libc::SIGPWR,
];

/// The signals to pass on that this process does not ignore. What is ignored, as by nohup(1) or by a shell without job
/// control, stays ignored by the command too, and needs no passing on.
pub fn to_pass_on() -> Vec<i32> {
    PASSED.into_iter().chain(FIRST_REAL_TIME..=LAST).filter(|&signal| !signals::is_ignored(signal)).collect()
}

/// Every signal that this process ignores, but for SIGPIPE: Rust ignores it whatever it was.
pub fn ignored() -> Vec<i32> {
    (1..=LAST).filter(|&signal| signal != libc::SIGPIPE && signals::is_ignored(signal)).collect()
}

/// Signals that are kept from this process, to be read one by one.
#[derive(Debug)]
pub struct Held {
    descriptor: OwnedFd,
}

impl Held {
    /// Keeps `signals`, and those of children, from this process. Programs that it starts meanwhile ignore `signals`,
    /// until they decide otherwise.
    ///
    /// # Errors
    /// What signalfd(2) says.
    pub fn of(held: &[i32]) -> io::Result<Self> {
        let all: Vec<i32> = held.iter().copied().chain([libc::SIGCHLD]).collect();
        signals::hold(&all, true)?;
        // Held back, a signal can be read even where it is ignored (signal(7)); and the program that is started next
        // cannot be killed by one before it has made itself ready.
        held.iter().for_each(|&signal| signals::dispose(signal, Disposition::Ignored));
        // Ignored by a parent, it would have the kernel reap the children.
        signals::dispose(libc::SIGCHLD, Disposition::Default);
        Ok(Held { descriptor: signals::descriptor(&all)? })
    }

    /// The next signal; `None` where there is none now.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn next(&self) -> io::Result<Option<i32>> {
        signals::next(&self.descriptor)
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Whether `signal` tells of children.
pub fn is_of_children(signal: i32) -> bool {
    signal == libc::SIGCHLD
}

/// Whether `signal` lets stopped processes go on.
pub fn is_to_go_on(signal: i32) -> bool {
    signal == libc::SIGCONT
}

/// Sends `signal` to process `pid` alone.
///
/// # Errors
/// ESRCH if there is none; EPERM if it is not this user's.
pub fn send(pid: i32, signal: i32) -> io::Result<()> {
    signals::send(pid, signal)
}

/// Stops this process as `signal` stops others, so that its shell sees it stopped; returns when it is continued.
///
/// # Errors
/// What the system calls say. In a process group that no shell looks after, the terminal's stop signals do nothing.
pub fn stop_by(signal: i32) -> io::Result<()> {
    if signal == libc::SIGSTOP {
        return send(own_pid(), signal);
    }
    signals::dispose(signal, Disposition::Default);
    let stopped = send(own_pid(), signal).and_then(|()| signals::hold(&[signal], false));
    signals::hold(&[signal], true)?;
    signals::dispose(signal, Disposition::Ignored);
    stopped
}

/// Has a write beyond the limit on the size of files (`RLIMIT_FSIZE`) fail with EFBIG in this process, in place of ending it
/// by SIGXFSZ. Programs that it starts are ended as usual, unless this process was started with the signal ignored.
pub fn survive_file_size_limit() {
    if !signals::is_ignored(libc::SIGXFSZ) {
        signals::absorb(libc::SIGXFSZ);
    }
}

/// Ends this process by `signal`, without a core file: whoever waits for it sees what ended the command. Returns where
/// the signal ends nobody.
pub fn die_of(signal: i32) {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // A core file of this program would tell nothing of the command, but write over that of the command.
    let _ = rustix::process::setrlimit(Resource::Core, none);
    signals::dispose(signal, Disposition::Default);
    let _ = send(own_pid(), signal).and_then(|()| signals::hold(&[signal], false));
}

/// Lets the terminal stop this process again if it writes from the background, as it stops other programs.
pub fn write_as_others_do() {
    signals::dispose(libc::SIGTTOU, Disposition::Default);
    let _ = signals::hold(&[libc::SIGTTOU], false);
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_is_read_once() {
        // One that nobody sends, for the other tests' threads are the same process.
        let held = Held::of(&[LAST]).unwrap();
        assert_eq!(held.next().unwrap(), None);
        assert!(ignored().contains(&LAST) && !to_pass_on().contains(&LAST));
        // To this thread, for the others do not hold it back.
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        signals::send_to_thread(own_pid(), own, LAST).unwrap();
        assert_eq!(held.next().unwrap(), Some(LAST));
        assert_eq!(held.next().unwrap(), None);
    }

    #[test]
    fn what_nothing_can_catch_is_not_passed_on() {
        let passed = to_pass_on();
        for signal in [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, libc::SIGCHLD, libc::SIGPIPE, 32, 33] {
            assert!(!passed.contains(&signal), "{signal}");
        }
        assert!(send(0, libc::SIGKILL).is_err() && send(-1, libc::SIGKILL).is_err(), "never to a group");
    }
}
