//! System calls: short ones, and a byte through a pipe.
//!
//! The pipe lives for one run. One that is kept would have to be told from what a program that closes all descriptors has opened
//! in its place, and from the parent's in a forked child; to make it is no part of what is measured.

use core::ffi::{c_int, c_void};

use super::kernel::{F_DUPFD_CLOEXEC, O_CLOEXEC, O_NONBLOCK, close, fcntl, getppid, pipe2, read, write};
use super::timed;

const SHORT_CALLS: usize = 30;
/// Below are standard input, output and errors; where a program has closed them, nothing of ours is to be taken for them.
const LOWEST: c_int = 3;

pub(super) fn run() -> Option<u64> {
    let pipe = Pipe::new()?;
    let mut passed = false;
    let time = timed(|| {
        for _ in 0..SHORT_CALLS {
            // SAFETY: it takes nothing and always succeeds.
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
        // SAFETY: it writes two numbers to where there is room for two.
        if unsafe { pipe2(ends.as_mut_ptr(), O_CLOEXEC | O_NONBLOCK) } != 0 {
            return None;
        }
        let [from, to] = ends;
        let mut pipe = Pipe { from, to };
        (lift(&mut pipe.from) && lift(&mut pipe.to)).then_some(pipe)
    }

    /// Sends a byte through it; whether it came out.
    fn pass(&self) -> bool {
        let mut byte = 1_u8;
        // SAFETY: one byte is read from there.
        let written = unsafe { write(self.to, (&raw const byte).cast::<c_void>(), 1) };
        // SAFETY: one byte may be written there.
        let got = unsafe { read(self.from, (&raw mut byte).cast::<c_void>(), 1) };
        written == 1 && got == 1
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // SAFETY: both are this pipe's, and nobody uses them any more.
        unsafe {
            close(self.from);
            close(self.to);
        }
    }
}

/// Moves a descriptor beyond the standard ones; whether it is there.
fn lift(descriptor: &mut c_int) -> bool {
    if *descriptor >= LOWEST {
        return true;
    }
    // SAFETY: the command takes a number.
    let higher = unsafe { fcntl(*descriptor, F_DUPFD_CLOEXEC, LOWEST) };
    if higher < 0 {
        return false;
    }
    // SAFETY: it is ours, and its copy is used from here on.
    unsafe { close(*descriptor) };
    *descriptor = higher;
    true
}
