//! A process that is traced from its first instruction on and moved from stop to stop: ptrace(2) on x86-64.
//!
//! It is killed and reaped when it is dropped. The kernel kills it if the thread that traces it ends.

mod memory;
mod registers;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::process::{NotStarted, Status};
use crate::procfs::{Mapping, parse_maps};
use crate::sys::debuggee as sys;
use crate::sys::debuggee::{AtCall, Halt};

pub use crate::sys::debuggee::Limits;
pub use memory::{MOST_WATCHED, Watched};
pub use registers::{FloatingPoint, Registers};

/// A process that this thread traces.
pub struct Debuggee {
    pid: Pid,
    memory: File,
    limits: Limits,
    /// Stack limit of this process, which the traced process gets later.
    limit: Rlimit,
    /// Whether the stack limit could not be raised. Then the memory is laid out upwards, and the personality says so.
    upwards: bool,
    /// The original byte at the address of each breakpoint.
    breakpoints: BTreeMap<u64, u8>,
    /// Address of the breakpoint at which the process is stopped, before the instruction there.
    at: Option<u64>,
    ended: Option<Status>,
    /// ptrace(2) works only from the thread that started the process.
    _one_thread: PhantomData<*const ()>,
}

/// The program to trace, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// Absolute path of the program.
    pub program: &'a Path,
    /// Soft stack limit while the kernel lays out the memory. If the hard limit is lower, memory is laid out upwards
    /// from a third of the address space instead.
    pub stack_limit: u64,
    /// Limits on the running time.
    pub limits: Limits,
}

/// A stop of the process, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The process is about to make this system call.
    Calls(Call),
    /// The system call has returned this value. A negative value is an error number.
    Returns(i64),
    /// The process is at the breakpoint with this address.
    Breakpoint(u64),
    /// The process has accessed the watched place with this index.
    Touched(usize),
    /// A signal for the process was intercepted. The process has not received it.
    Signal(i32),
    /// The process has ended.
    Ended(Status),
    /// The process made a system call of another ABI than x86-64.
    Foreign,
}

/// A system call of a traced process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Number of the system call on x86-64.
    pub number: u64,
    /// Arguments of the system call, which may use fewer than six.
    pub arguments: [u64; 6],
}

impl Call {
    /// Name of the system call.
    #[must_use]
    pub fn name(&self) -> String {
        crate::syscalls::syscall_name(0xc000_003e, self.number)
    }
}

