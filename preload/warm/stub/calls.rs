//! System calls of the stub.

use core::arch::asm;

const OPEN: u64 = 2;
const CLOSE: u64 = 3;
const FSTAT: u64 = 5;
const MMAP: u64 = 9;
const MPROTECT: u64 = 10;
const BRK: u64 = 12;
const MADVISE: u64 = 28;
const EXECVE: u64 = 59;
const PRCTL: u64 = 157;
const ARCH_PRCTL: u64 = 158;
const SET_TID_ADDRESS: u64 = 218;
const EXIT_GROUP: u64 = 231;
const SET_ROBUST_LIST: u64 = 273;
const PRLIMIT64: u64 = 302;
const GETRANDOM: u64 = 318;
const RSEQ: u64 = 334;

const ARCH_SET_FS: u64 = 0x1002;
/// Exists since Linux 5.14.
const MADV_POPULATE_WRITE: u64 = 23;
const O_CLOEXEC: u64 = 0o2_000_000;
/// Prevents blocking if a FIFO has replaced the file.
const O_NONBLOCK: u64 = 0o4_000;
const PROT_READ: u64 = 1;
const MAP_PRIVATE_FIXED: u64 = 0x12;
const PR_SET_MM: u64 = 35;
const PR_SET_MM_MAP: u64 = 14;
const RLIMIT_STACK: u64 = 3;
const GRND_NONBLOCK: u64 = 1;
/// The C library's value for the `cpu_id` field of an rseq area that could not be registered.
const RSEQ_CPU_ID_REGISTRATION_FAILED: u32 = -2_i32 as u32;

/// # Safety
/// As for the system call.
#[inline(always)]
unsafe fn call(number: u64, a: u64, b: u64, c: u64, d: u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { call6(number, [a, b, c, d, 0, 0]) }
}

/// # Safety
/// As for the system call.
#[inline(always)]
unsafe fn call6(number: u64, arguments: [u64; 6]) -> u64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel changes rax, rcx and r11; the caller guarantees the rest.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// `struct stat` (fstat(2)) in words: device and inode come first.
const STAT_WORDS: usize = 18;
const STAT_LENGTH: usize = 6;
const STAT_MTIME: usize = 13;

/// Maps a part of a file read-only over memory with the same content. Leaves the memory alone if the file is not the
/// expected one: device, inode, length, and mtime in seconds and nanoseconds.
///
/// # Safety
/// `path` must be the address of a NUL-terminated string, and the range at `address` must be mapped.
pub(crate) unsafe fn map_file(path: u64, file: &[u64; 5], address: u64, bytes: u64, offset: u64) {
    let mut stat = [0_u64; STAT_WORDS];
    // SAFETY: `stat` has the size of a `struct stat`; the caller guarantees the rest.
    unsafe {
        let descriptor = call(OPEN, path, O_CLOEXEC | O_NONBLOCK, 0, 0);
        if descriptor.cast_signed() < 0 {
            return;
        }
        let found = call(FSTAT, descriptor, (&raw mut stat).addr() as u64, 0, 0) == 0;
        let [device, inode, ..] = stat;
        let words = [device, inode, stat[STAT_LENGTH], stat[STAT_MTIME], stat[STAT_MTIME + 1]];
        // A loop, because there is no memcmp to compare arrays with.
        let difference = words.iter().zip(file).fold(0, |all, (word, expected)| all | word ^ expected);
        if found && difference == 0 {
            call6(MMAP, [address, bytes, PROT_READ, MAP_PRIVATE_FIXED, descriptor, offset]);
        }
        call(CLOSE, descriptor, 0, 0, 0);
    }
}

/// `struct prctl_mm_map`: the layout of a process's memory as the kernel reports it.
#[repr(C)]
pub(crate) struct MemoryMap {
    pub(crate) code: [u64; 2],
    pub(crate) data: [u64; 2],
    pub(crate) heap: [u64; 2],
    pub(crate) stack: u64,
    pub(crate) arguments: [u64; 2],
    pub(crate) environment: [u64; 2],
    pub(crate) auxiliary: u64,
    pub(crate) auxiliary_bytes: u32,
    /// -1: do not change /proc/PID/exe.
    pub(crate) executable: u32,
}

