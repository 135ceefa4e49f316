//! The system calls of the stub.

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
/// Linux 5.14 and later know it.
const MADV_POPULATE_WRITE: u64 = 23;
const O_CLOEXEC: u64 = 0o2_000_000;
/// With it, a FIFO in the place of a file keeps nobody waiting.
const O_NONBLOCK: u64 = 0o4_000;
const PROT_READ: u64 = 1;
const MAP_PRIVATE_FIXED: u64 = 0x12;
const PR_SET_MM: u64 = 35;
const PR_SET_MM_MAP: u64 = 14;
const RLIMIT_STACK: u64 = 3;
const GRND_NONBLOCK: u64 = 1;
/// What a C library finds in its rseq area's `cpu_id` where it could not be registered.
const RSEQ_CPU_ID_REGISTRATION_FAILED: u32 = -2_i32 as u32;

/// # Safety
/// As the call itself.
#[inline(always)]
unsafe fn call(number: u64, a: u64, b: u64, c: u64, d: u64) -> u64 {
    // SAFETY: as the caller says.
    unsafe { call_with_six(number, [a, b, c, d, 0, 0]) }
}

/// # Safety
/// As the call itself.
#[inline(always)]
unsafe fn call_with_six(number: u64, arguments: [u64; 6]) -> u64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel keeps all registers but these three; what the call does is the caller's.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// As fstat(2) fills it: device, inode, and what follows; the length, and the time of the last change.
const STAT_WORDS: usize = 18;
const STAT_LENGTH: usize = 6;
const STAT_CHANGED: usize = 13;

/// Maps a part of a file over memory that holds the same, to be read only. The file must be the one with these numbers: device, inode,
/// length, time of the last change. Otherwise that memory stays as it is.
///
/// # Safety
/// `path` is a text, and `address` the memory.
pub(crate) unsafe fn map_file(path: u64, file: &[u64; 5], address: u64, bytes: u64, offset: u64) {
    let mut stat = [0_u64; STAT_WORDS];
    // SAFETY: the kernel writes so many words; the rest is as the caller says.
    unsafe {
        let descriptor = call(OPEN, path, O_CLOEXEC | O_NONBLOCK, 0, 0);
        if descriptor.cast_signed() < 0 {
            return;
        }
        let found = call(FSTAT, descriptor, (&raw mut stat).addr() as u64, 0, 0) == 0;
        let [device, inode, ..] = stat;
        let words = [device, inode, stat[STAT_LENGTH], stat[STAT_CHANGED], stat[STAT_CHANGED + 1]];
        // There is no library to compare arrays with.
        let difference = words.iter().zip(file).fold(0, |all, (word, expected)| all | word ^ expected);
        if found && difference == 0 {
            call_with_six(MMAP, [address, bytes, PROT_READ, MAP_PRIVATE_FIXED, descriptor, offset]);
        }
        call(CLOSE, descriptor, 0, 0, 0);
    }
}

/// What the kernel shows of a process's memory, as prctl(2) takes it.
#[repr(C)]
pub(crate) struct Shown {
    pub(crate) code: [u64; 2],
    pub(crate) data: [u64; 2],
    pub(crate) heap: [u64; 2],
    pub(crate) stack: u64,
    pub(crate) arguments: [u64; 2],
    pub(crate) environment: [u64; 2],
    pub(crate) auxiliary: u64,
    pub(crate) auxiliary_bytes: u32,
    /// -1: the file that was executed stays what it is, for it is mapped.
    pub(crate) executable: u32,
}

/// Has the kernel show this, where it can: kernels without checkpoint and restore show the snapshot's.
pub(crate) fn show(shown: &Shown) {
    // SAFETY: the kernel reads so many bytes, and the auxiliary vector that they name.
    unsafe {
        let bytes = size_of::<Shown>() as u64;
        call_with_six(PRCTL, [PR_SET_MM, PR_SET_MM_MAP, (&raw const *shown).addr() as u64, bytes, 0, 0]);
    }
}

/// # Safety
/// `address` is the thread's memory as the C library laid it out.
pub(crate) unsafe fn set_thread_pointer(address: u64) {
    // SAFETY: as the caller says.
    unsafe { call(ARCH_PRCTL, ARCH_SET_FS, address, 0, 0) };
}

/// The thread's number.
///
/// # Safety
/// `address` is a word of the thread's own.
pub(crate) unsafe fn set_tid_address(address: u64) -> u64 {
    // SAFETY: as the caller says.
    unsafe { call(SET_TID_ADDRESS, address, 0, 0, 0) }
}

/// # Safety
/// `head` is a list as set_robust_list(2) wants it.
pub(crate) unsafe fn set_robust_list(head: u64, bytes: u64) {
    // SAFETY: as the caller says.
    unsafe { call(SET_ROBUST_LIST, head, bytes, 0, 0) };
}

/// Registers the area, or says in it that it could not be done, as the C library does.
///
/// # Safety
/// `area` is one as rseq(2) wants it, and nothing else uses it.
pub(crate) unsafe fn register_rseq(area: u64, bytes: u32, signature: u32) {
    // SAFETY: as the caller says; `cpu_id` is the second word of four bytes.
    unsafe {
        if call(RSEQ, area, bytes.into(), 0, signature.into()) != 0 {
            (area as *mut u32).add(1).write(RSEQ_CPU_ID_REGISTRATION_FAILED);
        }
    }
}

/// Gets pages that are going to be written ready; where the kernel cannot, they are when they are touched.
///
/// # Safety
/// There is such memory.
pub(crate) unsafe fn get_ready(address: u64, bytes: u64) {
    // SAFETY: what the memory holds stays as it is.
    unsafe { call(MADVISE, address, bytes, MADV_POPULATE_WRITE, 0) };
}

/// Whether it could be done.
///
/// # Safety
/// Nobody writes to that memory any more, if it can then not be written.
pub(crate) unsafe fn mprotect(address: u64, bytes: u64, protection: u64) -> bool {
    // SAFETY: as the caller says.
    unsafe { call(MPROTECT, address, bytes, protection, 0) == 0 }
}

/// Where the heap ends.
pub(crate) fn heap_end() -> u64 {
    // SAFETY: brk(0) changes nothing.
    unsafe { call(BRK, 0, 0, 0, 0) }
}

/// The soft limit on the stack.
pub(crate) fn stack_limit() -> u64 {
    let mut limits = [0; 2];
    // SAFETY: it writes two words there; no new limit is given.
    unsafe { call(PRLIMIT64, 0, RLIMIT_STACK, 0, (&raw mut limits).addr() as u64) };
    limits[0]
}

/// Fills all of `words`, and says whether it could.
pub(crate) fn draw(words: &mut [u64]) -> bool {
    let bytes = size_of_val(words) as u64;
    // SAFETY: it writes so many bytes there, at most.
    unsafe { call(GETRANDOM, words.as_mut_ptr() as u64, bytes, GRND_NONBLOCK, 0) == bytes }
}

/// Comes back only if it could not be done.
///
/// # Safety
/// All three are as execve(2) wants them.
pub(crate) unsafe fn execve(path: u64, arguments: *const u64, environment: *const u64) {
    // SAFETY: as the caller says.
    unsafe { call(EXECVE, path, arguments as u64, environment as u64, 0) };
}

/// Ends the process.
pub(crate) fn exit(status: u64) -> ! {
    loop {
        // SAFETY: it does not come back.
        unsafe { call(EXIT_GROUP, status, 0, 0, 0) };
    }
}
