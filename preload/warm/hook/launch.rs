//! The path and arguments of the next execve(2). They are copied to the stack, because the scratch memory is released
//! before the call.

use core::ffi::{CStr, c_char};
use core::ptr;

use super::buffer::ShortText;
use super::calls::{ENOENT, Error};
use super::start::Execute;
use super::target::Strings;

/// Maximum length of all strings together, with their NULs.
const LONGEST: usize = 1024;
/// Maximum number of arguments of a script that is started from a snapshot. With more, it is started normally.
const MOST_ARGUMENTS: usize = 256;
/// Size of the argument vector on the stack for most launches of scripts.
const FEW: usize = 24;
/// Size of the largest vector: the interpreter, its argument, the script, and the null pointer.
const MANY: usize = MOST_ARGUMENTS + 4;

/// The path to execute, and for a script the strings that replace the first argument. Zeroed memory is a valid, empty
/// value.
#[derive(Clone)]
pub(crate) struct Launch {
    bytes: [u8; LONGEST],
    length: usize,
    strings: u8,
}

impl Launch {
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.strings = 0;
    }

    /// Adds a string. Returns false if it does not fit.
    pub(crate) fn add(&mut self, text: &[u8]) -> bool {
        let end = self.length.wrapping_add(text.len());
        match self.bytes.get_mut(self.length..end) {
            Some(target) if end < LONGEST => {
                for (to, from) in target.iter_mut().zip(text) {
                    *to = *from;
                }
                if let Some(terminator) = self.bytes.get_mut(end) {
                    *terminator = 0;
                }
                self.length = end.wrapping_add(1);
                self.strings = self.strings.wrapping_add(1);
                true
            }
            _ => false,
        }
    }

    fn strings(&self) -> impl Iterator<Item = &CStr> {
        let mut rest = self.bytes.as_slice();
        (0..self.strings).map_while(move |_| {
            let text = CStr::from_bytes_until_nul(rest).ok()?;
            rest = rest.get(text.count_bytes().wrapping_add(1)..)?;
            Some(text)
        })
    }

    /// Returns the path to execute.
    pub(crate) fn path(&self) -> Option<&CStr> {
        self.strings().next()
    }

    /// Executes the path. Further strings replace the caller's first argument.
    pub(crate) fn execute(&self, arguments: Strings, environment: Strings, execute: Execute<'_>) -> Error {
        let Some(path) = self.path() else { return ENOENT };
        if self.strings == 1 {
            return execute(path, arguments, environment);
        }
        match length(arguments) {
            0..=20 => self.execute_script::<FEW>(path, arguments, environment, execute),
            _ => self.execute_script::<MANY>(path, arguments, environment, execute),
        }
    }

    #[inline(never)]
    fn execute_script<const MOST: usize>(
        &self,
        path: &CStr,
        arguments: Strings,
        environment: Strings,
        execute: Execute<'_>,
    ) -> Error {
        let mut pointers = [ptr::null::<c_char>(); MOST];
        let first = self.strings().skip(1).map(CStr::as_ptr);
        let mut slots = pointers.iter_mut().take(MOST - 1);
        for (pointer, slot) in first.chain(entries(arguments).skip(1)).zip(&mut slots) {
            *slot = pointer;
        }
        execute(path, pointers.as_ptr(), environment)
    }
}

/// Returns whether a script with these arguments can be started from a snapshot.
pub(crate) fn is_supported(arguments: Strings) -> bool {
    length(arguments) <= MOST_ARGUMENTS
}

/// Returns the entries of a vector.
fn entries(vector: Strings) -> impl Iterator<Item = *const c_char> {
    let mut position = vector;
    core::iter::from_fn(move || {
        // SAFETY: the vector is null-terminated; `position` never passes its end.
        unsafe {
            let text = *position;
            if text.is_null() {
                return None;
            }
            position = position.add(1);
            Some(text)
        }
    })
}

/// Returns the number of entries, counted up to `MOST_ARGUMENTS + 1`.
fn length(vector: Strings) -> usize {
    entries(vector).take(MOST_ARGUMENTS + 1).count()
}

/// The first line of a script, without `#!`. Empty if the program is not a script.
pub(crate) struct Script {
    interpreter: ShortText,
    argument: ShortText,
}

impl Script {
    pub(crate) fn clear(&mut self) {
        self.interpreter.clear();
        self.argument.clear();
    }

    /// Copies the line from a card. Returns whether the hook supports it: the interpreter must have an absolute path,
    /// because a relative one depends on the process.
    pub(crate) fn set(&mut self, interpreter: &CStr, argument: Option<&CStr>) -> bool {
        let argument = argument.map_or(&[][..], CStr::to_bytes);
        let complete =
            self.interpreter.clear().push(interpreter.to_bytes()).path().is_some_and(|path| !path.is_empty())
                && self.argument.clear().push(argument).path().is_some();
        complete && self.interpreter.bytes().starts_with(b"/")
    }

    /// Returns the path of the interpreter; none if the program is not a script.
    pub(crate) fn interpreter(&self) -> Option<&CStr> {
        self.interpreter.path().filter(|path| !path.is_empty())
    }

    /// Returns the argument after the interpreter's path.
    pub(crate) fn argument(&self) -> Option<&CStr> {
        self.argument.path().filter(|argument| !argument.is_empty())
    }
}
