//! Parses the fields of a card in order. Every function returns none if its field is incomplete or invalid.

use core::ffi::CStr;

use super::identity::{Identity, Time};

/// The bytes that have not been parsed yet.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Reader { rest }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*first)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_ne_bytes)
    }

    /// Parses a 32-bit number that must be 0 or 1.
    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.u32()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Parses a flag, and a value after it if the flag is set.
    pub(crate) fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }

    /// Parses a string: its length, which includes the terminating NUL, and that many bytes.
    pub(crate) fn text(&mut self) -> Option<&'a CStr> {
        let length = self.u32()? as usize;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        CStr::from_bytes_with_nul(text).ok()
    }

    pub(crate) fn identity(&mut self) -> Option<Identity> {
        Some(Identity {
            device: self.u64()?,
            inode: self.u64()?,
            mount: self.u64()?,
            bytes: self.u64()?,
            modified: self.time()?,
            changed: self.time()?,
        })
    }

    fn time(&mut self) -> Option<Time> {
        Some(Time { seconds: self.i64()?, nanoseconds: self.i64()? })
    }
}
