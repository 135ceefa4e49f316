//! The memory of a held process, breakpoints in it, and places in it that the CPU itself watches with its debug registers.

use std::io;
use std::os::unix::fs::FileExt;

use super::Debuggee;
use crate::sys::debuggee as sys;

/// `int3`.
const BREAKPOINT: u8 = 0xcc;
/// How much is read at once where a string's length is not known: within a page, so that what follows it does not matter.
const PIECE: u64 = 256;
/// No more than this is read at once, whatever lengths the program states.
const MOST: usize = 1 << 30;
/// The longest string that is read.
const LONGEST: usize = 64 << 10;

impl Debuggee {
    /// Fills `bytes` from its memory at `address`, whether it may read there itself or not.
    ///
    /// # Errors
    /// There is no memory.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        match sys::read_memory(self.pid, address, bytes) {
            Ok(read) if read == bytes.len() => Ok(()),
            // It reads what the process itself could read; this file has all of it.
            _ => self.memory.read_exact_at(bytes, address),
        }
    }

    /// `length` bytes at `address`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn bytes(&self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        if length > MOST {
            return Err(io::Error::other("more memory than is read at once"));
        }
        let mut bytes = vec![0; length];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// The word at `address`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// The string at `address`, without the NUL that ends it.
    ///
    /// # Errors
    /// There is no memory, or no end.
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
        Err(io::Error::other("a string has no end"))
    }

    /// Writes the word at `address`, whatever its protection.
    ///
    /// # Errors
    /// There is no memory.
    pub fn write_word(&mut self, address: u64, word: u64) -> io::Result<()> {
        sys::write_word(self.pid, address, word)
    }

    /// Has it stop before the instruction at `address`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn set_breakpoint(&mut self, address: u64) -> io::Result<()> {
        if !self.breakpoints.contains_key(&address) {
            let former = self.replace_byte(address, BREAKPOINT)?;
            self.breakpoints.insert(address, former);
        }
        Ok(())
    }

    /// Takes such a breakpoint away.
    ///
    /// # Errors
    /// There is no memory any more.
    pub fn clear_breakpoint(&mut self, address: u64) -> io::Result<()> {
        match self.breakpoints.remove(&address) {
            Some(former) => self.replace_byte(address, former).map(drop),
            None => Ok(()),
        }
    }

    /// Takes all breakpoints away, so that its memory is as if there had been none.
    ///
    /// # Errors
    /// There is no memory any more.
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
