//! Reaps children and returns their resource usage.

use std::io;
use std::mem::MaybeUninit;

use rustix::process::Pid;
use steady_model::{Bytes, Nanos};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited with this exit status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

/// Resource usage of a process and of the descendants that were waited for (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildUsage {
    /// User time, in whole microseconds.
    pub user: Nanos,
    /// System time, in whole microseconds.
    pub system: Nanos,
    /// Peak resident memory of the largest process in the tree, including the time before its exec.
    pub peak_memory: Bytes,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Number of voluntary context switches.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches.
    pub involuntary_switches: u64,
}

impl ChildUsage {
    /// Returns the user and system time.
    pub fn cpu_time(&self) -> Nanos {
        self.user + self.system
    }

    /// Returns the usage of two process trees.
    #[must_use]
    pub fn with(&self, other: &ChildUsage) -> ChildUsage {
        ChildUsage {
            user: self.user + other.user,
            system: self.system + other.system,
            peak_memory: self.peak_memory.max(other.peak_memory),
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// A child that has been reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Process id of the child.
    pub pid: Pid,
    /// Exit status or signal of the child.
    pub status: Status,
    /// Resource usage of the child and its descendants.
    pub usage: ChildUsage,
}

/// Waits until the child `pid` ends, and reaps it: wait4(2).
///
/// # Errors
/// ECHILD if it is not a child of this process.
pub fn wait_for(pid: Pid) -> io::Result<Reaped> {
    match wait4(pid.as_raw_nonzero().get(), 0)? {
        Some(Change::Ended(reaped)) => Ok(reaped),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Reaps a child that has ended, without waiting. Returns `None` if all children still run.
///
/// # Errors
/// ECHILD if there is no child.
pub fn wait_any() -> io::Result<Option<Reaped>> {
    Ok(match wait4(-1, libc::WNOHANG)? {
        Some(Change::Ended(reaped)) => Some(reaped),
        _ => None,
    })
}

/// Reaps the task `pid`, which may be a traced thread, if it has ended. Does not wait.
///
/// # Errors
/// ECHILD if it is neither a child nor traced.
pub(crate) fn reap(pid: Pid) -> io::Result<Option<Reaped>> {
    Ok(match wait4(pid.as_raw_nonzero().get(), libc::WNOHANG | libc::__WALL)? {
        Some(Change::Ended(reaped)) => Some(reaped),
        _ => None,
    })
}

/// Returns what this process has used since it was created, without its children: getrusage(2).
///
/// # Errors
/// The error of getrusage(2); none is known.
pub fn own_usage() -> io::Result<ChildUsage> {
    usage_of(libc::RUSAGE_SELF)
}

/// Returns what the calling thread has used since it was created: `RUSAGE_THREAD` of getrusage(2).
///
/// # Errors
/// The error of getrusage(2); none is known.
pub fn thread_usage() -> io::Result<ChildUsage> {
    usage_of(libc::RUSAGE_THREAD)
}

/// Returns what all reaped children of this process have used: `RUSAGE_CHILDREN` of getrusage(2). The times are
/// truncated to microseconds once, after they are added.
///
/// # Errors
/// The error of getrusage(2); none is known.
pub fn children_usage() -> io::Result<ChildUsage> {
    usage_of(libc::RUSAGE_CHILDREN)
}

fn usage_of(who: libc::c_int) -> io::Result<ChildUsage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing during the whole call.
    if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed memory is a valid rusage, and getrusage has filled it.
    Ok(usage_from(unsafe { usage.assume_init_ref() }))
}

/// A state change of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has ended and has been reaped.
    Ended(Reaped),
    /// It was stopped by this signal.
    Stopped(Pid, i32),
    /// It was continued by SIGCONT.
    Continued(Pid),
}

/// Returns a state change of any child that was not returned before, without waiting. Returns `None` if there is none.
///
/// # Errors
/// ECHILD if there is no child.
pub fn next_change() -> io::Result<Option<Change>> {
    wait4(-1, libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED)
}

fn wait4(pid: libc::pid_t, options: libc::c_int) -> io::Result<Option<Change>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: `status` and `usage` are valid for writing during the whole call.
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
