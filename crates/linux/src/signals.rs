//! Signal handling for a program between a shell and a command. The program blocks signals, forwards them to the
//! command, and stops and ends the way the command did.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Resource, Rlimit};

use crate::sys;
use crate::sys::signals::{self, Disposition};

/// The real-time signals without a predefined meaning, first and last. The C library reserves those below 34.
const FIRST_REAL_TIME: i32 = 34;
const LAST: i32 = 64;

/// Signals that users and programs send to a command. It leaves out signals that cannot be caught, signals for faults
/// of the program itself, and SIGCHLD.
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

/// Returns the signals to forward: those of `PASSED` and the real-time signals that this process does not ignore. A
/// signal that is ignored, for example because of nohup(1) or a shell without job control, stays ignored in the command
/// and needs no forwarding.
pub fn to_pass_on() -> Vec<i32> {
    PASSED.into_iter().chain(FIRST_REAL_TIME..=LAST).filter(|&signal| !signals::is_ignored(signal)).collect()
}

/// Returns whether this process ignores `signal`.
pub fn is_ignored(signal: i32) -> bool {
    signals::is_ignored(signal)
}

/// Returns all signals that this process ignores. SIGPIPE, which Rust's runtime always ignores, is among them if this
/// process was started with it ignored.
pub fn ignored() -> Vec<i32> {
    let is_ignored = |signal: &i32| match *signal {
        libc::SIGPIPE => sys::sigpipe_was_ignored(),
        other => signals::is_ignored(other),
    };
    (1..=LAST).filter(is_ignored).collect()
}

/// Blocked signals of this process, which it reads one by one.
#[derive(Debug)]
pub struct BlockedSignals {
    descriptor: OwnedFd,
}

impl BlockedSignals {
    /// Blocks `held` and SIGCHLD in this process. Programs that it starts from now on ignore `held` until they change
    /// that.
    ///
    /// # Errors
    /// The error of signalfd(2).
    pub fn new(held: &[i32]) -> io::Result<Self> {
        let all: Vec<i32> = held.iter().copied().chain([libc::SIGCHLD]).collect();
        signals::block(&all, true)?;
        // A blocked signal can be read even if it is ignored (signal(7)). Ignoring it also means that it cannot kill
        // the next program before that program has set up its own handlers.
        held.iter().for_each(|&signal| signals::dispose(signal, Disposition::Ignored));
        // If SIGCHLD were inherited as ignored, the kernel would reap the children.
        signals::dispose(libc::SIGCHLD, Disposition::Default);
        Ok(BlockedSignals { descriptor: signals::descriptor(&all)? })
    }

    /// Returns the next signal, or `None` if there is none now.
    ///
    /// # Errors
    /// The error of read(2).
    pub fn next(&self) -> io::Result<Option<i32>> {
        signals::next(&self.descriptor)
    }
}

impl AsFd for BlockedSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Returns whether `signal` is SIGCHLD.
pub fn is_of_children(signal: i32) -> bool {
    signal == libc::SIGCHLD
}

/// Returns whether `signal` is SIGCONT, which continues stopped processes.
pub fn is_to_go_on(signal: i32) -> bool {
    signal == libc::SIGCONT
}

/// Sends `signal` to process `pid` alone.
///
/// # Errors
/// ESRCH if there is no such process; EPERM if it belongs to another user.
pub fn send(pid: i32, signal: i32) -> io::Result<()> {
    signals::send(pid, signal)
}

/// Stops this process the way `signal` stops others, so that its shell sees it stopped. Returns when it is continued.
///
/// # Errors
/// The error of a system call. In an orphaned process group, the terminal's stop signals have no effect.
pub fn stop_by(signal: i32) -> io::Result<()> {
    if signal == libc::SIGSTOP {
        return send(own_pid(), signal);
    }
    signals::dispose(signal, Disposition::Default);
    let stopped = send(own_pid(), signal).and_then(|()| signals::block(&[signal], false));
    signals::block(&[signal], true)?;
    signals::dispose(signal, Disposition::Ignored);
    stopped
}

/// Makes a write beyond the limit on file sizes (`RLIMIT_FSIZE`) fail with EFBIG in this process, instead of ending the
/// process with SIGXFSZ. In programs that it starts, SIGXFSZ has its default effect, unless this process was started
/// with the signal ignored.
pub fn survive_file_size_limit() {
    if !signals::is_ignored(libc::SIGXFSZ) {
        signals::absorb(libc::SIGXFSZ);
    }
}

/// Ends this process with `signal` and without a core file, so that its parent sees the signal that ended the command.
/// Returns if the default action of the signal does not end a process.
pub fn die_of(signal: i32) {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // A core file of this program would be useless and could overwrite the core file of the command.
    let _ = rustix::process::setrlimit(Resource::Core, none);
    signals::dispose(signal, Disposition::Default);
    let _ = send(own_pid(), signal).and_then(|()| signals::block(&[signal], false));
}

/// Restores the default action of SIGTTOU: the terminal may stop this process if it writes from the background.
pub fn write_as_others_do() {
    signals::dispose(libc::SIGTTOU, Disposition::Default);
    let _ = signals::block(&[libc::SIGTTOU], false);
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_is_read_once() {
        // Use a signal that no other test sends: all tests run in one process.
        let held = BlockedSignals::new(&[LAST]).unwrap();
        assert_eq!(held.next().unwrap(), None);
        assert!(ignored().contains(&LAST) && !to_pass_on().contains(&LAST));
        // Send it to this thread, because the other threads do not block it.
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        signals::send_to_thread(own_pid(), own, LAST).unwrap();
        assert_eq!(held.next().unwrap(), Some(LAST));
        assert_eq!(held.next().unwrap(), None);
    }

    #[test]
    fn signals_that_cannot_be_caught_are_not_passed_on() {
        let passed = to_pass_on();
        for signal in [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, libc::SIGCHLD, libc::SIGPIPE, 32, 33] {
            assert!(!passed.contains(&signal), "{signal}");
        }
        assert!(send(0, libc::SIGKILL).is_err() && send(-1, libc::SIGKILL).is_err(), "no signal to a process group");
    }
}
