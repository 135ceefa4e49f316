//! Signals: what happens to them, holding them back, reading them one by one, sending them.

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::io::Errno;

/// The bytes of a `struct signalfd_siginfo`, of which the first four are the signal's number.
const RECORD: usize = 128;

/// What the kernel keeps for a signal (rt_sigaction(2)): its handler first. The C library's own calls refuse the two
/// signals that it uses itself, and those may be ignored too.
type Action = [usize; 4];
/// The size of the kernel's sets of signals.
const SET: usize = 8;

/// Whether this process ignores `signal`.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut now: Action = [0; 4];
    let none: *const Action = ptr::null();
    // SAFETY: `now` is as long as the kernel's structure or longer, and outlives the call; no new action is given.
    let read = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, none, &raw mut now, SET) };
    read == 0 && now[0] == libc::SIG_IGN
}

/// Sets what happens to `signal`, whichever it is; those that are not to be changed stay. A plain system call, fit for a
/// child before its exec.
pub(crate) fn dispose_raw(signal: i32, disposition: Disposition) {
    let handler = if disposition == Disposition::Ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    let action: Action = [handler, 0, 0, 0];
    let none: *mut Action = ptr::null_mut();
    // SAFETY: `action` is as long as the kernel's structure or longer, and outlives the call; it names no code of ours.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const action, none, SET) };
}

/// What happens to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// What the system does by itself.
    Default,
    /// Nothing.
    Ignored,
}

/// Sets what happens to `signal` in this process; numbers that are no signal, and those of the C library, stay.
pub(crate) fn dispose(signal: i32, disposition: Disposition) {
    let action = if disposition == Disposition::Ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither action is code of ours, so nothing of ours can run at a bad moment.
    unsafe { libc::signal(signal, action) };
}

/// Has `signal` interrupt nothing and do nothing in this process. Unlike one that is ignored, programs that are executed get
/// it with the system's own effect again (execve(2)).
pub(crate) fn absorb(signal: i32) {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the action is initialised and outlives the call; its handler does nothing, which is safe at any moment.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// Holds `signals` back from this thread, or lets them through.
pub(crate) fn hold(signals: &[i32], held: bool) -> io::Result<()> {
    let set = set_of(signals);
    let how = if held { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    // SAFETY: the set is initialised and outlives the call; the one before is not asked for.
    match unsafe { libc::pthread_sigmask(how, &set, ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A descriptor from which `signals` can be read while they are held back (signalfd(2)); reading never waits.
pub(crate) fn descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = set_of(signals);
    // SAFETY: the set is initialised and outlives the call.
    let made = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is an open descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// The next signal that such a descriptor holds; `None` where there is none now.
pub(crate) fn next(descriptor: impl AsFd) -> io::Result<Option<i32>> {
    let mut record = [0_u8; RECORD];
    match rustix::io::read(descriptor, &mut record) {
        Ok(RECORD) => Ok(Some(i32::from_ne_bytes([record[0], record[1], record[2], record[3]]))),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends `signal`, which may be one of those without a name, to process `pid` alone.
pub(crate) fn send(pid: i32, signal: i32) -> io::Result<()> {
    if pid <= 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a plain system call.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends `signal` to one thread.
#[cfg(test)]
pub(crate) fn send_to_thread(pid: i32, thread: i32, signal: i32) -> io::Result<()> {
    // SAFETY: a plain system call.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, signal) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: the set is plain data, initialised by sigemptyset; sigaddset refuses what is no signal.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}
