//! System calls without the C library: they do not change errno and are not cancellation points.

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int, c_void};

use super::identity::{Identity, Time};

/// The errno of a failed system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) i32);

const EPERM: Error = Error(1);
pub(crate) const ENOENT: Error = Error(2);
pub(crate) const ENOTDIR: Error = Error(20);
const EINVAL: Error = Error(22);
const ETXTBSY: Error = Error(26);
const ENOSYS: Error = Error(38);

pub(crate) const AT_FDCWD: c_int = -100;
pub(crate) const AT_EACCESS: c_int = 0x200;
pub(crate) const AT_EMPTY_PATH: c_int = 0x1000;
const O_PATH: c_int = 0o10_000_000;

const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const O_NONBLOCK: c_int = 0o4_000;

const READ: usize = 0;
const CLOSE: usize = 3;
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const RT_SIGPROCMASK: usize = 14;
const GETPID: usize = 39;
const EXECVE: usize = 59;
const GETCWD: usize = 79;
const SYMLINK: usize = 88;
const READLINK: usize = 89;
const GETRESUID: usize = 118;
const GETRESGID: usize = 120;
const PERSONALITY: usize = 135;
const FUTEX: usize = 202;
const OPENAT: usize = 257;
const FACCESSAT: usize = 269;
const PRLIMIT64: usize = 302;
const GETRANDOM: usize = 318;
const EXECVEAT: usize = 322;
const STATX: usize = 332;
const FACCESSAT2: usize = 439;

/// Makes a system call.
///
/// # Safety
///
/// All pointers must be valid for what this call reads and writes.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Error> {
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
    if (-4095..0).contains(&result) { Err(Error(-result as i32)) } else { Ok(result as usize) }
}

/// The layout of `struct statx_timestamp` of statx(2).
#[repr(C)]
#[derive(Default)]
struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
    reserved: i32,
}

impl Timestamp {
    fn time(&self) -> Time {
        Time { seconds: self.seconds, nanoseconds: i64::from(self.nanoseconds) }
    }
}

/// `struct statx` of statx(2).
#[repr(C)]
#[derive(Default)]
struct Statx {
    mask: u32,
    block_bytes: u32,
    attributes: u64,
    links: u32,
    uid: u32,
    gid: u32,
    mode: u16,
    reserved: u16,
    inode: u64,
    bytes: u64,
    blocks: u64,
    attributes_mask: u64,
    accessed: Timestamp,
    born: Timestamp,
    changed: Timestamp,
    modified: Timestamp,
    special: [u32; 2],
    device: [u32; 2],
    mount: u64,
    more: [u64; 13],
}

impl Statx {
    /// `STATX_BASIC_STATS`, `STATX_MNT_ID`, and `STATX_MNT_ID_UNIQUE`, which kernels before 6.8 ignore.
    const MASK: usize = 0x7ff | 0x1000 | 0x4000;

    /// Returns the device number, as makedev(3) composes it.
    fn device(&self) -> u64 {
        let [major, minor] = self.device.map(u64::from);
        (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | minor & 0xff
    }
}

/// The fields of [`Statx`] that are used, because the whole structure is large for a small stack.
pub(crate) struct Stat {
    pub(crate) identity: Identity,
    pub(crate) uid: u32,
    pub(crate) mode: u16,
    blocks: u64,
}

impl Stat {
    pub(crate) fn bytes(&self) -> u64 {
        self.identity.bytes
    }

