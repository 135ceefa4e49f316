//! The hook: starts programs from their snapshots. It is preloaded into the programs that start others.
//!
//!     names (the functions it interposes: exec..., posix_spawn..., readlink ...)
//!       -> start: decide (file -> card -> all conditions -> which snapshot, or why none)
//!       -> execute the snapshot with the same arguments and environment, or call the real function
//!
//! It runs where little is allowed: in the child of vfork(2), which shares its parent's memory; between fork(2) and
//! execve(2) in a process with threads; on the smallest thread stacks. It takes no locks and uses less than 2.5 KiB of
//! stack, or 3.5 KiB for a link `/proc/PID/exe` (larger buffers are mapped). It stores nothing in its own memory but
//! addresses, which are the same for every thread that stores them. It reads memory of the caller only if the kernel
//! could read it. In every doubtful case it calls the real function.
#![no_std]

mod buffer;
mod calls;
#[allow(dead_code)]
#[path = "../shared/card.rs"]
mod card;
mod counters;
#[allow(dead_code)]
#[path = "../shared/counts.rs"]
mod counts;
mod decide;
mod environment;
#[allow(dead_code)]
#[path = "../shared/identity.rs"]
mod identity;
mod launch;
mod names;
mod pointers;
mod proc_exe;
mod process;
#[path = "../shared/reader.rs"]
mod reader;
mod real;
mod scratch;
mod start;
mod store;
mod target;

use core::ffi::{c_char, c_int};

/// Called by ld.so once the library is loaded. It does nothing, because most programs start no others, unless a
/// snapshot of the program is being captured. Then everything that would be looked up later is looked up now.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    if environment::value(environment, card::TAKE_VARIABLE.as_bytes()).is_some() {
        real::look_up_all();
        store::hook_path();
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Not defined anywhere: linking fails unless the compiler has proved that nothing in the library panics.
        fn the_hook_never_panics() -> !;
    }
    // SAFETY: unreachable; the library does not link with a call to it.
    unsafe { the_hook_never_panics() }
}
