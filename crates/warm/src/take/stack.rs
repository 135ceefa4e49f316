//! What the kernel puts on the stack of a program that it starts, and what else constructors can read without a system call
//! although it differs from launch to launch: the CPU watches whether they do.

use steady_linux::debuggee::{Debuggee, MOST_WATCHED, Mapping, Watched};

use super::super::taken::{NotTaken, Stack};
use super::{Taking, failed, modules, refused};

/// Kinds of the auxiliary vector's values: getauxval(3).
const PROGRAM_HEADERS: u64 = 3;
const PROGRAM_HEADER_COUNT: u64 = 5;
pub(super) const BASE: u64 = 7;
pub(super) const ENTRY: u64 = 9;
/// The real and the effective group.
pub(super) const GROUPS: [u64; 2] = [13, 14];
pub(super) const SECURE: u64 = 23;
pub(super) const RANDOM: u64 = 25;
pub(super) const VDSO: u64 = 33;

/// The stack of a program that has just begun, or is about to be entered.
pub(super) struct Initial {
    pointer: u64,
    arguments: u64,
    environment: u64,
    auxiliary: (u64, Vec<(u64, u64)>),
}

impl Initial {
    pub(super) fn of(debuggee: &Debuggee) -> Result<Self, NotTaken> {
        let pointer = debuggee.registers().map_err(failed)?.stack();
        let arguments = debuggee.word(pointer).map_err(failed)?;
        let environment = pointer.wrapping_add(8).wrapping_add(arguments.wrapping_add(1).wrapping_mul(8));
        let mut words = Words { debuggee, next: environment, ahead: vec![] };
        while words.next()? != 0 {}
        let place = words.next;
        let mut values = vec![];
        loop {
            match (words.next()?, words.next()?) {
                (0, _) => break,
                pair => values.push(pair),
            }
        }
        Ok(Initial { pointer, arguments, environment, auxiliary: (place, values) })
    }

    pub(super) fn value(&self, kind: u64) -> Option<u64> {
        self.auxiliary.1.iter().find(|(found, _)| *found == kind).map(|(_, value)| *value)
    }

    /// The address of the value that it tells for `kind`, and that value.
    pub(super) fn place(&self, kind: u64) -> Option<(u64, u64)> {
        let index = self.auxiliary.1.iter().position(|(found, _)| *found == kind)?;
        Some((self.auxiliary.0 + index as u64 * 16 + 8, self.auxiliary.1[index].1))
    }

    /// The places of the first variable and of the second argument, if there are any.
    pub(super) fn first_words(&self) -> [Option<u64>; 2] {
        [Some(self.environment), (self.arguments > 1).then_some(self.pointer + 16)]
    }

    /// The place of the first argument's pointer.
    pub(super) fn name_pointer(&self) -> u64 {
        self.pointer.wrapping_add(8)
    }

    /// Where the program's headers are, and how many.
    pub(super) fn program_headers(&self) -> Option<(u64, u64)> {
        Some((self.value(PROGRAM_HEADERS)?, self.value(PROGRAM_HEADER_COUNT)?))
    }

    /// All that is to be told of it.
    pub(super) fn stack(self, debuggee: &Debuggee, maps: &[Mapping]) -> Result<Stack, NotTaken> {
        let range = |name| {
            let found = maps.iter().find(|mapping| mapping.is_named(name));
            found.map_or((0, 0), |mapping| (mapping.start, mapping.end))
        };
        let mut random = [0; 16];
        if let Some(address) = self.value(RANDOM) {
            debuggee.read(address, &mut random).map_err(failed)?;
        }
        let name = debuggee.word(self.name_pointer()).map_err(failed)?;
        let text = if name == 0 { vec![] } else { debuggee.string(name).map_err(failed)? };
        let part = text.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        Ok(Stack {
            range: range("[stack]"),
            pointer: self.pointer,
            arguments: self.arguments,
            environment: self.environment,
            auxiliary: self.auxiliary,
            random,
            name: (name, text.len() as u64),
            name_part: name + part as u64,
            vdso: range("[vdso]"),
        })
    }
}

/// Words one after the other, read some at a time.
struct Words<'a> {
    debuggee: &'a Debuggee,
    next: u64,
    /// Those that were read already, the last first.
    ahead: Vec<u64>,
}

impl Words<'_> {
    fn next(&mut self) -> Result<u64, NotTaken> {
        const PAGE: u64 = 4096;
        if self.ahead.is_empty() {
            let length = PAGE - self.next % PAGE;
            let bytes = self.debuggee.bytes(self.next, length as usize).map_err(failed)?;
            let (words, _) = bytes.as_chunks::<8>();
            self.ahead = words.iter().rev().map(|word| u64::from_ne_bytes(*word)).collect();
        }
        self.next = self.next.wrapping_add(8);
        Ok(self.ahead.pop().unwrap_or(0))
    }
}

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
        let random = self.value(RANDOM).map(|address| address.next_multiple_of(8));
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
