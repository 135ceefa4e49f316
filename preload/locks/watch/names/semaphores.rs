//! Semaphores. A wait is a point of cancellation even where it does not have to wait, and tells what went wrong by errno, which is as
//! the real function leaves it.

use core::ffi::{c_int, c_uint, c_void};

use crate::area::Kind;
use crate::names::through::{Call, passages, real_or_missing};
use crate::names::{self, entrances};
use crate::real::{self, real};
use crate::wait::{self, End};
use crate::{start, taken};

#[link(name = "c")]
unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn pthread_testcancel();
}

entrances! {
    sem_init -> init, "rcx";
    sem_destroy -> destroy, "rsi";
    sem_trywait -> trywait, "rsi";
}

passages! {
    sem_wait -> is_good ? pthread_testcancel, before_wait, after;
    sem_timedwait -> is_good_time ? pthread_testcancel, before_timedwait, after;
    sem_clockwait -> is_good_clock ? pthread_testcancel, before_clockwait, after;
}

unsafe extern "C" fn init(semaphore: *mut c_void, shared: c_int, value: c_uint, site: u64) -> c_int {
    let result = real!(sem_init(semaphore: *mut c_void, shared: c_int, value: c_uint));
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::begins(place, Kind::Semaphore, semaphore.expose_provenance() as u64, site);
    }
    result
}

unsafe extern "C" fn destroy(semaphore: *mut c_void, _: u64) -> c_int {
    let result = real!(sem_destroy(semaphore: *mut c_void));
    if result == names::WELL
        && let Some(place) = start::place()
    {
        names::ends(place, semaphore.expose_provenance() as u64);
    }
    result
}

unsafe extern "C" fn trywait(semaphore: *mut c_void, site: u64) -> c_int {
    let place = start::place();
    let result = real!(sem_trywait(semaphore: *mut c_void));
    if result == names::WELL
        && let Some(place) = place
    {
        taken::count(place, Kind::Semaphore, semaphore.expose_provenance() as u64, site);
    }
    result
}

/// Whether a wait can be one: what is asked for is. Who was cancelled is to find that out before a semaphore is taken.
extern "C" fn is_good(_: &Call) -> c_int {
    1
}

extern "C" fn is_good_time(call: &Call) -> c_int {
    names::is_valid(call.pointer(1)).into()
}

extern "C" fn is_good_clock(call: &Call) -> c_int {
    (names::is_clock(call.address(1) as c_int) && names::is_valid(call.pointer(2))).into()
}

extern "C" fn before_wait(call: &mut Call) -> *const c_void {
    before(call, real::sem_wait(), true)
}

extern "C" fn before_timedwait(call: &mut Call) -> *const c_void {
    let good = is_good_time(call) != 0;
    before(call, real::sem_timedwait(), good)
}

extern "C" fn before_clockwait(call: &mut Call) -> *const c_void {
    let good = is_good_clock(call) != 0;
    before(call, real::sem_clockwait(), good)
}

fn before(call: &mut Call, real: *mut c_void, good: bool) -> *const c_void {
    call.set_wait(None);
    let Some(place) = start::place().filter(|_| good) else { return real_or_missing(real) };
    let semaphore: *const c_void = call.pointer(0);
    // SAFETY: each thread has its own errno.
    let errno = unsafe { __errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    if real!(sem_trywait(semaphore: *const c_void)) == names::WELL {
        taken::count(place, Kind::Semaphore, call.address(0), call.site);
        return already as *const c_void;
    }
    // SAFETY: as above.
    unsafe { *errno = before };
    call.set_wait(Some(wait::begin(place, Kind::Semaphore, call.address(0), call.site)));
    real_or_missing(real)
}

/// What is called where it was taken at once.
extern "C" fn already() -> c_int {
    names::WELL
}

extern "C" fn after(call: &Call, result: c_int) -> c_int {
    if let Some(wait) = call.wait() {
        wait.end(if result == names::WELL { End::Got } else { End::GivenUp });
    }
    result
}
