//! System calls, without the C library: they leave errno alone, and are no points of cancellation.
//!
//! A program that gives up system calls (seccomp(2)) would end at the next one that it does not make itself. From then on none is made.

use core::arch::asm;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

const READ: usize = 0;
const CLOSE: usize = 3;
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
const O_CLOEXEC: usize = 0o2_000_000;

/// Whether the program has given up system calls.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// The program is about to give up system calls.
pub(crate) fn give_up() {
    GIVEN_UP.store(true, Relaxed);
}

/// Whether none may be made any more.
pub(crate) fn are_given_up() -> bool {
    GIVEN_UP.load(Relaxed)
}

/// The call with this number and these arguments; none where it fails, or may not be made.
///
/// # Safety
///
/// As the call has it: pointers must be good for what it reads and writes.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Option<usize> {
    if are_given_up() {
        return None;
    }
    let [one, two, three, four, five, six] = arguments;
    let result: isize;
    // SAFETY: the kernel changes rcx, r11 and the result, and otherwise what the caller has vouched for.
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

/// A descriptor, closed at its end.
pub(crate) struct Descriptor(usize);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody else closes it.
        let _ = unsafe { call(CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

impl Descriptor {
    /// Opens a file by a path that ends with a zero.
    ///
    /// # Safety
    ///
    /// It must.
    pub(crate) unsafe fn open(path: *const u8, write: bool) -> Option<Self> {
        const AT_FDCWD: usize = -100_isize as usize;
        let flags = if write { O_RDWR } else { 0 } | O_CLOEXEC;
        // SAFETY: as the caller has it.
        unsafe { call(OPENAT, [AT_FDCWD, path as usize, flags, 0, 0, 0]) }.map(Descriptor)
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> Option<usize> {
        // SAFETY: the memory is ours, and so long.
        unsafe { call(READ, [self.0, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
    }

    /// Maps a part of it to be shared: anywhere, or over what is at `over`.
    pub(crate) fn map(&self, from: usize, bytes: usize, over: Option<*mut c_void>) -> Option<*mut c_void> {
        const READ_WRITE: usize = 3;
        const SHARED: usize = 1;
        const FIXED: usize = 0x10;
        let flags = SHARED | if over.is_some() { FIXED } else { 0 };
        let place = over.map_or(0, |place| place as usize);
        // SAFETY: the kernel chooses the place, or it is one of ours.
        let place = unsafe { call(MMAP, [place, bytes, READ_WRITE, flags, self.0, from]) }?;
        leave_out_of_dumps(place, bytes);
        Some(core::ptr::with_exposed_provenance_mut(place))
    }
}

/// Has the kernel leave this memory of ours out when it dumps the core of the program: what is in it is no affair of the program's.
/// Where it does not know how, dumps are larger.
fn leave_out_of_dumps(place: usize, bytes: usize) {
    const MADV_DONTDUMP: usize = 16;
    // SAFETY: what is there is ours, and stays as it is.
    let _ = unsafe { call(MADVISE, [place, bytes, MADV_DONTDUMP, 0, 0, 0]) };
}

/// Puts memory that nobody else sees over a mapping of ours, so that what leads there still does.
pub(crate) fn map_nothing_over(place: *mut c_void, bytes: usize) {
    const READ_WRITE: usize = 3;
    const PRIVATE_FIXED_ANONYMOUS_NORESERVE: usize = 2 | 0x10 | 0x20 | 0x4000;
    let arguments = [place as usize, bytes, READ_WRITE, PRIVATE_FIXED_ANONYMOUS_NORESERVE, usize::MAX, 0];
    // SAFETY: what is there is ours.
    let _ = unsafe { call(MMAP, arguments) };
    leave_out_of_dumps(place as usize, bytes);
}

/// Has a shared mapping of ours show another part of its file, without the file being opened again. Whether it does.
pub(crate) fn map_other_part(place: *mut c_void, bytes: usize, page: usize) -> bool {
    // SAFETY: what is there is ours.
    let does = unsafe { call(REMAP_FILE_PAGES, [place as usize, bytes, 0, page, 0, 0]) }.is_some();
    leave_out_of_dumps(place as usize, bytes);
    does
}

pub(crate) fn unmap(place: *mut c_void, bytes: usize) {
    // SAFETY: it is ours, and nothing leads there any more.
    let _ = unsafe { call(MUNMAP, [place as usize, bytes, 0, 0, 0, 0]) };
}

pub(crate) fn getpid() -> u32 {
    // SAFETY: takes nothing.
    unsafe { call(GETPID, [0; 6]) }.unwrap_or(0) as u32
}

pub(crate) fn gettid() -> u32 {
    // SAFETY: takes nothing.
    unsafe { call(GETTID, [0; 6]) }.unwrap_or(0) as u32
}

/// What /proc/self/exe leads to, as much of it as there is room for.
pub(crate) fn program(into: &mut [u8]) -> usize {
    let path = c"/proc/self/exe".as_ptr() as usize;
    // SAFETY: the path ends with a zero, and the memory is ours, and so long.
    unsafe { call(READLINK, [path, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }.unwrap_or(0)
}

/// How much memory the process may map; all there is where that is not limited.
pub(crate) fn most_memory() -> u64 {
    const RLIMIT_AS: usize = 9;
    let mut limits = [u64::MAX; 2];
    // SAFETY: the memory is ours, and two words, as a limit is.
    let _ = unsafe { call(PRLIMIT64, [0, RLIMIT_AS, 0, (&raw mut limits) as usize, 0, 0]) };
    limits[0]
}
