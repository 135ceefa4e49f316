//! What the watcher stands in for.
//!
//! Each name is a jump that takes along where its caller goes on, which is the call site that is noted. Those that are points of
//! cancellation go through more than a jump (`through`).

mod c11;
mod conditions;
mod given_up;
mod mutexes;
mod rwlocks;
mod semaphores;
mod spinlocks;
mod threads;
pub(crate) mod through;

use core::ffi::c_int;

use super::clock::Timespec;

pub(crate) const WELL: c_int = 0;
const EBUSY: c_int = 16;
const EDEADLK: c_int = 35;
const ETIMEDOUT: c_int = 110;
const EOWNERDEAD: c_int = 130;
const ENOTRECOVERABLE: c_int = 131;

/// Where such a function is entered: the return address goes into the register that is the one behind its arguments.
macro_rules! entrances {
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
use entrances;

/// What is done first with a lock that is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// It is tried.
    Try,
    /// It is waited for: somebody has it.
    Wait,
    /// The real function is called, which either has nothing to wait for or says so.
    Call,
}

impl First {
    /// What is done where what was asked for is well-formed, or is not.
    #[inline(always)]
    fn if_well(is_well: bool) -> Self {
        if is_well { First::Try } else { First::Call }
    }
}

/// A lock that is tried first, and waited for by the real function where somebody else has it. What else the try may say, the real
/// function is asked for itself.
macro_rules! locking {
    ($inner:ident, $kind:expr, $real:ident, $try:ident, ($lock:ident $(, $argument:ident: $type:ty)*), $first:expr) => {
        pub(super) unsafe extern "C" fn $inner($lock: *mut c_void, $($argument: $type,)* site: u64) -> c_int {
            let address = $lock.expose_provenance() as u64;
            let Some(place) = start::place() else { return real!($real($lock: *mut c_void $(, $argument: $type)*)) };
            let first = $first;
            if first == names::First::Try {
                let tried = real!($try($lock: *mut c_void));
                if tried == names::WELL {
                    taken::count(place, $kind, address, site);
                    return names::WELL;
                }
                if tried == names::EOWNERDEAD {
                    names::taken_from_the_dead(place, address, site);
                    return tried;
                }
                if tried == names::EBUSY {
                    let wait = wait::begin(place, $kind, address, site);
                    let result = real!($real($lock: *mut c_void $(, $argument: $type)*));
                    names::waited(wait, result);
                    return result;
                }
            } else if first == names::First::Wait {
                let wait = wait::begin(place, $kind, address, site);
                let result = real!($real($lock: *mut c_void $(, $argument: $type)*));
                names::waited(wait, result);
                return result;
            }
            let result = real!($real($lock: *mut c_void $(, $argument: $type)*));
            names::not_waited(place, $kind, address, site, result);
            result
        }
    };
}
use locking;

/// A lock that is tried and no more.
macro_rules! trying {
    ($inner:ident, $kind:expr, $try:ident) => {
        pub(super) unsafe extern "C" fn $inner(lock: *mut c_void, site: u64) -> c_int {
            // First: what is done where this is the very first call must not be done with the lock.
            let place = start::place();
            let result = real!($try(lock: *mut c_void));
            if let Some(place) = place {
                names::not_waited(place, $kind, lock.expose_provenance() as u64, site, result);
            }
            result
        }
    };
}
use trying;

use super::area::{Kind, Place};
use super::wait::{End, Wait};
use super::{entries, hold, index, taken};

#[inline(always)]
fn not_waited(place: &'static Place, kind: Kind, address: u64, site: u64, result: c_int) {
    if result == WELL {
        taken::count(place, kind, address, site);
    } else if result == EOWNERDEAD {
        taken_from_the_dead(place, address, site);
    }
}

/// A mutex was taken whose owner had died: with the mutex, as its hold that was being timed did.
#[cold]
#[inline(never)]
fn taken_from_the_dead(place: &'static Place, address: u64, site: u64) {
    hold::is_lost(place, address);
    taken::count(place, Kind::Mutex, address, site);
}

/// Notes how a wait ended. What was no wait at all, but an error in the asking, is none.
fn waited(wait: Wait, result: c_int) {
    match result {
        WELL => wait.end(End::Got),
        EOWNERDEAD => wait.end_with_the_dead(),
        ETIMEDOUT | EDEADLK | ENOTRECOVERABLE => wait.end(End::GivenUp),
        _ => wait.is_none(),
    }
}

/// A lock begins at this address.
fn begins(place: &'static Place, kind: Kind, address: u64, site: u64) {
    let _ = index::ended(place, address);
    if !entries::are_few(place) {
        let _ = index::find_or_make(place, address, kind, Some(site));
    }
}

/// The lock at this address was destroyed.
fn ends(place: &'static Place, address: u64) {
    if !index::ended(place, address) && entries::are_all_begun(place) {
        place.process.folded.locks.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    }
}

/// Whether a time is one. A lock that could be had at once is not had where it is not.
fn is_valid(time: *const Timespec) -> bool {
    // SAFETY: the caller gave a time; the real function reads it too.
    (0..1_000_000_000).contains(&unsafe { (*time).nanoseconds })
}

/// Whether a clock can be waited by.
fn is_clock(clock: c_int) -> bool {
    const REALTIME: c_int = 0;
    const MONOTONIC: c_int = 1;
    matches!(clock, REALTIME | MONOTONIC)
}
