//! The registers of a held process.

use std::io;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// The registers of the CPU's core.
#[derive(Clone, Copy, Debug)]
pub struct Registers(libc::user_regs_struct);

/// What a process has set its floating-point units to, and the exceptions that they have noted: fenv(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatingPoint {
    /// MXCSR: control and status of SSE.
    pub mxcsr: u32,
    /// The control word of the x87.
    pub x87_control: u16,
    /// The status word of the x87.
    pub x87_status: u16,
    /// Whether a register of the x87 holds a value.
    pub x87_holds_values: bool,
}

impl Default for FloatingPoint {
    /// As execve(2) sets it.
    fn default() -> Self {
        FloatingPoint { mxcsr: 0x1f80, x87_control: 0x37f, x87_status: 0, x87_holds_values: false }
    }
}

impl Registers {
    /// rip: the address of the next instruction.
    #[must_use]
    pub fn instruction(&self) -> u64 {
        self.0.rip
    }

    /// rsp: the top of the stack.
    #[must_use]
    pub fn stack(&self) -> u64 {
        self.0.rsp
    }

    /// rdx.
    #[must_use]
    pub fn data(&self) -> u64 {
        self.0.rdx
    }

    /// rdi: a function's first argument.
    #[must_use]
    pub fn first_argument(&self) -> u64 {
        self.0.rdi
    }

    /// rax: what a function returns.
    #[must_use]
    pub fn result(&self) -> u64 {
        self.0.rax
    }

    /// The flags register.
    #[must_use]
    pub fn flags(&self) -> u64 {
        self.0.eflags
    }

    /// The base of FS: the thread's pointer.
    #[must_use]
    pub fn fs_base(&self) -> u64 {
        self.0.fs_base
    }

    /// The base of GS.
    #[must_use]
    pub fn gs_base(&self) -> u64 {
        self.0.gs_base
    }

    /// The selectors of the data segments: DS, ES, FS, GS.
    #[must_use]
    pub fn data_segments(&self) -> [u64; 4] {
        [self.0.ds, self.0.es, self.0.fs, self.0.gs]
    }

    /// The same with another result of the system call that has just returned.
    #[must_use]
    pub fn with_result(mut self, result: i64) -> Self {
        self.0.rax = result.cast_unsigned();
        self
    }

    /// The same with another third argument of the system call that is about to be made.
    #[must_use]
    pub fn with_third_argument(mut self, value: u64) -> Self {
        self.0.rdx = value;
        self
    }

    pub(super) fn set_instruction(&mut self, address: u64) {
        self.0.rip = address;
    }

    /// As they are where `function` is called with two arguments, its return address at the top of the stack; no system
    /// call is under way.
    #[must_use]
    pub fn calling(&self, function: u64, arguments: [u64; 2], stack: u64) -> Self {
        let mut registers = self.0;
        registers.rip = function;
        [registers.rdi, registers.rsi] = arguments;
        registers.rsp = stack;
        registers.rax = 0;
        registers.orig_rax = u64::MAX;
        Registers(registers)
    }
}

impl Debuggee {
    /// Its registers.
    ///
    /// # Errors
    /// What ptrace(2) says; that it is no program of x86-64.
    pub fn registers(&self) -> io::Result<Registers> {
        let registers = sys::registers(self.pid)?;
        registers.map(Registers).ok_or_else(|| io::Error::other("it is not executing code of x86-64"))
    }

    /// What its floating-point units are set to.
    ///
    /// # Errors
    /// What ptrace(2) says.
    pub fn floating_point(&self) -> io::Result<FloatingPoint> {
        let found = sys::floating_point(self.pid)?;
        Ok(FloatingPoint {
            mxcsr: found.mxcsr,
            x87_control: found.cwd,
            x87_status: found.swd,
            x87_holds_values: found.ftw != 0,
        })
    }

    /// PKRU: what it may do with memory under each protection key; `None` on machines without such keys.
    ///
    /// # Errors
    /// What ptrace(2) says.
    pub fn protection_keys(&self) -> io::Result<Option<u32>> {
        sys::protection_keys(self.pid)
    }

    /// Sets them.
    ///
    /// # Errors
    /// What ptrace(2) says.
    pub fn set_registers(&mut self, registers: &Registers) -> io::Result<()> {
        self.at = None;
        sys::set_registers(self.pid, &registers.0)
    }
}
