//! Decides whether a program may be executed from a snapshot: checks all conditions of its card.
//!
//! Cheap checks come first. The files that the program loads come last, with one system call each.

use core::ffi::{CStr, c_int};

use super::buffer::{PathBuffer, descriptor_link};
use super::calls::{self, AT_EMPTY_PATH, AT_FDCWD, Descriptor, ENOENT, ENOTDIR};
use super::card::{Card, Dependencies, Outcome, demand};
use super::identity::{Identity, Key};
use super::launch::{self, Script};
use super::start::Fallback;
use super::store::{Lookup, Store};
use super::target::{self, Target};
use super::{counters, environment, process};

/// A snapshot that may be executed.
pub(crate) struct Selected<'a> {
    /// The key of its program.
    pub(crate) key: Key,
    /// The number of the snapshot, from 0: the last directory in its path.
    pub(crate) copy: u32,
    /// The identity that its file must have.
    pub(crate) image: Identity,
    /// Its name: the process is named after it.
    pub(crate) name: &'a [u8],
    /// The index of the program's counter of launches from a snapshot; 0 for none.
    pub(crate) slot: u32,
}

/// Returns the index of the program's counter of normal launches; 0 for none.
pub(crate) fn normal_counter(slot: u32) -> u32 {
    if slot == 0 { 0 } else { slot + 1 }
}

/// Selects the snapshot that may be executed in place of the target. For a script it is the interpreter's, and `script`
/// is set.
#[inline(never)]
pub(crate) fn decide<'a>(
    target: &Target<'a>,
    identity: &Identity,
    store: &mut Store<'_>,
    memory: &'a mut [u8],
    script: &mut Script,
    link: &mut PathBuffer,
) -> Result<Selected<'a>, Fallback> {
    let key = identity.key();
    let program = ProgramFile { directory: target.directory, path: target.path, flags: target.flags };
    let length = read_card(&key, store, memory)?;
    if !is_script(prefix(memory, length), identity, Some(script))? {
        return select(&program, key, prefix(memory, length), target, store, link);
    }
    // The kernel passes a script another path if it is executed by a descriptor.
    let by_path = target.flags == 0 && target.directory == AT_FDCWD;
    if !by_path || !launch::is_supported(target.arguments) {
        return Err(Fallback::new(Outcome::OtherWay));
    }
    program.check_executable()?;
    select_interpreter(script, target, store, memory, link)
}

/// Returns whether these bytes are the card of a script, which is then copied to `script`, rather than of a program
/// with snapshots. Fails if they are not a valid card of this file, or if the file was refused.
#[inline(never)]
fn is_script(card_bytes: &[u8], identity: &Identity, script: Option<&mut Script>) -> Result<bool, Fallback> {
    let card = &Card::parse(card_bytes);
    let Some(card) = card else { return Err(Fallback::new(Outcome::Broken)) };
    if card.identity() != identity {
        let slot = if let Card::Warm(warm) = card { normal_counter(warm.slot) } else { 0 };
        return Err(Fallback { slot, ..Fallback::new(Outcome::Changed) });
    }
    match card {
        Card::Warm(_) => Ok(false),
        Card::Refused { dependencies, .. } => Err(refusal(dependencies)),
        Card::Script { interpreter, argument, .. } => {
            let kept = script.is_some_and(|script| script.set(interpreter, *argument));
            if kept { Ok(true) } else { Err(Fallback::new(Outcome::OtherWay)) }
        }
    }
}

/// Selects a snapshot of the interpreter of a script, with the script's name.
fn select_interpreter<'a>(
    script: &Script,
    target: &Target<'a>,
    store: &mut Store<'_>,
    memory: &'a mut [u8],
    link: &mut PathBuffer,
) -> Result<Selected<'a>, Fallback> {
    let path = script.interpreter().ok_or(Fallback::new(Outcome::OtherWay))?;
    let identity = identity_of(path).map_err(|_| Fallback::uncounted())?;
    let program = ProgramFile { directory: AT_FDCWD, path, flags: 0 };
    let key = identity.key();
    let checked = read_card(&key, store, memory)
        // Nested scripts are left to the kernel.
        .and_then(|length| is_script(prefix(memory, length), &identity, None).map(|_| length));
    match checked {
        Ok(length) => select(&program, key, prefix(memory, length), target, store, link),
        Err(fallback) => Err(request_interpreter(fallback, &identity, path, store)),
    }
}

/// Requests a snapshot of the interpreter, rather than of the script.
#[inline(never)]
fn request_interpreter(fallback: Fallback, interpreter: &Identity, path: &CStr, store: &mut Store<'_>) -> Fallback {
    if fallback.request {
        counters::increment(store, demand(interpreter));
        store.request(&interpreter.key(), path);
    }
    Fallback { request: false, ..fallback }
}

