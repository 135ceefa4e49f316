//! Starts a program from a snapshot if possible, and counts the outcome.

use core::ffi::{CStr, c_char};
use core::ptr;

use super::buffer::{NumberText, PathBuffer};
use super::calls::{self, AT_FDCWD, ENOENT, Error};
use super::card::{OBSERVED, OBSERVED_VARIABLE, Outcome, separator};
use super::counters::{self, LaunchCounters};
use super::decide::{self, Selected};
use super::launch::{self, Launch, Script};
use super::pointers::{is_vector, is_vector_of_strings};
use super::proc_exe::ProgramFile;
use super::scratch::{Mapped, Memory, Scratch};
use super::store::{self, Store};
use super::target::{Invocation, Program, Strings, Target, is_excepted, request_snapshot};
use super::{environment, process};

/// The function that executes a path with arguments and environment. Returns an errno. Functions like posix_spawn(3)
/// return [`SUCCESS`]; execve(2) does not return then.
pub(crate) type Execute<'a> = &'a mut dyn FnMut(&CStr, Strings, Strings) -> Error;

pub(crate) const SUCCESS: Error = Error(0);

/// How a program is going to be started.
enum Prepared {
    /// By the real function.
    Normal,
    /// From a snapshot. `slot` is the index of the program's counter.
    Warm { slot: u32 },
    /// By its own path, but without the hook.
    WithoutHook,
}

/// Starts the program from a snapshot, or without the hook. Returns the result; none if the real function must be
/// called.
pub(crate) fn start(program: Program<'_>, invocation: Invocation, execute: Execute<'_>) -> Option<Error> {
    match program.of_link() {
        Some(file) => start_program_of_link(file, invocation, execute),
        None => start_program(program, invocation, execute),
    }
}

/// Starts the program of a process that runs from a snapshot, by its own path. The real function would follow the link,
/// and execute the snapshot without any check. It is called only if the program's file cannot be executed any more.
#[inline(never)]
fn start_program_of_link(mut file: ProgramFile, invocation: Invocation, execute: Execute<'_>) -> Option<Error> {
    let mut path = PathBuffer::empty();
    path.push(file.path()?.to_bytes());
    drop(file);
    let path = path.path()?;
    start_program(Program::Path(path), invocation, execute).or_else(|| {
        let result = execute(path, invocation.arguments, invocation.environment);
        (result == SUCCESS || invocation.has_file_actions).then_some(result)
    })
}

#[inline(never)]
fn start_program(program: Program<'_>, invocation: Invocation, execute: Execute<'_>) -> Option<Error> {
    let Invocation { arguments, environment, has_file_actions } = invocation;
    // The kernel checks the strings of arguments, but with file actions that would be too late, after they were
    // performed.
    let readable = is_vector(arguments)
        && (!has_file_actions || is_vector_of_strings(arguments))
        && is_vector_of_strings(environment);
    if !readable {
        return None;
    }
    let mut mapped = Mapped::new()?;
    let prepared = prepare(program, invocation, mapped.get());
    match prepared {
        Prepared::Normal => None,
        Prepared::WithoutHook => start_without_hook(mapped, invocation, execute),
        Prepared::Warm { slot } => execute_snapshot(mapped, slot, invocation, execute),
    }
}

/// Executes a snapshot. The scratch memory is released before that.
#[inline(never)]
fn execute_snapshot(mut mapped: Mapped, slot: u32, invocation: Invocation, execute: Execute<'_>) -> Option<Error> {
    let launch = mapped.get().launch.clone();
    drop(mapped);
    let result = launch.execute(invocation.arguments, invocation.environment, execute);
    if result == SUCCESS {
        return Some(result);
    }
    let observed = observed_counter(invocation.environment);
    let counted = LaunchCounters { outcome: Outcome::Warm, program: slot, observed };
    let program = decide::normal_counter(slot);
    let actual = LaunchCounters { outcome: Outcome::NotExecuted, program, observed: 0 };
    counters::correct(counted, actual);
    // The real function would perform the file actions again. It is called only if the snapshot is the reason.
    let is_executable = |path| calls::check_executable(AT_FDCWD, path, 0).is_ok();
    (invocation.has_file_actions && launch.path().is_some_and(is_executable)).then_some(result)
}

