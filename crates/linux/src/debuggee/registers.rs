//! The registers of a held process.

use std::io;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// The registers of the CPU's core.
#[derive(Clone, Copy, Debug)]
pub struct Registers(libc::user_regs_struct);

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

    /// Sets them.
    ///
    /// # Errors
    /// What ptrace(2) says.
    pub fn set_registers(&mut self, registers: &Registers) -> io::Result<()> {
        self.at = None;
        sys::set_registers(self.pid, &registers.0)
    }
}
