//! The CPU time of the calling thread.

use super::kernel::{CLOCK_THREAD_CPUTIME_ID, Timespec, clock_gettime};

/// CPU time of the calling thread so far, in nanoseconds; none if the clock cannot be read.
pub(super) fn thread_cpu() -> Option<u64> {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is valid for writes of a `struct timespec`.
    let failed = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    (!failed).then(|| (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64))
}
