//! Clocks: read through the C library, which avoids system calls where it can (vDSO).
//!
//! If the kernel's clock source is the time stamp counter, the watcher reads the counter itself. clock_gettime(2) waits
//! until all earlier instructions are done, which takes longer than the rest of the watcher's work on a lock, while
//! other threads wait for that lock. Each thread counts from its own reading of the real clock, at most a tenth of a
//! second old.

use core::arch::x86_64::_rdtsc;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::calls::Descriptor;
use super::{calls, real, thread};

const MONOTONIC: c_int = 1;
const PROCESS_CPU: c_int = 2;
const THREAD_CPU: c_int = 3;

/// The layout of `struct timespec` (timespec(3type)).
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
    // SAFETY: clock_gettime(2) has this type.
    let function: extern "C" fn(c_int, *mut Timespec) -> c_int = unsafe { core::mem::transmute(function) };
    if function(clock, &raw mut time) != 0 {
        return 0;
    }
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// Nanoseconds per tick of the counter, times 2^32; 0 if the counter is not used.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Ticks (some tenth of a second) after which the real clock is read again.
const MAX_TICKS: u64 = 1 << 28;

fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the counter. A process that may no longer read it is not watched (`attach::stop`).
    unsafe { _rdtsc() }
}

/// A moment on both clocks.
struct Anchor {
    /// The real clock, in nanoseconds.
    time: u64,
    /// The counter.
    ticks: u64,
}

impl Anchor {
    /// One or two microseconds.
    const QUICK_TICKS: u64 = 1 << 12;

    /// Reads both clocks. If the thread loses its CPU between the readings, they are of different moments, so slow readings
    /// are repeated. Returns `None` if all of them were slow.
    fn read() -> Option<Anchor> {
        const ATTEMPTS: u32 = 8;
        for _ in 0..ATTEMPTS {
            let before = ticks();
            let time = read(MONOTONIC);
            let took = ticks().wrapping_sub(before);
            if took < Self::QUICK_TICKS {
                return Some(Anchor { time, ticks: before.wrapping_add(took / 2) });
            }
        }
        None
    }
}

/// Whether the C library reads the clock without a system call.
static IS_IN_VDSO: AtomicBool = AtomicBool::new(false);

/// Returns whether the time can be read without system calls.
pub(crate) fn needs_no_calls() -> bool {
    IS_IN_VDSO.load(Relaxed)
}

/// Finds out whether the counter can be used, and its rate. Without a result, all readings are of the real clock.
pub(crate) fn calibrate() {
    const CALIBRATION_NANOSECONDS: u64 = 100_000;
    let source = kernel_clock_source();
    // Those of x86 that the vDSO can read (vdso(7)), which an unknown one probably is.
    let in_vdso: [&[u8]; 4] = [b"tsc\n", b"kvm-clock\n", b"hyperv_clocksource_tsc_page\n", b"\0"];
    IS_IN_VDSO.store(in_vdso.iter().any(|name| source.starts_with(name)), Relaxed);
    // Only if the counter is the kernel's own clock source, it is the same on all CPUs and never stops.
    if !source.starts_with(b"tsc\n") {
        return;
    }
    let Some(first) = Anchor::read().filter(|first| first.time != 0) else { return };
    while read(MONOTONIC).wrapping_sub(first.time) < CALIBRATION_NANOSECONDS {}
    if let Some(last) = Anchor::read() {
        set_rate(last.time.wrapping_sub(first.time), last.ticks.wrapping_sub(first.ticks));
    }
}

fn set_rate(nanoseconds: u64, ticks: u64) {
    /// Readings are up to [`Anchor::QUICK_TICKS`] apart, which is negligible in this many ticks.
    const MIN_TICKS: u64 = 1 << 16;
    // Reject a counter below 0.5 GHz, one that stands still, and intervals that are too short or too long.
    if ticks < MIN_TICKS || nanoseconds >= 1 << 31 || ticks <= nanoseconds / 2 {
        return;
    }
    let (rate, known) = ((nanoseconds << 32) / ticks, RATE.load(Relaxed));
    // While the machine is suspended, only the counter goes on. The first rate is exact to a few percent.
    if known == 0 || rate.abs_diff(known) < known / 8 {
        RATE.store(rate, Relaxed);
    }
}

/// Returns the name of the kernel's clock source and a line feed; zeros if it is not known.
fn kernel_clock_source() -> [u8; 32] {
    const PATH: &core::ffi::CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut name = [0; 32];
    // SAFETY: the path is NUL-terminated.
    let file = unsafe { Descriptor::open(PATH.as_ptr().cast(), false) };
    let _ = file.and_then(|file| file.read(&mut name));
    name
}

/// Returns the current time of CLOCK_MONOTONIC, in nanoseconds.
#[inline(always)]
pub(crate) fn now() -> u64 {
    let (rate, from) = (RATE.load(Relaxed), thread::anchor_ticks());
    let counted = ticks().wrapping_sub(from);
    if rate == 0 || from == 0 || counted > MAX_TICKS {
        return resynchronise(rate, from);
    }
    thread::anchor_time().wrapping_add(counted.wrapping_mul(rate) >> 32)
}

/// Reads the real clock, from which the thread counts from now on.
#[cold]
#[inline(never)]
fn resynchronise(rate: u64, from: u64) -> u64 {
    if rate == 0 {
        return read(MONOTONIC);
    }
    let Some(anchor) = Anchor::read() else { return read(MONOTONIC) };
    let before = thread::anchor_time();
    // Clear this first, so that a signal handler that interrupts here does not use a half-updated anchor.
    thread::set_anchor_ticks(0);
    thread::set_anchor_time(anchor.time);
    thread::set_anchor_ticks(anchor.ticks);
    if from != 0 {
        set_rate(anchor.time.saturating_sub(before), anchor.ticks.wrapping_sub(from));
    }
    anchor.time
}

/// CPU time of all threads, in nanoseconds; 0 if system calls are not allowed.
pub(crate) fn process_cpu() -> u64 {
    read_by_system_call(PROCESS_CPU)
}

/// CPU time of this thread, in nanoseconds; 0 if system calls are not allowed.
pub(crate) fn thread_cpu() -> u64 {
    read_by_system_call(THREAD_CPU)
}

/// Reads a clock that needs a system call.
fn read_by_system_call(clock: c_int) -> u64 {
    if calls::are_forbidden() { 0 } else { read(clock) }
}