/// Counts a launch that is left to the real function because the hook does not support its form.
pub(crate) fn count_unsupported() {
    if let Some(mut mapped) = Mapped::new()
        && let Some(mut store) = Store::open(&mut mapped.get().memory.store)
    {
        counters::count(&mut store, Outcome::OtherWay);
    }
}

/// Why a program is not started from a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Fallback {
    /// The outcome to count; none if the launch fails or nothing is known about the program.
    pub(crate) outcome: Option<Outcome>,
    /// Whether to request a snapshot from the keeper.
    pub(crate) request: bool,
    /// The index of the program's counter to increment; 0 for none.
    pub(crate) slot: u32,
}

impl Fallback {
    pub(crate) fn new(outcome: Outcome) -> Self {
        let request = matches!(outcome, Outcome::NoCard | Outcome::Changed | Outcome::Broken);
        Fallback { outcome: Some(outcome), request, slot: 0 }
    }

    /// Leaves the program to the real function, which reports the error if there is one.
    pub(crate) fn uncounted() -> Self {
        Fallback { outcome: None, request: false, slot: 0 }
    }
}

/// Finds out how the program can be started. Stores what to execute in the scratch memory.
#[inline(never)]
fn prepare(program: Program<'_>, invocation: Invocation, scratch: &mut Scratch) -> Prepared {
    let Scratch { launch, memory, found } = scratch;
    let Some(target) = Target::new(program, invocation, found) else { return Prepared::Normal };
    if is_excepted(&target, target.path) {
        return Prepared::Normal;
    }
    let Memory { store, script, card, link } = memory;
    if process::starts_services() || (invocation.has_file_actions && !target.is_stable()) {
        if let Some(mut store) = Store::open(store) {
            counters::count(&mut store, Outcome::OtherWay);
        }
        return Prepared::Normal;
    }
    let Ok(stat) = calls::stat_at(target.directory, target.path, target.flags) else { return Prepared::Normal };
    if !stat.is_file() {
        return Prepared::Normal;
    }
    let Some(mut store) = Store::open(store) else {
        let without_hook = !invocation.has_file_actions && prepare_without_hook(&target, launch);
        return if without_hook { Prepared::WithoutHook } else { Prepared::Normal };
    };
    let selected = &decide::decide(&target, &stat.identity, &mut store, card, script, link);
    let prepared = match selected {
        Ok(selected) => assemble(&target, selected, &mut store, script, launch),
        Err(fallback) => Err(*fallback),
    };
    let fallback = match prepared {
        Ok(slot) => return Prepared::Warm { slot },
        Err(fallback) => fallback,
    };
    if fallback.request {
        request_snapshot(&target, &stat.identity, &mut store, link);
    }
    if let Some(outcome) = fallback.outcome {
        counters::count(&mut store, outcome);
        counters::increment(&mut store, fallback.slot);
    }
    Prepared::Normal
}

