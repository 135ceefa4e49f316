//! System calls, without the C library: they leave errno alone, and are no points of cancellation.

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int, c_void};

use super::identity::{Identity, Time};

/// What the kernel says went wrong: an errno.
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

/// The call with this number and these arguments.
///
/// # Safety
///
/// As the call has it: pointers must be good for what it reads and writes.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Error> {
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
    if (-4095..0).contains(&result) { Err(Error(-result as i32)) } else { Ok(result as usize) }
}

/// `struct statx_timestamp`.
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
    /// What is asked for: `STATX_BASIC_STATS`, and `STATX_MNT_ID_UNIQUE`, which kernels before 6.8 take no notice of.
    const MASK: usize = 0x7ff | 0x1000 | 0x4000;

    /// As makedev(3) composes it.
    fn device(&self) -> u64 {
        let [major, minor] = self.device.map(u64::from);
        (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | minor & 0xff
    }
}

/// What is used of [`Statx`], which would take much of a small stack.
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

    /// What it takes of its disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.blocks.saturating_mul(512)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

#[inline(never)]
pub(crate) fn stat_at(folder: c_int, path: &CStr, flags: c_int) -> Result<Stat, Error> {
    let mut found = Statx::default();
    let place = &raw mut found as usize;
    // SAFETY: the path ends with a zero, and the struct is the kernel's.
    unsafe { call(STATX, [folder as usize, path.as_ptr() as usize, flags as usize, Statx::MASK, place, 0]) }?;
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

/// Whether the file may be executed, as [`executable`], and is not open for writing (ETXTBSY), as far as the kernel says so.
///
/// Kernels since 6.8 open the file before they look at the arguments, so that execve(2) with arguments that lead nowhere ends with
/// EFAULT exactly if the file could be opened; older ones always end with EFAULT. The check that Linux 6.14 has for this
/// (`AT_EXECVE_CHECK`) goes further, and makes pthread_create(3) fail in other threads of the process at that moment.
pub(crate) fn would_execute(folder: c_int, path: &CStr, flags: c_int) -> Result<(), Error> {
    const NOWHERE: usize = !7;
    let arguments = [folder as usize, path.as_ptr() as usize, NOWHERE, 0, flags as usize, 0];
    // SAFETY: the path ends with a zero. Nothing is executed: the arguments would be read first, and are no address of a program.
    match unsafe { call(EXECVEAT, arguments) } {
        Err(ETXTBSY) => Err(ETXTBSY),
        _ => executable(folder, path, flags),
    }
}

/// Adds 1 to or takes 1 from a number that other processes change too, atomically. The kernel does it (`FUTEX_WAKE_OP` of futex(2)),
/// so that memory whose file has become shorter is an error here rather than a signal that ends the program.
///
/// # Safety
///
/// If the address is mapped, it must be a number that may be changed so.
pub(crate) unsafe fn add(number: *const u32, less: bool) -> Result<(), Error> {
    const WAKE_OP_PRIVATE: usize = 5 | 128;
    const ADD: usize = 1 << 28;
    let amount: usize = if less { 0xfff } else { 1 };
    let place = number.expose_provenance();
    // SAFETY: the caller vouches for the number; nobody waits for it, so that nobody is woken.
    unsafe { call(FUTEX, [place, WAKE_OP_PRIVATE, 0, 0, place, ADD | amount << 12]) }.map(|_| ())
}

/// Whether the file may be executed, by this process's effective users, where it is mounted.
///
/// Kernels before 5.8, and some sandboxes, do not know that question; of a path they are asked about the real users, and
/// nothing is started from a snapshot where those are others.
pub(crate) fn executable(folder: c_int, path: &CStr, flags: c_int) -> Result<(), Error> {
    const X_OK: usize = 1;
    let [folder, place] = [folder as usize, path.as_ptr() as usize];
    // SAFETY: the path ends with a zero.
    let answer = unsafe { call(FACCESSAT2, [folder, place, X_OK, (flags | AT_EACCESS) as usize, 0, 0]) };
    let answer = match answer {
        // SAFETY: as above.
        Err(ENOSYS | EPERM) if flags == 0 => unsafe { call(FACCESSAT, [folder, place, X_OK, 0, 0, 0]) },
        answer => answer,
    };
    answer.map(|_| ())
}

/// A descriptor, closed at its end.
pub(crate) struct Descriptor(usize);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody else closes it.
        let _ = unsafe { call(CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// Closes a descriptor of the caller's.
pub(crate) fn close(number: c_int) {
    drop(Descriptor(number as usize));
}

impl Descriptor {
    fn open(folder: c_int, path: &CStr, flags: c_int) -> Result<Self, Error> {
        // A FIFO in the place of a file would keep the process waiting for somebody who writes to it.
        let flags = (flags | O_CLOEXEC | O_NONBLOCK) as usize;
        // SAFETY: the path ends with a zero.
        unsafe { call(OPENAT, [folder as usize, path.as_ptr() as usize, flags, 0, 0, 0]) }.map(Descriptor)
    }

    pub(crate) fn to_read(path: &CStr) -> Result<Self, Error> {
        Self::open(AT_FDCWD, path, 0)
    }

    pub(crate) fn to_write(path: &CStr) -> Result<Self, Error> {
        Self::open(AT_FDCWD, path, O_RDWR)
    }

    /// Of a file that is neither read nor written.
    pub(crate) fn of_path(folder: c_int, path: &CStr) -> Result<Self, Error> {
        Self::open(folder, path, O_PATH)
    }

    pub(crate) fn number(&self) -> c_int {
        self.0 as c_int
    }

    pub(crate) fn stat(&self) -> Result<Stat, Error> {
        stat_at(self.number(), c"", AT_EMPTY_PATH)
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, Error> {
        // SAFETY: the memory is ours, and so long.
        unsafe { call(READ, [self.0, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
    }

    /// Maps so much of its beginning, to be read and written, in shared memory.
    pub(crate) fn map(&self, bytes: usize) -> Result<*mut c_void, Error> {
        const READ_AND_WRITE: usize = 3;
        const SHARED: usize = 1;
        // SAFETY: the kernel chooses the place.
        let place = unsafe { call(MMAP, [0, bytes, READ_AND_WRITE, SHARED, self.0, 0]) }?;
        Ok(core::ptr::with_exposed_provenance_mut(place))
    }
}

/// Maps so much memory, all zeros.
pub(crate) fn map_memory(bytes: usize) -> Result<*mut c_void, Error> {
    const READ_AND_WRITE: usize = 3;
    const PRIVATE_AND_ANONYMOUS: usize = 0x22;
    // SAFETY: the kernel chooses the place.
    let place = unsafe { call(MMAP, [0, bytes, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, usize::MAX, 0]) }?;
    Ok(core::ptr::with_exposed_provenance_mut(place))
}

/// Whether the page that begins at this address can be read. The kernel reads a set of signals from there before it finds that it
/// is asked to do nothing with it.
pub(crate) fn can_read(page: usize) -> bool {
    const NO_SUCH_CHANGE: usize = usize::MAX;
    const SET_BYTES: usize = 8;
    // SAFETY: no signal is held back, and nothing is written.
    let answer = unsafe { call(RT_SIGPROCMASK, [NO_SUCH_CHANGE, page, 0, SET_BYTES, 0, 0]) };
    answer == Err(EINVAL)
}

/// Takes away what was mapped.
///
/// # Safety
///
/// Nobody may use it any more.
pub(crate) unsafe fn unmap(place: *const c_void, bytes: usize) {
    // SAFETY: the caller vouches for it.
    let _ = unsafe { call(MUNMAP, [place as usize, bytes, 0, 0, 0, 0]) };
}

/// Returns only if the program could not be executed.
///
/// # Safety
///
/// The two vectors must be such, each with a null pointer at its end.
pub(crate) unsafe fn execve(path: &CStr, arguments: *const *const c_char, environment: *const *const c_char) -> Error {
    // SAFETY: the caller vouches for it.
    match unsafe { call(EXECVE, [path.as_ptr() as usize, arguments as usize, environment as usize, 0, 0, 0]) } {
        Ok(_) => Error(0),
        Err(error) => error,
    }
}

pub(crate) fn symlink(target: &CStr, path: &CStr) {
    // SAFETY: both end with a zero. Whoever made it first was as good.
    let _ = unsafe { call(SYMLINK, [target.as_ptr() as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// How many bytes the link holds; as many as there is room for.
pub(crate) fn readlink(path: &CStr, into: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: the path ends with a zero; the memory is ours, and so long.
    unsafe { call(READLINK, [path.as_ptr() as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
}

/// How many bytes the working directory's path has, with the zero at its end.
pub(crate) fn getcwd(into: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: the memory is ours, and so long.
    unsafe { call(GETCWD, [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0]) }
}

pub(crate) fn getpid() -> u32 {
    // SAFETY: takes nothing.
    unsafe { call(GETPID, [0; 6]) }.map_or(0, |pid| pid as u32)
}

/// The real, the effective and the saved user.
pub(crate) fn users() -> Result<[u32; 3], Error> {
    three_of(GETRESUID)
}

/// The real, the effective and the saved group.
pub(crate) fn groups() -> Result<[u32; 3], Error> {
    three_of(GETRESGID)
}

fn three_of(number: usize) -> Result<[u32; 3], Error> {
    let [mut one, mut two, mut three] = [0_u32; 3];
    let places = [&raw mut one as usize, &raw mut two as usize, &raw mut three as usize, 0, 0, 0];
    // SAFETY: the three numbers are ours.
    unsafe { call(number, places) }?;
    Ok([one, two, three])
}

/// The soft limit with this number.
pub(crate) fn soft_limit(resource: usize) -> Result<u64, Error> {
    let mut limits = [0_u64; 2];
    // SAFETY: the two numbers are ours; no new limit is given.
    unsafe { call(PRLIMIT64, [0, resource, 0, &raw mut limits as usize, 0, 0]) }?;
    Ok(limits[0])
}

pub(crate) fn personality() -> Result<usize, Error> {
    // SAFETY: this number only asks.
    unsafe { call(PERSONALITY, [0xffff_ffff, 0, 0, 0, 0, 0]) }
}

/// A random number; 0 where the kernel has none yet.
pub(crate) fn random() -> u32 {
    const GRND_NONBLOCK: usize = 1;
    let mut number = 0_u32;
    // SAFETY: the number is ours.
    let _ = unsafe { call(GETRANDOM, [&raw mut number as usize, 4, GRND_NONBLOCK, 0, 0, 0]) };
    number
}
