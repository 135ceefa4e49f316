//! System calls by number, each in its cheapest form; signals that a thread sends to itself; readings of clocks.

use std::ffi::c_long;
use std::hint::black_box;
use std::sync::atomic::AtomicU32;

use steady_model::{KernelCall, Probe, Reading};

use super::alone::{self, Facts, counted, rounds};
use super::{Primitive, files, refused};
use crate::raw::calls::{self, Saved};
use crate::raw::{Clock, Guarded, Handled, Moment, opaque};

/// The cheapest call: getppid(2), which no C library answers from a cache. It must always return the same process.
pub(super) fn cheapest() -> Reading<Box<dyn Primitive>> {
    returning("getppid(2)", calls::getppid(), calls::getppid)
}

/// sched_getcpu(3), the C library's function for getcpu(2). The library has the answer in memory that the kernel keeps up
/// to date (rseq(2) or the vDSO). Its result is constant, because the thread is pinned.
pub(super) fn answered_by_the_library() -> Reading<Box<dyn Primitive>> {
    let cpu = calls::sched_getcpu();
    // It has the name of a system call, but makes none.
    counted("sched_getcpu(3)", 0.0, (), move |(), _| calls::sched_getcpu() == cpu)
}

/// Opens the probe of one of the calls with a price of their own.
pub(super) fn by_name(call: KernelCall) -> Reading<Box<dyn Primitive>> {
    match call {
        KernelCall::Read => files::read(),
        KernelCall::Write => files::write(),
        KernelCall::Pread64 => files::pread(),
        KernelCall::OpenatClose => files::openat_close(),
        KernelCall::Newfstatat => files::newfstatat(),
        KernelCall::Fstat => files::fstat(),
        KernelCall::Lseek => files::lseek(),
        KernelCall::MmapMunmap => mmap_munmap(),
        KernelCall::Mprotect => mprotect(),
        KernelCall::Brk => brk(),
        KernelCall::RtSigaction => rt_sigaction(),
        KernelCall::RtSigprocmask => rt_sigprocmask(),
        KernelCall::Futex => futex(),
        KernelCall::Poll => files::poll(),
        KernelCall::Getpid => returning("getpid(2)", c_long::from(std::process::id() as i32), calls::getpid),
    }
}

/// Opens a probe of a call that changes nothing and always returns `right`.
fn returning(what: &str, right: c_long, call: impl Fn() -> c_long + 'static) -> Reading<Box<dyn Primitive>> {
    counted(what, 1.0, (), move |(), _| call() == right)
}

/// mmap(2) of an untouched page of anonymous memory, and munmap(2) of it. Counted if both succeed.
fn mmap_munmap() -> Reading<Box<dyn Primitive>> {
    let page = rustix::param::page_size();
    counted("mmap(2)", 2.0, (), move |(), _| calls::map_and_unmap(page) == 0)
}

/// mprotect(2) of an untouched page, alternately to writable and to read-only.
fn mprotect() -> Reading<Box<dyn Primitive>> {
    let page = Guarded::new(rustix::param::page_size()).map_err(|error| refused("mprotect(2)", &error))?;
    counted("mprotect(2)", 1.0, page, |page, _| page.protect() == 0)
}

/// brk(2) that only returns the end of the heap. Counted if the result is the same as in the first repetition.
fn brk() -> Reading<Box<dyn Primitive>> {
    counted("brk(2)", 1.0, 0, |end, round| {
        let now = calls::brk();
        if round == 0 {
            *end = now;
        }
        now > 0 && now == *end
    })
}

/// rt_sigaction(2) that sets the action of SIGURG to its current value. Counted if the previous action was the same.
fn rt_sigaction() -> Reading<Box<dyn Primitive>> {
    let mut now = Saved::default();
    calls::rt_sigaction(None, &mut now);
    counted("rt_sigaction(2)", 1.0, Saved::default(), move |before, _| {
        calls::rt_sigaction(Some(&now), before) == 0 && *before == now
    })
}

/// rt_sigprocmask(2) that sets the signal mask of the thread to its current value. Counted if the previous mask was the
/// same.
fn rt_sigprocmask() -> Reading<Box<dyn Primitive>> {
    let mut now = Saved::default();
    calls::rt_sigprocmask(None, &mut now);
    counted("rt_sigprocmask(2)", 1.0, Saved::default(), move |before, _| {
        calls::rt_sigprocmask(Some(&now), before) == 0 && *before == now
    })
}

/// futex(2) that wakes the waiters of a word without waiters. Counted if it returns zero.
fn futex() -> Reading<Box<dyn Primitive>> {
    counted("futex(2)", 1.0, Box::new(AtomicU32::new(0)), |word, _| calls::futex_wake(word) == 0)
}

/// tgkill(2) of a real-time signal to the calling thread, and the handler, which has run when the call returns. The
/// handler counts. The second system call of a repetition is the return from the handler.
pub(super) fn signal() -> Reading<Box<dyn Primitive>> {
    let handled = Handled::install().map_err(|error| refused("a handler for a signal", &error))?;
    alone::open(
        "tgkill(2)",
        Facts::of_calls(2.0),
        handled,
        |handled, loops| {
            let before = handled.count();
            let target = handled.target();
            black_box(rounds(loops, |_| target.send()));
            Ok(handled.count() - before)
        },
        |_, loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}

/// Reads a clock into memory that held an invalid value before, so that only a real reading counts.
pub(super) fn clock(probe: Probe) -> Reading<Box<dyn Primitive>> {
    // The first two clocks need no system call if the vDSO can read the clock source.
    let (clock, calls) = match probe {
        Probe::ClockRealtime => (libc::CLOCK_REALTIME, 0.0),
        Probe::ClockMonotonic => (libc::CLOCK_MONOTONIC, 0.0),
        Probe::ClockProcessCpu => (libc::CLOCK_PROCESS_CPUTIME_ID, 1.0),
        _ => (libc::CLOCK_THREAD_CPUTIME_ID, 1.0),
    };
    let clock = Clock(clock);
    alone::open(
        "clock_gettime(2)",
        Facts::of_calls(calls),
        Moment::blank(),
        move |moment, loops| {
            Ok(rounds(loops, |_| {
                moment.erase();
                clock.read(moment) && moment.is_valid()
            }))
        },
        |moment, loops| {
            black_box(rounds(loops, |round| {
                moment.erase();
                moment.set(opaque(round & 0xff));
                moment.is_valid()
            }));
            Ok(())
        },
    )
}
