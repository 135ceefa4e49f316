//! Clocks: as the program itself would read them, without the kernel where the C library knows how.
//!
//! Where the kernel tells the time by the CPU's time stamp counter, the counter is read instead: the C library's reading waits until all
//! that the CPU has begun is done, which takes longer than the rest of what is done about a lock, and that while others wait for it.
//! Each thread counts from a reading of its own of the real clock, a tenth of a second old at most.

use core::arch::x86_64::_rdtsc;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::calls::Descriptor;
use super::{calls, real, thread};

const MONOTONIC: c_int = 1;
const PROCESS_CPU: c_int = 2;
const THREAD_CPU: c_int = 3;

/// As time(7) has it.
#[repr(C)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

fn read(clock: c_int) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    let function = real::clock_gettime();
    if function.is_null() {
        return 0;
    }
    // SAFETY: the C library's function of this name has this type.
    let function: extern "C" fn(c_int, *mut Timespec) -> c_int = unsafe { core::mem::transmute(function) };
    if function(clock, &raw mut time) != 0 {
        return 0;
    }
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// Nanoseconds a tick of the counter, in 2^-32; 0 where it is not to be used.
static RATE: AtomicU64 = AtomicU64::new(0);

/// So many ticks, some tenth of a second, are counted before the real clock is read again.
const FARTHEST: u64 = 1 << 28;

fn ticks() -> u64 {
    // SAFETY: every CPU of the kind has the counter, and where it may not be read the C library's clocks may not be either.
    unsafe { _rdtsc() }
}

/// Finds out whether the counter can be used, and how fast it is.
pub(crate) fn begin() {
    const LONG_ENOUGH: u64 = 100_000;
    if !is_clock_of_kernel() {
        return;
    }
    let (from, before) = (read(MONOTONIC), ticks());
    let mut now = from;
    while now.wrapping_sub(from) < LONG_ENOUGH {
        now = read(MONOTONIC);
        if now < from || from == 0 {
            return;
        }
    }
    set_rate(now - from, ticks().wrapping_sub(before));
}

fn set_rate(nanoseconds: u64, ticks: u64) {
    // Neither a counter of less than half a gigahertz, nor one that stands still or was not looked at for a long time.
    if nanoseconds < 1 << 31 && ticks > nanoseconds / 2 {
        RATE.store((nanoseconds << 32) / ticks, Relaxed);
    }
}

/// Whether the kernel itself tells the time by it: only then it is the same on all CPUs, and never stands still.
fn is_clock_of_kernel() -> bool {
    const PATH: &core::ffi::CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut name = [0; 4];
    // SAFETY: the path ends with a zero.
    let file = unsafe { Descriptor::open(PATH.as_ptr().cast(), false) };
    file.and_then(|file| file.read(&mut name)) == Some(4) && &name == b"tsc\n"
}

/// Now, in nanoseconds.
#[inline(always)]
pub(crate) fn now() -> u64 {
    let (rate, from) = (RATE.load(Relaxed), thread::anchor_ticks());
    let counted = ticks().wrapping_sub(from);
    if rate == 0 || from == 0 || counted > FARTHEST {
        return now_by_clock(rate, from, counted);
    }
    thread::anchor_time().wrapping_add(counted.wrapping_mul(rate) >> 32)
}

/// The same by the real clock, from which the thread counts from now on.
#[cold]
#[inline(never)]
fn now_by_clock(rate: u64, from: u64, counted: u64) -> u64 {
    let now = read(MONOTONIC);
    if rate != 0 {
        let before = thread::anchor_time();
        // First, so that who interrupts this does not count from one half of it.
        thread::set_anchor_ticks(0);
        thread::set_anchor_time(now);
        thread::set_anchor_ticks(ticks());
        if from != 0 {
            set_rate(now.saturating_sub(before), counted);
        }
    }
    now
}

/// CPU time of all threads.
pub(crate) fn of_process() -> u64 {
    of_kernel(PROCESS_CPU)
}

/// CPU time of this thread.
pub(crate) fn of_thread() -> u64 {
    of_kernel(THREAD_CPU)
}

/// A clock that takes a system call; 0 where none may be made.
fn of_kernel(clock: c_int) -> u64 {
    if calls::are_given_up() { 0 } else { read(clock) }
}
