//! System calls, by number, each as cheap as it can be; signals that a thread sends to itself; readings of the clocks.

use std::ffi::c_long;
use std::hint::black_box;
use std::sync::atomic::AtomicU32;

use steady_model::{KernelCall, Probe, Reading};

use super::alone::{self, Facts, counted, rounds};
use super::{Primitive, files, refused};
use crate::raw::calls::{self, Saved};
use crate::raw::{Clock, Guarded, Handled, Moment, opaque};

/// The cheapest call: getppid(2), which no C library answers from a cache, and which has to return the same process.
pub(super) fn cheapest() -> Reading<Box<dyn Primitive>> {
    returning("getppid(2)", calls::getppid(), calls::getppid)
}

/// One of the calls that have a price of their own.
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

/// A call that changes nothing and always returns `right`.
fn returning(what: &str, right: c_long, call: impl Fn() -> c_long + 'static) -> Reading<Box<dyn Primitive>> {
    counted(what, 1.0, (), move |(), _| call() == right)
}

/// mmap(2) of a page of anonymous memory that is never touched, and munmap(2) of it; counted where both worked.
fn mmap_munmap() -> Reading<Box<dyn Primitive>> {
    let page = rustix::param::page_size();
    counted("mmap(2)", 2.0, (), move |(), _| calls::map_and_unmap(page) == 0)
}

/// mprotect(2) of a page that was never touched: to be written to, then only to be read, by turns.
fn mprotect() -> Reading<Box<dyn Primitive>> {
    let page = Guarded::new(rustix::param::page_size()).map_err(|error| refused("mprotect(2)", &error))?;
    counted("mprotect(2)", 1.0, page, |page, _| page.protect() == 0)
}

/// brk(2) to be told where the heap ends; counted where that is where the run's first round was told.
fn brk() -> Reading<Box<dyn Primitive>> {
    counted("brk(2)", 1.0, 0, |end, round| {
        let now = calls::brk();
        if round == 0 {
            *end = now;
        }
        now > 0 && now == *end
    })
}

/// rt_sigaction(2): what happens at SIGURG set to what it is; counted where it was that before.
fn rt_sigaction() -> Reading<Box<dyn Primitive>> {
    let mut now = Saved::default();
    calls::rt_sigaction(None, &mut now);
    counted("rt_sigaction(2)", 1.0, Saved::default(), move |before, _| {
        calls::rt_sigaction(Some(&now), before) == 0 && *before == now
    })
}

/// rt_sigprocmask(2): the signals that this thread holds back set to what they are; counted where they were that before.
fn rt_sigprocmask() -> Reading<Box<dyn Primitive>> {
    let mut now = Saved::default();
    calls::rt_sigprocmask(None, &mut now);
    counted("rt_sigprocmask(2)", 1.0, Saved::default(), move |before, _| {
        calls::rt_sigprocmask(Some(&now), before) == 0 && *before == now
    })
}

/// futex(2) to wake who waits for a word that nobody waits for; counted where it says so.
fn futex() -> Reading<Box<dyn Primitive>> {
    counted("futex(2)", 1.0, Box::new(AtomicU32::new(0)), |word, _| calls::futex_wake(word) == 0)
}

/// tgkill(2) of a real-time signal to the thread itself, and its handler, which has run when the call returns; counted by
/// the handler. The second call of a round is the handler's return.
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

/// A clock read into a place that held what no clock says, so that only a true reading counts.
pub(super) fn clock(probe: Probe) -> Reading<Box<dyn Primitive>> {
    // The first two are answered from a page that the kernel shares, where its clock source can be read there.
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
