//! Whether a program may be executed from a snapshot: all that its card asks for.
//!
//! What costs least is asked first; the files that it loads are looked at last, one system call each.

use core::ffi::{CStr, c_int};

use super::buffer::{PathBuffer, of_descriptor};
use super::calls::{self, AT_EMPTY_PATH, AT_FDCWD, Descriptor, ENOENT, ENOTDIR};
use super::card::{Card, Dependencies, Outcome, demand};
use super::identity::{Identity, Key};
use super::script::Script;
use super::start::{self, Doubt, Wanted};
use super::store::{Lookup, Store};
use super::{counted, environment, launch, process};

/// A snapshot that may be executed.
pub(crate) struct Ready<'a> {
    /// Whose it is.
    pub(crate) key: Key,
    /// Which one.
    pub(crate) copy: u32,
    /// The file that it must be.
    pub(crate) image: Identity,
    /// What it is called there.
    pub(crate) name: &'a [u8],
    /// Where it is counted.
    pub(crate) slot: u32,
}

/// Where launches as usual of a program are counted, beside those from a snapshot.
pub(crate) fn as_usual(slot: u32) -> u32 {
    if slot == 0 { 0 } else { slot + 1 }
}

/// Which snapshot may be executed in place of what is wanted. Of a script it is the interpreter's, and the script says with
/// which arguments.
#[inline(never)]
pub(crate) fn decide<'a>(
    wanted: &Wanted<'a>,
    identity: &Identity,
    store: &mut Store<'_>,
    memory: &'a mut [u8],
    script: &mut Script,
    link: &mut PathBuffer,
) -> Result<Ready<'a>, Doubt> {
    let key = identity.key();
    let program = Program { folder: wanted.folder, path: wanted.path, flags: wanted.flags };
    let length = read_card(&key, store, memory)?;
    if !is_script(first(memory, length), identity, Some(script))? {
        return warm_program(&program, key, first(memory, length), wanted, store, link);
    }
    // By a descriptor it would be given another path.
    let by_path = wanted.flags == 0 && wanted.folder == AT_FDCWD;
    if !by_path || !launch::has_room(wanted.arguments) {
        return Err(Doubt::new(Outcome::OtherWay));
    }
    program.may_be_executed()?;
    interpreter_of(script, wanted, store, memory, link)
}

/// Whether these bytes are the card of a script rather than of a warm program; what that says is kept then, where it may be one.
/// It must be a card of this very file that is not refused.
#[inline(never)]
fn is_script(card_bytes: &[u8], identity: &Identity, script: Option<&mut Script>) -> Result<bool, Doubt> {
    let card = &Card::parse(card_bytes);
    let Some(card) = card else { return Err(Doubt::new(Outcome::Broken)) };
    if card.identity() != identity {
        return Err(Doubt::new(Outcome::Changed));
    }
    match card {
        Card::Warm(_) => Ok(false),
        Card::Refused { dependencies, .. } => Err(refused(dependencies)),
        Card::Script { interpreter, argument, .. } => {
            let kept = script.is_some_and(|script| script.set(interpreter, *argument));
            if kept { Ok(true) } else { Err(Doubt::new(Outcome::OtherWay)) }
        }
    }
}

/// The interpreter of a script: a program by its path, called by the script's name.
fn interpreter_of<'a>(
    script: &Script,
    wanted: &Wanted<'a>,
    store: &mut Store<'_>,
    memory: &'a mut [u8],
    link: &mut PathBuffer,
) -> Result<Ready<'a>, Doubt> {
    let path = script.interpreter().ok_or(Doubt::new(Outcome::OtherWay))?;
    let identity = identity_of(path).map_err(|_| Doubt::of_nothing())?;
    let program = Program { folder: AT_FDCWD, path, flags: 0 };
    let key = identity.key();
    let checked = read_card(&key, store, memory)
        // The kernel knows how to go on from a script to a script.
        .and_then(|length| is_script(first(memory, length), &identity, None).map(|_| length));
    match checked {
        Ok(length) => warm_program(&program, key, first(memory, length), wanted, store, link),
        Err(doubt) => Err(wished(doubt, &identity, path, store)),
    }
}

/// Makes the wish of a doubt, for the interpreter rather than for the script.
#[inline(never)]
fn wished(doubt: Doubt, interpreter: &Identity, path: &CStr, store: &mut Store<'_>) -> Doubt {
    if doubt.wish {
        counted::add_at(store, demand(interpreter));
        store.wish(&interpreter.key(), path);
    }
    Doubt { wish: false, ..doubt }
}

