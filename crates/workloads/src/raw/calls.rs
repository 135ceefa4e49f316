//! System calls by their numbers, past whatever a C library would do about them. Each returns what the kernel does: below
//! zero where it failed, with the reason in the C library's errno.

use std::ffi::{CStr, c_long};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::AtomicU32;

use libc::syscall;

/// What stat(2) tells of a file.
pub(crate) struct Record(libc::stat);

impl Record {
    /// One that tells nothing.
    pub(crate) fn blank() -> Self {
        // SAFETY: a `stat` is plain numbers, of which zero is one.
        Record(unsafe { std::mem::zeroed() })
    }

    /// The number of the file that it tells of: zero where it tells of none.
    #[inline(always)]
    pub(crate) fn inode(&self) -> u64 {
        self.0.st_ino
    }

    /// Has it tell of the file with this number.
    #[inline(always)]
    pub(crate) fn set_inode(&mut self, inode: u64) {
        self.0.st_ino = inode;
    }
}

/// Longer than what the kernel keeps of a signal's action or of a set of signals, so that it can be put back without
/// being understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved([u64; 8]);

/// The size of the kernel's sets of signals.
const SET: usize = 8;

/// getppid(2).
#[inline(always)]
pub(crate) fn getppid() -> c_long {
    // SAFETY: it takes nothing and changes nothing.
    unsafe { syscall(libc::SYS_getppid) }
}

/// getpid(2).
#[inline(always)]
pub(crate) fn getpid() -> c_long {
    // SAFETY: it takes nothing and changes nothing.
    unsafe { syscall(libc::SYS_getpid) }
}

/// read(2) of a byte.
#[inline(always)]
pub(crate) fn read(file: BorrowedFd<'_>, byte: &mut u8) -> c_long {
    // SAFETY: `byte` is one byte that may be written to.
    unsafe { syscall(libc::SYS_read, file.as_raw_fd(), &raw mut *byte, 1_usize) }
}

/// write(2) of a byte.
#[inline(always)]
pub(crate) fn write(file: BorrowedFd<'_>, byte: &u8) -> c_long {
    // SAFETY: `byte` is one byte that may be read.
    unsafe { syscall(libc::SYS_write, file.as_raw_fd(), &raw const *byte, 1_usize) }
}

/// pread(2) of a byte.
#[inline(always)]
pub(crate) fn pread(file: BorrowedFd<'_>, byte: &mut u8, at: u64) -> c_long {
    // SAFETY: `byte` is one byte that may be written to.
    unsafe { syscall(libc::SYS_pread64, file.as_raw_fd(), &raw mut *byte, 1_usize, at) }
}

/// openat(2) for reading, and close(2) of what it opened; what the latter returns, or the former where it failed.
#[inline(always)]
pub(crate) fn open_and_close(path: &CStr) -> c_long {
    // SAFETY: the path ends with a NUL, and the descriptor that is closed is the one just made, which nobody else has.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let opened = syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0);
        if opened < 0 { opened } else { syscall(libc::SYS_close, opened) }
    }
}

/// newfstatat(2).
#[inline(always)]
pub(crate) fn newfstatat(path: &CStr, record: &mut Record) -> c_long {
    // SAFETY: the path ends with a NUL, and on the CPUs of 64 bits the C library's record is the kernel's.
    unsafe { syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), &raw mut record.0, 0) }
}

/// fstat(2).
#[inline(always)]
pub(crate) fn fstat(file: BorrowedFd<'_>, record: &mut Record) -> c_long {
    // SAFETY: on the CPUs of 64 bits the C library's record is the kernel's.
    unsafe { syscall(libc::SYS_fstat, file.as_raw_fd(), &raw mut record.0) }
}

/// lseek(2) to so many bytes from the start; where it is then.
#[inline(always)]
pub(crate) fn lseek(file: BorrowedFd<'_>, to: u64) -> c_long {
    // SAFETY: it takes numbers only, and the descriptor is open.
    unsafe { syscall(libc::SYS_lseek, file.as_raw_fd(), to, libc::SEEK_SET) }
}

/// mmap(2) of so many bytes of anonymous memory, and munmap(2) of them; what the latter returns, or the former where
/// it failed.
#[inline(always)]
pub(crate) fn map_and_unmap(length: usize) -> c_long {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel picks a place where nothing is, and what is taken away is just that.
    unsafe {
        let at = syscall(libc::SYS_mmap, 0_usize, length, access, kind, -1, 0_usize);
        if at == -1 { at } else { syscall(libc::SYS_munmap, at, length) }
    }
}

/// rt_sigaction(2): what happens at SIGURG, which this leaves as `keep` says.
#[inline(always)]
pub(crate) fn rt_sigaction(keep: Option<&Saved>, before: &mut Saved) -> c_long {
    let new = keep.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both are as long as the kernel's structure or longer; the new one is what the kernel gave before.
    unsafe { syscall(libc::SYS_rt_sigaction, libc::SIGURG, new, &raw mut *before, SET) }
}

/// rt_sigprocmask(2): the signals that this thread holds back, which this leaves as `keep` says.
#[inline(always)]
pub(crate) fn rt_sigprocmask(keep: Option<&Saved>, before: &mut Saved) -> c_long {
    let new = keep.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both are as long as the kernel's set or longer; the new one is what the kernel gave before.
    unsafe { syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, &raw mut *before, SET) }
}

/// futex(2): wakes who waits for this word; how many.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) -> c_long {
    // SAFETY: the address is that of a word; waking changes no memory.
    unsafe { syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) }
}

/// poll(2) of one descriptor without waiting; what it found there, below zero where the call itself failed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn poll(file: BorrowedFd<'_>) -> c_long {
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: it is one structure, valid for the whole call.
    let ready = unsafe { syscall(libc::SYS_poll, &raw mut asked, 1_usize, 0) };
    if ready == 1 { c_long::from(asked.revents) } else { -1 }
}

/// brk(2) to nowhere, which only tells where the heap ends. To move that would be to take memory from under the C library,
/// which may have moved it meanwhile.
#[inline(always)]
pub(crate) fn brk() -> c_long {
    // SAFETY: it changes nothing.
    unsafe { syscall(libc::SYS_brk, 0_usize) }
}
