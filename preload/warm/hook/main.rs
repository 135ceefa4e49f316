//! The hook: starts programs from their snapshots, in whichever program it is preloaded into.
//!
//!     names (what it stands in for: exec..., posix_spawn..., readlink ...)
//!       -> start: decide (file -> card -> all that it asks for -> which snapshot, or why not)
//!       -> the snapshot, executed with the same arguments and environment; else the real function
//!
//! It runs where little may be done: in the child of vfork(2), in whose memory the parent goes on; between fork(2) and
//! execve(2) of a process with threads; on the smallest stacks that threads can have. So it takes no locks, uses less than
//! 2.5 KiB of stack (what is larger is mapped), and leaves nothing but
//! addresses in its own memory, which are the same whoever finds them. It reads no memory of the caller's that the
//! kernel could not read. Whatever it is not sure of, it leaves to the function that it stands in for.
#![no_std]

mod alone;
mod buffer;
mod calls;
#[allow(dead_code)]
#[path = "../shared/card.rs"]
mod card;
mod counted;
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
mod own;
mod pointers;
mod process;
#[path = "../shared/reader.rs"]
mod reader;
mod real;
mod scratch;
mod script;
mod search;
mod start;
mod store;
mod wish;

use core::ffi::{c_char, c_int};

/// What ld.so calls once the library is loaded. Nothing is done, for most programs start no other. But where a program
/// is being taken, all that would be found later is found now.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

extern "C" fn constructor(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    if environment::value(environment, card::TAKE_VARIABLE.as_bytes()).is_some() {
        real::find_all();
        store::find();
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Is nowhere: the library is linked only if nothing in it can panic.
        fn the_hook_never_panics() -> !;
    }
    // SAFETY: it is never linked, let alone called.
    unsafe { the_hook_never_panics() }
}
