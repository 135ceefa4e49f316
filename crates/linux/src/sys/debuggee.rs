//! Traces one process of this thread and reads its state: ptrace(2) on x86-64.

use std::ffi::{CString, NulError, OsStr, c_char, c_int, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::Pid;

use super::attached::NotStarted;
use super::signals::{Disposition, dispose_raw};
use super::spawn::{BlockedSignals, Strings};

/// Options: kill the process when its tracer ends, and distinguish system call stops from signals.
const OPTIONS: c_int = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD;
/// `NT_PRSTATUS`: the general-purpose registers.
const CORE: usize = 1;
/// `NT_PRFPREG`: the x87 and SSE registers, in FXSAVE layout.
const FLOATING_POINT: usize = 2;
/// `NT_X86_XSTATE`: all extended state, in standard XSAVE layout.
const EXTENDED: usize = 0x202;
/// The component of the extended state that contains PKRU.
const PKRU_COMPONENT: u32 = 9;
/// The CPUID leaf with the offset of each component.
const EXTENDED_STATE_LEAF: u32 = 0xd;
/// Buffer size in bytes. The largest extended state of current CPUs (with AMX) has 11 KiB.
const MOST_EXTENDED: usize = 16 << 10;
/// The largest signal number.
const LAST_SIGNAL: c_int = 64;
/// Size of the stack that a child uses between its creation and its exec.
const STACK_BYTES: usize = 64 * 1024;
/// `AUDIT_ARCH_X86_64`: the system call table of x86-64.
const X86_64: u32 = 0xc000_003e;

/// A program to trace from its first instruction on.
pub(crate) struct TracedProgram {
    path: CString,
    arguments: Strings,
    environment: Strings,
}

/// Maximum running times of a traced process. Beyond either limit, continuing it to its next stop fails with
/// [`io::ErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// CPU time in seconds. A program in an endless loop reaches it, however busy the machine is.
    pub cpu_seconds: u32,
    /// Wall time in seconds. A program that waits forever reaches it.
    pub wall_seconds: u32,
}

/// How a traced process starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'fd> {
    /// Descriptor for its three standard streams.
    pub(crate) streams: BorrowedFd<'fd>,
    /// Stack limits, soft and hard, while the kernel lays out its memory.
    pub(crate) stack: (u64, u64),
    /// Whether memory is laid out upwards from a third of the address space (`ADDR_COMPAT_LAYOUT` of personality(2)).
    pub(crate) upwards: bool,
    /// Running times after which it gets SIGPROF (CPU time) or SIGALRM (wall time).
    pub(crate) limits: Limits,
}

impl TracedProgram {
    /// Makes a program from its file, its arguments, of which the first is its name, and its environment.
    pub(crate) fn new<'a>(
        path: &Path,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Result<Self, NulError> {
        let variable = |(name, value): (&OsStr, &OsStr)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        Ok(TracedProgram {
            path: CString::new(path.as_os_str().as_bytes())?,
            arguments: Strings::new(arguments.into_iter().map(|word| word.as_bytes().to_vec()))?,
            environment: Strings::new(environment.into_iter().map(variable))?,
        })
    }

    /// Starts the program in its own session, in `/`, without other descriptors, and with all signals at their default
    /// action. Its personality is the default, except for the memory layout. It is stopped at its first instruction,
    /// and killed when this thread ends.
    pub(crate) fn start(&self, beginning: &Beginning<'_>) -> Result<Pid, NotStarted> {
        let mut start = Start {
            program: self,
            streams: beginning.streams.as_raw_fd(),
            stack: libc::rlimit { rlim_cur: beginning.stack.0, rlim_max: beginning.stack.1 },
            personality: if beginning.upwards { libc::ADDR_COMPAT_LAYOUT as libc::c_ulong } else { 0 },
            limits: beginning.limits,
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            executing: false,
            error: 0,
        };
        let mut stack = vec![0_u8; STACK_BYTES];
        let blocked = BlockedSignals::all().map_err(NotStarted::NoChild)?;
        let made = make_child(&mut stack, &mut start);
        drop(blocked);
        let pid = made.map_err(NotStarted::NoChild)?;
        if start.error != 0 {
            let _ = super::wait_for(pid);
            let error = io::Error::from_raw_os_error(start.error);
            return Err(if start.executing { NotStarted::NoProgram(error) } else { NotStarted::NoChild(error) });
        }
        stop_at_exec(pid).map_err(NotStarted::NoChild)
    }
}

/// Waits for the stop after the exec of the child. From then on, it is killed when this thread ends.
fn stop_at_exec(pid: Pid) -> io::Result<Pid> {
    let traced = match await_stop(pid)? {
        Halt::Stopped(libc::SIGTRAP) => request(libc::PTRACE_SETOPTIONS, pid, 0, number(OPTIONS as usize)).map(drop),
        Halt::Stopped(signal) => Err(io::Error::other(format!("the child was stopped by signal {signal}"))),
        Halt::Ended => return Err(io::Error::other("the child was killed before it executed the program")),
    };
    traced.map(|()| pid).inspect_err(|_| {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let _ = super::wait_for(pid);
    })
}

