//! Words of a held process's memory that are watched by the CPU itself: its debug registers.

use std::io;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// The registers that tell which word was touched, and what is watched.
const TOUCHED: usize = 6;
const WATCHED: usize = 7;
/// Of one word there: eight bytes, read or written; whether it is watched.
const EIGHT_BYTES_BOTH_WAYS: u64 = 0b1011;
const ENABLED: u64 = 1;

impl Debuggee {
    /// Has it stop behind any instruction that touches one of these words, two at most, each at a multiple of eight.
    ///
    /// # Errors
    /// What ptrace(2) says; there may be no such registers in a virtual machine.
    pub fn watch(&mut self, words: [Option<u64>; 2]) -> io::Result<()> {
        let mut watched = 0;
        for (index, word) in words.into_iter().enumerate() {
            if let Some(address) = word {
                sys::set_debug_register(self.pid, index, address)?;
                watched |= ENABLED << (2 * index) | EIGHT_BYTES_BOTH_WAYS << (16 + 4 * index);
            }
        }
        sys::set_debug_register(self.pid, WATCHED, watched)
    }

    /// Watches nothing any more.
    ///
    /// # Errors
    /// What ptrace(2) says.
    pub fn watch_nothing(&mut self) -> io::Result<()> {
        sys::set_debug_register(self.pid, WATCHED, 0)
    }

    /// Which of the words it has just touched.
    pub(super) fn touched(&self) -> Option<usize> {
        let touched = sys::read_debug_register(self.pid, TOUCHED).ok()?;
        sys::set_debug_register(self.pid, TOUCHED, 0).ok()?;
        (0..2).find(|index| touched & (1 << index) != 0)
    }
}
