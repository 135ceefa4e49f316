//! Memory of a traced process, breakpoints in it, and watched places, which the CPU checks with its debug registers.

use std::io;
use std::os::unix::fs::FileExt;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// The instruction `int3`, which raises SIGTRAP.
const BREAKPOINT: u8 = 0xcc;
/// Number of bytes to read at a time for a string of unknown length. A piece is within one page, so an unmapped page
/// after the string causes no error.
const PIECE: u64 = 256;
/// Maximum length of one read, whatever length the program states.
const MOST: usize = 1 << 30;
/// Maximum length of a string.
const LONGEST: usize = 64 << 10;

impl Debuggee {
    /// Fills `bytes` from the memory at `address`, even if the process itself may not read it.
    ///
    /// # Errors
    /// There is no memory at `address`.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        match sys::read_memory(self.pid, address, bytes) {
            Ok(read) if read == bytes.len() => Ok(()),
            // The call above reads only what the process itself can read; this file contains all of its memory.
            _ => self.memory.read_exact_at(bytes, address),
        }
    }

    /// Returns `length` bytes at `address`.
    ///
    /// # Errors
    /// There is no memory at `address`.
    pub fn bytes(&self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        if length > MOST {
            return Err(io::Error::other("cannot read more than 1 GiB of memory in one step"));
        }
        let mut bytes = vec![0; length];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the 8-byte word at `address`.
    ///
    /// # Errors
    /// There is no memory at `address`.
    pub fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Returns the string at `address`, without its terminating NUL.
    ///
    /// # Errors
    /// There is no memory at `address`, or the string is longer than 64 KiB.
    pub fn string(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut string = vec![];
        while string.len() < LONGEST {
            let at = address.wrapping_add(string.len() as u64);
            let piece = self.bytes(at, (PIECE - at % PIECE) as usize)?;
            match piece.iter().position(|&byte| byte == 0) {
                Some(end) => {
                    string.extend_from_slice(&piece[..end]);
                    return Ok(string);
                }
                None => string.extend_from_slice(&piece),
            }
        }
        Err(io::Error::other("a string is longer than 64 KiB"))
    }

    /// Writes the word at `address`, even if its page is read-only.
    ///
    /// # Errors
    /// There is no memory at `address`.
    pub fn write_word(&mut self, address: u64, word: u64) -> io::Result<()> {
        sys::write_word(self.pid, address, word)
    }

    /// Sets a breakpoint before the instruction at `address`.
    ///
    /// # Errors
    /// There is no memory at `address`.
    pub fn set_breakpoint(&mut self, address: u64) -> io::Result<()> {
        if !self.breakpoints.contains_key(&address) {
            let former = self.replace_byte(address, BREAKPOINT)?;
            self.breakpoints.insert(address, former);
        }
        Ok(())
    }

    /// Removes the breakpoint at `address`, if there is one.
    ///
    /// # Errors
    /// The memory does not exist any more.
    pub fn clear_breakpoint(&mut self, address: u64) -> io::Result<()> {
        match self.breakpoints.remove(&address) {
            Some(former) => self.replace_byte(address, former).map(drop),
            None => Ok(()),
        }
    }

    /// Removes all breakpoints, and restores the original memory.
    ///
    /// # Errors
    /// The memory does not exist any more.
    pub fn clear_breakpoints(&mut self) -> io::Result<()> {
        let all: Vec<u64> = self.breakpoints.keys().copied().collect();
        all.into_iter().try_for_each(|address| self.clear_breakpoint(address))
    }

    fn replace_byte(&mut self, address: u64, byte: u8) -> io::Result<u8> {
        let start = address & !7;
        let mut word = self.word(start)?.to_ne_bytes();
        let former = std::mem::replace(&mut word[(address - start) as usize], byte);
        self.write_word(start, u64::from_ne_bytes(word))?;
        Ok(former)
    }
}

/// Debug register 6: which watched place was accessed.
const TOUCHED: usize = 6;
/// Debug register 7: what is watched.
const WATCHED: usize = 7;
/// Flag in debug register 7: stop at reads and writes.
const BOTH_WAYS: u64 = 0b0011;
/// Flag in debug register 7: the place has eight bytes.
const EIGHT_BYTES: u64 = 0b1000;
/// Flag in debug register 7: the place is watched.
const ENABLED: u64 = 1;
/// Number of places that a CPU can watch.
pub const MOST_WATCHED: usize = 4;

/// A watched place in the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The eight bytes at this address, a multiple of eight.
    Word(u64),
    /// The byte at this address.
    Byte(u64),
}

impl Debuggee {
    /// Makes the process stop after any instruction that accesses one of these places.
    ///
    /// # Errors
    /// The error of ptrace(2). A virtual machine may have no debug registers.
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

    /// Stops watching all places.
    ///
    /// # Errors
    /// The error of ptrace(2).
    pub fn watch_nothing(&mut self) -> io::Result<()> {
        sys::set_debug_register(self.pid, WATCHED, 0)
    }

    /// Returns the index of the watched place that was just accessed.
    pub(super) fn touched(&self) -> Option<usize> {
        let touched = sys::read_debug_register(self.pid, TOUCHED).ok()?;
        sys::set_debug_register(self.pid, TOUCHED, 0).ok()?;
        (0..MOST_WATCHED).find(|index| touched & (1 << index) != 0)
    }
}
