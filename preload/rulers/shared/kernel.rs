//! Functions of the C library and constants of the kernel.

use core::ffi::{c_char, c_int, c_long, c_void};

/// The layout of `struct timespec` (timespec(3type)).
#[repr(C)]
pub(super) struct Timespec {
    pub(super) seconds: c_long,
    pub(super) nanoseconds: c_long,
}

pub(super) const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
pub(super) const O_RDONLY: c_int = 0;
pub(super) const O_CLOEXEC: c_int = 0o2_000_000;
pub(super) const O_NONBLOCK: c_int = 0o4_000;
pub(super) const F_DUPFD_CLOEXEC: c_int = 1030;

unsafe extern "C" {
    pub(super) fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    pub(super) fn getppid() -> c_int;
    pub(super) fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    pub(super) fn fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
    pub(super) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(super) fn read(descriptor: c_int, bytes: *mut c_void, count: usize) -> isize;
    pub(super) fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    pub(super) fn close(descriptor: c_int) -> c_int;
}
