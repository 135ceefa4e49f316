//! Threads: their creation, and waits for their end.

use core::ffi::{c_int, c_void};

use crate::names::cancellation::{Call, cancellable, real_or_missing};
use crate::names::{self, entry_points};
use crate::real::{self, real};
use crate::wait::{self, End};
use crate::{attach, thread};

entry_points! {
    pthread_create -> create, "r8";
}

cancellable! {
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
    create_with(
        routine,
        argument,
        |routine, argument| real!(pthread_create(thread: *mut c_void, attributes: *const c_void, routine: usize, argument: *mut c_void)),
    )
}

/// Creates a thread by `create`, which gets [`thread::start_routine`] in place of the program's start routine.
pub(super) fn create_with(
    routine: usize,
    argument: *mut c_void,
    create: impl Fn(usize, *mut c_void) -> c_int,
) -> c_int {
    let Some(stored) = attach::place().and_then(|_| thread::store_start(routine, argument)) else {
        return create(routine, argument);
    };
    let result = create((thread::start_routine as *const c_void).expose_provenance(), stored);
    if result != names::SUCCESS {
        thread::discard_start(stored);
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
    call.set_wait(attach::place().map(|place| wait::begin_join(place, site)));
    real_or_missing(real)
}

pub(super) extern "C" fn after(call: &Call, result: c_int) -> c_int {
    if let Some(wait) = call.wait() {
        wait.end(End::Acquired);
    }
    result
}
