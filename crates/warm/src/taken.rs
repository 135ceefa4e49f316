//! A program as it stands at its entry, loaded and relocated by ld.so, before anything of its own has run.

use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

use steady_preload::table::Patch;
use thiserror::Error;

/// How a program is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The program: an absolute path.
    pub program: PathBuf,
    /// How it is called: its first argument. Two takes call it by names of different lengths.
    pub name: OsString,
    /// How many arguments it gets in all; two takes get different numbers.
    pub arguments: u32,
    /// Its environment, without what the loader is told by `LD_` variables. Two takes get environments of different sizes.
    pub environment: Vec<(OsString, OsString)>,
    /// The library that is loaded before all others.
    pub preloaded: Option<PathBuf>,
    /// Whether all functions are bound at once (`LD_BIND_NOW`).
    pub bind_now: bool,
    /// The soft limit on its stack, in bytes, as it may find it; this process's where there is none. Two takes get different
    /// ones.
    pub stack_limit: Option<u64>,
    /// Whether the locale's data are loaded: setlocale(3) is called in it with "" and then with "C".
    pub locale: bool,
    /// Whether it gets other answers than usual to what a snapshot must not depend on: the numbers of its process, its group
    /// and its descriptors, its capabilities, the hard limit on its stack. One of two takes does.
    pub alternative: bool,
}

/// A program as it stands at its entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// All its memory but the stack and what the kernel itself provides (vdso, vvar), in the order of addresses.
    pub regions: Vec<Region>,
    /// Where it is about to go on: its entry.
    pub entry: u64,
    /// rdx there: the function that ld.so wants called at the end.
    pub at_exit: u64,
    /// What its thread has told the kernel.
    pub thread: Thread,
    /// What lies on its stack, and where.
    pub stack: Stack,
    /// The soft limit on the stack as it was to find it, in bytes; the largest number for none.
    pub stack_limit: u64,
    /// What brk(2) told last; 0 if it was not asked.
    pub heap_end: u64,
    /// The words that getrandom(2) drew for it, in order: they are drawn anew at each launch.
    pub drawn: Vec<u64>,
    /// The files that it opened or asked for on the way, in the order of the first time, and those that it found absent:
    /// the program itself, its interpreter, libraries, ld.so's cache, locale data, whatever constructors read.
    pub files: Vec<AskedFile>,
    /// The variables of the environment that its libraries' constructors asked for, once each. The loader's own
    /// (`LD_...`, `GLIBC_TUNABLES`) are not among them.
    pub variables: Vec<OsString>,
}

/// A stretch of memory with the same protection and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it begins.
    pub address: u64,
    /// What it holds; zeros where it maps a file with nothing allowed, which only keeps a place free.
    pub bytes: Bytes,
    /// How it is protected now.
    pub protection: Protection,
    /// Which file it maps, and from which offset on; none for anonymous memory.
    pub file: Option<(PathBuf, u64)>,
    /// Whether it is the heap that grows by brk(2).
    pub heap: bool,
}

/// What memory holds. Copies are the same memory until one of them is changed.
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

/// What may be done with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protection {
    /// Whether it can be read.
    pub read: bool,
    /// Whether it can be written.
    pub write: bool,
    /// Whether it can be executed.
    pub execute: bool,
}

/// What a thread has set its floating-point units to before the entry, in control and status words; its x87 registers are
/// empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatingPoint {
    /// MXCSR.
    pub mxcsr: u32,
    /// The x87's control word.
    pub x87_control: u16,
    /// The x87's status word.
    pub x87_status: u16,
}

impl Default for FloatingPoint {
    /// As execve(2) sets it.
    fn default() -> Self {
        FloatingPoint { mxcsr: 0x1f80, x87_control: 0x37f, x87_status: 0 }
    }
}

/// What a thread has told the kernel about itself, and what it has set its floating-point units to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// FS.
    pub pointer: u64,
    /// The argument of set_tid_address(2).
    pub tid_address: u64,
    /// The arguments of set_robust_list(2): address and length.
    pub robust_list: Option<(u64, u64)>,
    /// Those of rseq(2): address, length, signature.
    pub rseq: Option<(u64, u32, u32)>,
    /// The number of the thread, as the program may have kept it.
    pub tid: i32,
    /// What its floating-point units are set to.
    pub floating_point: FloatingPoint,
}

/// What lies on the stack of a program that is about to be entered. All addresses are its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Where the stack's memory begins and ends.
    pub range: (u64, u64),
    /// The address of the number of arguments: rsp at the entry.
    pub pointer: u64,
    /// That number.
    pub arguments: u64,
    /// The address of the environment's first pointer.
    pub environment: u64,
    /// The address of the auxiliary vector, and what it holds: kinds and values, without the last.
    pub auxiliary: (u64, Vec<(u64, u64)>),
    /// The 16 random bytes that AT_RANDOM points to.
    pub random: [u8; 16],
    /// The address of the first argument, and how long it is.
    pub name: (u64, u64),
    /// The address of the first argument's last part, behind its last slash.
    pub name_part: u64,
    /// Where the kernel's shared object begins and ends.
    pub vdso: (u64, u64),
}

/// A file that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskedFile {
    /// Its path, absolute.
    pub path: PathBuf,
    /// Whether it was there.
    pub found: bool,
}

/// Why a program is not kept warm: it is started as usual, always.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Why there is nothing taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotTaken {
    /// It lies in the program or in one of these files, which it had asked for by then.
    #[error("{0}")]
    Refused(Refusal, Vec<AskedFile>),
    /// It lies in this machine, or in this moment; in these words.
    #[error("{0}")]
    Failed(String),
}

impl From<Refusal> for NotTaken {
    fn from(refusal: Refusal) -> Self {
        NotTaken::Refused(refusal, vec![])
    }
}

impl NotTaken {
    /// Adds the files that the program had asked for to a refusal.
    #[must_use]
    pub fn having_asked_for(self, files: Vec<AskedFile>) -> Self {
        match self {
            NotTaken::Refused(refusal, _) => NotTaken::Refused(refusal, files),
            failed @ NotTaken::Failed(_) => failed,
        }
    }
}

/// What becomes a file that can be executed in the program's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The program as it was taken, but for words that no snapshot keeps.
    pub taken: Taken,
    /// The program's file.
    pub program: PathBuf,
    /// Where its dynamic section lies, and how long it is: by it debuggers find the libraries.
    pub dynamic: Option<(u64, u64)>,
    /// Its words that are different at each launch, in the order of addresses.
    pub patches: Vec<Patch>,
}