/// Stores the path and arguments to execute in `launch`, and counts the launch, which is not possible after the
/// execve(2). Returns the index of the program's counter.
#[inline(never)]
fn assemble(
    target: &Target<'_>,
    selected: &Selected<'_>,
    store: &mut Store<'_>,
    script: &Script,
    launch: &mut Launch,
) -> Result<u32, Fallback> {
    let slot = selected.slot;
    let failed = |outcome, request| Fallback { outcome: Some(outcome), request, slot: decide::normal_counter(slot) };
    let copy = NumberText::new(selected.copy);
    let before_name = separator(script.interpreter().is_some()).as_bytes();
    let parts: [&[u8]; 6] = [b"/snapshots/", selected.key.as_bytes(), b"/", copy.bytes(), before_name, selected.name];
    let path = store.path(&parts).ok_or(failed(Outcome::NotExecuted, false))?;
    match decide::identity_of(path) {
        // It was modified, truncated or replaced: the keeper captures it again.
        Ok(identity) if identity != selected.image => return Err(failed(Outcome::Broken, true)),
        Ok(_) => {}
        // The snapshot has no such name yet: the keeper adds it.
        Err(ENOENT) => return Err(failed(Outcome::OtherName, true)),
        Err(_) => return Err(failed(Outcome::NotExecuted, false)),
    }
    calls::check_access(AT_FDCWD, path, 0).map_err(|_| failed(Outcome::NotExecuted, false))?;
    let mut complete = launch.add(path.to_bytes());
    if let Some(interpreter) = script.interpreter() {
        complete = complete && launch::is_supported(target.arguments) && launch.add(interpreter.to_bytes());
        if let Some(argument) = script.argument() {
            complete = complete && launch.add(argument.to_bytes());
        }
        complete = complete && launch.add(target.path.to_bytes());
    }
    if !complete {
        return Err(failed(Outcome::OtherWay, false));
    }
    counters::count(store, Outcome::Warm);
    counters::increment(store, slot);
    counters::increment(store, observed_counter(target.environment));
    Ok(slot)
}

/// Returns the index of the counter of this process's own launches; 0 if it does not ask for one.
fn observed_counter(environment: Strings) -> u32 {
    match environment::value(environment, OBSERVED_VARIABLE.as_bytes()) {
        Some(process) if process == NumberText::new(calls::getpid()).bytes() => OBSERVED,
        _ => 0,
    }
}

/// Limits the stack needed for the copy of the environment. The hook is not removed from longer ones.
const FEW_VARIABLES: usize = 64;
const MOST_VARIABLES: usize = 512;

/// Prepares a start without the hook in the environment. After chroot(2), in another mount namespace or as another
/// user, ld.so could not open the hook and would print an error. Returns whether this is possible.
fn prepare_without_hook(target: &Target<'_>, launch: &mut Launch) -> bool {
    target.flags == 0 && target.directory == AT_FDCWD && launch.add(target.path.to_bytes())
}

/// Starts the program. Returns none if it could not.
fn start_without_hook(mapped: Mapped, invocation: Invocation, execute: Execute<'_>) -> Option<Error> {
    match environment::entries(invocation.environment).take(MOST_VARIABLES).count() {
        0..FEW_VARIABLES => execute_without_hook::<FEW_VARIABLES>(mapped, invocation, execute),
        FEW_VARIABLES..MOST_VARIABLES => execute_without_hook::<MOST_VARIABLES>(mapped, invocation, execute),
        _ => None,
    }
}

#[inline(never)]
fn execute_without_hook<const ROOM: usize>(
    mut mapped: Mapped,
    invocation: Invocation,
    execute: Execute<'_>,
) -> Option<Error> {
    let hook = store::hook_path()?;
    let Invocation { arguments, environment, .. } = invocation;
    let launch = mapped.get().launch.clone();
    drop(mapped);
    let mut kept = [ptr::null::<c_char>(); ROOM];
    let is_hook = |entry: &[u8]| entry.strip_prefix(b"LD_PRELOAD=") == Some(hook.to_bytes());
    let others = environment::entries(environment).filter(|entry| !is_hook(entry.to_bytes()));
    let mut count = 0;
    for (entry, slot) in others.zip(kept.iter_mut().take(ROOM - 1)) {
        *slot = entry.as_ptr();
        count += 1;
    }
    // If the hook was not in the environment, the real function starts the program.
    let is_shorter = count < environment::entries(environment).count();
    is_shorter.then(|| launch.execute(arguments, kept.as_ptr(), execute)).filter(|result| *result == SUCCESS)
}
