//! Holding one process of this thread's and looking into it: ptrace(2) on x86-64.

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

/// It dies with whoever holds it, and stops at system calls are told from signals.
const OPTIONS: c_int = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD;
/// `NT_PRSTATUS`: the set of registers of the CPU's core.
const CORE: usize = 1;
/// `NT_PRFPREG`: the x87 and SSE registers, in the layout of FXSAVE.
const FLOATING_POINT: usize = 2;
/// `NT_X86_XSTATE`: all extended state, in the standard layout of XSAVE.
const EXTENDED: usize = 0x202;
/// The component of the extended state that holds PKRU, and the CPUID leaf that says where each component lies.
const PKRU_COMPONENT: u32 = 9;
const EXTENDED_STATE_LEAF: u32 = 0xd;
/// The largest extended state of current CPUs (AMX included) takes 11 KiB.
const MOST_EXTENDED: usize = 16 << 10;
/// The last number of a signal.
const LAST_SIGNAL: c_int = 64;
/// The stack that a child runs on between its creation and its exec.
const STACK_BYTES: usize = 64 * 1024;
/// `AUDIT_ARCH_X86_64`.
const X86_64: u32 = 0xc000_003e;

/// A program to be held from its first instruction on.
pub(crate) struct Held {
    path: CString,
    arguments: Strings,
    environment: Strings,
}

/// How long a held process may run. Beyond either limit, leading it to its next stop fails with
/// [`io::ErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// CPU time in seconds: a program that loops reaches it however busy the machine is.
    pub cpu_seconds: u32,
    /// Wall time in seconds: for a program that waits for what does not come.
    pub wall_seconds: u32,
}

/// What a held process begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'fd> {
    /// What its three streams are.
    pub(crate) streams: BorrowedFd<'fd>,
    /// The limits on its stack, soft and hard, while the kernel lays out its memory.
    pub(crate) stack: (u64, u64),
    /// Whether memory is laid out from a third of all addresses upwards (`ADDR_COMPAT_LAYOUT` of personality(2)).
    pub(crate) upwards: bool,
    /// It gets SIGPROF and SIGALRM where it has run so long.
    pub(crate) limits: Limits,
}

impl Held {
    /// A program file with its arguments, the first of which is its name, and its environment.
    pub(crate) fn new<'a>(
        path: &Path,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Result<Self, NulError> {
        let variable = |(name, value): (&OsStr, &OsStr)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        Ok(Held {
            path: CString::new(path.as_os_str().as_bytes())?,
            arguments: Strings::new(arguments.into_iter().map(|word| word.as_bytes().to_vec()))?,
            environment: Strings::new(environment.into_iter().map(variable))?,
        })
    }

    /// Starts it in a session of its own, in `/`, without other descriptors, with all signals as the system has them and
    /// with an ordinary personality but for the layout of its memory. It is stopped at its first instruction, and is killed when this thread ends.
    pub(crate) fn start(&self, beginning: &Beginning<'_>) -> Result<Pid, NotStarted> {
        let mut start = Start {
            held: self,
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
        held_at_exec(pid).map_err(NotStarted::NoChild)
    }
}

/// Waits for the stop that follows its exec, from which on it dies with this thread.
fn held_at_exec(pid: Pid) -> io::Result<Pid> {
    let held = match await_stop(pid)? {
        Halt::Stopped(libc::SIGTRAP) => request(libc::PTRACE_SETOPTIONS, pid, 0, number(OPTIONS as usize)).map(drop),
        Halt::Stopped(signal) => Err(io::Error::other(format!("it was stopped by signal {signal}"))),
        Halt::Ended => return Err(io::Error::other("it was killed before it was the program")),
    };
    held.map(|()| pid).inspect_err(|_| {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let _ = super::wait_for(pid);
    })
}

/// What a child needs until its exec, and what it has to say if that fails.
struct Start<'a> {
    held: &'a Held,
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
    // SAFETY: the stack is ours alone, aligned and large enough for `become_held`; `start` outlives the child's use of it
    // because CLONE_VFORK suspends this thread until the child has executed its program or left.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        let top = top.sub(top as usize % 16);
        libc::clone(become_held, top.cast(), flags, ptr::from_mut(start).cast::<c_void>())
    };
    Pid::from_raw(pid.max(0)).ok_or_else(io::Error::last_os_error)
}

