//! System calls, by number, each as cheap as it can be; what counts is a return that is right.

use std::ffi::{CStr, CString, c_long};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU32;

use rustix::fs::{MemfdFlags, memfd_create};
use steady_model::{Absent, KernelCall, Reading};

use super::alone::{self, Facts, rounds};
use super::{Primitive, refused};
use crate::raw::calls::{self, Record, Saved};
use crate::raw::{Guarded, opaque};

/// The file in memory that is read and written: its bytes are the lowest ones of their places.
const FILE_BYTES: usize = 1 << 16;

/// Files that are small and in the cache wherever one can be had; the last is there always.
const SMALL_FILES: [&CStr; 4] = [c"/etc/passwd", c"/etc/group", c"/etc/hosts", c"/"];

/// The cheapest call: getppid(2), which no C library answers from a cache, and which has to return the same process.
pub(super) fn cheapest() -> Reading<Box<dyn Primitive>> {
    returning("getppid(2)", calls::getppid(), calls::getppid)
}

/// One of the calls that have a price of their own.
pub(super) fn by_name(call: KernelCall) -> Reading<Box<dyn Primitive>> {
    match call {
        KernelCall::Read => read(),
        KernelCall::Write => write(),
        KernelCall::Pread64 => pread(),
        KernelCall::OpenatClose => openat_close(),
        KernelCall::Newfstatat => newfstatat(),
        KernelCall::Fstat => fstat(),
        KernelCall::Lseek => lseek(),
        KernelCall::MmapMunmap => mmap_munmap(),
        KernelCall::Mprotect => mprotect(),
        KernelCall::Brk => brk(),
        KernelCall::RtSigaction => rt_sigaction(),
        KernelCall::RtSigprocmask => rt_sigprocmask(),
        KernelCall::Futex => futex(),
        KernelCall::Poll => poll(),
        KernelCall::Getpid => returning("getpid(2)", c_long::from(std::process::id() as i32), calls::getpid),
    }
}

/// A call that counts where `call` says so, `calls` of them a round.
fn counted<S: 'static>(
    what: &str,
    calls: f64,
    state: S,
    call: impl Fn(&mut S, u64) -> bool + 'static,
) -> Reading<Box<dyn Primitive>> {
    alone::open(
        what,
        Facts::of_calls(calls),
        state,
        move |state, loops| match rounds(loops, |round| call(state, round)) {
            // Not one that was right: the last one's reason is still there.
            0 if loops > 0 => Err(io::Error::last_os_error()),
            right => Ok(right),
        },
        |_, loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}

/// A call that changes nothing and always returns `right`.
fn returning(what: &str, right: c_long, call: impl Fn() -> c_long + 'static) -> Reading<Box<dyn Primitive>> {
    counted(what, 1.0, (), move |(), _| call() == right)
}

/// A file in memory, full, and at its start.
fn memory_file() -> Reading<File> {
    let made = || -> io::Result<File> {
        let mut file = File::from(memfd_create("steady-probe", MemfdFlags::CLOEXEC)?);
        file.write_all(&(0..FILE_BYTES).map(|place| place as u8).collect::<Vec<_>>())?;
        Ok(file)
    };
    made().map_err(|error| refused("a file in memory", &error))
}

/// The place that round comes to; where it is the first, the file has to be put back to it.
fn place(round: u64) -> u64 {
    round % FILE_BYTES as u64
}

/// read(2) of the next byte of a file in memory; counted where it is the byte that stands there. Every 65,536th is
/// preceded by an lseek(2).
fn read() -> Reading<Box<dyn Primitive>> {
    counted("read(2)", 1.0, memory_file()?, |file, round| {
        if place(round) == 0 {
            calls::lseek(file.as_fd(), 0);
        }
        let mut byte = !(round as u8);
        calls::read(file.as_fd(), &mut byte) == 1 && byte == round as u8
    })
}

/// write(2) of the next byte of a file in memory, over the one that stands there. Every 65,536th is preceded by an
/// lseek(2).
fn write() -> Reading<Box<dyn Primitive>> {
    counted("write(2)", 1.0, memory_file()?, |file, round| {
        if place(round) == 0 {
            calls::lseek(file.as_fd(), 0);
        }
        calls::write(file.as_fd(), &(round as u8)) == 1
    })
}

/// pread64(2) of a byte of a file in memory; counted where it is the byte that stands there.
fn pread() -> Reading<Box<dyn Primitive>> {
    counted("pread64(2)", 1.0, memory_file()?, |file, round| {
        let mut byte = !(round as u8);
        calls::pread(file.as_fd(), &mut byte, place(round)) == 1 && byte == round as u8
    })
}

/// The first of the small files that can be opened here.
fn small_file() -> Reading<CString> {
    let opens = |path: &&&CStr| calls::open_and_close(path) == 0;
    let found = SMALL_FILES.iter().find(opens);
    found.map(|path| (*path).into()).ok_or_else(|| Absent::because("no file can be opened here"))
}

/// openat(2) of a small file for reading, and close(2) of it; counted where both worked.
fn openat_close() -> Reading<Box<dyn Primitive>> {
    counted("openat(2)", 2.0, small_file()?, |path, _| calls::open_and_close(path) == 0)
}

/// newfstatat(2) of that small file by its path; counted where it tells of a file, into a record that told of none.
fn newfstatat() -> Reading<Box<dyn Primitive>> {
    counted("newfstatat(2)", 1.0, (small_file()?, Record::blank()), |(path, record), _| {
        record.set_inode(0);
        calls::newfstatat(path, record) == 0 && record.inode() != 0
    })
}

/// fstat(2) of a file in memory; counted where it tells of a file, into a record that told of none.
fn fstat() -> Reading<Box<dyn Primitive>> {
    counted("fstat(2)", 1.0, (memory_file()?, Record::blank()), |(file, record), _| {
        record.set_inode(0);
        calls::fstat(file.as_fd(), record) == 0 && record.inode() != 0
    })
}

/// lseek(2) in a file in memory, each time to another place; counted where it returns that.
fn lseek() -> Reading<Box<dyn Primitive>> {
    counted("lseek(2)", 1.0, memory_file()?, |file, round| {
        calls::lseek(file.as_fd(), place(round)) == place(round) as c_long
    })
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

/// poll(2) of a file that can always be read; counted where it says that it can.
#[cfg(target_arch = "x86_64")]
fn poll() -> Reading<Box<dyn Primitive>> {
    counted("poll(2)", 1.0, memory_file()?, |file, _| calls::poll(file.as_fd()) == c_long::from(libc::POLLIN))
}

/// It has been replaced there.
#[cfg(not(target_arch = "x86_64"))]
fn poll() -> Reading<Box<dyn Primitive>> {
    Err(Absent::because("the kernel has no such call on this kind of CPU"))
}