impl Debuggee {
    /// Starts a program with `arguments`, of which the first is its name, and `environment`. Stops it at its first
    /// instruction, which is normally in its dynamic linker. Its standard streams are `/dev/null`, its directory is
    /// `/`, and it leads a session. It has the limits of this process, except for the stack limit until
    /// [`Debuggee::put_back_limit`].
    ///
    /// # Errors
    /// The program could not be started or traced.
    pub fn start<'a>(
        beginning: &Beginning<'_>,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Result<Self, NotStarted> {
        let null = File::options().read(true).write(true).open("/dev/null").map_err(NotStarted::NoChild)?;
        let program = sys::TracedProgram::new(beginning.program, arguments, environment)
            .map_err(|error| NotStarted::NoProgram(error.into()))?;
        let limit = getrlimit(Resource::Stack);
        let stack = raised(&limit, beginning.stack_limit);
        let upwards = stack.0 < beginning.stack_limit;
        let pid = program.start(&sys::Beginning { streams: null.as_fd(), stack, upwards, limits: beginning.limits })?;
        let path = format!("/proc/{}/mem", pid.as_raw_nonzero());
        match File::open(path) {
            Ok(memory) => Ok(Debuggee {
                pid,
                memory,
                limits: beginning.limits,
                limit,
                upwards,
                breakpoints: BTreeMap::new(),
                at: None,
                ended: None,
                _one_thread: PhantomData,
            }),
            Err(error) => {
                end(pid);
                Err(NotStarted::NoChild(error))
            }
        }
    }

    /// Sets the stack limit back to the limit of this process, or to the soft limit `soft`, and the personality to the
    /// default. Call it after the memory is laid out and before any breakpoint is set. Returns the new soft limit, or
    /// the largest number if there is none.
    ///
    /// # Errors
    /// The error of prlimit(2): the process runs as another user, or `soft` is above the hard limit.
    pub fn put_back_limit(&mut self, soft: Option<u64>) -> io::Result<u64> {
        if self.upwards {
            self.make_call(libc::SYS_personality as u64, [0; 6])?;
        }
        let current = soft.or(self.limit.current);
        prlimit(Some(self.pid), Resource::Stack, Rlimit { current, maximum: self.limit.maximum })?;
        Ok(current.unwrap_or(u64::MAX))
    }

    /// Returns the process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Path of a file of this process in `/proc`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid()))
    }

    /// Reads the mappings of the process, in the order of addresses.
    ///
    /// # Errors
    /// `/proc/PID/maps` cannot be read or parsed.
    pub fn maps(&self) -> io::Result<Vec<Mapping>> {
        let text = std::fs::read(self.file("maps"))?;
        parse_maps(&text).ok_or_else(|| io::Error::other("cannot parse /proc/PID/maps"))
    }

    /// Continues to the next stop: before or after a system call, at a breakpoint, or at a signal.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn go_on(&mut self) -> io::Result<Stop> {
        self.go_on_by(sys::to_next_call)
    }

    /// Continues as [`Debuggee::go_on`] does, but without stops at system calls.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn go_on_past_calls(&mut self) -> io::Result<Stop> {
        self.go_on_by(sys::to_next_signal)
    }

    fn go_on_by(&mut self, how: fn(Pid) -> io::Result<()>) -> io::Result<Stop> {
        if let Some(stop) = self.step_off()? {
            return Ok(stop);
        }
        how(self.pid)?;
        match self.await_stop()? {
            Err(status) => Ok(Stop::Ended(status)),
            Ok(sys::AT_CALL) => Ok(match sys::at_call(self.pid)? {
                AtCall::Begins(number, arguments) => Stop::Calls(Call { number, arguments }),
                AtCall::Ends(result) => Stop::Returns(result),
                AtCall::Foreign => Stop::Foreign,
            }),
            Ok(libc::SIGTRAP) => self.trapped(),
            Ok(signal) => Ok(Stop::Signal(signal)),
        }
    }

    /// Executes the instruction that the breakpoint at `self.at` replaced.
    fn step_off(&mut self) -> io::Result<Option<Stop>> {
        let Some(address) = self.at.take() else { return Ok(None) };
        if !self.breakpoints.contains_key(&address) || self.registers()?.instruction() != address {
            return Ok(None);
        }
        self.clear_breakpoint(address)?;
        sys::step(self.pid)?;
        match self.await_stop()? {
            Ok(libc::SIGTRAP) => self.set_breakpoint(address).map(|()| None),
            Ok(signal) => Ok(Some(Stop::Signal(signal))),
            Err(status) => Ok(Some(Stop::Ended(status))),
        }
    }

    fn trapped(&mut self) -> io::Result<Stop> {
        let mut registers = self.registers()?;
        let address = registers.instruction().wrapping_sub(1);
        if !self.breakpoints.contains_key(&address) {
            return Ok(self.touched().map_or(Stop::Signal(libc::SIGTRAP), Stop::Touched));
        }
        registers.set_instruction(address);
        self.set_registers(&registers)?;
        self.at = Some(address);
        Ok(Stop::Breakpoint(address))
    }

    /// Waits for the signal that stops the process, or for its end. The signals of its time limits become errors.
    fn await_stop(&mut self) -> io::Result<Result<i32, Status>> {
        let beyond = |seconds: u32, kind: &str| {
            let text = format!("it needs more than {seconds} s of {kind} time to reach its entry point");
            io::Error::new(io::ErrorKind::TimedOut, text)
        };
        match sys::await_stop(self.pid)? {
            Halt::Stopped(libc::SIGPROF) => Err(beyond(self.limits.cpu_seconds, "CPU")),
            Halt::Stopped(libc::SIGALRM) => Err(beyond(self.limits.wall_seconds, "wall")),
            Halt::Stopped(signal) => Ok(Ok(signal)),
            Halt::Ended => {
                let status = crate::process::wait_for(self.pid)?.status;
                self.ended = Some(status);
                Ok(Err(status))
            }
        }
    }
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        if self.ended.is_none() {
            end(self.pid);
        }
    }
}

/// Kills and reaps a process.
fn end(pid: Pid) {
    let _ = kill_process(pid, Signal::KILL);
    let _ = crate::process::wait_for(pid);
}

