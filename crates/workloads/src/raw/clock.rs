//! Clocks read through the C library, which makes a system call only if the vDSO cannot read the clock.

/// A clock by its number for clock_gettime(2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(pub(crate) libc::clockid_t);

/// Memory for a reading of a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(libc::timespec);

/// A value of nanoseconds that no clock returns.
const NONE: libc::c_long = -1;
const SECOND: libc::c_long = 1_000_000_000;

impl Moment {
    /// Creates a value without a reading.
    pub(crate) fn blank() -> Self {
        Moment(libc::timespec { tv_sec: 0, tv_nsec: NONE })
    }

    /// Overwrites the reading with an invalid value.
    #[inline(always)]
    pub(crate) fn erase(&mut self) {
        self.0.tv_nsec = NONE;
    }

    /// Stores `nanoseconds` as a clock would.
    #[inline(always)]
    pub(crate) fn set(&mut self, nanoseconds: u64) {
        self.0.tv_nsec = nanoseconds as libc::c_long;
    }

    /// Returns whether it contains a reading of a clock.
    #[inline(always)]
    pub(crate) fn is_valid(&self) -> bool {
        (0..SECOND).contains(&self.0.tv_nsec)
    }
}

impl Clock {
    /// Reads the clock. Returns whether clock_gettime(2) succeeded.
    #[inline(always)]
    pub(crate) fn read(self, moment: &mut Moment) -> bool {
        // SAFETY: `moment` is valid for writing during the call.
        unsafe { libc::clock_gettime(self.0, &mut moment.0) == 0 }
    }
}
