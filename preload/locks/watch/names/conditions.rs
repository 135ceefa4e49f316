//! Condition variables. Every call waits. The C library itself releases the mutex for the wait and reacquires it.

use core::ffi::{c_int, c_void};

use crate::area::Kind;
use crate::names::cancellation::{Call, cancellable, real_or_missing};
use crate::names::{self, entry_points};
use crate::real::{self, real};
use crate::{acquisition, attach, hold, index, wait};

entry_points! {
    pthread_cond_destroy -> destroy, "rsi";
}

cancellable! {
    pthread_cond_wait -> before_wait, after;
    pthread_cond_timedwait -> before_timedwait, after;
    pthread_cond_clockwait -> before_clockwait, after;
}

pub(super) extern "C" fn before_wait(call: &mut Call) -> *const c_void {
    before(call, real::pthread_cond_wait())
}

pub(super) extern "C" fn before_timedwait(call: &mut Call) -> *const c_void {
    before(call, real::pthread_cond_timedwait())
}

extern "C" fn before_clockwait(call: &mut Call) -> *const c_void {
    before(call, real::pthread_cond_clockwait())
}

fn before(call: &mut Call, real: *mut c_void) -> *const c_void {
    let (condition, mutex, site) = (call.address(0), call.address(1), call.site);
    let wait = attach::place().map(|place| {
        if let Some(hold) = hold::end(place, Kind::Mutex, mutex) {
            hold.record();
        }
        wait::begin(place, Kind::Condition, condition, site)
    });
    call.set_wait(wait);
    real_or_missing(real)
}

pub(super) extern "C" fn after(call: &Call, result: c_int) -> c_int {
    if let Some(wait) = call.wait() {
        names::end_wait(wait, result);
    }
    // The thread has acquired the mutex again.
    if matches!(result, names::SUCCESS | names::ETIMEDOUT | names::EOWNERDEAD)
        && let Some(place) = attach::place()
        && let Some(mutex) = index::find(place, call.address(1))
    {
        acquisition::set_last(place, mutex);
    }
    result
}

pub(super) unsafe extern "C" fn destroy(condition: *mut c_void, _: u64) -> c_int {
    let result = real!(pthread_cond_destroy(condition: *mut c_void));
    if result == names::SUCCESS
        && let Some(place) = attach::place()
    {
        names::destroyed(place, condition.expose_provenance() as u64);
    }
    result
}
