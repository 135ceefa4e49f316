//! The watcher: counts what a program does with its locks, in whichever program it is preloaded into.
//!
//!     names (what it stands in for: pthread_mutex_..., sem_..., mtx_..., pthread_create ...)
//!       -> taken: a try that succeeded is counted, with plain reads and writes where the lock itself keeps others out
//!       -> wait: a try that did not is noted, timed around the real function, and recorded
//!       -> hold: some holds are timed, from when a lock was taken to its unlock
//!     all of which goes into the process's place of the area: index (address -> entry), pairs, sites, thread
//!
//! It runs inside every lock of a program, and so inside its allocator, its signal handlers and its last moments. It takes no
//! locks, allocates nothing, calls the kernel only where something is seen for the first time, and never touches errno. What
//! is returned, and what happens on the way, is what the real function makes of it.
#![no_std]

mod accounts;
#[allow(dead_code)]
#[path = "../shared/area.rs"]
mod area;
mod calls;
mod clock;
mod entries;
mod fork;
mod hold;
mod index;
mod mapped;
mod names;
mod pairs;
mod real;
mod sites;
mod start;
mod taken;
mod thread;
mod wait;

use core::ffi::{c_char, c_int};

/// What ld.so calls once the library is loaded. Locks that were taken earlier, as other libraries were made ready, have had it
/// begin already.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(_: c_int, _: *const *const c_char, _: *const *const c_char) {
    let _ = start::place();
}

/// What is called as the process ends by itself, after whatever the program has for that.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = start::end;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Is nowhere: the library is linked only if nothing in it can panic.
        fn the_watcher_never_panics() -> !;
    }
    // SAFETY: it is never linked, let alone called.
    unsafe { the_watcher_never_panics() }
}