/// What a child needs until its exec, and its error number if that fails.
struct Start<'a> {
    program: &'a TracedProgram,
    streams: RawFd,
    stack: libc::rlimit,
    personality: libc::c_ulong,
    limits: Limits,
    parent: libc::pid_t,
    executing: bool,
    error: c_int,
}

fn make_child(stack: &mut [u8], start: &mut Start<'_>) -> io::Result<Pid> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: only this function uses the stack, which is aligned and large enough for `become_traced`. `start`
    // outlives the child's use of it, because CLONE_VFORK suspends this thread until the child has executed its program
    // or exited.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        let top = top.sub(top as usize % 16);
        libc::clone(become_traced, top.cast(), flags, ptr::from_mut(start).cast::<c_void>())
    };
    Pid::from_raw(pid.max(0)).ok_or_else(io::Error::last_os_error)
}

/// Runs in the child, on its own stack but in the parent's memory. It may only make system calls: no allocation, no
/// unwinding.
extern "C" fn become_traced(argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Start` that `make_child` passed, which exists while the parent is suspended. Its
    // pointers are to NUL-terminated strings and null-terminated arrays.
    unsafe {
        let start = &mut *argument.cast::<Start<'_>>();
        if prepare(start) {
            start.executing = true;
            let (arguments, environment) = (start.program.arguments.as_ptr(), start.program.environment.as_ptr());
            libc::execve(start.program.path.as_ptr(), arguments.cast::<*const c_char>(), environment.cast());
        }
        start.error = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Sets up a child as [`TracedProgram::start`] says. Returns false with errno set if a step fails.
///
/// # Safety
/// Call it only in a child between clone and exec.
unsafe fn prepare(start: &Start<'_>) -> bool {
    // SAFETY: these are direct system calls of this process, on structures that outlive them.
    unsafe {
        if libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
            return false;
        }
        if libc::getppid() != start.parent {
            libc::_exit(127);
        }
        if libc::chdir(c"/".as_ptr()) < 0 || (0..3).any(|stream| libc::dup2(start.streams, stream) < 0) {
            return false;
        }
        // A kernel without this call leaves inheritable descriptors open, which the parent detects later.
        libc::syscall(libc::SYS_close_range, 3, c_uint::MAX, 0);
        libc::personality(start.personality);
        for signal in 1..=LAST_SIGNAL {
            dispose_raw(signal, Disposition::Default);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        // Timers survive the exec.
        libc::alarm(start.limits.wall_seconds);
        let mut timer: libc::itimerval = std::mem::zeroed();
        timer.it_value.tv_sec = start.limits.cpu_seconds.into();
        if libc::setitimer(libc::ITIMER_PROF, &timer, ptr::null_mut()) < 0 {
            return false;
        }
        libc::setrlimit(libc::RLIMIT_STACK, &start.stack) == 0
            && libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<c_void>(), ptr::null_mut::<c_void>()) == 0
    }
}

/// State of a traced process after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// This signal has stopped it.
    Stopped(c_int),
    /// It has ended and can be reaped.
    Ended,
}

/// Stop signal at a system call (`PTRACE_O_TRACESYSGOOD`).
pub(crate) const AT_CALL: c_int = libc::SIGTRAP | 0x80;

/// Waits until the traced process `pid` stops or ends.
pub(crate) fn await_stop(pid: Pid) -> io::Result<Halt> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        let number = pid.as_raw_nonzero().get() as libc::id_t;
        // WNOWAIT leaves an ended process to be reaped with its status.
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        // SAFETY: `info` is valid for writing during the whole call.
        if unsafe { libc::waitid(libc::P_PID, number, info.as_mut_ptr(), options) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroed memory is a valid siginfo, and waitid has filled it as for SIGCHLD.
    let (code, status) = unsafe { (info.assume_init_ref().si_code, info.assume_init_ref().si_status()) };
    Ok(match code {
        libc::CLD_TRAPPED | libc::CLD_STOPPED => Halt::Stopped(status & 0xff),
        _ => Halt::Ended,
    })
}

/// Continues a stopped process to the start or end of its next system call, or to a signal.
pub(crate) fn to_next_call(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, pid, 0, ptr::null_mut()).map(drop)
}

/// Continues a stopped process to its next signal, without stops at system calls.
pub(crate) fn to_next_signal(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_CONT, pid, 0, ptr::null_mut()).map(drop)
}

/// Makes a stopped process execute one instruction.
pub(crate) fn step(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, pid, 0, ptr::null_mut()).map(drop)
}

/// A stop at the start or end of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtCall {
    /// Start: number and arguments.
    Begins(u64, [u64; 6]),
    /// End: the result. A negative result is an error number.
    Ends(i64),
    /// A system call of another ABI than x86-64.
    Foreign,
}

/// Returns the system call at which a process has stopped.
pub(crate) fn at_call(pid: Pid) -> io::Result<AtCall> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    request(
        libc::PTRACE_GET_SYSCALL_INFO,
        pid,
        size_of::<libc::ptrace_syscall_info>(),
        info.as_mut_ptr().cast::<c_void>(),
    )?;
    // SAFETY: zeroed memory is a valid value, and the kernel has filled it. `op` says which member of the union is
    // valid.
    unsafe {
        let info = info.assume_init_ref();
        Ok(match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY if info.arch == X86_64 => {
                AtCall::Begins(info.u.entry.nr, info.u.entry.args)
            }
            libc::PTRACE_SYSCALL_INFO_EXIT if info.arch == X86_64 => AtCall::Ends(info.u.exit.sval),
            _ => AtCall::Foreign,
        })
    }
}

/// Returns the registers of a stopped process, or `None` if they are not those of x86-64.
pub(crate) fn registers(pid: Pid) -> io::Result<Option<libc::user_regs_struct>> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let size = size_of::<libc::user_regs_struct>();
    let mut place = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size };
    request(libc::PTRACE_GETREGSET, pid, CORE, ptr::from_mut(&mut place).cast())?;
    // SAFETY: every bit pattern is a valid value, and the kernel has filled the whole structure.
    Ok((place.iov_len == size).then(|| unsafe { registers.assume_init() }))
}

/// Returns the x87 and SSE registers of a stopped process.
pub(crate) fn floating_point(pid: Pid) -> io::Result<libc::user_fpregs_struct> {
    let mut registers = MaybeUninit::<libc::user_fpregs_struct>::zeroed();
    let size = size_of::<libc::user_fpregs_struct>();
    let mut place = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size };
    request(libc::PTRACE_GETREGSET, pid, FLOATING_POINT, ptr::from_mut(&mut place).cast())?;
    // SAFETY: zeroed memory is a valid value, and the kernel has filled the part that it has.
    Ok(unsafe { registers.assume_init() })
}

/// Returns PKRU, the access rights of the protection keys, of a stopped process. Returns `None` if the CPU or the
/// kernel has no protection keys.
pub(crate) fn protection_keys(pid: Pid) -> io::Result<Option<u32>> {
    let leaf = std::arch::x86_64::__cpuid_count(EXTENDED_STATE_LEAF, PKRU_COMPONENT);
    let (size, offset) = (leaf.eax as usize, leaf.ebx as usize);
    if size < size_of::<u32>() {
        return Ok(None);
    }
    let mut state = vec![0_u8; MOST_EXTENDED];
    let mut place = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    request(libc::PTRACE_GETREGSET, pid, EXTENDED, ptr::from_mut(&mut place).cast())?;
    // A kernel without support for protection keys returns a shorter state.
    let word = state.get(..place.iov_len).and_then(|state| state.get(offset..offset + size_of::<u32>()));
    Ok(word.and_then(|word| word.try_into().ok()).map(u32::from_ne_bytes))
}

/// Writes the registers of a stopped process.
pub(crate) fn set_registers(pid: Pid, registers: &libc::user_regs_struct) -> io::Result<()> {
    let mut copy = *registers;
    let mut place =
        libc::iovec { iov_base: ptr::from_mut(&mut copy).cast(), iov_len: size_of::<libc::user_regs_struct>() };
    request(libc::PTRACE_SETREGSET, pid, CORE, ptr::from_mut(&mut place).cast()).map(drop)
}

/// Writes a word in the memory of a stopped process, even if its page is read-only.
pub(crate) fn write_word(pid: Pid, address: u64, word: u64) -> io::Result<()> {
    request(libc::PTRACE_POKEDATA, pid, address as usize, number(word as usize)).map(drop)
}

/// Writes a debug register of a stopped process.
pub(crate) fn set_debug_register(pid: Pid, index: usize, value: u64) -> io::Result<()> {
    request(libc::PTRACE_POKEUSER, pid, debug_register(index), number(value as usize)).map(drop)
}

/// Reads a debug register of a stopped process.
pub(crate) fn read_debug_register(pid: Pid, index: usize) -> io::Result<u64> {
    request(libc::PTRACE_PEEKUSER, pid, debug_register(index), ptr::null_mut()).map(|value| value as u64)
}

/// Offset of a debug register in the kernel's `struct user`.
fn debug_register(index: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + index * size_of::<libc::c_ulonglong>()
}

/// Reads memory of a traced process. Returns the number of bytes read.
pub(crate) fn read_memory(pid: Pid, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(address as usize), iov_len: bytes.len() };
    // SAFETY: `local` is the caller's slice, which outlives the call. The call does not write to any other memory of
    // this process.
    let read = unsafe { libc::process_vm_readv(pid.as_raw_nonzero().get(), &local, 1, &remote, 1, 0) };
    if read < 0 { Err(io::Error::last_os_error()) } else { Ok(read as usize) }
}

fn number(value: usize) -> *mut c_void {
    ptr::without_provenance_mut(value)
}

/// Makes one request. `data` is a number, or points to memory that is valid for what the request reads or writes.
fn request(what: c_uint, pid: Pid, address: usize, data: *mut c_void) -> io::Result<libc::c_long> {
    // SAFETY: each caller in this file passes a number, or memory of its own that is as long as the request needs and
    // that outlives the call. The request changes only the other process.
    let result = unsafe { libc::ptrace(what, pid.as_raw_nonzero().get(), number(address), data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
