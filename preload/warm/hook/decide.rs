//! Whether a program may be executed from a snapshot: all that its card asks for.
//!
//! What costs least is asked first; the files that it loads are looked at last, one system call each.

use core::ffi::{CStr, c_int};

use super::buffer::{NumberText, ShortText};
use super::calls::{self, AT_EMPTY_PATH, AT_FDCWD, Descriptor, ENOENT, ENOTDIR};
use super::card::{Card, Dependencies, Outcome, Warm, demand};
use super::identity::{Identity, Key};
use super::script::Script;
use super::start::{self, Doubt, Wanted};
use super::store::{CardMemory, Lookup, Store};
use super::{counted, environment, process};

/// A snapshot that may be executed.
pub(crate) struct Ready {
    /// Whose it is.
    pub(crate) key: Key,
    /// Which one.
    pub(crate) copy: u32,
    /// The file that it must be.
    pub(crate) image: Identity,
    /// What it is called there.
    pub(crate) name: ShortText,
    /// Where it is counted.
    pub(crate) slot: u32,
}

/// Where launches as usual of a program are counted, beside those from a snapshot.
pub(crate) fn as_usual(slot: u32) -> u32 {
    if slot == 0 { 0 } else { slot + 1 }
}

/// Which snapshot may be executed in place of what is wanted. Of a script it is the interpreter's, and the script says with
/// which arguments.
pub(crate) fn decide(
    wanted: &Wanted<'_>,
    identity: &Identity,
    store: &mut Store,
    memory: &mut CardMemory,
    script: &mut Script,
) -> Result<Ready, Doubt> {
    let key = identity.key();
    let program = Program { folder: wanted.folder, path: wanted.path, flags: wanted.flags };
    match card(&key, identity, store, memory)? {
        Card::Refused { dependencies, .. } => return Err(refused(&dependencies)),
        Card::Warm(warm) => return warm_program(&program, &warm, key, wanted, store),
        Card::Script { interpreter, argument, .. } => {
            // By a descriptor it would be told another path.
            let by_path = wanted.flags == 0 && wanted.folder == AT_FDCWD;
            if !by_path || !script.set(interpreter, argument) || !script.has_room(wanted.arguments) {
                return Err(Doubt::new(Outcome::OtherWay));
            }
        }
    }
    program.may_be_executed()?;
    interpreter(script.interpreter(), wanted, store, memory)
}

/// The interpreter of a script: a program by its path, called by the script's name.
fn interpreter(
    path: Option<&CStr>,
    wanted: &Wanted<'_>,
    store: &mut Store,
    memory: &mut CardMemory,
) -> Result<Ready, Doubt> {
    let path = path.ok_or(Doubt::new(Outcome::OtherWay))?;
    let stat = calls::stat(path).map_err(|_| Doubt::of_nothing())?;
    let (identity, program) = (stat.identity(), Program { folder: AT_FDCWD, path, flags: 0 });
    let key = identity.key();
    match card(&key, &identity, store, memory) {
        Ok(Card::Warm(warm)) => warm_program(&program, &warm, key, wanted, store),
        Ok(Card::Refused { dependencies, .. }) => {
            let doubt = refused(&dependencies);
            Err(wished(doubt, &identity, path, store))
        }
        // The kernel knows how to go on from a script to a script.
        Ok(Card::Script { .. }) => Err(Doubt::new(Outcome::OtherWay)),
        Err(doubt) => Err(wished(doubt, &identity, path, store)),
    }
}

/// Makes the wish of a doubt, for the interpreter rather than for the script.
fn wished(doubt: Doubt, interpreter: &Identity, path: &CStr, store: &mut Store) -> Doubt {
    if doubt.wish {
        counted::add_at(store, demand(interpreter));
        store.wish(&interpreter.key(), path);
    }
    Doubt { wish: false, ..doubt }
}

/// The card of this very file.
fn card<'m>(key: &Key, identity: &Identity, store: &mut Store, memory: &'m mut CardMemory) -> Result<Card<'m>, Doubt> {
    let bytes = match store.card(key, memory) {
        Lookup::Card(bytes) => bytes,
        Lookup::None => return Err(Doubt::new(Outcome::NoCard)),
        Lookup::Broken => return Err(Doubt::new(Outcome::Broken)),
        Lookup::Unknown => return Err(Doubt { wish: false, ..Doubt::new(Outcome::Broken) }),
    };
    let card = Card::parse(bytes).ok_or(Doubt::new(Outcome::Broken))?;
    if card.identity() == identity { Ok(card) } else { Err(Doubt::new(Outcome::Changed)) }
}

fn warm_program(
    program: &Program<'_>,
    warm: &Warm<'_>,
    key: Key,
    wanted: &Wanted<'_>,
    store: &Store,
) -> Result<Ready, Doubt> {
    let slot = as_usual(warm.slot);
    let doubt = |outcome: Outcome| Doubt { slot, ..Doubt::new(outcome) };
    if start::is_excepted(wanted, warm.program) {
        return Err(Doubt::of_nothing());
    }
    if warm.uid != store.user || !process::has_room(warm) {
        return Err(doubt(Outcome::Limits));
    }
    if !environment::fits(wanted.environment, store.hook, warm) {
        return Err(doubt(Outcome::Environment));
    }
    let name = ShortText::new(wanted.name.unwrap_or(warm.name.to_bytes())).ok_or(doubt(Outcome::OtherName))?;
    if !program.is_called(warm.program) {
        return Err(doubt(Outcome::OtherName));
    }
    program.may_be_executed()?;
    if !warm.dependencies().all(|file| is_still(file.path, file.identity.as_ref())) {
        return Err(doubt(Outcome::Changed));
    }
    let copy = if warm.copies == 1 { 0 } else { calls::random().checked_rem(warm.copies).unwrap_or(0) };
    let image = warm.images().nth(copy as usize).ok_or(doubt(Outcome::Broken))?;
    Ok(Ready { key, copy, image, name, slot: warm.slot })
}

/// A refusal holds as long as the files that it is based on are what they were.
fn refused(dependencies: &Dependencies<'_>) -> Doubt {
    let holds = dependencies.iter().all(|file| is_still(file.path, file.identity.as_ref()));
    Doubt::new(if holds { Outcome::Refused } else { Outcome::Changed })
}

/// Whether a file is what it was, or as absent as it was.
fn is_still(path: &CStr, was: Option<&Identity>) -> bool {
    match calls::stat(path) {
        Ok(stat) => was == Some(&stat.identity()),
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
    fn is_called(&self, path: &CStr) -> bool {
        if self.path == path {
            return true;
        }
        if self.flags & AT_EMPTY_PATH != 0 {
            return leads_to(self.folder, path);
        }
        Descriptor::of_path(self.folder, self.path).is_ok_and(|file| leads_to(file.number(), path))
    }
}

/// Whether a descriptor's file has this path.
fn leads_to(descriptor: c_int, path: &CStr) -> bool {
    let mut link = ShortText::empty();
    link.push(b"/proc/self/fd/").push(NumberText::new(descriptor as u32).bytes());
    let mut found = [0; 512];
    let length = link.path().map(|link| calls::readlink(link, &mut found));
    matches!(length, Some(Ok(length)) if found.get(..length) == Some(path.to_bytes()))
}