#[inline(never)]
pub(crate) fn identity_of(path: &CStr) -> Result<Identity, calls::Error> {
    calls::stat(path).map(|stat| stat.identity)
}

/// Reads the card with this key, and returns its length.
fn read_card(key: &Key, store: &mut Store<'_>, memory: &mut [u8]) -> Result<usize, Doubt> {
    match store.card(key.as_bytes(), memory) {
        Lookup::Card(length) => Ok(length),
        Lookup::None => Err(Doubt::new(Outcome::NoCard)),
        Lookup::Broken => Err(Doubt::new(Outcome::Broken)),
        Lookup::Unknown => Err(Doubt { wish: false, ..Doubt::new(Outcome::Broken) }),
    }
}

fn first(memory: &[u8], length: usize) -> &[u8] {
    memory.get(..length).unwrap_or(&[])
}

#[inline(never)]
fn warm_program<'a>(
    program: &Program<'_>,
    key: Key,
    card_bytes: &'a [u8],
    wanted: &Wanted<'a>,
    store: &Store<'_>,
    link: &mut PathBuffer,
) -> Result<Ready<'a>, Doubt> {
    let Some(Card::Warm(warm)) = Card::parse(card_bytes) else { return Err(Doubt::new(Outcome::Broken)) };
    let slot = as_usual(warm.slot);
    let doubt = |outcome: Outcome| Doubt { slot, ..Doubt::new(outcome) };
    if start::is_excepted(wanted, warm.program) {
        return Err(Doubt::of_nothing());
    }
    if warm.uid != store.user || !process::has_room(&warm) {
        return Err(doubt(Outcome::Limits));
    }
    if !environment::fits(wanted.environment, store.hook, &warm) {
        return Err(doubt(Outcome::Environment));
    }
    if !program.is_called(warm.program, link) {
        return Err(doubt(Outcome::OtherName));
    }
    program.may_be_executed()?;
    if !warm.dependencies().all(|file| is_still(file.path, file.identity.as_ref())) {
        return Err(doubt(Outcome::Changed));
    }
    let copy = if warm.copies == 1 { 0 } else { calls::random().checked_rem(warm.copies).unwrap_or(0) };
    let image = warm.images().nth(copy as usize).ok_or(doubt(Outcome::Broken))?;
    Ok(Ready { key, copy, image, name: wanted.name.unwrap_or(warm.name.to_bytes()), slot: warm.slot })
}

/// A refusal holds as long as the files that it is based on are what they were.
#[inline(never)]
fn refused(dependencies: &Dependencies<'_>) -> Doubt {
    let holds = dependencies.iter().all(|file| is_still(file.path, file.identity.as_ref()));
    Doubt::new(if holds { Outcome::Refused } else { Outcome::Changed })
}

/// Whether a file is what it was, or as absent as it was.
#[inline(never)]
fn is_still(path: &CStr, was: Option<&Identity>) -> bool {
    match identity_of(path) {
        Ok(identity) => was == Some(&identity),
        Err(ENOENT | ENOTDIR) => was.is_none(),
        Err(_) => false,
    }
}

/// A file that is there, as execveat(2) has it.
struct Program<'a> {
    folder: c_int,
    path: &'a CStr,
    flags: c_int,
}

impl Program<'_> {
    /// The real function says what is wrong, if anything is.
    fn may_be_executed(&self) -> Result<(), Doubt> {
        calls::would_execute(self.folder, self.path, self.flags).map_err(|_| Doubt::of_nothing())
    }

    /// Whether this is its path once symbolic links are followed: libraries may be found by where their program lies.
    fn is_called(&self, path: &CStr, link: &mut PathBuffer) -> bool {
        if self.path == path {
            return true;
        }
        if self.flags & AT_EMPTY_PATH != 0 {
            return leads_to(self.folder, path, link);
        }
        Descriptor::of_path(self.folder, self.path).is_ok_and(|file| leads_to(file.number(), path, link))
    }
}

/// Whether a descriptor's file has this path.
fn leads_to(descriptor: c_int, path: &CStr, link: &mut PathBuffer) -> bool {
    let found = of_descriptor(descriptor);
    found.path().is_some_and(|found| link.fill(|place| calls::readlink(found, place)))
        && link.bytes() == path.to_bytes()
}
