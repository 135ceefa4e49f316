//! What constructors can read without a system call although it differs from launch to launch: places on the stack that the
//! CPU watches.

use steady_linux::debuggee::{Debuggee, MOST_WATCHED, Watched};

use super::super::taken::NotTaken;
use super::stack::{self, Initial};
use super::{Taking, failed, modules, refused};

/// What each watched place is, in the order of [`Places`].
const ENVIRONMENT: usize = 0;
const ARGUMENTS: usize = 1;
const NAME: usize = 2;
/// A name shorter than this may share an aligned piece of memory with the texts behind it, which string functions read at once.
const LONG_NAME: usize = 64;
/// Where the GNU C library keeps the name that the program was called by, once it has looked at it.
const NOTED_NAME: &str = "program_invocation_name";

/// The pointers to the first variable and to the second argument, the beginning of the first argument's text, a word of the
/// random bytes.
#[derive(Clone, Copy)]
pub(super) struct Places(pub(super) [Option<Watched>; MOST_WATCHED]);

impl Initial {
    /// The places that constructors must not read by themselves.
    pub(super) fn watched(&self, debuggee: &Debuggee) -> Result<Places, NotTaken> {
        let [variable, argument] = self.first_words();
        let name = debuggee.word(self.name_pointer()).map_err(failed)?;
        let long = name != 0 && debuggee.string(name).map_err(failed)?.len() >= LONG_NAME;
        let random = self.value(stack::RANDOM).map(|address| address.next_multiple_of(8));
        Ok(Places([
            variable.map(Watched::Word),
            argument.map(Watched::Word),
            long.then_some(Watched::Byte(name)),
            random.map(Watched::Word),
        ]))
    }
}

impl Taking {
    /// It has touched the watched place of this index.
    pub(super) fn touched(&mut self, index: usize) -> Result<(), NotTaken> {
        let address = self.debuggee.registers().map_err(failed)?.instruction();
        let (allowed, what) = match index {
            // A function that is asked by name is known; who goes through all variables does not say what it looks for.
            ENVIRONMENT => {
                let by_name = self.answering.iter().any(|function| function.contains(&address));
                (by_name || self.is_preloaded(address)?, "goes through its environment by itself")
            }
            ARGUMENTS => (self.is_preloaded(address)?, "goes through its arguments by itself"),
            NAME => (!self.name_is_noted()?, "asks for the name that it is called by"),
            // The loader makes the canary and the pointer guard of them.
            _ => (self.loader.holds(address), "reads the random bytes of its launch"),
        };
        if allowed { Ok(()) } else { Err(refused(format!("a constructor {what} before its entry"))) }
    }

    /// Whether the C library has looked at the program's name, which it does before any constructor.
    fn name_is_noted(&self) -> Result<bool, NotTaken> {
        for module in modules::all(&self.debuggee)? {
            // A program that uses the variable has its own copy, and lies before all libraries.
            if let Some(place) = module.function(&self.debuggee, NOTED_NAME)? {
                let noted = self.debuggee.word(place).map_err(failed)?;
                return Ok(self.watched.0[NAME] == Some(Watched::Byte(noted)));
            }
        }
        Ok(false)
    }

    /// Whether `address` lies in the library that is preloaded, which looks for nothing but whether it is being taken.
    fn is_preloaded(&self, address: u64) -> Result<bool, NotTaken> {
        let maps = self.debuggee.maps().map_err(failed)?;
        let mapping = maps.iter().find(|mapping| (mapping.start..mapping.end).contains(&address));
        Ok(self.preloaded.is_some() && mapping.and_then(|mapping| mapping.file()) == self.preloaded.as_deref())
    }
}
