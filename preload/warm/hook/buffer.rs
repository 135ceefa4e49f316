//! Texts of limited length, on the stack: paths are put together here.

use core::ffi::CStr;

/// A text with so many bytes at most, less the zero at its end.
pub(crate) struct Text<const LONGEST: usize> {
    bytes: [u8; LONGEST],
    length: usize,
    overflown: bool,
}

/// A path being put together; what is longer is left to the real functions.
pub(crate) type PathBuffer = Text<1024>;
/// What stands behind `#!`: the kernel has no longer one.
pub(crate) type ShortText = Text<257>;

/// The link in `/proc` that leads to what a descriptor is open on.
pub(crate) fn of_descriptor(descriptor: i32) -> Text<32> {
    let mut link = Text::empty();
    link.push(b"/proc/self/fd/").push(NumberText::new(descriptor as u32).bytes());
    link
}

impl<const LONGEST: usize> Text<LONGEST> {
    pub(crate) fn empty() -> Self {
        Text { bytes: [0; LONGEST], length: 0, overflown: false }
    }

    /// Adds to the end; what does not fit makes it no path any more.
    pub(crate) fn push(&mut self, more: &[u8]) -> &mut Self {
        let end = self.length.wrapping_add(more.len());
        // One byte stays for the zero.
        match self.bytes.get_mut(self.length..end) {
            Some(place) if end < LONGEST => {
                for (to, from) in place.iter_mut().zip(more) {
                    *to = *from;
                }
                self.end_at(end);
            }
            _ => self.overflown = true,
        }
        self
    }

    fn end_at(&mut self, end: usize) {
        if let Some(place) = self.bytes.get_mut(end) {
            *place = 0;
            self.length = end;
        }
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) -> &mut Self {
        self.end_at(0);
        self.overflown = false;
        self
    }

    /// Fills it from a call that writes so many bytes into what it is given; whether all of it had room.
    pub(crate) fn fill<E>(&mut self, write: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> bool {
        self.clear();
        match write(&mut self.bytes) {
            // What is cut off fills all.
            Ok(length) if length < LONGEST => self.end_at(length),
            _ => self.overflown = true,
        }
        !self.overflown
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// The path so far; none if not all of it found room.
    pub(crate) fn path(&self) -> Option<&CStr> {
        if self.overflown {
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
        for (place, digit) in text.digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (number % 10) as u8;
            text.first = place;
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
