//! The initial stack of a program, and the watched places: data that differs from launch to launch and that
//! constructors can read without a system call. Debug registers detect such reads.

use steady_linux::debuggee::{Debuggee, MOST_WATCHED, Watched};
use steady_linux::procfs::Mapping;

use super::super::captured::{NotCaptured, Stack};
use super::{Capture, failed, modules, refused};

/// Types of the auxiliary vector's entries (getauxval(3)).
const PROGRAM_HEADERS: u64 = 3;
const PROGRAM_HEADER_COUNT: u64 = 5;
pub(super) const BASE: u64 = 7;
pub(super) const ENTRY: u64 = 9;
/// `AT_GID` and `AT_EGID`: the real and the effective group.
pub(super) const GROUPS: [u64; 2] = [13, 14];
pub(super) const SECURE: u64 = 23;
pub(super) const RANDOM: u64 = 25;
pub(super) const VDSO: u64 = 33;

/// The stack of a program before its first instruction, or at its entry point.
pub(super) struct InitialStack {
    pointer: u64,
    arguments: u64,
    environment: u64,
    auxiliary: (u64, Vec<(u64, u64)>),
}

impl InitialStack {
    pub(super) fn of(debuggee: &Debuggee) -> Result<Self, NotCaptured> {
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
        Ok(InitialStack { pointer, arguments, environment, auxiliary: (place, values) })
    }

    pub(super) fn value(&self, kind: u64) -> Option<u64> {
        self.auxiliary.1.iter().find(|(found, _)| *found == kind).map(|(_, value)| *value)
    }

    /// Returns the address of the entry's value for `kind`, and that value.
    pub(super) fn place(&self, kind: u64) -> Option<(u64, u64)> {
        let index = self.auxiliary.1.iter().position(|(found, _)| *found == kind)?;
        Some((self.auxiliary.0 + index as u64 * 16 + 8, self.auxiliary.1[index].1))
    }

    /// Returns the addresses of the pointers to the first variable and to the second argument, if there are any.
    pub(super) fn first_words(&self) -> [Option<u64>; 2] {
        [Some(self.environment), (self.arguments > 1).then_some(self.pointer + 16)]
    }

    /// Returns the address of the pointer to argument 0.
    pub(super) fn name_pointer(&self) -> u64 {
        self.pointer.wrapping_add(8)
    }

    /// Returns the address of the program headers and their number.
    pub(super) fn program_headers(&self) -> Option<(u64, u64)> {
        Some((self.value(PROGRAM_HEADERS)?, self.value(PROGRAM_HEADER_COUNT)?))
    }

    /// Reads the rest of the stack's content.
    pub(super) fn stack(self, debuggee: &Debuggee, maps: &[Mapping]) -> Result<Stack, NotCaptured> {
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

/// Reads consecutive words, one page at a time.
struct Words<'a> {
    debuggee: &'a Debuggee,
    next: u64,
    /// Words that are read already, in reverse order.
    ahead: Vec<u64>,
}

impl Words<'_> {
    fn next(&mut self) -> Result<u64, NotCaptured> {
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

/// Indices of the watched places in [`Places`].
const ENVIRONMENT: usize = 0;
const ARGUMENTS: usize = 1;
const NAME: usize = 2;
/// Watch only names of at least this length. String functions read aligned blocks, so a read of the texts behind a
/// shorter name may touch the name.
const LONG_NAME: usize = 64;
/// The variable in which the GNU C library stores argument 0 when it starts.
const NAME_VARIABLE: &str = "program_invocation_name";

/// The watched places: the pointers to the first variable and to the second argument, the first byte of argument 0, and
/// a word of the random bytes.
#[derive(Clone, Copy)]
pub(super) struct Places(pub(super) [Option<Watched>; MOST_WATCHED]);

impl InitialStack {
    /// Returns the places that constructors must not read directly.
    pub(super) fn watched(&self, debuggee: &Debuggee) -> Result<Places, NotCaptured> {
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

impl Capture {
    /// Handles a read of the watched place with this index.
    pub(super) fn touched(&mut self, index: usize) -> Result<(), NotCaptured> {
        let address = self.debuggee.registers().map_err(failed)?.instruction();
        let (allowed, what) = match index {
            // A read by name is recorded. A direct read could depend on any variable.
            ENVIRONMENT => {
                let by_name = self.answering.iter().any(|function| function.contains(&address));
                (by_name || self.is_preloaded(address)?, "reads its environment directly")
            }
            ARGUMENTS => (self.is_preloaded(address)?, "reads its arguments directly"),
            NAME => (!self.name_is_stored()?, "reads the name that it was started by"),
            // The loader makes the canary and the pointer guard from the random bytes.
            _ => (self.loader.holds(address), "reads the random bytes of AT_RANDOM"),
        };
        if allowed { Ok(()) } else { Err(refused(format!("a constructor {what} before its entry point"))) }
    }

    /// Returns whether the C library has stored the program's name, which it does before any constructor runs.
    fn name_is_stored(&self) -> Result<bool, NotCaptured> {
        for module in modules::all(&self.debuggee)? {
            // If the program uses the variable, it has its own copy and is mapped before all libraries.
            if let Some(place) = module.function(&self.debuggee, NAME_VARIABLE)? {
                let stored = self.debuggee.word(place).map_err(failed)?;
                return Ok(self.watched.0[NAME] == Some(Watched::Byte(stored)));
            }
        }
        Ok(false)
    }

    /// Returns whether `address` is in the preloaded hook. The hook reads the environment only to see whether it is
    /// being captured.
    fn is_preloaded(&self, address: u64) -> Result<bool, NotCaptured> {
        let maps = self.debuggee.maps().map_err(failed)?;
        let mapping = maps.iter().find(|mapping| (mapping.start..mapping.end).contains(&address));
        Ok(self.preloaded.is_some() && mapping.and_then(|mapping| mapping.file()) == self.preloaded.as_deref())
    }
}
