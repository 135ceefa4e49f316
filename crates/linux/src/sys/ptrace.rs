//! Watching the system calls of other processes: ptrace(2).

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use rustix::process::Pid;

/// New tasks are watched too, executions are told, stops at system calls are told from signals, and all that is watched
/// dies with the watcher.
const OPTIONS: c_int = libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_EXITKILL;
/// `PTRACE_SYSCALL_INFO_ENTRY`, and how long the kernel's answer is up to the number of the call.
const ENTRY: u8 = 1;
const INFO: usize = 32;
/// Whatever kind of child; of this thread alone.
const MINE: c_int = libc::__WALL | libc::__WNOTHREAD;

/// A process that has stopped or gone on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Stopped, by the number of a signal and the number of an event, which is 0 where there is none.
    Stopped(Pid, c_int, c_int),
    /// It goes on by SIGCONT.
    Continued(Pid),
}

/// How a stopped task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoOn {
    /// To its next system call, the end of one, or another event; this signal is delivered first, if it is not 0.
    ToNextCall(c_int),
    /// It stays stopped as the signal that stopped it demands, until it is continued.
    Stopped,
}

/// Watches `pid` from now on, with all tasks that it will make; it runs on meanwhile.
///
/// # Errors
/// EPERM where that is not allowed, or somebody else watches it.
pub(crate) fn seize(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, 0, ptr::without_provenance_mut(OPTIONS as usize)).map(drop)
}

/// Lets a stopped task go on.
///
/// # Errors
/// ESRCH where it was killed meanwhile.
pub(crate) fn go_on(pid: Pid, how: GoOn) -> io::Result<()> {
    match how {
        GoOn::ToNextCall(signal) => {
            request(libc::PTRACE_SYSCALL, pid, 0, ptr::without_provenance_mut(signal as usize)).map(drop)
        }
        GoOn::Stopped => request(libc::PTRACE_LISTEN, pid, 0, ptr::null_mut()).map(drop),
    }
}

/// What an event is about: the number of a new task, or that which a task had before it executed a program.
///
/// # Errors
/// ESRCH where it was killed meanwhile.
pub(crate) fn event_task(pid: Pid) -> io::Result<Option<Pid>> {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, pid, 0, ptr::from_mut(&mut message).cast())?;
    Ok(i32::try_from(message).ok().and_then(Pid::from_raw))
}

/// The system call that a task which has stopped is about to make: the table (`AUDIT_ARCH` number) and the number;
/// `None` where it is at the end of one.
///
/// # Errors
/// ESRCH where it was killed meanwhile; EIO before Linux 5.3.
pub(crate) fn entered_call(pid: Pid) -> io::Result<Option<(u32, u64)>> {
    let mut info = [0_u64; INFO / 8];
    let told = request(libc::PTRACE_GET_SYSCALL_INFO, pid, INFO, info.as_mut_ptr().cast())?;
    let [operation, _, _, _, architecture @ ..] = info[0].to_ne_bytes();
    let entered = told as usize >= INFO && operation == ENTRY;
    Ok(entered.then(|| (u32::from_ne_bytes(architecture), info[3])))
}

/// One request; `data` is a number, or points to memory that is valid for what the request reads or writes.
fn request(what: c_uint, pid: Pid, address: usize, data: *mut c_void) -> io::Result<libc::c_long> {
    // SAFETY: each request above gives memory of its own that is as long as the request writes and outlives the call, or
    // a number; what happens to the other process is no matter of this one's memory.
    let result =
        unsafe { libc::ptrace(what, pid.as_raw_nonzero().get(), ptr::without_provenance_mut::<c_void>(address), data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The next task of this thread's, child or watched, that has stopped or gone on; `None` where there is none now.
///
/// # Errors
/// ECHILD where there is no task at all.
pub(crate) fn next_stop() -> io::Result<Option<Stop>> {
    let told = waitid(libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG)?;
    Ok(told.map(|(pid, code, status)| match code {
        libc::CLD_CONTINUED => Stop::Continued(pid),
        _ => Stop::Stopped(pid, status & 0xff, status >> 8),
    }))
}

/// What [`next_end`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// This task has ended; it can still be read, and is to be reaped by [`super::reap`].
    Of(Pid),
    /// Something has stopped meanwhile: what is watched is told of whatever is asked for.
    StoppedMeanwhile,
    /// None has ended.
    None,
}

/// A task of this thread's that has ended.
///
/// # Errors
/// ECHILD where there is no task at all.
pub(crate) fn next_end() -> io::Result<End> {
    Ok(match waitid(libc::WEXITED | libc::WNOWAIT | libc::WNOHANG)? {
        Some((pid, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED, _)) => End::Of(pid),
        Some(_) => End::StoppedMeanwhile,
        None => End::None,
    })
}

/// Waits until something happens to a task of this thread's, and leaves it to be told.
///
/// # Errors
/// ECHILD where there is no task at all.
pub(crate) fn await_change() -> io::Result<()> {
    waitid(libc::WEXITED | libc::WSTOPPED | libc::WCONTINUED | libc::WNOWAIT).map(drop)
}

/// The task, the kind of change, and a status or signal.
fn waitid(options: c_int) -> io::Result<Option<(Pid, c_int, c_int)>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` is valid for writing for the whole call.
        if unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options | MINE) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroed memory is a valid siginfo, and waitid has filled it as of SIGCHLD, or left it as it was.
    let (pid, code, status) = unsafe {
        let info = info.assume_init_ref();
        (info.si_pid(), info.si_code, info.si_status())
    };
    Ok(Pid::from_raw(pid).map(|pid| (pid, code, status)))
}
