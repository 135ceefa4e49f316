//! Traces the system calls of other processes: ptrace(2).

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use rustix::process::Pid;

/// Options: trace new tasks too, report executions, distinguish system call stops from signals, and kill the traced
/// tasks when the tracer ends.
const OPTIONS: c_int = libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_EXITKILL;
/// The operation `PTRACE_SYSCALL_INFO_ENTRY`: a task enters a system call.
const ENTRY: u8 = 1;
/// Size of the kernel's answer up to the number of the system call, in bytes.
const INFO: usize = 32;
/// waitid(2) options: children of every kind, but only those of this thread.
const OF_THIS_THREAD: c_int = libc::__WALL | libc::__WNOTHREAD;

/// A process that has stopped or was continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has stopped: signal number, and event number or 0.
    Stopped(Pid, c_int, c_int),
    /// SIGCONT has continued it.
    Continued(Pid),
}

/// How a stopped task continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoOn {
    /// It runs to the start or end of its next system call or to another event. This signal is delivered first, if it
    /// is not 0.
    ToNextCall(c_int),
    /// It stays stopped, as its stop signal requires, until it is continued.
    Stopped,
}

/// Starts to trace `pid` and all tasks that it creates. It keeps running.
///
/// # Errors
/// EPERM if that is not allowed or another process traces it.
pub(crate) fn seize(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, 0, ptr::without_provenance_mut(OPTIONS as usize)).map(drop)
}

/// Continues a stopped task.
///
/// # Errors
/// ESRCH if the task was killed.
pub(crate) fn go_on(pid: Pid, how: GoOn) -> io::Result<()> {
    match how {
        GoOn::ToNextCall(signal) => {
            request(libc::PTRACE_SYSCALL, pid, 0, ptr::without_provenance_mut(signal as usize)).map(drop)
        }
        GoOn::Stopped => request(libc::PTRACE_LISTEN, pid, 0, ptr::null_mut()).map(drop),
    }
}

/// Returns the task that an event is about: the id of a new task, or the id that a task had before it executed a
/// program.
///
/// # Errors
/// ESRCH if the task was killed.
pub(crate) fn event_task(pid: Pid) -> io::Result<Option<Pid>> {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, pid, 0, ptr::from_mut(&mut message).cast())?;
    Ok(i32::try_from(message).ok().and_then(Pid::from_raw))
}

/// Returns the system call that a stopped task is about to make: its table (`AUDIT_ARCH` number) and its number.
/// Returns `None` at the end of a system call.
///
/// # Errors
/// ESRCH if the task was killed; EIO before Linux 5.3.
pub(crate) fn entered_call(pid: Pid) -> io::Result<Option<(u32, u64)>> {
    let mut info = [0_u64; INFO / 8];
    let length = request(libc::PTRACE_GET_SYSCALL_INFO, pid, INFO, info.as_mut_ptr().cast())?;
    let [operation, _, _, _, architecture @ ..] = info[0].to_ne_bytes();
    let entered = length as usize >= INFO && operation == ENTRY;
    Ok(entered.then(|| (u32::from_ne_bytes(architecture), info[3])))
}

/// Makes one request. `data` is a number, or points to memory that is valid for what the request reads or writes.
fn request(what: c_uint, pid: Pid, address: usize, data: *mut c_void) -> io::Result<libc::c_long> {
    // SAFETY: each caller in this file passes a number, or memory of its own that is as long as the request writes and
    // that outlives the call. The request changes only the other process.
    let result =
        unsafe { libc::ptrace(what, pid.as_raw_nonzero().get(), ptr::without_provenance_mut::<c_void>(address), data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Returns a task of this thread, child or traced, that has stopped or was continued. Returns `None` if there is none
/// now.
///
/// # Errors
/// ECHILD if there is no task.
pub(crate) fn next_stop() -> io::Result<Option<Stop>> {
    let change = waitid(libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG)?;
    Ok(change.map(|(pid, code, status)| match code {
        libc::CLD_CONTINUED => Stop::Continued(pid),
        _ => Stop::Stopped(pid, status & 0xff, status >> 8),
    }))
}

/// What [`next_end`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// This task has ended. It can still be read, and must be reaped with [`super::reap`].
    Of(Pid),
    /// A task has stopped. For traced tasks, waitid(2) reports stops even if only ends are requested.
    StoppedInstead,
    /// No task has ended.
    None,
}

/// Returns a task of this thread that has ended.
///
/// # Errors
/// ECHILD if there is no task.
pub(crate) fn next_end() -> io::Result<End> {
    Ok(match waitid(libc::WEXITED | libc::WNOWAIT | libc::WNOHANG)? {
        Some((pid, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED, _)) => End::Of(pid),
        Some(_) => End::StoppedInstead,
        None => End::None,
    })
}

/// Waits until a task of this thread changes its state. The change can still be read afterwards.
///
/// # Errors
/// ECHILD if there is no task.
pub(crate) fn await_change() -> io::Result<()> {
    waitid(libc::WEXITED | libc::WSTOPPED | libc::WCONTINUED | libc::WNOWAIT).map(drop)
}

/// Returns the task, the kind of change, and the exit status or signal.
fn waitid(options: c_int) -> io::Result<Option<(Pid, c_int, c_int)>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` is valid for writing during the whole call.
        if unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options | OF_THIS_THREAD) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroed memory is a valid siginfo, and waitid has filled it as for SIGCHLD or left it unchanged.
    let (pid, code, status) = unsafe {
        let info = info.assume_init_ref();
        (info.si_pid(), info.si_code, info.si_status())
    };
    Ok(Pid::from_raw(pid).map(|pid| (pid, code, status)))
}
