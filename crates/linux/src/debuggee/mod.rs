//! A process that is held from its first instruction on, looked into and led from stop to stop: ptrace(2) on x86-64.
//!
//! It is killed and reaped when it is dropped, and killed by the kernel when the thread that holds it ends, however that
//! ends.

mod maps;
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
use crate::sys::debuggee as sys;
use crate::sys::debuggee::{AtCall, Halt};

pub use crate::sys::debuggee::Limits;
pub use maps::{Mapping, parse_maps};
pub use memory::{MOST_WATCHED, Watched};
pub use registers::{FloatingPoint, Registers};

/// A held process.
pub struct Debuggee {
    pid: Pid,
    memory: File,
    limits: Limits,
    /// The limit on its stack that it is to have.
    limit: Rlimit,
    /// Whether its memory is laid out upwards, for lack of that limit, and its personality says so.
    upwards: bool,
    /// What is written over by breakpoints: the byte at each address.
    breakpoints: BTreeMap<u64, u8>,
    /// The breakpoint that it stands at, about to execute what belongs there.
    at: Option<u64>,
    ended: Option<Status>,
    /// The kernel knows one thread as the holder.
    _one_thread: PhantomData<*const ()>,
}

/// What to hold.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// The program: an absolute path.
    pub program: &'a Path,
    /// How high the soft limit on its stack is while the kernel lays out its memory. Where the hard one does not allow that,
    /// its memory is laid out from a third of all addresses upwards instead.
    pub stack_limit: u64,
    /// How long it may run.
    pub limits: Limits,
}

/// A stop, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is about to make this system call.
    Calls(Call),
    /// The call is over and returned this: an error's number is negative.
    Returns(i64),
    /// It stands at the breakpoint of this address.
    Breakpoint(u64),
    /// It has touched the watched place of this index.
    Touched(usize),
    /// It has got this signal, and has not seen it.
    Signal(i32),
    /// It has ended.
    Ended(Status),
    /// It made a system call of another kind of program.
    Foreign,
}

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number on x86-64.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl Call {
    /// Its name in the kernel's table.
    #[must_use]
    pub fn name(&self) -> String {
        crate::syscalls::syscall_name(0xc000_003e, self.number)
    }
}

impl Debuggee {
    /// Starts a program with these arguments, the first of which is its name, and this environment, and holds it at its
    /// first instruction: that of its interpreter, as a rule. Its streams are `/dev/null`, its directory is `/`, it leads a
    /// session. Its limits are this process's, but for that on the stack until [`Debuggee::put_back_limit`].
    ///
    /// # Errors
    /// It could not be started, or not be held.
    pub fn start<'a>(
        beginning: &Beginning<'_>,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Result<Self, NotStarted> {
        let null = File::options().read(true).write(true).open("/dev/null").map_err(NotStarted::NoChild)?;
        let held = sys::Held::new(beginning.program, arguments, environment)
            .map_err(|error| NotStarted::NoProgram(error.into()))?;
        let limit = getrlimit(Resource::Stack);
        let stack = raised(&limit, beginning.stack_limit);
        let upwards = stack.0 < beginning.stack_limit;
        let pid = held.start(&sys::Beginning { streams: null.as_fd(), stack, upwards, limits: beginning.limits })?;
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

    /// Gives it this process's limit on the stack, or this soft one, and an ordinary personality, now that its memory is laid
    /// out. To be used before there are breakpoints. The soft limit that it has then; the largest number for none.
    ///
    /// # Errors
    /// What prlimit(2) says: it runs as another user, or the limit is above the hard one.
    pub fn put_back_limit(&mut self, soft: Option<u64>) -> io::Result<u64> {
        if self.upwards {
            self.make_call(libc::SYS_personality as u64, [0; 6])?;
        }
        let current = soft.or(self.limit.current);
        prlimit(Some(self.pid), Resource::Stack, Rlimit { current, maximum: self.limit.maximum })?;
        Ok(current.unwrap_or(u64::MAX))
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// A file of its own in `/proc`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid()))
    }

    /// Lets it go on to the next stop: before and after each system call, at breakpoints and signals.
    ///
    /// # Errors
    /// What ptrace(2) says.
    pub fn go_on(&mut self) -> io::Result<Stop> {
        self.go_on_by(sys::to_next_call)
    }

    /// As [`Debuggee::go_on`], without stops at system calls.
    ///
    /// # Errors
    /// What ptrace(2) says.
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

    /// Executes the instruction that a breakpoint stands for.
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

    /// Waits for the signal that stops it, or its end. The signals of its limits are errors.
    fn await_stop(&mut self) -> io::Result<Result<i32, Status>> {
        let beyond = |seconds: u32, kind: &str| {
            let text = format!("it takes more than {seconds} seconds of {kind} time to its entry");
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

/// Kills and reaps.
fn end(pid: Pid) {
    let _ = kill_process(pid, Signal::KILL);
    let _ = crate::process::wait_for(pid);
}

/// The limits on the stack while memory is laid out: the soft one as high as is wished and allowed.
fn raised(limit: &Rlimit, wish: u64) -> (u64, u64) {
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let soft = limit.current.filter(|&soft| soft > wish).unwrap_or(wish);
    (soft.min(hard), hard)
}

/// `syscall`, and what it is written over.
const SYSCALL: u64 = 0x050f;
const ITS_BYTES: u64 = 0xffff;

impl Debuggee {
    /// Has it make a system call where it stands, not within another, and returns what that returned: an error's number is
    /// negative. Its registers and its code are as before then. To be used before there are breakpoints.
    ///
    /// # Errors
    /// What ptrace(2) says; that it stopped for another reason, or ended.
    pub fn make_call(&mut self, number: u64, arguments: [u64; 6]) -> io::Result<i64> {
        let before = sys::registers(self.pid)?;
        let before = before.ok_or_else(|| io::Error::other("it is not executing code of x86-64"))?;
        let code = self.word(before.rip)?;
        let mut registers = before;
        registers.rax = number;
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] = arguments;
        self.write_word(before.rip, code & !ITS_BYTES | SYSCALL)?;
        sys::set_registers(self.pid, &registers)?;
        sys::step(self.pid)?;
        match self.await_stop()? {
            Ok(libc::SIGTRAP) => {}
            Ok(signal) => return Err(io::Error::other(format!("it was stopped by signal {signal}"))),
            Err(_) => return Err(io::Error::other("it has ended")),
        }
        let after = sys::registers(self.pid)?;
        let result = after.ok_or_else(|| io::Error::other("it is not executing code of x86-64"))?.rax;
        self.write_word(before.rip, code)?;
        sys::set_registers(self.pid, &before)?;
        Ok(result.cast_signed())
    }

    /// Where it stands there is an instruction that reads the CPU's time stamp: has it read `stamp` and go on behind it.
    /// Returns whether there is.
    ///
    /// # Errors
    /// What ptrace(2) says.
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

/// Keeps this thread, and what it starts, to one CPU until it is dropped. Of who holds a process and that process one waits at any
/// time, and to wake up another CPU takes several times as long as to go from one to the other on the same.
#[derive(Debug)]
pub struct OneCpu {
    before: CpuSet,
    /// It is this thread's.
    _one_thread: PhantomData<*const ()>,
}

impl OneCpu {
    /// The CPU that this thread is on.
    #[must_use]
    pub fn current() -> usize {
        sched_getcpu()
    }

    /// Keeps this thread to `cpu`.
    ///
    /// # Errors
    /// What sched_setaffinity(2) says: that CPU may not be used.
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
        // Where CPUs have gone meanwhile, it stays where it may be.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_kept_to_one_cpu_and_let_go() {
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
