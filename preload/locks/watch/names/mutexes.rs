//! Mutexes. Of nearly every type a try and then a lock comes to what the lock does alone: both take a mutex that is free, one more
//! time one that is recursive, and one whose owner died; and whatever else a try says, the lock is asked itself.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use crate::area::Kind;
use crate::clock::Timespec;
use crate::names::{self, First, entrances, locking, trying};
use crate::real::real;
use crate::{hold, real, start, taken, wait};

entrances! {
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
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::begins(place, Kind::Mutex, mutex.expose_provenance() as u64, site);
    }
    result
}

pub(super) unsafe extern "C" fn destroy(mutex: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_mutex_destroy(mutex: *mut c_void));
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::ends(place, mutex.expose_provenance() as u64);
    }
    result
}

/// What is done first.
///
/// One that is free and that nobody but the one thread of this process could take is not tried, for a try costs more than a lock
/// there. Nor is one that raises priorities: a try that may not do that leaves the C library believing that it was done. Whether
/// somebody has it is told by sight.
#[inline(always)]
fn first(mutex: *mut c_void) -> First {
    const PROTECTING: i32 = 64;
    const FOR_OTHERS: i32 = 16 | 32 | PROTECTING | 128;
    const OWNER: i32 = (1 << 19) - 1;
    let words: *const AtomicI32 = mutex.cast_const().cast();
    // SAFETY: it is a mutex, whose first word says whether it is taken, and whose fifth what it is.
    let [taken, kind] = unsafe { [(*words).load(Relaxed), (*words.add(4)).load(Relaxed)] };
    if kind & FOR_OTHERS == 0 {
        return if real::is_single_threaded() && taken == 0 { First::Call } else { First::Try };
    }
    match (kind & PROTECTING, taken & OWNER) {
        (0, _) => First::Try,
        (_, 0) => First::Call,
        _ => First::Wait,
    }
}

locking!(lock, Kind::Mutex, pthread_mutex_lock, pthread_mutex_trylock, (lock), first(lock));
locking!(timedlock, Kind::Mutex, pthread_mutex_timedlock, pthread_mutex_trylock, (lock, time: *const Timespec), first(lock));
locking!(
    clocklock,
    Kind::Mutex,
    pthread_mutex_clocklock,
    pthread_mutex_trylock,
    (lock, clock: c_int, time: *const Timespec),
    if names::is_clock(clock) { first(lock) } else { First::Call }
);
trying!(trylock, Kind::Mutex, pthread_mutex_trylock);

pub(super) unsafe extern "C" fn unlock(mutex: *mut c_void, _: u64) -> c_int {
    let over = start::place().and_then(|place| hold::end(place, Kind::Mutex, mutex.expose_provenance() as u64));
    let result = real!(pthread_mutex_unlock(mutex: *mut c_void));
    if let Some(over) = over {
        over.write_down();
    }
    result
}