/// Returns the soft and hard stack limits for laying out memory. The soft limit is `wish`, as far as the hard limit
/// allows.
fn raised(limit: &Rlimit, wish: u64) -> (u64, u64) {
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let soft = limit.current.filter(|&soft| soft > wish).unwrap_or(wish);
    (soft.min(hard), hard)
}

/// The instruction `syscall`, as the low bytes of a word.
const SYSCALL: u64 = 0x050f;
/// The bytes of a word that `syscall` replaces.
const SYSCALL_BYTES: u64 = 0xffff;

impl Debuggee {
    /// Makes the process execute a system call at its current instruction, and returns the result. A negative result is
    /// an error number. Registers and code are restored afterwards. The process must not be in another system call, and
    /// must have no breakpoints yet.
    ///
    /// # Errors
    /// The error of ptrace(2), or the process stopped for another reason or ended.
    pub fn make_call(&mut self, number: u64, arguments: [u64; 6]) -> io::Result<i64> {
        let before = sys::registers(self.pid)?;
        let before = before.ok_or_else(|| io::Error::other("the process is not executing x86-64 code"))?;
        let code = self.word(before.rip)?;
        let mut registers = before;
        registers.rax = number;
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] = arguments;
        self.write_word(before.rip, code & !SYSCALL_BYTES | SYSCALL)?;
        sys::set_registers(self.pid, &registers)?;
        sys::step(self.pid)?;
        match self.await_stop()? {
            Ok(libc::SIGTRAP) => {}
            Ok(signal) => return Err(io::Error::other(format!("the process was stopped by signal {signal}"))),
            Err(_) => return Err(io::Error::other("the process has ended")),
        }
        let after = sys::registers(self.pid)?;
        let result = after.ok_or_else(|| io::Error::other("the process is not executing x86-64 code"))?.rax;
        self.write_word(before.rip, code)?;
        sys::set_registers(self.pid, &before)?;
        Ok(result.cast_signed())
    }

    /// If the current instruction reads the CPU's time stamp, sets the result to `stamp` and skips the instruction.
    /// Returns whether it was such an instruction.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn give_time_stamp(&mut self, stamp: u64) -> io::Result<bool> {
        let Some(mut registers) = sys::registers(self.pid)? else { return Ok(false) };
        let code = self.word(registers.rip)?.to_le_bytes();
        let length = match code {
            // rdtsc, rdtscp
            [0x0f, 0x31, ..] => 2,
            [0x0f, 0x01, 0xf9, ..] => 3,
            _ => return Ok(false),
        };
        registers.rax = stamp & u64::from(u32::MAX);
        registers.rdx = stamp >> 32;
        if length == 3 {
            registers.rcx = 0;
        }
        registers.rip += length;
        sys::set_registers(self.pid, &registers)?;
        Ok(true)
    }
}

/// Pins this thread, and what it starts, to one CPU until it is dropped. The tracer and the traced process run
/// alternately. Waking another CPU takes several times as long as switching between them on one CPU.
#[derive(Debug)]
pub struct OneCpu {
    before: CpuSet,
    /// The affinity is a property of this thread.
    _one_thread: PhantomData<*const ()>,
}

impl OneCpu {
    /// Returns the CPU that this thread runs on.
    #[must_use]
    pub fn current() -> usize {
        sched_getcpu()
    }

    /// Pins this thread to `cpu`.
    ///
    /// # Errors
    /// The error of sched_setaffinity(2), or this CPU is not allowed.
    pub fn keep(cpu: usize) -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        if cpu >= CpuSet::MAX_CPU || !before.is_set(cpu) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one)?;
        Ok(OneCpu { before, _one_thread: PhantomData })
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        // If CPUs were removed since, the thread keeps the CPUs that it may use.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_to_one_cpu_and_released() {
        let before = sched_getaffinity(None).unwrap();
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)) {
            let kept = OneCpu::keep(cpu).unwrap();
            assert_eq!((sched_getaffinity(None).unwrap().count(), OneCpu::current()), (1, cpu));
            drop(kept);
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        }
        let forbidden = (0..CpuSet::MAX_CPU).find(|&cpu| !before.is_set(cpu));
        assert!(forbidden.is_none_or(|cpu| OneCpu::keep(cpu).is_err()) && OneCpu::keep(usize::MAX).is_err());
    }
}
