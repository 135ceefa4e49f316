//! `libsteady_rulers.so`: the rulers behind the C interface of `steady_rulers.h`, for services in any language.
#![no_std]

use core::ffi::c_int;

#[allow(dead_code)]
#[path = "../shared/mod.rs"]
mod rulers;

/// Runs a ruler once: the CPU time that it took the calling thread in nanoseconds; 0 where it cannot be had.
#[unsafe(no_mangle)]
pub extern "C" fn steady_ruler(kind: c_int) -> u64 {
    usize::try_from(kind).ok().and_then(rulers::run).unwrap_or(0)
}

/// How long the calling thread has waited for a CPU so far, in nanoseconds; the greatest number where the kernel does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn steady_run_delay() -> u64 {
    rulers::run_delay().unwrap_or(u64::MAX)
}

/// What the rulers do: readings of different versions are not to be compared.
#[unsafe(no_mangle)]
pub extern "C" fn steady_rulers_version() -> c_int {
    rulers::VERSION
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Is nowhere: the library is linked only if nothing in it can panic.
        fn the_rulers_never_panic() -> !;
    }
    // SAFETY: it is never linked, let alone called.
    unsafe { the_rulers_never_panic() }
}
