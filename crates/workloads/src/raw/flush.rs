//! Memory put out of all caches.

/// Whether [`flush`] can be had on the kind of CPU that this is built for.
pub(crate) const CAN_FLUSH: bool = cfg!(target_arch = "x86_64");

/// Puts the cache lines that hold these words out of all levels of all caches, and waits until they are.
///
/// Source: CLFLUSH in the "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2: ordered by MFENCE.
#[cfg(target_arch = "x86_64")]
pub(crate) fn flush<'a>(words: impl Iterator<Item = &'a usize>) {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    for word in words {
        // SAFETY: SSE2 is part of x86-64, and the address is that of a reference. What memory holds does not change.
        unsafe { _mm_clflush(std::ptr::from_ref(word).cast()) };
    }
    // SAFETY: SSE2 is part of x86-64; a fence has no other effect.
    unsafe { _mm_mfence() };
}

/// Does nothing here: see [`CAN_FLUSH`].
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn flush<'a>(_: impl Iterator<Item = &'a usize>) {}
