//! Strings of limited length in fixed buffers, for building paths.

use core::ffi::CStr;

/// A NUL-terminated string in a buffer of `LONGEST` bytes.
pub(crate) struct Text<const LONGEST: usize> {
    bytes: [u8; LONGEST],
    length: usize,
    overflowed: bool,
}

/// A path. Longer paths are left to the real functions.
pub(crate) type PathBuffer = Text<1024>;
/// The line after `#!`, which the kernel truncates to this length.
pub(crate) type ShortText = Text<257>;

/// Returns the path of the link in `/proc` to a descriptor's file.
pub(crate) fn descriptor_link(descriptor: i32) -> Text<32> {
    let mut link = Text::empty();
    link.push(b"/proc/self/fd/").push(NumberText::new(descriptor as u32).bytes());
    link
}

impl<const LONGEST: usize> Text<LONGEST> {
    pub(crate) fn empty() -> Self {
        Text { bytes: [0; LONGEST], length: 0, overflowed: false }
    }

    /// Appends bytes. If they do not fit, the value becomes invalid: [`path`](Text::path) returns none.
    pub(crate) fn push(&mut self, more: &[u8]) -> &mut Self {
        let end = self.length.wrapping_add(more.len());
        // One byte is reserved for the NUL.
        match self.bytes.get_mut(self.length..end) {
            Some(target) if end < LONGEST => {
                for (to, from) in target.iter_mut().zip(more) {
                    *to = *from;
                }
                self.set_length(end);
            }
            _ => self.overflowed = true,
        }
        self
    }

    fn set_length(&mut self, end: usize) {
        if let Some(terminator) = self.bytes.get_mut(end) {
            *terminator = 0;
            self.length = end;
        }
    }

    /// Empties the string and makes it valid again.
    pub(crate) fn clear(&mut self) -> &mut Self {
        self.set_length(0);
        self.overflowed = false;
        self
    }

    /// Fills the buffer with a function that returns the number of bytes it wrote. Returns whether the result was not
    /// truncated.
    pub(crate) fn fill<E>(&mut self, write: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> bool {
        self.clear();
        match write(&mut self.bytes) {
            // A truncated result fills the buffer completely.
            Ok(length) if length < LONGEST => self.set_length(length),
            _ => self.overflowed = true,
        }
        !self.overflowed
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// Returns the string; none if it did not fit.
    pub(crate) fn path(&self) -> Option<&CStr> {
        if self.overflowed {
            return None;
        }
        CStr::from_bytes_with_nul(self.bytes.get(..=self.length)?).ok()
    }
}

/// A number in decimal digits.
pub(crate) struct NumberText {
    digits: [u8; 10],
    first: usize,
}

impl NumberText {
    pub(crate) fn new(mut number: u32) -> Self {
        let mut text = NumberText { digits: [b'0'; 10], first: 9 };
        for (position, digit) in text.digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (number % 10) as u8;
            text.first = position;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        text
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.digits.get(self.first..).unwrap_or(&[])
    }
}
