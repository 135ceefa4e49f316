//! Starts a program from a snapshot, if it can be; otherwise counts why not.

use core::ffi::{CStr, c_char, c_int};

use super::buffer::NumberText;
use super::calls::{self, AT_FDCWD, ENOENT, Error};
use super::card::{EXCEPT_VARIABLE, Outcome, excepts};
use super::decide::{self, Ready};
use super::pointers::may_lead;
use super::script::Script;
use super::store::{CardMemory, Store};
use super::{alone, counted, environment, own, wish};

/// A vector of texts with a null pointer at its end.
pub(crate) type Texts = *const *const c_char;

/// A program that somebody is about to start, as execveat(2) has it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// What the path is relative to: a folder; or the program itself, where the flags say AT_EMPTY_PATH.
    pub(crate) folder: c_int,
    pub(crate) path: &'a CStr,
    pub(crate) flags: c_int,
    pub(crate) arguments: Texts,
    pub(crate) environment: Texts,
    /// What the process is to be called by; the program's own name where that is not known.
    pub(crate) name: Option<&'a [u8]>,
}

impl<'a> Wanted<'a> {
    /// A program by its path.
    pub(crate) fn by_path(path: &'a CStr, arguments: Texts, environment: Texts) -> Self {
        let name = path.to_bytes().rsplit(|&letter| letter == b'/').next();
        Wanted { folder: AT_FDCWD, path, flags: 0, arguments, environment, name }
    }
}

/// How it is to be started: given the path, the arguments and the environment, says what went wrong; nothing (0) did if it
/// returns though all went well, as posix_spawn(3) does.
pub(crate) type How<'a> = &'a mut dyn FnMut(&CStr, Texts, Texts) -> Error;

/// What went well.
pub(crate) const WELL: Error = Error(0);

/// Whether it was started: from a snapshot, as a rule. `twice` says whether a failure to execute it may be found out by trying, without
/// anything being done twice.
#[inline(never)]
pub(crate) fn start(mut wanted: Wanted<'_>, twice: bool, how: How<'_>) -> bool {
    if !may_lead(wanted.arguments) {
        return false;
    }
    if wanted.flags == 0
        && let Some(program) = own::instead(wanted.path)
    {
        wanted.path = program;
        wanted.name = None;
    }
    if is_excepted(&wanted, wanted.path) {
        return false;
    }
    let Ok(stat) = calls::stat_at(wanted.folder, wanted.path, wanted.flags) else { return false };
    if !stat.is_file() {
        return false;
    }
    let Some(mut store) = Store::open() else { return twice && alone::start(&wanted, how) };
    let mut memory = CardMemory::new();
    let mut script = Script::new();
    let identity = stat.identity();
    let doubt = match decide::decide(&wanted, &identity, &mut store, &mut memory, &mut script) {
        Ok(ready) => match execute(&wanted, &ready, &mut store, &script, twice, how) {
            Ok(()) => return true,
            Err(doubt) => doubt,
        },
        Err(doubt) => doubt,
    };
    if doubt.wish {
        wish::make(&wanted, &identity, &mut store);
    }
    if let Some(outcome) = doubt.outcome {
        counted::add(&mut store, outcome);
        counted::add_at(&mut store, doubt.slot);
    }
    false
}

/// Whether the user has excepted the program at a path (`steady warm --except`).
pub(crate) fn is_excepted(wanted: &Wanted<'_>, path: &CStr) -> bool {
    environment::value(wanted.environment, EXCEPT_VARIABLE.as_bytes())
        .is_some_and(|list| excepts(list, path.to_bytes()))
}

/// Counts a launch by a way that is left to the real function.
pub(crate) fn other_way() {
    if let Some(mut store) = Store::open() {
        counted::add(&mut store, Outcome::OtherWay);
    }
}

/// What speaks against a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Doubt {
    /// How it is counted; not at all where it is no launch, or nothing is known of it.
    pub(crate) outcome: Option<Outcome>,
    /// Whether the keeper should look at the program.
    pub(crate) wish: bool,
    /// Where else it is counted.
    pub(crate) slot: u32,
}

impl Doubt {
    pub(crate) fn new(outcome: Outcome) -> Self {
        let wish = matches!(outcome, Outcome::NoCard | Outcome::Changed | Outcome::Broken);
        Doubt { outcome: Some(outcome), wish, slot: 0 }
    }

    /// Left to the real function, which says what is wrong if anything is.
    pub(crate) fn of_nothing() -> Self {
        Doubt { outcome: None, wish: false, slot: 0 }
    }
}

fn execute(
    wanted: &Wanted<'_>,
    ready: &Ready,
    store: &mut Store,
    script: &Script,
    twice: bool,
    how: How<'_>,
) -> Result<(), Doubt> {
    let (slot, copy) = (decide::as_usual(ready.slot), NumberText::new(ready.copy));
    let doubt = |outcome, wish| Err(Doubt { outcome: Some(outcome), wish, slot });
    let parts: [&[u8]; 6] = [b"/snapshots/", ready.key.as_bytes(), b"/", copy.bytes(), b"/", ready.name.bytes()];
    match store.path(&parts).map_or(Err(ENOENT), calls::stat) {
        // It was written to, cut off or replaced: the keeper makes it again.
        Ok(file) if file.identity() != ready.image => return doubt(Outcome::Broken, true),
        Ok(_) => {}
        // The keeper gives it that name.
        Err(ENOENT) => return doubt(Outcome::OtherName, true),
        Err(_) => return doubt(Outcome::NotExecuted, false),
    }
    // Nothing can be counted any more once it is executed.
    counted::add(store, Outcome::Warm);
    counted::add_at(store, ready.slot);
    let error = match store.path(&parts) {
        None => ENOENT,
        Some(path) => match if twice { Ok(()) } else { calls::executable(AT_FDCWD, path, 0) } {
            Err(error) => error,
            Ok(()) => script.with_arguments(wanted, path, how),
        },
    };
    if error == WELL {
        return Ok(());
    }
    counted::take_back(store, Outcome::Warm, ready.slot);
    doubt(Outcome::NotExecuted, false)
}
