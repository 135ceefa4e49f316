//! Spinlocks (pthread_spin_lock(3) and related functions).

use core::ffi::{c_int, c_void};

use crate::area::Kind;
use crate::names::{self, Approach, entry_points, lock_function, trylock_function};
use crate::real::real;
use crate::{acquisition, attach, hold, wait};

entry_points! {
    pthread_spin_init -> init, "rdx";
    pthread_spin_destroy -> destroy, "rsi";
    pthread_spin_lock -> lock, "rsi";
    pthread_spin_trylock -> trylock, "rsi";
    pthread_spin_unlock -> unlock, "rsi";
}

unsafe extern "C" fn init(lock: *mut c_void, shared: c_int, site: u64) -> c_int {
    let result = real!(pthread_spin_init(lock: *mut c_void, shared: c_int));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::initialised(place, Kind::Spinlock, lock.expose_provenance() as u64, site);
    }
    result
}

unsafe extern "C" fn destroy(lock: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_spin_destroy(lock: *mut c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::destroyed(place, lock.expose_provenance() as u64);
    }
    result
}

lock_function!(lock, Kind::Spinlock, pthread_spin_lock, pthread_spin_trylock, (lock), Approach::Try);
trylock_function!(trylock, Kind::Spinlock, pthread_spin_trylock);

unsafe extern "C" fn unlock(lock: *mut c_void, _: u64) -> c_int {
    let hold = attach::place().and_then(|place| hold::end(place, Kind::Spinlock, lock.expose_provenance() as u64));
    let result = real!(pthread_spin_unlock(lock: *mut c_void));
    if let Some(hold) = hold {
        hold.record();
    }
    result
}
