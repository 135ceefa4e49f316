//! Places in a held process's memory that are watched by the CPU itself: its debug registers.

use std::io;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// The registers that tell which place was touched, and what is watched.
const TOUCHED: usize = 6;
const WATCHED: usize = 7;
/// In the latter: a place that is read or written, and its length.
const BOTH_WAYS: u64 = 0b0011;
const EIGHT_BYTES: u64 = 0b1000;
const ENABLED: u64 = 1;
/// How many places a CPU can watch.
pub const MOST_WATCHED: usize = 4;

/// A place in a process's memory that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The eight bytes at this address, a multiple of eight.
    Word(u64),
    /// The byte at this address.
    Byte(u64),
}

impl Debuggee {
    /// Has it stop behind any instruction that touches one of these places.
    ///
    /// # Errors
    /// What ptrace(2) says; there may be no such registers in a virtual machine.
    pub fn watch(&mut self, places: [Option<Watched>; MOST_WATCHED]) -> io::Result<()> {
        let mut watched = 0;
        for (index, place) in places.into_iter().enumerate() {
            let Some(place) = place else { continue };
            let (address, how) = match place {
                Watched::Word(address) => (address, BOTH_WAYS | EIGHT_BYTES),
                Watched::Byte(address) => (address, BOTH_WAYS),
            };
            sys::set_debug_register(self.pid, index, address)?;
            watched |= ENABLED << (2 * index) | how << (16 + 4 * index);
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

    /// Which of the places it has just touched.
    pub(super) fn touched(&self) -> Option<usize> {
        let touched = sys::read_debug_register(self.pid, TOUCHED).ok()?;
        sys::set_debug_register(self.pid, TOUCHED, 0).ok()?;
        (0..MOST_WATCHED).find(|index| touched & (1 << index) != 0)
    }
}
