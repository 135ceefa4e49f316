//! Mutexes. Of every type a try and then a lock comes to what the lock does alone: both take a mutex that is free, one more time one
//! that is recursive, and one whose owner died; and whatever else a try says, the lock is asked itself.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use crate::area::Kind;
use crate::clock::Timespec;
use crate::names::{self, entrances, locking, trying};
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

unsafe extern "C" fn destroy(mutex: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_mutex_destroy(mutex: *mut c_void));
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::ends(place, mutex.expose_provenance() as u64);
    }
    result
}

/// Whether a mutex is free, and nobody but the one thread of this process could take it: then it is not tried first, for a try costs
/// more than a lock there.
#[inline(always)]
fn nobody_else(mutex: *mut c_void) -> bool {
    const FOR_OTHERS: i32 = 16 | 32 | 64 | 128;
    let words: *const AtomicI32 = mutex.cast_const().cast();
    // SAFETY: it is a mutex, whose first word says whether it is taken, and whose fifth what it is.
    real::is_single_threaded()
        && unsafe { (*words).load(Relaxed) == 0 && (*words.add(4)).load(Relaxed) & FOR_OTHERS == 0 }
}

locking!(lock, Kind::Mutex, pthread_mutex_lock, pthread_mutex_trylock, (lock), !nobody_else(lock));
locking!(timedlock, Kind::Mutex, pthread_mutex_timedlock, pthread_mutex_trylock, (lock, time: *const Timespec), true);
locking!(
    clocklock,
    Kind::Mutex,
    pthread_mutex_clocklock,
    pthread_mutex_trylock,
    (lock, clock: c_int, time: *const Timespec),
    names::is_clock(clock)
);
trying!(trylock, Kind::Mutex, pthread_mutex_trylock);

unsafe extern "C" fn unlock(mutex: *mut c_void, _: u64) -> c_int {
    if let Some(place) = start::place() {
        hold::end(place, Kind::Mutex, mutex.expose_provenance() as u64);
    }
    real!(pthread_mutex_unlock(mutex: *mut c_void))
}
