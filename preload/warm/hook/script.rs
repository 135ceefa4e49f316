//! Scripts: what the kernel makes of `#!`.

use core::ffi::CStr;

use super::buffer::ShortText;

/// What stands behind `#!`, if what is started is a script.
pub(crate) struct Script {
    interpreter: ShortText,
    argument: ShortText,
}

impl Script {
    pub(crate) fn clear(&mut self) {
        self.interpreter.clear();
        self.argument.clear();
    }

    /// Keeps what the card says; whether it is what can be followed: an absolute path, for from where else it counts
    /// depends on the process.
    pub(crate) fn set(&mut self, interpreter: &CStr, argument: Option<&CStr>) -> bool {
        let argument = argument.map_or(&[][..], CStr::to_bytes);
        let complete =
            self.interpreter.clear().push(interpreter.to_bytes()).path().is_some_and(|path| !path.is_empty())
                && self.argument.clear().push(argument).path().is_some();
        complete && self.interpreter.bytes().starts_with(b"/")
    }

    /// The path of the interpreter; none if this is no script.
    pub(crate) fn interpreter(&self) -> Option<&CStr> {
        self.interpreter.path().filter(|path| !path.is_empty())
    }

    /// What else stands there.
    pub(crate) fn argument(&self) -> Option<&CStr> {
        self.argument.path().filter(|argument| !argument.is_empty())
    }
}
