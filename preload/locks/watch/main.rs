//! The watcher: counts what a program does with its locks. It is preloaded into the program.
//!
//!     names (the functions it interposes: pthread_mutex_..., sem_..., mtx_..., pthread_create ...)
//!       -> acquisition: counts a successful trylock, without atomic additions if the lock excludes other writers
//!       -> wait: publishes the beginning of a wait, times the real function, and records the wait
//!       -> hold: times some holds, from acquisition to unlock
//!     into the process's place in the area: index (address -> entry), pairs, sites, thread
//!
//! It runs inside every lock operation of a program, and therefore inside its allocator, its signal handlers and its
//! exit. It acquires no locks, allocates no memory, and does not change errno. It makes system calls only at the start
//! and end of processes and threads, and for new call sites. The program gets the results and side effects of the real
//! function.
#![no_std]

mod accounts;
mod acquisition;
#[allow(dead_code)]
#[path = "../shared/area.rs"]
mod area;
mod attach;
mod calls;
mod clock;
mod entries;
mod hold;
mod index;
mod names;
mod pairs;
mod real;
mod sites;
mod thread;
mod wait;

use core::ffi::{c_char, c_int};

/// Called by ld.so once the library is loaded. If a constructor of another library took a lock earlier, that call has
/// already attached the process.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(_: c_int, _: *const *const c_char, _: *const *const c_char) {
    let _ = attach::place();
}

/// Called when the process exits by exit(3) or the return of `main`, after the program's own exit handlers.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = attach::on_exit;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Not defined anywhere: linking fails unless the compiler has proved that nothing in the library panics.
        fn the_watcher_never_panics() -> !;
    }
    // SAFETY: unreachable; the library does not link with a call to it.
    unsafe { the_watcher_never_panics() }
}
