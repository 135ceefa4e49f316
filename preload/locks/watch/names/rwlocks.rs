//! Read-write locks. An invalid timeout is an error even if the lock is free.

use core::ffi::{c_int, c_void};

use crate::area::Kind;
use crate::clock::Timespec;
use crate::names::{self, Approach, entry_points, lock_function, trylock_function};
use crate::real::real;
use crate::{acquisition, attach, hold, wait};

entry_points! {
    pthread_rwlock_init -> init, "rdx";
    pthread_rwlock_destroy -> destroy, "rsi";
    pthread_rwlock_rdlock -> rdlock, "rsi";
    pthread_rwlock_tryrdlock -> tryrdlock, "rsi";
    pthread_rwlock_timedrdlock -> timedrdlock, "rdx";
    pthread_rwlock_clockrdlock -> clockrdlock, "rcx";
    pthread_rwlock_wrlock -> wrlock, "rsi";
    pthread_rwlock_trywrlock -> trywrlock, "rsi";
    pthread_rwlock_timedwrlock -> timedwrlock, "rdx";
    pthread_rwlock_clockwrlock -> clockwrlock, "rcx";
    pthread_rwlock_unlock -> unlock, "rsi";
}

unsafe extern "C" fn init(lock: *mut c_void, attributes: *const c_void, site: u64) -> c_int {
    let result = real!(pthread_rwlock_init(lock: *mut c_void, attributes: *const c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::initialised(place, Kind::Rwlock, lock.expose_provenance() as u64, site);
    }
    result
}

unsafe extern "C" fn destroy(lock: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_rwlock_destroy(lock: *mut c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::destroyed(place, lock.expose_provenance() as u64);
    }
    result
}

const KIND: Kind = Kind::Rwlock;

lock_function!(rdlock, KIND, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, (lock), Approach::Try);
lock_function!(
    timedrdlock,
    KIND,
    pthread_rwlock_timedrdlock,
    pthread_rwlock_tryrdlock,
    (lock, time: *const Timespec),
    Approach::try_if(names::is_valid_time(time))
);
lock_function!(
    clockrdlock,
    KIND,
    pthread_rwlock_clockrdlock,
    pthread_rwlock_tryrdlock,
    (lock, clock: c_int, time: *const Timespec),
    Approach::try_if(names::is_supported_clock(clock) && names::is_valid_time(time))
);
trylock_function!(tryrdlock, KIND, pthread_rwlock_tryrdlock);

lock_function!(wrlock, KIND, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, (lock), Approach::Try);
lock_function!(
    timedwrlock,
    KIND,
    pthread_rwlock_timedwrlock,
    pthread_rwlock_trywrlock,
    (lock, time: *const Timespec),
    Approach::try_if(names::is_valid_time(time))
);
lock_function!(
    clockwrlock,
    KIND,
    pthread_rwlock_clockwrlock,
    pthread_rwlock_trywrlock,
    (lock, clock: c_int, time: *const Timespec),
    Approach::try_if(names::is_supported_clock(clock) && names::is_valid_time(time))
);
trylock_function!(trywrlock, KIND, pthread_rwlock_trywrlock);

unsafe extern "C" fn unlock(lock: *mut c_void, _: u64) -> c_int {
    let hold = attach::place().and_then(|place| hold::end(place, Kind::Rwlock, lock.expose_provenance() as u64));
    let result = real!(pthread_rwlock_unlock(lock: *mut c_void));
    if let Some(hold) = hold {
        hold.record();
    }
    result
}
