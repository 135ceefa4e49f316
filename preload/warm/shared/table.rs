//! The table: the steps of the stub of a snapshot. It follows the stub's code and is written with the snapshot.
//!
//! All addresses are those of the running program. Numbers have native byte order.

/// Alignment of tables, in bytes.
pub const ALIGNMENT: u64 = 64;
/// Maximum number of random words per launch.
pub const MOST_DRAWN: usize = 8;
/// The first word of every table.
pub const MAGIC: u64 = u64::from_le_bytes(*b"steady1w");

/// The steps of the stub. The patches, protections and prefault ranges follow, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// [`MAGIC`], which the stub checks before it uses the table.
    pub magic: u64,
    /// The address at which the program continues once everything is done.
    pub entry: u64,
    /// The value of rdx at that point: the function that ld.so registers with atexit(3).
    pub at_exit: u64,
    /// The thread pointer (FS base).
    pub thread: u64,
    /// The argument of set_tid_address(2).
    pub tid_address: u64,
    /// The argument of set_robust_list(2); 0 for no call.
    pub robust_list: u64,
    /// The length of the list head, in bytes.
    pub robust_list_bytes: u64,
    /// The area for rseq(2); 0 for no call.
    pub rseq: u64,
    /// The length of the area, in bytes.
    pub rseq_bytes: u32,
    /// The signature for rseq(2).
    pub rseq_signature: u32,
    /// AT_PHDR of the program when it is loaded normally.
    pub program_headers: u64,
    /// AT_PHNUM of the program when it is loaded normally.
    pub program_header_count: u64,
    /// AT_ENTRY of the program when it is loaded normally.
    pub program_entry: u64,
    /// AT_BASE of the program when it is loaded normally.
    pub interpreter: u64,
    /// The address of the program's path, in the snapshot. The stub executes this path if it fails.
    pub program_path: u64,
    /// The operand of FLDENV: the x87 control, status and tag words, and the pointers of its last instruction and
    /// operand.
    pub x87: [u32; 7],
    /// The MXCSR register (SSE).
    pub mxcsr: u32,
    /// Start and end of the program's code, for prctl(2) with PR_SET_MM.
    pub code: [u64; 2],
    /// Start and end of the program's data, for prctl(2) with PR_SET_MM.
    pub data: [u64; 2],
    /// The part of the program's file with its headers: address, length, file offset. It is mapped from the file, which
    /// unwinders and debuggers find that way; length 0 for none.
    pub headers: [u64; 3],
    /// The file that this mapping requires: device, inode, length, and mtime in seconds and nanoseconds.
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

/// A word of the program that differs from launch to launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The address of the word in the program's memory.
    pub address: u64,
    /// Its value: one of [`kind`].
    pub kind: u32,
    /// How many bytes are written: 4 or 8.
    pub bytes: u32,
    /// Added to the value, wrapping. For [`kind::MANGLED`], the pointer itself.
    pub addend: u64,
}

/// A range of memory that gets another protection before the program continues.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// The start address of the range.
    pub address: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// The protection, as in mprotect(2).
    pub protection: u64,
}

/// A range of memory that is going to be written. Its pages are prefaulted together.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// The start address of the range.
    pub address: u64,
    /// The length in bytes.
    pub bytes: u64,
}

/// Values of patched words.
pub mod kind {
    /// The address of argc on the stack.
    pub const STACK: u32 = 1;
    /// The number of arguments.
    pub const ARGC: u32 = 2;
    /// The address of argv.
    pub const ARGV: u32 = 3;
    /// The address of envp.
    pub const ENVIRONMENT: u32 = 4;
    /// The address of the auxiliary vector.
    pub const AUXILIARY: u32 = 5;
    /// AT_RANDOM: the address of 16 random bytes.
    pub const RANDOM: u32 = 6;
    /// AT_PLATFORM: the address of the platform's name.
    pub const PLATFORM: u32 = 7;
    /// AT_EXECFN: the address of the path by which the program was executed.
    pub const EXECFN: u32 = 8;
    /// The address of the first argument; 0 if there is none.
    pub const ARGV0: u32 = 9;
    /// The address of the first argument's last part, after the last slash.
    pub const ARGV0_NAME: u32 = 10;
    /// AT_SYSINFO_EHDR: the address of the vDSO.
    pub const VDSO: u32 = 11;
    /// The canary that the stack protector checks.
    pub const CANARY: u32 = 12;
    /// The C library's pointer guard.
    pub const POINTER_GUARD: u32 = 13;
    /// A pointer, mangled with the pointer guard.
    pub const MANGLED: u32 = 14;
    /// The id of the only thread, as gettid(2) returns it.
    pub const TID: u32 = 15;
    /// The program break, as brk(0) returns it.
    pub const BREAK: u32 = 16;
    /// A random word. The addend is the index of the drawn word.
    pub const DRAWN: u32 = 17;
    /// The soft limit of the stack in bytes, from which the C library derives the size of thread stacks.
    pub const STACK_LIMIT: u32 = 18;
}
