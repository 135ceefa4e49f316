//! Semaphores. A wait is a cancellation point even if it does not block, and reports errors by errno, which is left as
//! the real function sets it.

use core::ffi::{c_int, c_uint, c_void};

use crate::area::Kind;
use crate::names::cancellation::{Call, cancellable, real_or_missing};
use crate::names::{self, entry_points};
use crate::real::{self, real};
use crate::wait::{self, End};
use crate::{acquisition, attach};

#[link(name = "c")]
unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn pthread_testcancel();
}

entry_points! {
    sem_init -> init, "rcx";
    sem_destroy -> destroy, "rsi";
    sem_trywait -> trywait, "rsi";
}

cancellable! {
    sem_wait -> is_valid ? pthread_testcancel, before_wait, after;
    sem_timedwait -> is_valid_timedwait ? pthread_testcancel, before_timedwait, after;
    sem_clockwait -> is_valid_clockwait ? pthread_testcancel, before_clockwait, after;
}

unsafe extern "C" fn init(semaphore: *mut c_void, shared: c_int, value: c_uint, site: u64) -> c_int {
    let result = real!(sem_init(semaphore: *mut c_void, shared: c_int, value: c_uint));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::initialised(place, Kind::Semaphore, semaphore.expose_provenance() as u64, site);
    }
    result
}

unsafe extern "C" fn destroy(semaphore: *mut c_void, _: u64) -> c_int {
    let result = real!(sem_destroy(semaphore: *mut c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::destroyed(place, semaphore.expose_provenance() as u64);
    }
    result
}

unsafe extern "C" fn trywait(semaphore: *mut c_void, site: u64) -> c_int {
    let place = attach::place();
    let result = real!(sem_trywait(semaphore: *mut c_void));
    if result == names::SUCCESS
        && let Some(place) = place
    {
        acquisition::count(place, Kind::Semaphore, semaphore.expose_provenance() as u64, site);
    }
    result
}

/// Returns whether the arguments of the wait are valid. If they are, cancellation must be checked before the semaphore
/// is decremented.
extern "C" fn is_valid(_: &Call) -> c_int {
    1
}

extern "C" fn is_valid_timedwait(call: &Call) -> c_int {
    names::is_valid_time(call.pointer(1)).into()
}

extern "C" fn is_valid_clockwait(call: &Call) -> c_int {
    (names::is_supported_clock(call.address(1) as c_int) && names::is_valid_time(call.pointer(2))).into()
}

extern "C" fn before_wait(call: &mut Call) -> *const c_void {
    before(call, real::sem_wait(), true)
}

extern "C" fn before_timedwait(call: &mut Call) -> *const c_void {
    let valid = is_valid_timedwait(call) != 0;
    before(call, real::sem_timedwait(), valid)
}

extern "C" fn before_clockwait(call: &mut Call) -> *const c_void {
    let valid = is_valid_clockwait(call) != 0;
    before(call, real::sem_clockwait(), valid)
}

fn before(call: &mut Call, real: *mut c_void, valid: bool) -> *const c_void {
    call.set_wait(None);
    let Some(place) = attach::place().filter(|_| valid) else { return real_or_missing(real) };
    let semaphore: *const c_void = call.pointer(0);
    // SAFETY: takes no arguments.
    let errno = unsafe { __errno_location() };
    // SAFETY: errno is a variable of this thread.
    let before = unsafe { *errno };
    if real!(sem_trywait(semaphore: *const c_void)) == names::SUCCESS {
        acquisition::count(place, Kind::Semaphore, call.address(0), call.site);
        return acquired_already as *const c_void;
    }
    // SAFETY: as above.
    unsafe { *errno = before };
    call.set_wait(Some(wait::begin(place, Kind::Semaphore, call.address(0), call.site)));
    real_or_missing(real)
}

/// Called in place of the real function when the semaphore was decremented without a wait.
extern "C" fn acquired_already() -> c_int {
    names::SUCCESS
}

extern "C" fn after(call: &Call, result: c_int) -> c_int {
    if let Some(wait) = call.wait() {
        wait.end(if result == names::SUCCESS { End::Acquired } else { End::GaveUp });
    }
    result
}
