//! Scripts: what the kernel makes of `#!`.

use core::ffi::{CStr, c_char};
use core::ptr;

use super::buffer::ShortText;
use super::calls::Error;
use super::start::{How, Texts, Wanted};

/// So many arguments the interpreter gets at most from here; with more, a script is started as usual.
const MOST_ARGUMENTS: usize = 256;
/// The interpreter, what else the script says, the script, and the null pointer at the end.
const MOST_POINTERS: usize = MOST_ARGUMENTS + 4;

/// What stands behind `#!`, if what is started is a script.
pub(crate) struct Script {
    interpreter: ShortText,
    argument: Option<ShortText>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Script { interpreter: ShortText::empty(), argument: None }
    }

    /// Keeps what the card says; whether it is what can be followed: an absolute path, for from where else it counts
    /// depends on the process.
    pub(crate) fn set(&mut self, interpreter: &CStr, argument: Option<&CStr>) -> bool {
        let Some(text) = ShortText::new(interpreter.to_bytes()).filter(|text| text.bytes().starts_with(b"/")) else {
            return false;
        };
        self.interpreter = text;
        self.argument = match argument {
            None => None,
            Some(argument) => match ShortText::new(argument.to_bytes()) {
                None => return false,
                argument => argument,
            },
        };
        true
    }

    /// The path of the interpreter; none if this is no script.
    pub(crate) fn interpreter(&self) -> Option<&CStr> {
        self.interpreter.path().filter(|path| !path.is_empty())
    }

    /// Whether the arguments can be put together; if not, that should be known before anything is counted.
    pub(crate) fn has_room(&self, arguments: Texts) -> bool {
        self.interpreter().is_none() || length(arguments) <= MOST_ARGUMENTS
    }

    /// Starts the snapshot with the arguments that the program gets: the caller's own, or the interpreter's.
    pub(crate) fn with_arguments(&self, wanted: &Wanted<'_>, snapshot: &CStr, how: How<'_>) -> Error {
        match self.interpreter() {
            None => how(snapshot, wanted.arguments, wanted.environment),
            Some(interpreter) => self.interpreted(interpreter, wanted, snapshot, how),
        }
    }

    /// The first argument is lost, as the kernel has it: the script's path stands in its place.
    #[inline(never)]
    fn interpreted(&self, interpreter: &CStr, wanted: &Wanted<'_>, snapshot: &CStr, how: How<'_>) -> Error {
        let mut pointers = [ptr::null::<c_char>(); MOST_POINTERS];
        let argument = self.argument.as_ref().and_then(ShortText::path);
        let first = [Some(interpreter), argument, Some(wanted.path)].into_iter().flatten().map(CStr::as_ptr);
        let mut places = pointers.iter_mut().take(MOST_POINTERS - 1);
        for (pointer, place) in first.chain(texts(wanted.arguments).skip(1)).zip(&mut places) {
            *place = pointer;
        }
        how(snapshot, pointers.as_ptr(), wanted.environment)
    }
}

/// The texts of a vector.
fn texts(vector: Texts) -> impl Iterator<Item = *const c_char> {
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
    texts(vector).take(MOST_ARGUMENTS + 1).count()
}
