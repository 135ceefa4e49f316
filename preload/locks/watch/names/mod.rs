//! The interposed functions.
//!
//! Each exported name is a jump that passes the return address of its caller on, which is the recorded call site.
//! Functions that are cancellation points need more than a jump ([`cancellation`]).

mod c11;
pub(crate) mod cancellation;
mod conditions;
mod ends;
mod mutexes;
mod rwlocks;
mod seccomp;
mod semaphores;
mod spinlocks;
mod threads;

use core::ffi::c_int;

use super::clock::Timespec;

pub(crate) const SUCCESS: c_int = 0;
const EBUSY: c_int = 16;
const EDEADLK: c_int = 35;
const ETIMEDOUT: c_int = 110;
const EOWNERDEAD: c_int = 130;
const ENOTRECOVERABLE: c_int = 131;

/// Defines entry points: each loads the return address into the register of the argument after the function's own.
macro_rules! entry_points {
    ($($name:ident -> $inner:ident, $register:literal;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    concat!("mov ", $register, ", qword ptr [rsp]"),
                    "jmp {inner}",
                    ".cfi_endproc",
                    inner = sym $inner,
                )
            }
        )*
    };
}
use entry_points;

/// Defines entry points that jump to the function that `before` returns, with all argument registers restored.
macro_rules! tail_calls {
    ($($name:ident -> $before:ident;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    ".cfi_adjust_cfa_offset 56",
                    "call {before}",
                    "mov r11, rax",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    ".cfi_adjust_cfa_offset -56",
                    "jmp r11",
                    ".cfi_endproc",
                    before = sym $before,
                )
            }
        )*
    };
}
use tail_calls;

/// What to do first when a lock is requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approach {
    /// Try the lock without waiting, and wait only if it is held.
    Try,
    /// Call the real function and count it as a wait: the lock is held by another thread.
    Wait,
    /// Call the real function, which does not have to wait, or returns an error.
    Call,
}

impl Approach {
    /// Tries the lock if the arguments are valid. Otherwise the real function returns the error.
    #[inline(always)]
    fn try_if(valid: bool) -> Self {
        if valid { Approach::Try } else { Approach::Call }
    }
}

/// Defines a lock function that tries the lock first, and waits with the real function if it is held by another thread.
/// For any other result of the try, the real function is called.
macro_rules! lock_function {
    ($inner:ident, $kind:expr, $real:ident, $try:ident, ($lock:ident $(, $argument:ident: $type:ty)*), $first:expr) => {
        pub(super) unsafe extern "C" fn $inner($lock: *mut c_void, $($argument: $type,)* site: u64) -> c_int {
            let address = $lock.expose_provenance() as u64;
            let Some(place) = attach::place() else { return real!($real($lock: *mut c_void $(, $argument: $type)*)) };
            let first = $first;
            if first == names::Approach::Try {
                let tried = real!($try($lock: *mut c_void));
                if tried == names::SUCCESS {
                    acquisition::count(place, $kind, address, site);
                    return names::SUCCESS;
                }
                if tried == names::EOWNERDEAD {
                    names::count_owner_dead(place, address, site);
                    return tried;
                }
                if tried == names::EBUSY {
                    let wait = wait::begin(place, $kind, address, site);
                    let result = real!($real($lock: *mut c_void $(, $argument: $type)*));
                    names::end_wait(wait, result);
                    return result;
                }
            } else if first == names::Approach::Wait {
                let wait = wait::begin(place, $kind, address, site);
                let result = real!($real($lock: *mut c_void $(, $argument: $type)*));
                names::end_wait(wait, result);
                return result;
            }
            let result = real!($real($lock: *mut c_void $(, $argument: $type)*));
            names::count_result(place, $kind, address, site, result);
            result
        }
    };
}
use lock_function;

/// Defines a trylock function.
macro_rules! trylock_function {
    ($inner:ident, $kind:expr, $try:ident) => {
        pub(super) unsafe extern "C" fn $inner(lock: *mut c_void, site: u64) -> c_int {
            // Attach first: what the very first call does must not be done while the lock is held.
            let place = attach::place();
            let result = real!($try(lock: *mut c_void));
            if let Some(place) = place {
                names::count_result(place, $kind, lock.expose_provenance() as u64, site, result);
            }
            result
        }
    };
}
use trylock_function;

use super::area::{Kind, ProcessPlace};
use super::wait::{End, Wait};
use super::{acquisition, entries, hold, index};

#[inline(always)]
fn count_result(place: &'static ProcessPlace, kind: Kind, address: u64, site: u64, result: c_int) {
    if result == SUCCESS {
        acquisition::count(place, kind, address, site);
    } else if result == EOWNERDEAD {
        count_owner_dead(place, address, site);
    }
}

/// Counts the acquisition of a mutex whose owner died, and discards that owner's hold.
#[cold]
#[inline(never)]
fn count_owner_dead(place: &'static ProcessPlace, address: u64, site: u64) {
    hold::discard(place, address);
    acquisition::count(place, Kind::Mutex, address, site);
}

/// Ends a wait. A call that failed before it could wait is discarded.
fn end_wait(wait: Wait, result: c_int) {
    match result {
        SUCCESS => wait.end(End::Acquired),
        EOWNERDEAD => wait.end_owner_dead(),
        ETIMEDOUT | EDEADLK | ENOTRECOVERABLE => wait.end(End::GaveUp),
        _ => wait.discard(),
    }
}

/// Notes that a lock was initialised at this address.
fn initialised(place: &'static ProcessPlace, kind: Kind, address: u64, site: u64) {
    let _ = index::destroy(place, address);
    if !entries::is_half_used(place) {
        let _ = index::find_or_create(place, address, kind, Some(site));
    }
}

/// Notes that the lock at this address was destroyed.
fn destroyed(place: &'static ProcessPlace, address: u64) {
    if !index::destroy(place, address) && entries::is_exhausted(place) {
        place.process.folded.locks.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    }
}

/// Returns whether a timeout is valid. An invalid one must fail even if the lock is free. Some real functions accept
/// null as no timeout.
fn is_valid_time(time: *const Timespec) -> bool {
    // SAFETY: the caller passed a valid pointer or null; the real function reads it too.
    unsafe { time.as_ref() }.is_none_or(|time| (0..1_000_000_000).contains(&time.nanoseconds))
}

/// Returns whether a clock is supported for timeouts.
fn is_supported_clock(clock: c_int) -> bool {
    const REALTIME: c_int = 0;
    const MONOTONIC: c_int = 1;
    matches!(clock, REALTIME | MONOTONIC)
}
