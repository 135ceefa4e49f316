//! Mutexes. For nearly every type a trylock followed by a lock does the same as the lock alone: both acquire a free
//! mutex, a recursive one again, and one whose owner died. For any other result of the trylock, the real lock function
//! is called.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use crate::area::Kind;
use crate::clock::Timespec;
use crate::names::{self, Approach, entry_points, lock_function, trylock_function};
use crate::real::real;
use crate::{acquisition, attach, hold, real, wait};

entry_points! {
    pthread_mutex_init -> init, "rdx";
    pthread_mutex_destroy -> destroy, "rsi";
    pthread_mutex_lock -> lock, "rsi";
    pthread_mutex_trylock -> trylock, "rsi";
    pthread_mutex_timedlock -> timedlock, "rdx";
    pthread_mutex_clocklock -> clocklock, "rcx";
    pthread_mutex_unlock -> unlock, "rsi";
}

unsafe extern "C" fn init(mutex: *mut c_void, attributes: *const c_void, site: u64) -> c_int {
    let result = real!(pthread_mutex_init(mutex: *mut c_void, attributes: *const c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::initialised(place, Kind::Mutex, mutex.expose_provenance() as u64, site);
    }
    result
}

pub(super) unsafe extern "C" fn destroy(mutex: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_mutex_destroy(mutex: *mut c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::destroyed(place, mutex.expose_provenance() as u64);
    }
    result
}

/// Returns what to do first.
///
/// A free mutex of a single-threaded process is not tried, because the C library's trylock is slower than its lock
/// there. A PTHREAD_PRIO_PROTECT mutex is not tried either: if a trylock may not raise the priority, the C library
/// believes afterwards that it did. Whether such a mutex is held is read from its owner field.
#[inline(always)]
fn first(mutex: *mut c_void) -> Approach {
    const PRIO_PROTECT: i32 = 64;
    const SPECIAL: i32 = 16 | 32 | PRIO_PROTECT | 128;
    const OWNER: i32 = (1 << 19) - 1;
    let words: *const AtomicI32 = mutex.cast_const().cast();
    // SAFETY: `mutex` points to a mutex: word 0 is its lock word, word 4 its kind.
    let [lock_word, kind] = unsafe { [(*words).load(Relaxed), (*words.add(4)).load(Relaxed)] };
    if kind & SPECIAL == 0 {
        return if real::is_single_threaded() && lock_word == 0 { Approach::Call } else { Approach::Try };
    }
    match (kind & PRIO_PROTECT, lock_word & OWNER) {
        (0, _) => Approach::Try,
        (_, 0) => Approach::Call,
        _ => Approach::Wait,
    }
}

lock_function!(lock, Kind::Mutex, pthread_mutex_lock, pthread_mutex_trylock, (lock), first(lock));
lock_function!(timedlock, Kind::Mutex, pthread_mutex_timedlock, pthread_mutex_trylock, (lock, time: *const Timespec), first(lock));
lock_function!(
    clocklock,
    Kind::Mutex,
    pthread_mutex_clocklock,
    pthread_mutex_trylock,
    (lock, clock: c_int, time: *const Timespec),
    if names::is_supported_clock(clock) { first(lock) } else { Approach::Call }
);
trylock_function!(trylock, Kind::Mutex, pthread_mutex_trylock);

pub(super) unsafe extern "C" fn unlock(mutex: *mut c_void, _: u64) -> c_int {
    let hold = attach::place().and_then(|place| hold::end(place, Kind::Mutex, mutex.expose_provenance() as u64));
    let result = real!(pthread_mutex_unlock(mutex: *mut c_void));
    if let Some(hold) = hold {
        hold.record();
    }
    result
}
