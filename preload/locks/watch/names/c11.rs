//! Mutexes, conditions and threads of threads.h: those of POSIX threads under other names and with other results. The C
//! library implements them by internal calls, which cannot be interposed.

use core::ffi::{c_int, c_void};

use crate::area::Kind;
use crate::attach;
use crate::clock::Timespec;
use crate::names::cancellation::{Call, cancellable};
use crate::names::{self, conditions, entry_points, mutexes, threads};
use crate::real::{self, real};

entry_points! {
    mtx_init -> init, "rdx";
    mtx_destroy -> destroy, "rsi";
    mtx_lock -> lock, "rsi";
    mtx_timedlock -> timedlock, "rdx";
    mtx_trylock -> trylock, "rsi";
    mtx_unlock -> unlock, "rsi";
    cnd_destroy -> destroy_condition, "rsi";
    thrd_create -> create, "rcx";
}

cancellable! {
    cnd_wait -> before_wait, after;
    cnd_timedwait -> before_timedwait, after;
    thrd_join -> before_join, after_join;
}

/// Converts an errno to a result of threads.h (`thrd_success` and so on).
fn to_c11(result: c_int) -> c_int {
    const EBUSY: c_int = 16;
    const ENOMEM: c_int = 12;
    const ETIMEDOUT: c_int = 110;
    match result {
        names::SUCCESS => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

unsafe extern "C" fn init(mutex: *mut c_void, kind: c_int, site: u64) -> c_int {
    let result = real!(mtx_init(mutex: *mut c_void, kind: c_int));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::initialised(place, Kind::Mutex, mutex.expose_provenance() as u64, site);
    }
    result
}

unsafe extern "C" fn destroy(mutex: *mut c_void, site: u64) {
    // SAFETY: guaranteed by the caller.
    let _ = unsafe { mutexes::destroy(mutex, site) };
}

unsafe extern "C" fn lock(mutex: *mut c_void, site: u64) -> c_int {
    // SAFETY: guaranteed by the caller.
    to_c11(unsafe { mutexes::lock(mutex, site) })
}

unsafe extern "C" fn timedlock(mutex: *mut c_void, time: *const Timespec, site: u64) -> c_int {
    // SAFETY: guaranteed by the caller.
    to_c11(unsafe { mutexes::timedlock(mutex, time, site) })
}

unsafe extern "C" fn trylock(mutex: *mut c_void, site: u64) -> c_int {
    // SAFETY: guaranteed by the caller.
    to_c11(unsafe { mutexes::trylock(mutex, site) })
}

unsafe extern "C" fn unlock(mutex: *mut c_void, site: u64) -> c_int {
    // SAFETY: guaranteed by the caller.
    to_c11(unsafe { mutexes::unlock(mutex, site) })
}

unsafe extern "C" fn destroy_condition(condition: *mut c_void, site: u64) {
    // SAFETY: guaranteed by the caller.
    let _ = unsafe { conditions::destroy(condition, site) };
}

extern "C" fn before_wait(call: &mut Call) -> *const c_void {
    conditions::before_wait(call)
}

extern "C" fn before_timedwait(call: &mut Call) -> *const c_void {
    conditions::before_timedwait(call)
}

extern "C" fn after(call: &Call, result: c_int) -> c_int {
    to_c11(conditions::after(call, result))
}

unsafe extern "C" fn create(thread: *mut c_void, routine: usize, argument: *mut c_void, _: u64) -> c_int {
    threads::create_with(
        routine,
        argument,
        |routine, argument| real!(thrd_create(thread: *mut c_void, routine: usize, argument: *mut c_void)),
    )
}

extern "C" fn before_join(call: &mut Call) -> *const c_void {
    threads::before(call, real::thrd_join())
}

extern "C" fn after_join(call: &Call, result: c_int) -> c_int {
    threads::after(call, result)
}
