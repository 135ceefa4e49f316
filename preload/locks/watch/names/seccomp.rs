//! Detects that a program restricts its system calls (seccomp(2)), or its use of the time stamp counter, by prctl(3) or
//! syscall(3). A program that makes the system call by its own instruction is not detected.

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use crate::names::tail_calls;
use crate::{attach, calls, clock, real};

const PR_SET_SECCOMP: c_int = 22;
const PR_SET_TSC: c_int = 26;
const PR_TSC_SIGSEGV: c_ulong = 2;
const SECCOMP: c_long = 317;
/// The operations of seccomp(2) that restrict the caller. The first one also forbids the time stamp counter.
const SECCOMP_SET_MODE_STRICT: c_uint = 0;
const SECCOMP_SET_MODE_FILTER: c_uint = 1;
/// The argument of prctl(2) for the strict mode.
const SECCOMP_MODE_STRICT: c_ulong = 1;

extern "C" fn before_prctl(operation: c_int, argument: c_ulong, filter: *const c_void) -> *mut c_void {
    match operation {
        PR_SET_SECCOMP if argument == SECCOMP_MODE_STRICT => restrict(true),
        // Without a filter, it fails; sandboxes test in this way what the kernel has.
        PR_SET_SECCOMP if !filter.is_null() => restrict(false),
        PR_SET_TSC if argument == PR_TSC_SIGSEGV => attach::stop(),
        _ => {}
    }
    real::prctl()
}

extern "C" fn before_syscall(number: c_long, operation: c_uint, flags: c_uint, filter: *const c_void) -> *mut c_void {
    match (number, operation) {
        // With flags or without a filter, it fails; libseccomp tests in this way what the kernel has.
        (SECCOMP, SECCOMP_SET_MODE_STRICT) if flags == 0 => restrict(true),
        (SECCOMP, SECCOMP_SET_MODE_FILTER) if !filter.is_null() => restrict(false),
        _ => {}
    }
    real::syscall()
}

/// The process is no longer watched if it cannot read the time without system calls.
fn restrict(strictly: bool) {
    if strictly || !clock::needs_no_calls() {
        attach::stop();
    }
    calls::forbid();
}

tail_calls! {
    prctl -> before_prctl;
    syscall -> before_syscall;
}
