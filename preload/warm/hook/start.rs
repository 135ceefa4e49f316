//! Starts a program from a snapshot, if it can be; otherwise counts why not.

use core::ffi::{CStr, c_char, c_int};

use super::buffer::{NumberText, PathBuffer};
use super::calls::{self, AT_FDCWD, ENOENT, Error};
use super::card::{EXCEPT_VARIABLE, Outcome, excepts};
use super::decide::{self, Ready};
use super::launch::{self, Launch};
use super::pointers::{is_vector, is_vector_of_texts};
use super::scratch::{Mapped, Memory, Scratch};
use super::script::Script;
use super::store::Store;
use super::{alone, counted, environment, own, process, search, wish};

/// A vector of texts with a null pointer at its end.
pub(crate) type Texts = *const *const c_char;

/// A program as a caller names it.
#[derive(Clone, Copy)]
pub(crate) enum Program<'a> {
    /// By its path.
    Path(&'a CStr),
    /// By a name that is searched for, as execvp(3) does.
    Name(&'a CStr),
    /// As execveat(2) has it: relative to a folder; or a descriptor, with the flag AT_EMPTY_PATH.
    At { folder: c_int, path: &'a CStr, flags: c_int },
}

/// What else a caller gives.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) arguments: Texts,
    pub(crate) environment: Texts,
    /// Whether something is done before the program is executed that changes what a path leads to, and must not be done twice.
    pub(crate) acts: bool,
}

/// A program that is about to be started, as execveat(2) has it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// What the path is relative to: a folder; or the program itself, where the flags say AT_EMPTY_PATH.
    pub(crate) folder: c_int,
    pub(crate) path: &'a CStr,
    pub(crate) flags: c_int,
    pub(crate) arguments: Texts,
    pub(crate) environment: Texts,
    /// What the process is called by; the program's own name where that is not known.
    pub(crate) name: Option<&'a [u8]>,
}

impl<'a> Wanted<'a> {
    /// The program; none where it is not found. `found` has room for its path.
    fn new(program: Program<'a>, given: Given, found: &'a mut PathBuffer) -> Option<Self> {
        let Given { arguments, environment, .. } = given;
        let (folder, path, flags) = match program {
            Program::Path(path) => (AT_FDCWD, path, 0),
            Program::Name(name) => (AT_FDCWD, search::find(name, found)?, 0),
            Program::At { folder, path, flags } => (folder, path, flags),
        };
        if let Some(path) = own::instead(path).filter(|_| flags == 0) {
            return Some(Wanted { folder, path, flags, arguments, environment, name: None });
        }
        let name = path.to_bytes().rsplit(|&letter| letter == b'/').next().filter(|_| flags == 0);
        Some(Wanted { folder, path, flags, arguments, environment, name })
    }

    /// Whether its path leads to the same file whatever descriptors and working directory it has.
    fn is_settled(&self) -> bool {
        let path = self.path.to_bytes();
        path.starts_with(b"/") && !path.starts_with(b"/proc/") && !path.starts_with(b"/dev/")
    }
}

/// How it is started: given the path, the arguments and the environment, says what went wrong; nothing (0) did if it
/// returns though all went well, as posix_spawn(3) does.
pub(crate) type How<'a> = &'a mut dyn FnMut(&CStr, Texts, Texts) -> Error;

/// What went well.
pub(crate) const WELL: Error = Error(0);

/// How a program can be started.
enum Prepared {
    /// By the real function.
    AsUsual,
    /// From a snapshot; it is counted there.
    Warm { slot: u32 },
    /// Without the hook.
    Alone,
}

/// Whether it was started: from a snapshot, as a rule.
#[inline(never)]
pub(crate) fn start(program: Program<'_>, given: Given, how: How<'_>) -> bool {
    let Given { arguments, environment, acts } = given;
    // The kernel looks at the texts of arguments itself; but it must not find out after something was done that is not done twice.
    let readable = is_vector(arguments) && (!acts || is_vector_of_texts(arguments)) && is_vector_of_texts(environment);
    if !readable {
        return false;
    }
    let Some(mut mapped) = Mapped::new() else { return false };
    let prepared = prepare(program, given, mapped.get());
    match prepared {
        Prepared::AsUsual => false,
        Prepared::Alone => alone::start(mapped, given, how),
        Prepared::Warm { slot } => execute(mapped, slot, given, how),
    }
}

