//! Values that the compiler must not know.

use std::hint::black_box;

/// A function on a number.
pub(crate) type Function = extern "C" fn(u64) -> u64;

/// The same value, of which the compiler can no longer tell where it is from. Unlike [`black_box`] it leaves the value in
/// its register, so that a loop of it costs nothing but the loop.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn opaque(value: u64) -> u64 {
    let mut value = value;
    // SAFETY: there is no instruction in it: it only claims that there might be one that changes the register.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// As far as [`black_box`] goes on other kinds of CPUs.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn opaque(value: u64) -> u64 {
    black_box(value)
}

/// The same function, of which the compiler can no longer tell which it is: a call of it can be neither inlined nor left
/// out.
pub(crate) fn opaque_function(function: Function) -> Function {
    black_box(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_what_they_are() {
        extern "C" fn twice(value: u64) -> u64 {
            2 * value
        }
        assert_eq!((opaque(7), opaque(u64::MAX)), (7, u64::MAX));
        assert_eq!(opaque_function(twice)(21), 42);
    }
}
