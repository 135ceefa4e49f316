//! Clocks as programs read them: by the C library, which asks the kernel only where its shared page has no answer.

/// A clock by its number in clock_gettime(2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(pub(crate) libc::clockid_t);

/// Where a clock's reading is put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(libc::timespec);

/// No clock says this.
const NONE: libc::c_long = -1;
const SECOND: libc::c_long = 1_000_000_000;

impl Moment {
    /// One that holds no reading.
    pub(crate) fn blank() -> Self {
        Moment(libc::timespec { tv_sec: 0, tv_nsec: NONE })
    }

    /// Puts another value than a clock's in its place.
    #[inline(always)]
    pub(crate) fn erase(&mut self) {
        self.0.tv_nsec = NONE;
    }

    /// Puts `nanoseconds` there, as a clock would.
    #[inline(always)]
    pub(crate) fn set(&mut self, nanoseconds: u64) {
        self.0.tv_nsec = nanoseconds as libc::c_long;
    }

    /// Whether there is a reading of a clock.
    #[inline(always)]
    pub(crate) fn is_valid(&self) -> bool {
        (0..SECOND).contains(&self.0.tv_nsec)
    }
}

impl Clock {
    /// Reads it; whether the C library says that it did.
    #[inline(always)]
    pub(crate) fn read(self, moment: &mut Moment) -> bool {
        // SAFETY: `moment` is valid for writing for the whole call.
        unsafe { libc::clock_gettime(self.0, &mut moment.0) == 0 }
    }
}
