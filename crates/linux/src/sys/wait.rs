//! Reaping children with what they used.

use std::io;
use std::mem::MaybeUninit;

use rustix::process::Pid;
use steady_model::{Bytes, Nanos};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
}

/// What a process, and those of its descendants that were waited for, used (getrusage(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildUsage {
    /// User time, in whole microseconds.
    pub user: Nanos,
    /// System time, in whole microseconds.
    pub system: Nanos,
    /// Peak resident memory of the largest process in the tree, the moments before its exec included.
    pub peak_memory: Bytes,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}

/// A process that has been reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Its process id.
    pub pid: Pid,
    /// How it ended.
    pub status: Status,
    /// What it used.
    pub usage: ChildUsage,
}

/// Waits until the child `pid` has ended, and reaps it: wait4(2).
///
/// # Errors
/// ECHILD if it is no child of this process.
pub fn wait_for(pid: Pid) -> io::Result<Reaped> {
    match wait4(pid.as_raw_nonzero().get(), 0)? {
        Some(Change::Ended(reaped)) => Ok(reaped),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Reaps any child that has ended, without waiting; `None` while all that are left still run.
///
/// # Errors
/// ECHILD if there is no child at all.
pub fn wait_any() -> io::Result<Option<Reaped>> {
    Ok(match wait4(-1, libc::WNOHANG)? {
        Some(Change::Ended(reaped)) => Some(reaped),
        _ => None,
    })
}

/// Reaps the task `pid`, a watched thread perhaps, if it has ended. Without waiting.
///
/// # Errors
/// ECHILD if it is neither a child nor watched.
pub(crate) fn reap(pid: Pid) -> io::Result<Option<Reaped>> {
    Ok(match wait4(pid.as_raw_nonzero().get(), libc::WNOHANG | libc::__WALL)? {
        Some(Change::Ended(reaped)) => Some(reaped),
        _ => None,
    })
}

/// What this process itself has used since it was made, its children not counted: getrusage(2).
///
/// # Errors
/// What getrusage(2) says; none that is known.
pub fn own_usage() -> io::Result<ChildUsage> {
    usage_of(libc::RUSAGE_SELF)
}

/// What the calling thread has used since it was made: `RUSAGE_THREAD` of getrusage(2).
///
/// # Errors
/// What getrusage(2) says; none that is known.
pub fn thread_usage() -> io::Result<ChildUsage> {
    usage_of(libc::RUSAGE_THREAD)
}

/// What those children of this process have used that have ended and were waited for: `RUSAGE_CHILDREN` of getrusage(2).
/// Its times are cut to microseconds once for all of them.
///
/// # Errors
/// What getrusage(2) says; none that is known.
pub fn children_usage() -> io::Result<ChildUsage> {
    usage_of(libc::RUSAGE_CHILDREN)
}

fn usage_of(who: libc::c_int) -> io::Result<ChildUsage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing for the whole call.
    if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed memory is a valid rusage, and getrusage has filled it.
    Ok(usage_from(unsafe { usage.assume_init_ref() }))
}

/// What has happened to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has ended, and is reaped.
    Ended(Reaped),
    /// This signal has stopped it.
    Stopped(Pid, i32),
    /// It goes on.
    Continued(Pid),
}

/// What has happened to any child and was not told yet, without waiting; `None` where there is nothing to tell.
///
/// # Errors
/// ECHILD if there is no child at all.
pub fn next_change() -> io::Result<Option<Change>> {
    wait4(-1, libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED)
}

fn wait4(pid: libc::pid_t, options: libc::c_int) -> io::Result<Option<Change>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: `status` and `usage` are valid for writing for the whole call.
        let reaped = unsafe { libc::wait4(pid, &mut status, options, usage.as_mut_ptr()) };
        if let Some(pid) = Pid::from_raw(reaped.max(0)) {
            // SAFETY: zeroed memory is a valid rusage, and wait4 has filled it.
            let usage = usage_from(unsafe { usage.assume_init_ref() });
            return Ok(Some(change_from(pid, status, usage)));
        }
        if reaped == 0 {
            return Ok(None);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn change_from(pid: Pid, status: libc::c_int, usage: ChildUsage) -> Change {
    if libc::WIFSTOPPED(status) {
        Change::Stopped(pid, libc::WSTOPSIG(status))
    } else if libc::WIFCONTINUED(status) {
        Change::Continued(pid)
    } else {
        Change::Ended(Reaped { pid, status: status_from(status), usage })
    }
}

fn status_from(status: libc::c_int) -> Status {
    if libc::WIFSIGNALED(status) {
        Status::Signalled(libc::WTERMSIG(status))
    } else {
        Status::Exited(libc::WEXITSTATUS(status))
    }
}

pub(super) fn usage_from(usage: &libc::rusage) -> ChildUsage {
    ChildUsage {
        user: from_timeval(usage.ru_utime),
        system: from_timeval(usage.ru_stime),
        peak_memory: kibibytes(usage.ru_maxrss),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    }
}

fn from_timeval(time: libc::timeval) -> Nanos {
    Nanos::from_micros(count(time.tv_sec) * 1_000_000 + count(time.tv_usec))
}

fn count(value: libc::c_long) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn kibibytes(value: libc::c_long) -> Bytes {
    Bytes(count(value) * 1024)
}
