//! The CPU time of the calling thread.

use super::kernel::{CLOCK_THREAD_CPUTIME_ID, Timespec, clock_gettime};

/// It so far, in nanoseconds; nothing where there is no such clock.
pub(super) fn of_thread() -> Option<u64> {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: it writes one such structure, and reads nothing.
    let failed = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    (!failed).then(|| (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64))
}
