//! What is executed in the end: copied to the stack then, for the scratch memory has been given back.

use core::ffi::{CStr, c_char};
use core::ptr;

use super::calls::{ENOENT, Error};
use super::start::{How, Texts};

/// So many bytes all texts have at most, with the zeros at their ends.
const LONGEST: usize = 1024;
/// So many arguments a script gets at most from here; with more, it is started as usual.
const MOST_ARGUMENTS: usize = 256;
/// So many pointers are put together on the stack: for most launches few are enough.
const FEW: usize = 24;
/// The interpreter, what else the script says, the script, and the null pointer at the end.
const MANY: usize = MOST_ARGUMENTS + 4;

/// The path, and of a script the arguments that stand in place of the first one. Zeros are one without any.
#[derive(Clone)]
pub(crate) struct Launch {
    bytes: [u8; LONGEST],
    length: usize,
    texts: u8,
}

impl Launch {
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.texts = 0;
    }

    /// Adds a text; false if there is no room for it.
    pub(crate) fn add(&mut self, text: &[u8]) -> bool {
        let end = self.length.wrapping_add(text.len());
        match self.bytes.get_mut(self.length..end) {
            Some(place) if end < LONGEST => {
                for (to, from) in place.iter_mut().zip(text) {
                    *to = *from;
                }
                if let Some(place) = self.bytes.get_mut(end) {
                    *place = 0;
                }
                self.length = end.wrapping_add(1);
                self.texts = self.texts.wrapping_add(1);
                true
            }
            _ => false,
        }
    }

    fn texts(&self) -> impl Iterator<Item = &CStr> {
        let mut rest = self.bytes.as_slice();
        (0..self.texts).map_while(move |_| {
            let text = CStr::from_bytes_until_nul(rest).ok()?;
            rest = rest.get(text.count_bytes().wrapping_add(1)..)?;
            Some(text)
        })
    }

    /// Executes it, with the texts behind the path in place of the caller's first argument if there are any.
    pub(crate) fn execute(&self, arguments: Texts, environment: Texts, how: How<'_>) -> Error {
        let Some(path) = self.texts().next() else { return ENOENT };
        if self.texts == 1 {
            return how(path, arguments, environment);
        }
        match length(arguments) {
            0..=20 => self.interpreted::<FEW>(path, arguments, environment, how),
            _ => self.interpreted::<MANY>(path, arguments, environment, how),
        }
    }

    #[inline(never)]
    fn interpreted<const MOST: usize>(&self, path: &CStr, arguments: Texts, environment: Texts, how: How<'_>) -> Error {
        let mut pointers = [ptr::null::<c_char>(); MOST];
        let first = self.texts().skip(1).map(CStr::as_ptr);
        let mut places = pointers.iter_mut().take(MOST - 1);
        for (pointer, place) in first.chain(entries(arguments).skip(1)).zip(&mut places) {
            *place = pointer;
        }
        how(path, pointers.as_ptr(), environment)
    }
}

/// Whether the arguments of a script are so few that they can be put together.
pub(crate) fn has_room(arguments: Texts) -> bool {
    length(arguments) <= MOST_ARGUMENTS
}

/// The texts of a vector that can be read.
fn entries(vector: Texts) -> impl Iterator<Item = *const c_char> {
    let mut place = vector;
    core::iter::from_fn(move || {
        // SAFETY: the vector has a null pointer at its end, behind which we never go.
        unsafe {
            let text = *place;
            if text.is_null() {
                return None;
            }
            place = place.add(1);
            Some(text)
        }
    })
}

/// How many there are; no more are counted than could be used.
fn length(vector: Texts) -> usize {
    entries(vector).take(MOST_ARGUMENTS + 1).count()
}
