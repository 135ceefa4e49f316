//! System calls without the C library: they do not change errno and are not cancellation points.
//!
//! A program that restricts its system calls (seccomp(2)) could be killed by ours, so none are made from then on.

use core::arch::asm;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

const READ: usize = 0;
const CLOSE: usize = 3;
const FSTAT: usize = 5;
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const MADVISE: usize = 28;
const GETPID: usize = 39;
const READLINK: usize = 89;
const GETTID: usize = 186;
const REMAP_FILE_PAGES: usize = 216;
const OPENAT: usize = 257;
const PRLIMIT64: usize = 302;

const O_RDWR: usize = 2;
const O_NOCTTY: usize = 0o400;
const O_NONBLOCK: usize = 0o4_000;
const O_CLOEXEC: usize = 0o2_000_000;

/// Whether the program has restricted its system calls.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Makes all later system calls of this module fail, because the program is about to restrict its own.
pub(crate) fn forbid() {
    FORBIDDEN.store(true, Relaxed);
}

/// Returns whether system calls are no longer allowed.
pub(crate) fn are_forbidden() -> bool {
    FORBIDDEN.load(Relaxed)
}

/// Makes a system call. Returns none if it fails or is not allowed.
///
/// # Safety
///
/// All pointers must be valid for what this call reads and writes.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Option<usize> {
    if are_forbidden() {
        return None;
    }
    let [one, two, three, four, five, six] = arguments;
    let result: isize;
    // SAFETY: the kernel changes rcx, r11 and rax; the caller guarantees the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") one, in("rsi") two, in("rdx") three, in("r10") four, in("r8") five, in("r9") six,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    (!(-4095..0).contains(&result)).then_some(result as usize)
}

/// The layout of `struct stat` (stat(3type)), with the fields that are used here.
#[repr(C)]
struct FileStatus {
    _before: [u64; 3],
    mode: u32,
    _between: [u32; 5],
    size: u64,
    _after: [u64; 11],
}
const _: () = assert!(size_of::<FileStatus>() == 144 && core::mem::offset_of!(FileStatus, size) == 48);

/// A file descriptor, closed when dropped.
pub(crate) struct Descriptor(usize);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: nothing else owns the descriptor.
        let _ = unsafe { call(CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

impl Descriptor {
    /// Opens a file for reading, or for reading and writing. Does not wait for the other end of a pipe or device.
    ///
    /// # Safety
    ///
    /// `path` must be NUL-terminated.
    pub(crate) unsafe fn open(path: *const u8, write: bool) -> Option<Self> {
        const AT_FDCWD: usize = -100_isize as usize;
        let flags = if write { O_RDWR } else { 0 } | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
        // SAFETY: guaranteed by the caller.
        unsafe { call(OPENAT, [AT_FDCWD, path as usize, flags, 0, 0, 0]) }.map(Descriptor)
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> Option<usize> {
        // SAFETY: `into` is valid for writes of its length.
        unsafe { call(READ, [self.0, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
    }

    /// Returns the size in bytes of a regular file; none for anything else.
    pub(crate) fn file_size(&self) -> Option<u64> {
        const TYPE: u32 = 0o170_000;
        const REGULAR: u32 = 0o100_000;
        let mut status = FileStatus { _before: [0; 3], mode: 0, _between: [0; 5], size: 0, _after: [0; 11] };
        // SAFETY: `status` has the size and alignment of a `struct stat`.
        unsafe { call(FSTAT, [self.0, (&raw mut status) as usize, 0, 0, 0, 0]) }?;
        (status.mode & TYPE == REGULAR).then_some(status.size)
    }

    /// Maps `bytes` from `offset` on as shared memory, at any address or over the mapping at `over`.
    pub(crate) fn map(&self, offset: usize, bytes: usize, over: Option<*mut c_void>) -> Option<*mut c_void> {
        const READ_WRITE: usize = 3;
        const SHARED: usize = 1;
        const FIXED: usize = 0x10;
        let flags = SHARED | if over.is_some() { FIXED } else { 0 };
        let address = over.map_or(0, |address| address as usize);
        // SAFETY: the kernel chooses the address, or the mapping there is the watcher's own.
        let address = unsafe { call(MMAP, [address, bytes, READ_WRITE, flags, self.0, offset]) }?;
        exclude_from_dumps(address, bytes);
        Some(core::ptr::with_exposed_provenance_mut(address))
    }
}

/// Excludes this memory from core dumps of the program. Failure only makes dumps larger.
fn exclude_from_dumps(address: usize, bytes: usize) {
    const MADV_DONTDUMP: usize = 16;
    // SAFETY: MADV_DONTDUMP does not change the contents.
    let _ = unsafe { call(MADVISE, [address, bytes, MADV_DONTDUMP, 0, 0, 0]) };
}

/// Replaces a mapping of the watcher by private memory, so that pointers into it stay valid.
pub(crate) fn map_private_over(address: *mut c_void, bytes: usize) {
    const READ_WRITE: usize = 3;
    const PRIVATE_FIXED_ANONYMOUS_NORESERVE: usize = 2 | 0x10 | 0x20 | 0x4000;
    let arguments = [address as usize, bytes, READ_WRITE, PRIVATE_FIXED_ANONYMOUS_NORESERVE, usize::MAX, 0];
    // SAFETY: the mapping is the watcher's own.
    let _ = unsafe { call(MMAP, arguments) };
    exclude_from_dumps(address as usize, bytes);
}

/// Makes a shared mapping of the watcher show another part of its file, from `page` on. Returns whether it could.
pub(crate) fn remap(address: *mut c_void, bytes: usize, page: usize) -> bool {
    // SAFETY: the mapping is the watcher's own.
    let remapped = unsafe { call(REMAP_FILE_PAGES, [address as usize, bytes, 0, page, 0, 0]) }.is_some();
    exclude_from_dumps(address as usize, bytes);
    remapped
}

pub(crate) fn unmap(address: *mut c_void, bytes: usize) {
    // SAFETY: the mapping is the watcher's own, and nothing points into it any more.
    let _ = unsafe { call(MUNMAP, [address as usize, bytes, 0, 0, 0, 0]) };
}

pub(crate) fn getpid() -> u32 {
    // SAFETY: takes no arguments.
    unsafe { call(GETPID, [0; 6]) }.unwrap_or(0) as u32
}

pub(crate) fn gettid() -> u32 {
    // SAFETY: takes no arguments.
    unsafe { call(GETTID, [0; 6]) }.unwrap_or(0) as u32
}

/// Reads the target of /proc/self/exe, truncated to `into`. Returns its length; 0 on failure.
pub(crate) fn read_program_path(into: &mut [u8]) -> usize {
    let path = c"/proc/self/exe".as_ptr() as usize;
    // SAFETY: the path is NUL-terminated, and `into` is valid for writes of its length.
    unsafe { call(READLINK, [path, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }.unwrap_or(0)
}

/// Returns the soft limit of the address space, in bytes; the maximum if there is none.
pub(crate) fn address_space_limit() -> u64 {
    const RLIMIT_AS: usize = 9;
    let mut limits = [u64::MAX; 2];
    // SAFETY: `limits` has the size of a `struct rlimit64`.
    let _ = unsafe { call(PRLIMIT64, [0, RLIMIT_AS, 0, (&raw mut limits) as usize, 0, 0]) };
    limits[0]
}
