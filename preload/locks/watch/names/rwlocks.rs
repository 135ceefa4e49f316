//! Read-write locks. A time that is none is told before the lock is looked at.

use core::ffi::{c_int, c_void};

use crate::area::Kind;
use crate::clock::Timespec;
use crate::names::{self, First, entrances, locking, trying};
use crate::real::real;
use crate::{hold, start, taken, wait};

entrances! {
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
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::begins(place, Kind::Rwlock, lock.expose_provenance() as u64, site);
    }
    result
}

unsafe extern "C" fn destroy(lock: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_rwlock_destroy(lock: *mut c_void));
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::ends(place, lock.expose_provenance() as u64);
    }
    result
}

const KIND: Kind = Kind::Rwlock;

locking!(rdlock, KIND, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, (lock), First::Try);
locking!(
    timedrdlock,
    KIND,
    pthread_rwlock_timedrdlock,
    pthread_rwlock_tryrdlock,
    (lock, time: *const Timespec),
    First::if_well(names::is_valid(time))
);
locking!(
    clockrdlock,
    KIND,
    pthread_rwlock_clockrdlock,
    pthread_rwlock_tryrdlock,
    (lock, clock: c_int, time: *const Timespec),
    First::if_well(names::is_clock(clock) && names::is_valid(time))
);
trying!(tryrdlock, KIND, pthread_rwlock_tryrdlock);

locking!(wrlock, KIND, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, (lock), First::Try);
locking!(
    timedwrlock,
    KIND,
    pthread_rwlock_timedwrlock,
    pthread_rwlock_trywrlock,
    (lock, time: *const Timespec),
    First::if_well(names::is_valid(time))
);
locking!(
    clockwrlock,
    KIND,
    pthread_rwlock_clockwrlock,
    pthread_rwlock_trywrlock,
    (lock, clock: c_int, time: *const Timespec),
    First::if_well(names::is_clock(clock) && names::is_valid(time))
);
trying!(trywrlock, KIND, pthread_rwlock_trywrlock);

unsafe extern "C" fn unlock(lock: *mut c_void, _: u64) -> c_int {
    let over = start::place().and_then(|place| hold::end(place, Kind::Rwlock, lock.expose_provenance() as u64));
    let result = real!(pthread_rwlock_unlock(lock: *mut c_void));
    if let Some(over) = over {
        over.write_down();
    }
    result
}