/// Executes a snapshot, once the scratch memory is given back.
#[inline(never)]
fn execute(mut mapped: Mapped, slot: u32, given: Given, how: How<'_>) -> bool {
    let launch = mapped.get().launch.clone();
    drop(mapped);
    let started = launch.execute(given.arguments, given.environment, how) == WELL;
    if !started {
        counted::correct([Outcome::Warm as u32, slot], [Outcome::NotExecuted as u32, decide::as_usual(slot)]);
    }
    started
}

/// Whether the user has excepted the program at a path (`steady warm --except`).
pub(crate) fn is_excepted(wanted: &Wanted<'_>, path: &CStr) -> bool {
    environment::value(wanted.environment, EXCEPT_VARIABLE.as_bytes())
        .is_some_and(|list| excepts(list, path.to_bytes()))
}

/// Counts a launch by a way that is left to the real function.
pub(crate) fn other_way() {
    if let Some(mut mapped) = Mapped::new()
        && let Some(mut store) = Store::open(&mut mapped.get().memory.store)
    {
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

/// Finds out how the program can be started, and what is executed then.
#[inline(never)]
fn prepare(program: Program<'_>, given: Given, scratch: &mut Scratch) -> Prepared {
    let Scratch { launch, memory, found } = scratch;
    let Some(wanted) = Wanted::new(program, given, found) else { return Prepared::AsUsual };
    if is_excepted(&wanted, wanted.path) {
        return Prepared::AsUsual;
    }
    let Memory { store, script, card, link } = memory;
    if process::starts_services() || (given.acts && !wanted.is_settled()) {
        if let Some(mut store) = Store::open(store) {
            counted::add(&mut store, Outcome::OtherWay);
        }
        return Prepared::AsUsual;
    }
    let Ok(stat) = calls::stat_at(wanted.folder, wanted.path, wanted.flags) else { return Prepared::AsUsual };
    if !stat.is_file() {
        return Prepared::AsUsual;
    }
    let Some(mut store) = Store::open(store) else {
        let alone = !given.acts && alone::prepare(&wanted, launch);
        return if alone { Prepared::Alone } else { Prepared::AsUsual };
    };
    let ready = &decide::decide(&wanted, &stat.identity, &mut store, card, script, link);
    let prepared = match ready {
        Ok(ready) => put_together(&wanted, ready, &mut store, script, launch),
        Err(doubt) => Err(*doubt),
    };
    let doubt = match prepared {
        Ok(slot) => return Prepared::Warm { slot },
        Err(doubt) => doubt,
    };
    if doubt.wish {
        wish::make(&wanted, &stat.identity, &mut store, link);
    }
    if let Some(outcome) = doubt.outcome {
        counted::add(&mut store, outcome);
        counted::add_at(&mut store, doubt.slot);
    }
    Prepared::AsUsual
}

/// Puts together what is executed, and counts the launch, which cannot be done any more once it is. Returns where else it is
/// counted.
#[inline(never)]
fn put_together(
    wanted: &Wanted<'_>,
    ready: &Ready<'_>,
    store: &mut Store<'_>,
    script: &Script,
    launch: &mut Launch,
) -> Result<u32, Doubt> {
    let slot = ready.slot;
    let failed = |outcome, wish| Doubt { outcome: Some(outcome), wish, slot: decide::as_usual(slot) };
    let copy = NumberText::new(ready.copy);
    let parts: [&[u8]; 6] = [b"/snapshots/", ready.key.as_bytes(), b"/", copy.bytes(), b"/", ready.name];
    let path = store.path(&parts).ok_or(failed(Outcome::NotExecuted, false))?;
    match decide::identity_of(path) {
        // It was written to, cut off or replaced: the keeper makes it again.
        Ok(identity) if identity != ready.image => return Err(failed(Outcome::Broken, true)),
        Ok(_) => {}
        // Where it has no such name, the keeper gives it one.
        Err(ENOENT) => return Err(failed(Outcome::OtherName, true)),
        Err(_) => return Err(failed(Outcome::NotExecuted, false)),
    }
    calls::executable(AT_FDCWD, path, 0).map_err(|_| failed(Outcome::NotExecuted, false))?;
    let mut complete = launch.add(path.to_bytes());
    if let Some(interpreter) = script.interpreter() {
        complete = complete && launch::has_room(wanted.arguments) && launch.add(interpreter.to_bytes());
        if let Some(argument) = script.argument() {
            complete = complete && launch.add(argument.to_bytes());
        }
        complete = complete && launch.add(wanted.path.to_bytes());
    }
    if !complete {
        return Err(failed(Outcome::OtherWay, false));
    }
    counted::add(store, Outcome::Warm);
    counted::add_at(store, slot);
    Ok(slot)
}
