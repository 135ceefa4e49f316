//! The ruler "syscall": short system calls, and a byte through a pipe.
//!
//! Each run creates its own pipe, outside the measurement. A pipe kept between runs could be replaced by other files in
//! a program that closes all descriptors, and would be shared with forked children.

use core::ffi::{c_int, c_void};

use super::kernel::{F_DUPFD_CLOEXEC, O_CLOEXEC, O_NONBLOCK, close, fcntl, getppid, pipe2, read, write};
use super::timed;

const SHORT_CALLS: usize = 30;
/// The lowest descriptor to use, so that no pipe becomes a standard stream of a program that has closed those.
const LOWEST: c_int = 3;

pub(super) fn run() -> Option<u64> {
    let pipe = Pipe::new()?;
    let mut passed = false;
    let time = timed(|| {
        for _ in 0..SHORT_CALLS {
            // SAFETY: takes no arguments and always succeeds.
            unsafe { getppid() };
        }
        passed = pipe.pass();
    });
    time.filter(|_| passed)
}

struct Pipe {
    from: c_int,
    to: c_int,
}

impl Pipe {
    fn new() -> Option<Pipe> {
        let mut ends = [-1; 2];
        // SAFETY: `ends` is valid for writes of two descriptors.
        if unsafe { pipe2(ends.as_mut_ptr(), O_CLOEXEC | O_NONBLOCK) } != 0 {
            return None;
        }
        let [from, to] = ends;
        let mut pipe = Pipe { from, to };
        (lift(&mut pipe.from) && lift(&mut pipe.to)).then_some(pipe)
    }

    /// Sends a byte through the pipe. Returns whether it arrived.
    fn pass(&self) -> bool {
        let mut byte = 1_u8;
        // SAFETY: `byte` is valid for reads of one byte.
        let written = unsafe { write(self.to, (&raw const byte).cast::<c_void>(), 1) };
        // SAFETY: `byte` is valid for writes of one byte.
        let got = unsafe { read(self.from, (&raw mut byte).cast::<c_void>(), 1) };
        written == 1 && got == 1
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // SAFETY: the descriptors belong to this pipe.
        unsafe {
            close(self.from);
            close(self.to);
        }
    }
}

/// Moves a descriptor above the standard streams. Returns whether it could.
fn lift(descriptor: &mut c_int) -> bool {
    if *descriptor >= LOWEST {
        return true;
    }
    // SAFETY: this command takes an integer.
    let higher = unsafe { fcntl(*descriptor, F_DUPFD_CLOEXEC, LOWEST) };
    if higher < 0 {
        return false;
    }
    // SAFETY: the descriptor is ours and was replaced by its duplicate.
    unsafe { close(*descriptor) };
    *descriptor = higher;
    true
}
