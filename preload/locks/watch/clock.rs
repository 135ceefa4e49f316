//! Clocks: as the program itself would read them, without the kernel where the C library knows how.

use core::ffi::c_int;

use super::{calls, real};

const MONOTONIC: c_int = 1;
const PROCESS_CPU: c_int = 2;
const THREAD_CPU: c_int = 3;

/// As time(7) has it.
#[repr(C)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

fn read(clock: c_int) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    let function = real::clock_gettime();
    if function.is_null() {
        return 0;
    }
    // SAFETY: the C library's function of this name has this type.
    let function: extern "C" fn(c_int, *mut Timespec) -> c_int = unsafe { core::mem::transmute(function) };
    if function(clock, &raw mut time) != 0 {
        return 0;
    }
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// Now, in nanoseconds.
pub(crate) fn now() -> u64 {
    read(MONOTONIC)
}

/// CPU time of all threads.
pub(crate) fn of_process() -> u64 {
    of_kernel(PROCESS_CPU)
}

/// CPU time of this thread.
pub(crate) fn of_thread() -> u64 {
    of_kernel(THREAD_CPU)
}

/// A clock that takes a system call; 0 where none may be made.
fn of_kernel(clock: c_int) -> u64 {
    if calls::are_given_up() { 0 } else { read(clock) }
}
