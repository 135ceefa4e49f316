//! Values that are unknown to the compiler.

use std::hint::black_box;

/// A function from a number to a number.
pub(crate) type Function = extern "C" fn(u64) -> u64;

/// Returns the same value, whose origin the compiler no longer knows. Unlike [`black_box`], it leaves the value in its
/// register, so a loop of it costs nothing but the loop.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn opaque(value: u64) -> u64 {
    let mut value = value;
    // SAFETY: the assembly contains no instruction. It only makes the compiler assume that the register may change.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// On other architectures, the same as [`black_box`].
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn opaque(value: u64) -> u64 {
    black_box(value)
}

/// Returns the same function, which the compiler no longer knows. A call of it can be neither inlined nor removed.
pub(crate) fn opaque_function(function: Function) -> Function {
    black_box(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unchanged() {
        extern "C" fn twice(value: u64) -> u64 {
            2 * value
        }
        assert_eq!((opaque(7), opaque(u64::MAX)), (7, u64::MAX));
        assert_eq!(opaque_function(twice)(21), 42);
    }
}