/// Sets the memory layout that the kernel reports. Kernels without CONFIG_CHECKPOINT_RESTORE report the snapshot's
/// layout.
pub(crate) fn set_memory_map(map: &MemoryMap) {
    // SAFETY: the kernel reads the structure and the auxiliary vector that it points to.
    unsafe {
        let bytes = size_of::<MemoryMap>() as u64;
        call6(PRCTL, [PR_SET_MM, PR_SET_MM_MAP, (&raw const *map).addr() as u64, bytes, 0, 0]);
    }
}

/// # Safety
/// `address` must be the thread control block that the C library initialised.
pub(crate) unsafe fn set_thread_pointer(address: u64) {
    // SAFETY: guaranteed by the caller.
    unsafe { call(ARCH_PRCTL, ARCH_SET_FS, address, 0, 0) };
}

/// Returns the thread id.
///
/// # Safety
/// `address` must be a word that belongs to the thread.
pub(crate) unsafe fn set_tid_address(address: u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { call(SET_TID_ADDRESS, address, 0, 0, 0) }
}

/// # Safety
/// `head` must be a list head as in set_robust_list(2).
pub(crate) unsafe fn set_robust_list(head: u64, bytes: u64) {
    // SAFETY: guaranteed by the caller.
    unsafe { call(SET_ROBUST_LIST, head, bytes, 0, 0) };
}

/// Registers an rseq area. On failure, marks it as not registered, as the C library does.
///
/// # Safety
/// `area` must be an area as in rseq(2), not used by anything else.
pub(crate) unsafe fn register_rseq(area: u64, bytes: u32, signature: u32) {
    // SAFETY: guaranteed by the caller; `cpu_id` is the second 32-bit word.
    unsafe {
        if call(RSEQ, area, bytes.into(), 0, signature.into()) != 0 {
            (area as *mut u32).add(1).write(RSEQ_CPU_ID_REGISTRATION_FAILED);
        }
    }
}

/// Prefaults pages for writing. On failure, they are faulted in when they are touched.
///
/// # Safety
/// The range must be mapped.
pub(crate) unsafe fn prefault(address: u64, bytes: u64) {
    // SAFETY: MADV_POPULATE_WRITE does not change the contents.
    unsafe { call(MADVISE, address, bytes, MADV_POPULATE_WRITE, 0) };
}

/// Returns whether the protection was changed.
///
/// # Safety
/// If the new protection does not allow writes, nothing may write there any more.
pub(crate) unsafe fn mprotect(address: u64, bytes: u64, protection: u64) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { call(MPROTECT, address, bytes, protection, 0) == 0 }
}

/// Returns the current program break.
pub(crate) fn heap_end() -> u64 {
    // SAFETY: brk(0) changes nothing.
    unsafe { call(BRK, 0, 0, 0, 0) }
}

/// Returns the soft limit of the stack in bytes; 0 on failure.
pub(crate) fn stack_limit() -> u64 {
    let mut limits = [0; 2];
    // SAFETY: `limits` has the size of a `struct rlimit64`; no new limit is passed.
    unsafe { call(PRLIMIT64, 0, RLIMIT_STACK, 0, (&raw mut limits).addr() as u64) };
    limits[0]
}

/// Fills `words` with random bits. Returns whether it could.
pub(crate) fn draw(words: &mut [u64]) -> bool {
    let bytes = size_of_val(words) as u64;
    // SAFETY: `words` is valid for writes of its length.
    unsafe { call(GETRANDOM, words.as_mut_ptr() as u64, bytes, GRND_NONBLOCK, 0) == bytes }
}

/// Returns only on failure.
///
/// # Safety
/// All arguments must be as in execve(2).
pub(crate) unsafe fn execve(path: u64, arguments: *const u64, environment: *const u64) {
    // SAFETY: guaranteed by the caller.
    unsafe { call(EXECVE, path, arguments as u64, environment as u64, 0) };
}

/// Terminates the process with an exit status.
pub(crate) fn exit(status: u64) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(EXIT_GROUP, status, 0, 0, 0) };
    }
}