/// Runs in the child, on its own stack but in the parent's memory: system calls only, no allocation, no unwinding.
extern "C" fn become_held(argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Start` that `make_child` passed, alive while the parent is suspended; its pointers are to
    // strings that end with NUL and arrays that end with null.
    unsafe {
        let start = &mut *argument.cast::<Start<'_>>();
        if prepare(start) {
            start.executing = true;
            let (arguments, environment) = (start.held.arguments.as_ptr(), start.held.environment.as_ptr());
            libc::execve(start.held.path.as_ptr(), arguments.cast::<*const c_char>(), environment.cast());
        }
        start.error = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Makes a child what [`Held::start`] says; false with errno set where that cannot be.
///
/// # Safety
/// Only in a child between clone and exec.
unsafe fn prepare(start: &Start<'_>) -> bool {
    // SAFETY: plain system calls of this process, on structures that outlive them.
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
        // Where the kernel does not know this call, what was made to be inherited stays open, and is seen later.
        libc::syscall(libc::SYS_close_range, 3, c_uint::MAX, 0);
        libc::personality(start.personality);
        for signal in 1..=LAST_SIGNAL {
            dispose_raw(signal, Disposition::Default);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        // Timers stay over the exec.
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

/// What a held process came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// It has stopped by this signal.
    Stopped(c_int),
    /// It has ended, and can be reaped.
    Ended,
}

/// A stop at a system call.
pub(crate) const AT_CALL: c_int = libc::SIGTRAP | 0x80;

/// Waits until `pid`, a held process, stops or ends.
pub(crate) fn await_stop(pid: Pid) -> io::Result<Halt> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        let number = pid.as_raw_nonzero().get() as libc::id_t;
        // What has ended is left to be reaped with its status; a stop that was told stays as it is.
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        // SAFETY: `info` is valid for writing for the whole call.
        if unsafe { libc::waitid(libc::P_PID, number, info.as_mut_ptr(), options) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroed memory is a valid siginfo, and waitid has filled it as of SIGCHLD.
    let (code, status) = unsafe { (info.assume_init_ref().si_code, info.assume_init_ref().si_status()) };
    Ok(match code {
        libc::CLD_TRAPPED | libc::CLD_STOPPED => Halt::Stopped(status & 0xff),
        _ => Halt::Ended,
    })
}

/// Lets a stopped process go on to its next system call, the end of one, or a signal.
pub(crate) fn to_next_call(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, pid, 0, ptr::null_mut()).map(drop)
}

/// Lets a stopped process go on without stopping it at system calls.
pub(crate) fn to_next_signal(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_CONT, pid, 0, ptr::null_mut()).map(drop)
}

/// Lets a stopped process execute one instruction.
pub(crate) fn step(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, pid, 0, ptr::null_mut()).map(drop)
}

/// A system call, at its beginning or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtCall {
    /// Its number and arguments.
    Begins(u64, [u64; 6]),
    /// What it returns: an error's number is negative.
    Ends(i64),
    /// It is one of another kind of program.
    Foreign,
}

/// The system call that a process has stopped at.
pub(crate) fn at_call(pid: Pid) -> io::Result<AtCall> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    request(
        libc::PTRACE_GET_SYSCALL_INFO,
        pid,
        size_of::<libc::ptrace_syscall_info>(),
        info.as_mut_ptr().cast::<c_void>(),
    )?;
    // SAFETY: zeroed memory is valid for it, and the kernel has filled it; which of the union's members holds is told by `op`.
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

/// The registers of a stopped process; `None` where they are not those of x86-64.
pub(crate) fn registers(pid: Pid) -> io::Result<Option<libc::user_regs_struct>> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let size = size_of::<libc::user_regs_struct>();
    let mut place = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size };
    request(libc::PTRACE_GETREGSET, pid, CORE, ptr::from_mut(&mut place).cast())?;
    // SAFETY: zeroed memory is valid for it, and the kernel has filled what it says.
    Ok((place.iov_len == size).then(|| unsafe { registers.assume_init() }))
}

/// The x87 and SSE registers of a stopped process.
pub(crate) fn floating_point(pid: Pid) -> io::Result<libc::user_fpregs_struct> {
    let mut registers = MaybeUninit::<libc::user_fpregs_struct>::zeroed();
    let size = size_of::<libc::user_fpregs_struct>();
    let mut place = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size };
    request(libc::PTRACE_GETREGSET, pid, FLOATING_POINT, ptr::from_mut(&mut place).cast())?;
    // SAFETY: zeroed memory is valid for it, and the kernel has filled what it has.
    Ok(unsafe { registers.assume_init() })
}

/// PKRU, the rights of protection keys, of a stopped process; `None` where the CPU or the kernel has no such keys.
pub(crate) fn protection_keys(pid: Pid) -> io::Result<Option<u32>> {
    let leaf = std::arch::x86_64::__cpuid_count(EXTENDED_STATE_LEAF, PKRU_COMPONENT);
    let (size, offset) = (leaf.eax as usize, leaf.ebx as usize);
    if size < size_of::<u32>() {
        return Ok(None);
    }
    let mut state = vec![0_u8; MOST_EXTENDED];
    let mut place = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    request(libc::PTRACE_GETREGSET, pid, EXTENDED, ptr::from_mut(&mut place).cast())?;
    // A kernel without support for the keys gives a shorter state.
    let word = state.get(..place.iov_len).and_then(|state| state.get(offset..offset + size_of::<u32>()));
    Ok(word.and_then(|word| word.try_into().ok()).map(u32::from_ne_bytes))
}

/// Sets the registers of a stopped process.
pub(crate) fn set_registers(pid: Pid, registers: &libc::user_regs_struct) -> io::Result<()> {
    let mut copy = *registers;
    let mut place =
        libc::iovec { iov_base: ptr::from_mut(&mut copy).cast(), iov_len: size_of::<libc::user_regs_struct>() };
    request(libc::PTRACE_SETREGSET, pid, CORE, ptr::from_mut(&mut place).cast()).map(drop)
}

/// Writes a word of a stopped process's memory, whatever its protection.
pub(crate) fn write_word(pid: Pid, address: u64, word: u64) -> io::Result<()> {
    request(libc::PTRACE_POKEDATA, pid, address as usize, number(word as usize)).map(drop)
}

/// Sets one of the CPU's debug registers for a stopped process.
pub(crate) fn set_debug_register(pid: Pid, index: usize, value: u64) -> io::Result<()> {
    request(libc::PTRACE_POKEUSER, pid, debug_register(index), number(value as usize)).map(drop)
}

/// One of the CPU's debug registers of a stopped process.
pub(crate) fn read_debug_register(pid: Pid, index: usize) -> io::Result<u64> {
    request(libc::PTRACE_PEEKUSER, pid, debug_register(index), ptr::null_mut()).map(|value| value as u64)
}

/// Where it is in what the kernel shows of a process.
fn debug_register(index: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + index * size_of::<libc::c_ulonglong>()
}

/// Reads memory of a held process; how many bytes of it could be read.
pub(crate) fn read_memory(pid: Pid, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(address as usize), iov_len: bytes.len() };
    // SAFETY: `local` is the caller's slice, which outlives the call; the other side is no matter of this process's memory.
    let read = unsafe { libc::process_vm_readv(pid.as_raw_nonzero().get(), &local, 1, &remote, 1, 0) };
    if read < 0 { Err(io::Error::last_os_error()) } else { Ok(read as usize) }
}

fn number(value: usize) -> *mut c_void {
    ptr::without_provenance_mut(value)
}

/// One request; `data` is a number, or points to memory that is valid for what the request reads or writes.
fn request(what: c_uint, pid: Pid, address: usize, data: *mut c_void) -> io::Result<libc::c_long> {
    // SAFETY: each request above gives memory of its own that is as long as the request needs and outlives the call, or a
    // number; what happens to the other process is no matter of this one's memory.
    let result = unsafe { libc::ptrace(what, pid.as_raw_nonzero().get(), number(address), data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
