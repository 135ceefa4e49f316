//! What a held process is made to do by itself.

use std::io;

use super::Debuggee;
use crate::sys::debuggee as sys;

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
