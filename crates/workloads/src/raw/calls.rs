//! System calls by number, without the C library's wrappers, and one function of the library. Each returns the result of the kernel: negative on
//! failure, with the reason in errno.

use std::ffi::{CStr, c_int, c_long};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::AtomicU32;

use libc::syscall;

/// The result of stat(2) for a file.
pub(crate) struct Record(libc::stat);

impl Record {
    /// Creates an empty record.
    pub(crate) fn blank() -> Self {
        // SAFETY: all fields of `stat` are integers, for which zero is valid.
        Record(unsafe { std::mem::zeroed() })
    }

    /// Returns the inode number; zero in an empty record.
    #[inline(always)]
    pub(crate) fn inode(&self) -> u64 {
        self.0.st_ino
    }

    /// Sets the inode number.
    #[inline(always)]
    pub(crate) fn set_inode(&mut self, inode: u64) {
        self.0.st_ino = inode;
    }
}

/// A buffer for the kernel's signal action or signal set. It is at least as long as both, so that a value can be saved
/// and restored without interpreting it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved([u64; 8]);

/// The size of a signal set in the kernel, in bytes.
const SET: usize = 8;

/// Calls getppid(2) by its number.
#[inline(always)]
pub(crate) fn getppid() -> c_long {
    // SAFETY: the call takes no arguments and changes nothing.
    unsafe { syscall(libc::SYS_getppid) }
}

/// Calls sched_getcpu(3), the function of the C library. Returns -1 on failure.
#[inline(always)]
pub(crate) fn sched_getcpu() -> c_int {
    // SAFETY: the function takes no arguments and changes nothing but errno.
    unsafe { libc::sched_getcpu() }
}

/// Calls getpid(2) by its number.
#[inline(always)]
pub(crate) fn getpid() -> c_long {
    // SAFETY: the call takes no arguments and changes nothing.
    unsafe { syscall(libc::SYS_getpid) }
}

/// Calls read(2) for one byte.
#[inline(always)]
pub(crate) fn read(file: BorrowedFd<'_>, byte: &mut u8) -> c_long {
    // SAFETY: `byte` is valid for writing one byte.
    unsafe { syscall(libc::SYS_read, file.as_raw_fd(), &raw mut *byte, 1_usize) }
}

/// Calls write(2) for one byte.
#[inline(always)]
pub(crate) fn write(file: BorrowedFd<'_>, byte: &u8) -> c_long {
    // SAFETY: `byte` is valid for reading one byte.
    unsafe { syscall(libc::SYS_write, file.as_raw_fd(), &raw const *byte, 1_usize) }
}

/// Calls pread64(2) for one byte.
#[inline(always)]
pub(crate) fn pread(file: BorrowedFd<'_>, byte: &mut u8, at: u64) -> c_long {
    // SAFETY: `byte` is valid for writing one byte.
    unsafe { syscall(libc::SYS_pread64, file.as_raw_fd(), &raw mut *byte, 1_usize, at) }
}

/// Opens a file for reading with openat(2) and closes it with close(2). Returns the result of close(2), or that of
/// openat(2) if it failed.
#[inline(always)]
pub(crate) fn open_and_close(path: &CStr) -> c_long {
    // SAFETY: the path ends with a NUL byte. The closed descriptor was just opened, and no other code has it.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let opened = syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0);
        if opened < 0 { opened } else { syscall(libc::SYS_close, opened) }
    }
}

/// Calls newfstatat(2) for a path.
#[inline(always)]
pub(crate) fn newfstatat(path: &CStr, record: &mut Record) -> c_long {
    // SAFETY: the path ends with a NUL byte. On 64-bit CPUs, the C library's `stat` has the layout of the kernel's.
    unsafe { syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), &raw mut record.0, 0) }
}

/// Calls fstat(2) for an open file.
#[inline(always)]
pub(crate) fn fstat(file: BorrowedFd<'_>, record: &mut Record) -> c_long {
    // SAFETY: `record` is valid for writing. On 64-bit CPUs, the C library's `stat` has the layout of the kernel's.
    unsafe { syscall(libc::SYS_fstat, file.as_raw_fd(), &raw mut record.0) }
}

/// Sets the offset of a file with lseek(2). Returns the new offset.
#[inline(always)]
pub(crate) fn lseek(file: BorrowedFd<'_>, to: u64) -> c_long {
    // SAFETY: the arguments are numbers, and the descriptor is open.
    unsafe { syscall(libc::SYS_lseek, file.as_raw_fd(), to, libc::SEEK_SET) }
}

/// Maps anonymous memory with mmap(2) and unmaps it with munmap(2). Returns the result of munmap(2), or that of mmap(2)
/// if it failed.
#[inline(always)]
pub(crate) fn map_and_unmap(length: usize) -> c_long {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses an unused address range, and exactly this range is unmapped. No reference to it
    // exists.
    unsafe {
        let at = syscall(libc::SYS_mmap, 0_usize, length, access, kind, -1, 0_usize);
        if at == -1 { at } else { syscall(libc::SYS_munmap, at, length) }
    }
}

/// Sets the action of SIGURG with rt_sigaction(2) to `keep`, if given, and returns the previous action in `before`.
#[inline(always)]
pub(crate) fn rt_sigaction(keep: Option<&Saved>, before: &mut Saved) -> c_long {
    let new = keep.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both buffers are at least as long as the kernel's structure. The new action is one that the kernel
    // returned before.
    unsafe { syscall(libc::SYS_rt_sigaction, libc::SIGURG, new, &raw mut *before, SET) }
}

/// Sets the signal mask of the thread with rt_sigprocmask(2) to `keep`, if given, and returns the previous mask in
/// `before`.
#[inline(always)]
pub(crate) fn rt_sigprocmask(keep: Option<&Saved>, before: &mut Saved) -> c_long {
    let new = keep.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both buffers are at least as long as the kernel's signal set. The new mask is one that the kernel
    // returned before.
    unsafe { syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, &raw mut *before, SET) }
}

/// Wakes one waiter of a word with futex(2). Returns the number of threads woken.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) -> c_long {
    // SAFETY: the address is that of an atomic word, and waking changes no memory.
    unsafe { syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) }
}

/// Calls poll(2) for one descriptor without waiting. Returns its events, or -1 if it has none or the call failed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn poll(file: BorrowedFd<'_>) -> c_long {
    let mut entry = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `entry` is one structure that is valid for the whole call.
    let ready = unsafe { syscall(libc::SYS_poll, &raw mut entry, 1_usize, 0) };
    if ready == 1 { c_long::from(entry.revents) } else { -1 }
}

/// Returns the end of the heap with brk(2) of address 0, which changes nothing. Moving the end would conflict with the
/// C library's allocator.
#[inline(always)]
pub(crate) fn brk() -> c_long {
    // SAFETY: with address 0, the call changes nothing.
    unsafe { syscall(libc::SYS_brk, 0_usize) }
}
