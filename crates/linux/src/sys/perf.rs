//! Counters of events: perf_event_open(2).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `read_format`: after the count, for how long the event was enabled and for how long it was counted.
const TOTAL_TIMES: u64 = 1 | 2;
/// Bits of `flags`: counting does not begin by itself, children count too, user mode only, no hypervisor, counting
/// begins at a child's exec.
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// The counts start with the process that opens the event, on whichever CPU it runs.
const THIS_PROCESS: libc::pid_t = 0;
const ANY_CPU: libc::c_int = -1;
const NO_GROUP: libc::c_int = -1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr`, as long as its first version was: every kernel takes that.
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

/// Whom a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The children of this thread: each from its exec on, with all that descends from it. When one ends, what it
    /// counted is added to the counter.
    Children,
    /// This thread from now on, with all that descends from it.
    ThisThreadAndItsChildren,
    /// Nobody.
    Nobody,
}

/// A counter of one event.
///
/// Reads of 24 bytes give the count, and for how many nanoseconds the event was enabled and was counted.
///
/// # Errors
/// ENOENT, ENODEV or EOPNOTSUPP where there is no such counter; EACCES or EPERM where it is not allowed; ENOSYS where
/// the system call is missing.
pub(crate) fn open_counter(kind: u32, config: u64, user_only: bool, counted: Counted) -> io::Result<OwnedFd> {
    let whom = match counted {
        Counted::Children => DISABLED | INHERIT | ENABLE_ON_EXEC,
        Counted::ThisThreadAndItsChildren => INHERIT,
        Counted::Nobody => DISABLED,
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
    // SAFETY: `attributes` is a `perf_event_attr` of the size that it states, and outlives the call, which only reads it.
    let opened = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, THIS_PROCESS, ANY_CPU, NO_GROUP, CLOSE_ON_EXEC)
    };
    match i32::try_from(opened) {
        // SAFETY: the call succeeded, so this is an open descriptor that nobody else owns.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `PERF_EVENT_IOC_SET_FILTER`: a request that writes a pointer.
const SET_FILTER: libc::Ioctl = 0x4008_2406_u32 as libc::Ioctl;

/// Has a counter of a point in the kernel, and those of the children, count only what passes `filter`.
///
/// # Errors
/// EINVAL where the kernel does not understand the filter.
pub(crate) fn filter_counter(counter: &OwnedFd, filter: &CStr) -> io::Result<()> {
    // SAFETY: the filter is a string that ends with NUL and outlives the call, which only reads it.
    let set = unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
