//! CPU registers of a traced process.

use std::io;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// General-purpose registers of a process.
#[derive(Clone, Copy, Debug)]
pub struct Registers(libc::user_regs_struct);

/// Settings of the floating-point units, and the exceptions recorded in them: fenv(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatingPoint {
    /// MXCSR: SSE control and status.
    pub mxcsr: u32,
    /// Control word of the x87.
    pub x87_control: u16,
    /// Status word of the x87.
    pub x87_status: u16,
    /// Whether an x87 register holds a value.
    pub x87_holds_values: bool,
}

impl Default for FloatingPoint {
    /// The values that execve(2) sets.
    fn default() -> Self {
        FloatingPoint { mxcsr: 0x1f80, x87_control: 0x37f, x87_status: 0, x87_holds_values: false }
    }
}

impl Registers {
    /// Returns rip, the address of the next instruction.
    #[must_use]
    pub fn instruction(&self) -> u64 {
        self.0.rip
    }

    /// Returns rsp, the top of the stack.
    #[must_use]
    pub fn stack(&self) -> u64 {
        self.0.rsp
    }

    /// Returns the register rdx.
    #[must_use]
    pub fn data(&self) -> u64 {
        self.0.rdx
    }

    /// Returns rdi, the first argument of a function.
    #[must_use]
    pub fn first_argument(&self) -> u64 {
        self.0.rdi
    }

    /// Returns rax, the result of a function.
    #[must_use]
    pub fn result(&self) -> u64 {
        self.0.rax
    }

    /// Returns the flags register (eflags).
    #[must_use]
    pub fn flags(&self) -> u64 {
        self.0.eflags
    }

    /// Returns the base address of FS, the thread pointer.
    #[must_use]
    pub fn fs_base(&self) -> u64 {
        self.0.fs_base
    }

    /// Returns the base address of GS.
    #[must_use]
    pub fn gs_base(&self) -> u64 {
        self.0.gs_base
    }

    /// Returns the selectors of the data segments: DS, ES, FS, GS.
    #[must_use]
    pub fn data_segments(&self) -> [u64; 4] {
        [self.0.ds, self.0.es, self.0.fs, self.0.gs]
    }

    /// Returns these registers with another result of the system call that has just returned.
    #[must_use]
    pub fn with_result(mut self, result: i64) -> Self {
        self.0.rax = result.cast_unsigned();
        self
    }

    /// Returns these registers with another third argument of the system call that is about to run.
    #[must_use]
    pub fn with_third_argument(mut self, value: u64) -> Self {
        self.0.rdx = value;
        self
    }

    pub(super) fn set_instruction(&mut self, address: u64) {
        self.0.rip = address;
    }

    /// Returns registers for a call of `function` with two arguments. The return address must be at `stack`, and the
    /// process must not be in a system call.
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
    /// Reads the registers.
    ///
    /// # Errors
    /// The error of ptrace(2), or the process is not executing x86-64 code.
    pub fn registers(&self) -> io::Result<Registers> {
        let registers = sys::registers(self.pid)?;
        registers.map(Registers).ok_or_else(|| io::Error::other("the process is not executing x86-64 code"))
    }

    /// Reads the settings of the floating-point units.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn floating_point(&self) -> io::Result<FloatingPoint> {
        let found = sys::floating_point(self.pid)?;
        Ok(FloatingPoint {
            mxcsr: found.mxcsr,
            x87_control: found.cwd,
            x87_status: found.swd,
            x87_holds_values: found.ftw != 0,
        })
    }

    /// Reads PKRU, the access rights for each memory protection key. Returns `None` on machines without such keys.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn protection_keys(&self) -> io::Result<Option<u32>> {
        sys::protection_keys(self.pid)
    }

    /// Writes the registers.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn set_registers(&mut self, registers: &Registers) -> io::Result<()> {
        self.at = None;
        sys::set_registers(self.pid, &registers.0)
    }
}
