//! Threads: when they begin, and who waits for their end.

use core::ffi::{c_int, c_void};

use crate::names::through::{Call, passages, real_or_missing};
use crate::names::{self, entrances};
use crate::real::{self, real};
use crate::wait::{self, End};
use crate::{start, thread};

entrances! {
    pthread_create -> create, "r8";
}

passages! {
    pthread_join -> before_join, after;
    pthread_timedjoin_np -> before_timedjoin, after;
    pthread_clockjoin_np -> before_clockjoin, after;
}

unsafe extern "C" fn create(
    thread: *mut c_void,
    attributes: *const c_void,
    routine: usize,
    argument: *mut c_void,
    _: u64,
) -> c_int {
    created(
        routine,
        argument,
        |routine, argument| real!(pthread_create(thread: *mut c_void, attributes: *const c_void, routine: usize, argument: *mut c_void)),
    )
}

/// A thread that is to begin with this is created, by who is told what it begins with instead.
pub(super) fn created(routine: usize, argument: *mut c_void, create: impl Fn(usize, *mut c_void) -> c_int) -> c_int {
    let Some(kept) = start::place().and_then(|_| thread::keep(routine, argument)) else {
        return create(routine, argument);
    };
    let result = create((thread::begins as *const c_void).expose_provenance(), kept);
    if result != names::WELL {
        thread::give_up(kept);
    }
    result
}

extern "C" fn before_join(call: &mut Call) -> *const c_void {
    before(call, real::pthread_join())
}

extern "C" fn before_timedjoin(call: &mut Call) -> *const c_void {
    before(call, real::pthread_timedjoin_np())
}

extern "C" fn before_clockjoin(call: &mut Call) -> *const c_void {
    before(call, real::pthread_clockjoin_np())
}

pub(super) fn before(call: &mut Call, real: *mut c_void) -> *const c_void {
    let site = call.site;
    call.set_wait(start::place().map(|place| wait::begin_join(place, site)));
    real_or_missing(real)
}

pub(super) extern "C" fn after(call: &Call, result: c_int) -> c_int {
    if let Some(wait) = call.wait() {
        wait.end(End::Got);
    }
    result
}
