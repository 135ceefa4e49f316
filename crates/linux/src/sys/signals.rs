//! Signal dispositions, blocking, reading and sending.

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::io::Errno;

/// Size of a `struct signalfd_siginfo` in bytes. The first four bytes are the signal number.
const RECORD: usize = 128;

/// The kernel's signal action (rt_sigaction(2)), with the handler first. The C library's functions reject the two
/// signals that it uses itself, but these may be ignored too.
type Action = [usize; 4];
/// Size of the kernel's signal set in bytes.
const SET: usize = 8;

/// Returns whether this process ignores `signal`.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut now: Action = [0; 4];
    let none: *const Action = ptr::null();
    // SAFETY: `now` is at least as long as the kernel's structure and outlives the call; no new action is passed.
    let read = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, none, &raw mut now, SET) };
    read == 0 && now[0] == libc::SIG_IGN
}

/// Sets the disposition of any `signal`. Those that cannot be changed stay as they are. It makes one system call, so it
/// may be called in a child before its exec.
pub(crate) fn dispose_raw(signal: i32, disposition: Disposition) {
    let handler = if disposition == Disposition::Ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    let action: Action = [handler, 0, 0, 0];
    let none: *mut Action = ptr::null_mut();
    // SAFETY: `action` is at least as long as the kernel's structure and outlives the call; it contains no handler of
    // this program.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const action, none, SET) };
}

/// Disposition of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// The default action of the system.
    Default,
    /// The signal is ignored.
    Ignored,
}

/// Sets the disposition of `signal` in this process. Invalid numbers and the C library's own signals are not changed.
pub(crate) fn dispose(signal: i32, disposition: Disposition) {
    let action = if disposition == Disposition::Ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither action is a function of this program, so no code of it runs in a signal handler.
    unsafe { libc::signal(signal, action) };
}

/// Makes `signal` have no effect in this process, and not interrupt system calls. Unlike an ignored signal, it has its
/// default action again in programs that this process executes (execve(2)).
pub(crate) fn absorb(signal: i32) {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the action is initialised and outlives the call. Its handler does nothing, which is safe in a signal
    // handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// Blocks `signals` in this thread if `blocked` is true, and unblocks them otherwise.
pub(crate) fn block(signals: &[i32], blocked: bool) -> io::Result<()> {
    let set = set_of(signals);
    let how = if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    // SAFETY: the set is initialised and outlives the call; the previous set is not requested.
    match unsafe { libc::pthread_sigmask(how, &set, ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Opens a descriptor from which `signals` can be read while they are blocked (signalfd(2)). Reads do not block.
pub(crate) fn descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = set_of(signals);
    // SAFETY: the set is initialised and outlives the call.
    let made = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is an open descriptor that has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Reads the next signal from such a descriptor. Returns `None` if there is none now.
pub(crate) fn next(descriptor: impl AsFd) -> io::Result<Option<i32>> {
    let mut record = [0_u8; RECORD];
    match rustix::io::read(descriptor, &mut record) {
        Ok(RECORD) => Ok(Some(i32::from_ne_bytes([record[0], record[1], record[2], record[3]]))),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends `signal`, which may be a real-time signal, to process `pid` only.
pub(crate) fn send(pid: i32, signal: i32) -> io::Result<()> {
    if pid <= 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the system call takes numbers and touches no memory of this process.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends `signal` to one thread of process `pid`.
#[cfg(test)]
pub(crate) fn send_to_thread(pid: i32, thread: i32, signal: i32) -> io::Result<()> {
    // SAFETY: the system call takes numbers and touches no memory of this process.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, signal) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: the set is plain data, initialised by sigemptyset; sigaddset rejects invalid numbers.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}