    /// Allocated size in bytes.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.blocks.saturating_mul(512)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

#[inline(never)]
pub(crate) fn stat_at(directory: c_int, path: &CStr, flags: c_int) -> Result<Stat, Error> {
    let mut found = Statx::default();
    let buffer = &raw mut found as usize;
    // SAFETY: the path is NUL-terminated, and `found` is valid for writes of a `struct statx`.
    unsafe { call(STATX, [directory as usize, path.as_ptr() as usize, flags as usize, Statx::MASK, buffer, 0]) }?;
    let identity = Identity {
        device: found.device(),
        inode: found.inode,
        mount: found.mount,
        bytes: found.bytes,
        modified: found.modified.time(),
        changed: found.changed.time(),
    };
    Ok(Stat { identity, uid: found.uid, mode: found.mode, blocks: found.blocks })
}

pub(crate) fn stat(path: &CStr) -> Result<Stat, Error> {
    stat_at(AT_FDCWD, path, 0)
}

/// Checks that the file may be executed, as [`check_access`] does, and that it is not open for writing (ETXTBSY), as
/// far as the kernel reports that.
///
/// Since Linux 6.8, execve(2) opens the file before it reads the arguments. With invalid pointers to arguments it fails
/// with EFAULT only if the file could be opened. Earlier kernels always fail with EFAULT. `AT_EXECVE_CHECK` of Linux
/// 6.14 cannot be used: while it runs, pthread_create(3) fails in other threads of the process.
pub(crate) fn check_executable(directory: c_int, path: &CStr, flags: c_int) -> Result<(), Error> {
    const NOWHERE: usize = !7;
    let arguments = [directory as usize, path.as_ptr() as usize, NOWHERE, 0, flags as usize, 0];
    // SAFETY: the path is NUL-terminated. Nothing is executed, because the argument vector is not at a user-space
    // address.
    match unsafe { call(EXECVEAT, arguments) } {
        Err(ETXTBSY) => Err(ETXTBSY),
        _ => check_access(directory, path, flags),
    }
}

/// Atomically adds 1 to, or subtracts 1 from, a number in memory shared with other processes. The kernel does it
/// (`FUTEX_WAKE_OP` of futex(2)), so that a truncated file causes an error instead of SIGBUS.
///
/// # Safety
///
/// If the address is mapped, it must be that of a number that may be changed this way.
pub(crate) unsafe fn add(number: *const u32, subtract: bool) -> Result<(), Error> {
    const WAKE_OP_PRIVATE: usize = 5 | 128;
    const ADD: usize = 1 << 28;
    let amount: usize = if subtract { 0xfff } else { 1 };
    let address = number.expose_provenance();
    // SAFETY: guaranteed by the caller. Nothing waits on this futex.
    unsafe { call(FUTEX, [address, WAKE_OP_PRIVATE, 0, 0, address, ADD | amount << 12]) }.map(|_| ())
}

/// Checks that the file may be executed by the effective user and group, and that its mount allows it.
///
/// faccessat2(2) is missing before Linux 5.8 and forbidden in some sandboxes. In these cases faccessat(2) is used for
/// paths. It checks the real ids, but snapshots are only executed if real and effective ids are equal.
pub(crate) fn check_access(directory: c_int, path: &CStr, flags: c_int) -> Result<(), Error> {
    const X_OK: usize = 1;
    let [directory, address] = [directory as usize, path.as_ptr() as usize];
    // SAFETY: the path is NUL-terminated.
    let answer = unsafe { call(FACCESSAT2, [directory, address, X_OK, (flags | AT_EACCESS) as usize, 0, 0]) };
    let answer = match answer {
        // SAFETY: as above.
        Err(ENOSYS | EPERM) if flags == 0 => unsafe { call(FACCESSAT, [directory, address, X_OK, 0, 0, 0]) },
        answer => answer,
    };
    answer.map(|_| ())
}

/// A file descriptor, closed when dropped.
pub(crate) struct Descriptor(usize);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: nothing else owns the descriptor.
        let _ = unsafe { call(CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// Closes a descriptor of the caller.
pub(crate) fn close(number: c_int) {
    drop(Descriptor(number as usize));
}

impl Descriptor {
    fn open(directory: c_int, path: &CStr, flags: c_int) -> Result<Self, Error> {
        // O_NONBLOCK prevents blocking if a FIFO has replaced the file.
        let flags = (flags | O_CLOEXEC | O_NONBLOCK) as usize;
        // SAFETY: the path is NUL-terminated.
        unsafe { call(OPENAT, [directory as usize, path.as_ptr() as usize, flags, 0, 0, 0]) }.map(Descriptor)
    }

    pub(crate) fn open_read(path: &CStr) -> Result<Self, Error> {
        Self::open(AT_FDCWD, path, 0)
    }

    pub(crate) fn open_write(path: &CStr) -> Result<Self, Error> {
        Self::open(AT_FDCWD, path, O_RDWR)
    }

    /// Opens a file with O_PATH.
    pub(crate) fn open_path(directory: c_int, path: &CStr) -> Result<Self, Error> {
        Self::open(directory, path, O_PATH)
    }

    pub(crate) fn number(&self) -> c_int {
        self.0 as c_int
    }

    pub(crate) fn stat(&self) -> Result<Stat, Error> {
        stat_at(self.number(), c"", AT_EMPTY_PATH)
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, Error> {
        // SAFETY: `into` is valid for writes of its length.
        unsafe { call(READ, [self.0, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
    }

    /// Maps the first `bytes` for reading and writing, shared.
    pub(crate) fn map(&self, bytes: usize) -> Result<*mut c_void, Error> {
        const READ_AND_WRITE: usize = 3;
        const SHARED: usize = 1;
        // SAFETY: the kernel chooses the address.
        let address = unsafe { call(MMAP, [0, bytes, READ_AND_WRITE, SHARED, self.0, 0]) }?;
        Ok(core::ptr::with_exposed_provenance_mut(address))
    }
}

/// Maps private memory, whose bytes are zero.
pub(crate) fn map_memory(bytes: usize) -> Result<*mut c_void, Error> {
    const READ_AND_WRITE: usize = 3;
    const PRIVATE_AND_ANONYMOUS: usize = 0x22;
    // SAFETY: the kernel chooses the address.
    let address = unsafe { call(MMAP, [0, bytes, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, usize::MAX, 0]) }?;
    Ok(core::ptr::with_exposed_provenance_mut(address))
}

/// Returns whether the page at this address can be read. rt_sigprocmask(2) reads the signal set there before it rejects
/// the invalid operation.
pub(crate) fn can_read(page: usize) -> bool {
    const NO_SUCH_CHANGE: usize = usize::MAX;
    const SET_BYTES: usize = 8;
    // SAFETY: no signal is blocked, and nothing is written.
    let answer = unsafe { call(RT_SIGPROCMASK, [NO_SUCH_CHANGE, page, 0, SET_BYTES, 0, 0]) };
    answer == Err(EINVAL)
}

/// Unmaps memory.
///
/// # Safety
///
/// Nothing may use the memory any more.
pub(crate) unsafe fn unmap(address: *const c_void, bytes: usize) {
    // SAFETY: guaranteed by the caller.
    let _ = unsafe { call(MUNMAP, [address as usize, bytes, 0, 0, 0, 0]) };
}

/// Returns only on failure.
///
/// # Safety
///
/// Both vectors must be null-terminated.
pub(crate) unsafe fn execve(path: &CStr, arguments: *const *const c_char, environment: *const *const c_char) -> Error {
    // SAFETY: guaranteed by the caller.
    match unsafe { call(EXECVE, [path.as_ptr() as usize, arguments as usize, environment as usize, 0, 0, 0]) } {
        Ok(_) => Error(0),
        Err(error) => error,
    }
}

pub(crate) fn symlink(target: &CStr, path: &CStr) {
    // SAFETY: both strings are NUL-terminated. If the link exists already, another process has made it.
    let _ = unsafe { call(SYMLINK, [target.as_ptr() as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// Reads the target of a symbolic link, truncated to `into`. Returns its length.
pub(crate) fn readlink(path: &CStr, into: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: the path is NUL-terminated, and `into` is valid for writes of its length.
    unsafe { call(READLINK, [path.as_ptr() as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
}

/// Reads the path of the working directory. Returns its length with the terminating NUL.
pub(crate) fn getcwd(into: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: `into` is valid for writes of its length.
    unsafe { call(GETCWD, [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0]) }
}

pub(crate) fn getpid() -> u32 {
    // SAFETY: takes no arguments.
    unsafe { call(GETPID, [0; 6]) }.map_or(0, |pid| pid as u32)
}

/// Returns the real, effective and saved user id.
pub(crate) fn users() -> Result<[u32; 3], Error> {
    get_ids(GETRESUID)
}

/// Returns the real, effective and saved group id.
pub(crate) fn groups() -> Result<[u32; 3], Error> {
    get_ids(GETRESGID)
}

fn get_ids(number: usize) -> Result<[u32; 3], Error> {
    let [mut one, mut two, mut three] = [0_u32; 3];
    let pointers = [&raw mut one as usize, &raw mut two as usize, &raw mut three as usize, 0, 0, 0];
    // SAFETY: the pointers are valid for writes.
    unsafe { call(number, pointers) }?;
    Ok([one, two, three])
}

/// Returns the soft limit of a resource (RLIMIT_...).
pub(crate) fn soft_limit(resource: usize) -> Result<u64, Error> {
    let mut limits = [0_u64; 2];
    // SAFETY: `limits` has the size of a `struct rlimit64`; no new limit is passed.
    unsafe { call(PRLIMIT64, [0, resource, 0, &raw mut limits as usize, 0, 0]) }?;
    Ok(limits[0])
}

pub(crate) fn personality() -> Result<usize, Error> {
    // SAFETY: this argument only queries.
    unsafe { call(PERSONALITY, [0xffff_ffff, 0, 0, 0, 0, 0]) }
}

/// Returns a random number; 0 if the kernel's generator is not initialised.
pub(crate) fn random() -> u32 {
    const GRND_NONBLOCK: usize = 1;
    let mut number = 0_u32;
    // SAFETY: `number` is valid for writes of four bytes.
    let _ = unsafe { call(GETRANDOM, [&raw mut number as usize, 4, GRND_NONBLOCK, 0, 0, 0]) };
    number
}
