//! Event counters: perf_event_open(2).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `read_format`: a reading has the count, then the time enabled and the time running.
const TOTAL_TIMES: u64 = 1 | 2;
/// Bit of `flags`: the counter does not start when it is opened.
const DISABLED: u64 = 1 << 0;
/// Bit of `flags`: children count too.
const INHERIT: u64 = 1 << 1;
/// Bit of `flags`: count user mode only.
const EXCLUDE_KERNEL: u64 = 1 << 5;
/// Bit of `flags`: do not count the hypervisor.
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Bit of `flags`: the counter starts at a child's exec.
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// Arguments of perf_event_open(2): count the calling process, on every CPU that it runs on.
const THIS_PROCESS: libc::pid_t = 0;
const ANY_CPU: libc::c_int = -1;
const NO_GROUP: libc::c_int = -1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` in the size of its first version, which every kernel accepts.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// The processes that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The children of this thread, each from its exec on, and all their descendants. When one of them ends, its count
    /// is added to the counter.
    Children,
    /// This thread from now on, and everything that it creates.
    ThisThreadAndItsChildren,
    /// Neither this thread nor its children.
    Nothing,
}

/// Opens a counter of one event.
///
/// A read of 24 bytes returns the count, the time enabled and the time running, both in nanoseconds.
///
/// # Errors
/// ENOENT, ENODEV or EOPNOTSUPP if there is no such counter; EACCES or EPERM if it is not allowed; ENOSYS if the system
/// call is missing.
pub(crate) fn open_counter(kind: u32, config: u64, user_only: bool, counted: Counted) -> io::Result<OwnedFd> {
    let whom = match counted {
        Counted::Children => DISABLED | INHERIT | ENABLE_ON_EXEC,
        Counted::ThisThreadAndItsChildren => INHERIT,
        Counted::Nothing => DISABLED,
    };
    let kernel = if user_only { EXCLUDE_KERNEL } else { 0 };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format: TOTAL_TIMES,
        flags: whom | EXCLUDE_HYPERVISOR | kernel,
        wakeup_events: 0,
        breakpoint_type: 0,
        config1: 0,
    };
    // SAFETY: `attributes` is a `perf_event_attr` with its size in it. It outlives the call, which only reads it.
    let opened = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, THIS_PROCESS, ANY_CPU, NO_GROUP, CLOSE_ON_EXEC)
    };
    match i32::try_from(opened) {
        // SAFETY: the call succeeded, so this is an open descriptor that has no other owner.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `PERF_EVENT_IOC_SET_FILTER`: an ioctl request with a pointer argument.
const SET_FILTER: libc::Ioctl = 0x4008_2406_u32 as libc::Ioctl;

/// Makes a tracepoint counter, and the counters inherited from it, count only events that match `filter`.
///
/// # Errors
/// EINVAL if the kernel cannot parse the filter.
pub(crate) fn filter_counter(counter: &OwnedFd, filter: &CStr) -> io::Result<()> {
    // SAFETY: the filter ends with NUL and outlives the call, which only reads it.
    let set = unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
