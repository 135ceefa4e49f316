//! fork(2): the child gets a place of its own, where its parent's was.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use super::area::{Origin, PLACE_BYTES};
use super::{calls, entries, start, thread};

#[link(name = "c")]
unsafe extern "C" {
    /// What pthread_atfork(3) calls, which is not in the C library itself.
    fn __register_atfork(
        prepare: *const c_void,
        parent: *const c_void,
        child: extern "C" fn(),
        library: *const c_void,
    ) -> c_int;
}

/// Has the children of this process tell of themselves.
pub(crate) fn ask_to_be_told() {
    // SAFETY: the watcher is never unloaded.
    let _ = unsafe { __register_atfork(core::ptr::null(), core::ptr::null(), in_child, core::ptr::null()) };
}

/// In the child, where there is one thread: before it goes on, all that led to its parent's place leads to its own.
///
/// The area may be out of reach by now, by chroot(2) or for another user's rights; then the kernel is asked for another part of the
/// file that is mapped already, which it is said not to be fond of. A child that may make no system calls is not watched.
extern "C" fn in_child() {
    let Some((place, head)) = start::mapped() else { return };
    start::stop();
    if calls::are_given_up() {
        return;
    }
    entries::forget();
    thread::forget();
    let Some(number) = start::take(head) else { return calls::map_nothing_over(place, PLACE_BYTES) };
    let offset = start::offset(number);
    let again = || start::open()?.map(offset, PLACE_BYTES, Some(place));
    if again().is_some() || calls::map_other_part(place, PLACE_BYTES, offset / 4096) {
        start::use_place(place, Origin::Fork);
    } else {
        head.unmapped.fetch_add(1, Relaxed);
        calls::map_nothing_over(place, PLACE_BYTES);
    }
}
