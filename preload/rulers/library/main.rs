//! `libsteady_rulers.so`: the rulers with the C interface of `steady_rulers.h`, for services in any language.
#![no_std]

use core::ffi::c_int;

#[allow(dead_code)]
#[path = "../shared/mod.rs"]
mod rulers;

/// Runs a ruler once. Returns the CPU time that it took the calling thread, in nanoseconds; 0 on failure.
#[unsafe(no_mangle)]
pub extern "C" fn steady_ruler(kind: c_int) -> u64 {
    usize::try_from(kind).ok().and_then(rulers::run).unwrap_or(0)
}

/// Run delay of the calling thread so far, in nanoseconds; `u64::MAX` if it cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn steady_run_delay() -> u64 {
    rulers::run_delay().unwrap_or(u64::MAX)
}

/// Returns the version of the rulers' work. Readings of different versions must not be compared.
#[unsafe(no_mangle)]
pub extern "C" fn steady_rulers_version() -> c_int {
    rulers::VERSION
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Not defined anywhere: linking fails unless the compiler has proved that nothing in the library panics.
        fn the_rulers_never_panic() -> !;
    }
    // SAFETY: unreachable; the library does not link with a call to it.
    unsafe { the_rulers_never_panic() }
}