#[inline(never)]
pub(crate) fn identity_of(path: &CStr) -> Result<Identity, calls::Error> {
    calls::stat(path).map(|stat| stat.identity)
}

/// Reads the card with this key. Returns its length.
fn read_card(key: &Key, store: &mut Store<'_>, memory: &mut [u8]) -> Result<usize, Fallback> {
    match store.card(key.as_bytes(), memory) {
        Lookup::Card(length) => Ok(length),
        Lookup::None => Err(Fallback::new(Outcome::NoCard)),
        Lookup::Broken => Err(Fallback::new(Outcome::Broken)),
        Lookup::Unknown => Err(Fallback { request: false, ..Fallback::new(Outcome::Broken) }),
    }
}

fn prefix(memory: &[u8], length: usize) -> &[u8] {
    memory.get(..length).unwrap_or(&[])
}

#[inline(never)]
fn select<'a>(
    program: &ProgramFile<'_>,
    key: Key,
    card_bytes: &'a [u8],
    target: &Target<'a>,
    store: &Store<'_>,
    link: &mut PathBuffer,
) -> Result<Selected<'a>, Fallback> {
    let Some(Card::Warm(warm)) = Card::parse(card_bytes) else { return Err(Fallback::new(Outcome::Broken)) };
    let slot = normal_counter(warm.slot);
    let fallback = |outcome: Outcome| Fallback { slot, ..Fallback::new(outcome) };
    if target::is_excepted(target, warm.program) {
        return Err(Fallback::uncounted());
    }
    if warm.uid != store.user || !process::has_matching_limits(&warm) {
        return Err(fallback(Outcome::Limits));
    }
    if !environment::allows(target.environment, store.hook, &warm) {
        return Err(fallback(Outcome::Environment));
    }
    if !program.has_path(warm.program, link) {
        return Err(fallback(Outcome::OtherName));
    }
    program.check_executable()?;
    if !warm.dependencies().all(|file| is_unchanged(file.path, file.identity.as_ref())) {
        return Err(fallback(Outcome::Changed));
    }
    let copy = if warm.copies == 1 { 0 } else { calls::random().checked_rem(warm.copies).unwrap_or(0) };
    let image = warm.images().nth(copy as usize).ok_or(fallback(Outcome::Broken))?;
    Ok(Selected { key, copy, image, name: target.name.unwrap_or(warm.name.to_bytes()), slot: warm.slot })
}

/// Returns the outcome for a refused program. A refusal is valid while the files that it is based on are unchanged.
#[inline(never)]
fn refusal(dependencies: &Dependencies<'_>) -> Fallback {
    let holds = dependencies.iter().all(|file| is_unchanged(file.path, file.identity.as_ref()));
    Fallback::new(if holds { Outcome::Refused } else { Outcome::Changed })
}

/// Returns whether a file has this identity, or does not exist if that is none.
#[inline(never)]
fn is_unchanged(path: &CStr, expected: Option<&Identity>) -> bool {
    match identity_of(path) {
        Ok(identity) => expected == Some(&identity),
        Err(ENOENT | ENOTDIR) => expected.is_none(),
        Err(_) => false,
    }
}

/// An existing file, in the terms of execveat(2).
struct ProgramFile<'a> {
    directory: c_int,
    path: &'a CStr,
    flags: c_int,
}

impl ProgramFile<'_> {
    /// Checks that the file may be executed. If not, the real function reports the error.
    fn check_executable(&self) -> Result<(), Fallback> {
        calls::check_executable(self.directory, self.path, self.flags).map_err(|_| Fallback::uncounted())
    }

    /// Returns whether this is the file's path without symbolic links. Libraries may be found relative to that.
    fn has_path(&self, path: &CStr, link: &mut PathBuffer) -> bool {
        if self.path == path {
            return true;
        }
        if self.flags & AT_EMPTY_PATH != 0 {
            return descriptor_has_path(self.directory, path, link);
        }
        Descriptor::open_path(self.directory, self.path)
            .is_ok_and(|file| descriptor_has_path(file.number(), path, link))
    }
}

/// Returns whether a descriptor's file has this path.
fn descriptor_has_path(descriptor: c_int, path: &CStr, link: &mut PathBuffer) -> bool {
    let found = descriptor_link(descriptor);
    found.path().is_some_and(|found| link.fill(|buffer| calls::readlink(found, buffer)))
        && link.bytes() == path.to_bytes()
}
