//! A captured program: its state at the entry point, loaded and relocated by ld.so, before its own code has run.

use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

use steady_preload::table::Patch;
use thiserror::Error;

/// How to capture a program. Two captures differ in everything that a launch can make different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// Argument 0. Two captures have names of different lengths.
    pub name: OsString,
    /// The number of arguments, including argument 0. Two captures have different numbers.
    pub arguments: u32,
    /// The environment, without variables of the loader (`LD_...`). Two captures have environments of different sizes.
    pub environment: Vec<(OsString, OsString)>,
    /// The library for `LD_PRELOAD`, loaded before all others.
    pub preloaded: Option<PathBuf>,
    /// Whether all functions are bound immediately (`LD_BIND_NOW`).
    pub bind_now: bool,
    /// The soft limit on the stack that the program sees, in bytes; `None` for the limit of this process. Two captures
    /// have different limits.
    pub stack_limit: Option<u64>,
    /// Whether to load the locale's data, by calls of setlocale(3) with "" and then with "C" in the program.
    pub locale: bool,
    /// Whether the program gets alternative answers where a snapshot must not depend on the answer: process number,
    /// group, numbers of descriptors, capabilities, hard limit on the stack. One of two captures does.
    pub alternative: bool,
}

/// A captured program: its state at the entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// Its memory in the order of addresses, without the stack and the kernel's mappings (vdso, vvar).
    pub regions: Vec<Region>,
    /// The address of the entry point.
    pub entry: u64,
    /// The value of rdx: a function of ld.so that the program must register with atexit(3) (System V ABI).
    pub at_exit: u64,
    /// The state that its thread has registered with the kernel.
    pub thread: Thread,
    /// The content and the addresses of its stack.
    pub stack: Stack,
    /// The soft limit on the stack that it saw, in bytes; `u64::MAX` for no limit.
    pub stack_limit: u64,
    /// The last result of brk(2); 0 if it was not called.
    pub heap_end: u64,
    /// The words that malloc(3) drew by getrandom(2), in order. Each launch draws them again.
    pub drawn: Vec<u64>,
    /// The files that it used, in the order of first use, including those that did not exist: the program itself, its
    /// interpreter, libraries, the cache of ld.so, locale data, and files that constructors read.
    pub files: Vec<UsedFile>,
    /// The environment variables that constructors of libraries read by getenv(3), each once. The loader's own
    /// variables (`LD_...`, `GLIBC_TUNABLES`) are not included.
    pub variables: Vec<OsString>,
}

/// A range of memory with one protection and one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The address of its first byte.
    pub address: u64,
    /// Its content; zeros for a file mapping without any access, which only reserves addresses.
    pub bytes: Bytes,
    /// Its protection at the entry point.
    pub protection: Protection,
    /// The mapped file and the offset in it; `None` for anonymous memory.
    pub file: Option<(PathBuf, u64)>,
    /// Whether it is the heap that brk(2) grows.
    pub heap: bool,
}

/// Content of memory. Clones share it until one of them is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(Arc<Vec<u8>>);

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(Arc::new(bytes))
    }
}

impl Deref for Bytes {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.0)
    }
}

/// The protection of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protection {
    /// Whether it is readable.
    pub read: bool,
    /// Whether it is writable.
    pub write: bool,
    /// Whether it is executable.
    pub execute: bool,
}

/// Control and status words of a thread's floating-point units. The x87 registers are empty at the entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatingPoint {
    /// The control and status register of SSE.
    pub mxcsr: u32,
    /// The x87's control word.
    pub x87_control: u16,
    /// The x87's status word.
    pub x87_status: u16,
}

impl Default for FloatingPoint {
    /// The values that execve(2) sets.
    fn default() -> Self {
        FloatingPoint { mxcsr: 0x1f80, x87_control: 0x37f, x87_status: 0 }
    }
}

/// The state that a thread has registered with the kernel, and its floating-point state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The FS base: the thread pointer.
    pub pointer: u64,
    /// The address passed to set_tid_address(2).
    pub tid_address: u64,
    /// The address and length passed to set_robust_list(2).
    pub robust_list: Option<(u64, u64)>,
    /// The address, length and signature passed to rseq(2).
    pub rseq: Option<(u64, u32, u32)>,
    /// The thread number that the program was given.
    pub tid: i32,
    /// The state of its floating-point units.
    pub floating_point: FloatingPoint,
}

/// The stack at the entry point. All addresses are those of the captured program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The start and the end of the stack's mapping.
    pub range: (u64, u64),
    /// The stack pointer, where the number of arguments is.
    pub pointer: u64,
    /// The number of arguments.
    pub arguments: u64,
    /// The address of the first environment pointer.
    pub environment: u64,
    /// The address of the auxiliary vector, and its types and values without the terminator.
    pub auxiliary: (u64, Vec<(u64, u64)>),
    /// The 16 random bytes that AT_RANDOM points to.
    pub random: [u8; 16],
    /// The address of argument 0, and its length in bytes.
    pub name: (u64, u64),
    /// The address of the last component of argument 0, after its last slash.
    pub name_part: u64,
    /// The start and the end of the vDSO.
    pub vdso: (u64, u64),
}

/// A file that a program used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UsedFile {
    /// The absolute path that the program used.
    pub path: PathBuf,
    /// Whether the file existed.
    pub found: bool,
}

/// Why a program is refused: it is always started as usual.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Why a program was not captured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotCaptured {
    /// The cause is the program or one of these files, which it had used before.
    #[error("{0}")]
    Refused(Refusal, Vec<UsedFile>),
    /// The cause is the machine or the moment, so a later attempt may succeed.
    #[error("{0}")]
    Failed(String),
}

impl From<Refusal> for NotCaptured {
    fn from(refusal: Refusal) -> Self {
        NotCaptured::Refused(refusal, vec![])
    }
}

impl NotCaptured {
    /// Adds the files that the program had used to a refusal.
    #[must_use]
    pub fn with_used_files(self, files: Vec<UsedFile>) -> Self {
        match self {
            NotCaptured::Refused(refusal, _) => NotCaptured::Refused(refusal, files),
            failed @ NotCaptured::Failed(_) => failed,
        }
    }
}

/// The content of a snapshot, from which an executable is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The captured program, with late binding of functions restored.
    pub captured: Captured,
    /// The path of the program's file.
    pub program: PathBuf,
    /// The address and length of the program's dynamic section, by which debuggers find the libraries.
    pub dynamic: Option<(u64, u64)>,
    /// The words that each launch creates again, in the order of addresses.
    pub patches: Vec<Patch>,
}
