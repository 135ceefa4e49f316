//! What the stub of a snapshot is told to do: memory that lies behind its code, written with the snapshot.
//!
//! All addresses are of the program as it runs; all of it is in the order of this machine's bytes.

/// Where tables begin: at a multiple of this many bytes.
pub const ALIGNMENT: u64 = 64;
/// How many random words a launch draws at most.
pub const MOST_DRAWN: usize = 8;
/// The first word of every table.
pub const MAGIC: u64 = u64::from_le_bytes(*b"steady1w");

/// What to do, besides the patches and protections that follow it, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// [`MAGIC`].
    pub magic: u64,
    /// Where the program is entered once all is done.
    pub entry: u64,
    /// What rdx holds then: the function that ld.so wants called at the end.
    pub at_exit: u64,
    /// The thread's pointer: FS.
    pub thread: u64,
    /// For set_tid_address(2).
    pub tid_address: u64,
    /// For set_robust_list(2); 0 for none.
    pub robust_list: u64,
    /// Its length in bytes.
    pub robust_list_bytes: u64,
    /// For rseq(2); 0 for none.
    pub rseq: u64,
    /// Its length in bytes.
    pub rseq_bytes: u32,
    /// Its signature.
    pub rseq_signature: u32,
    /// What AT_PHDR, AT_PHNUM, AT_ENTRY and AT_BASE say where the program is loaded as usual.
    pub program_headers: u64,
    /// AT_PHNUM.
    pub program_header_count: u64,
    /// AT_ENTRY.
    pub program_entry: u64,
    /// AT_BASE.
    pub interpreter: u64,
    /// AT_EXECFN: the program's path, which lies in the snapshot. It is what is executed after all where the stub cannot
    /// do what it is told.
    pub program_path: u64,
    /// What FLDENV loads: the x87's control, status and tag words, and the address of its last instruction and operand.
    pub x87: [u32; 7],
    /// The control and status word of SSE.
    pub mxcsr: u32,
    /// Where the program's code begins and ends, and its data: for `/proc/PID/stat` and prctl(2).
    pub code: [u64; 2],
    /// Where its data begin and end.
    pub data: [u64; 2],
    /// The part of the program's file that holds its headers: address, length, offset in the file. It is mapped from the file
    /// itself, by which unwinders and debuggers find that file; length 0 for none.
    pub headers: [u64; 3],
    /// What the file must be for that: device, inode, length, and time of its last change in seconds and nanoseconds.
    pub file: [u64; 5],
    /// How many random words are drawn.
    pub drawn: u64,
    /// How many [`Patch`]es follow.
    pub patches: u64,
    /// How many [`Protection`]s follow those.
    pub protections: u64,
    /// How many [`Ahead`]s follow those.
    pub ahead: u64,
}

/// One word of the program that is different at each launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Where it is.
    pub address: u64,
    /// What it becomes: one of [`kind`].
    pub kind: u32,
    /// How many bytes of it are written: 4 or 8.
    pub bytes: u32,
    /// Added to it, wrapping; for [`kind::MANGLED`] the pointer itself.
    pub addend: u64,
}

/// Memory that may be written only until the program is entered.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// As mprotect(2) has it.
    pub protection: u64,
}

/// Memory that is going to be written: it is got ready at once, rather than page by page as it is touched.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
}

/// What a word becomes.
pub mod kind {
    /// The address of argc on the stack.
    pub const STACK: u32 = 1;
    /// The number of arguments.
    pub const ARGC: u32 = 2;
    /// The address of the arguments' pointers.
    pub const ARGV: u32 = 3;
    /// The address of the environment's pointers.
    pub const ENVIRONMENT: u32 = 4;
    /// The address of the auxiliary vector.
    pub const AUXILIARY: u32 = 5;
    /// The address of the 16 random bytes.
    pub const RANDOM: u32 = 6;
    /// The address of the platform's name (AT_PLATFORM).
    pub const PLATFORM: u32 = 7;
    /// The address of the program's path (AT_EXECFN).
    pub const EXECFN: u32 = 8;
    /// The address of the first argument; of nothing where there is none.
    pub const ARGV0: u32 = 9;
    /// The address of its last part, behind the last slash.
    pub const ARGV0_NAME: u32 = 10;
    /// The address of the kernel's shared object.
    pub const VDSO: u32 = 11;
    /// The canary that guards the stack.
    pub const CANARY: u32 = 12;
    /// What mangles pointers.
    pub const POINTER_GUARD: u32 = 13;
    /// A pointer, mangled.
    pub const MANGLED: u32 = 14;
    /// The number of the thread.
    pub const TID: u32 = 15;
    /// The end of the heap, as brk(0) tells it.
    pub const BREAK: u32 = 16;
    /// A random word: the addend says which of those that are drawn at the launch.
    pub const DRAWN: u32 = 17;
    /// The soft limit on the stack in bytes, which the C library makes the stacks of threads by.
    pub const STACK_LIMIT: u32 = 18;
}
