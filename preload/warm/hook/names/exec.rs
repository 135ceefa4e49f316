//! exec(3) and its like. All of them return only if the program could not be executed.

use core::ffi::{CStr, c_char, c_int};

use crate::buffer::PathBuffer;
use crate::calls::{self, AT_EMPTY_PATH, AT_FDCWD};
use crate::pointers::may_lead;
use crate::real::{self, real};
use crate::search;
use crate::start::{self, Texts, Wanted};

/// Executes a snapshot, if there is one to be executed; returns otherwise.
pub(super) fn attempt(wanted: Wanted<'_>) {
    // SAFETY: the vectors are the caller's, or made of it.
    start::start(wanted, true, &mut |path, arguments, environment| unsafe {
        calls::execve(path, arguments, environment)
    });
}

/// As [`attempt`], by a path.
///
/// # Safety
///
/// The path is null or a text, and the vectors are null or such.
pub(super) unsafe fn attempt_path(path: *const c_char, arguments: Texts, environment: Texts) {
    if may_lead(path) {
        // SAFETY: it is a text then.
        attempt(Wanted::by_path(unsafe { CStr::from_ptr(path) }, arguments, environment));
    }
}

/// As [`attempt`], by a name that is searched for.
///
/// # Safety
///
/// As [`attempt_path`] has it.
#[inline(never)]
pub(super) unsafe fn attempt_name(name: *const c_char, arguments: Texts, environment: Texts) {
    if !may_lead(name) {
        return;
    }
    let mut path = PathBuffer::empty();
    // SAFETY: it is a text then.
    if let Some(path) = search::find(unsafe { CStr::from_ptr(name) }, &mut path) {
        attempt(Wanted::by_path(path, arguments, environment));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    // SAFETY: the caller has it as execve(2) does.
    unsafe { attempt_path(path, arguments, environment) };
    real!(execve(path, arguments, environment) as fn(*const c_char, Texts, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the caller has it as execv(3) does.
    unsafe { attempt_path(path, arguments, real::environ()) };
    real!(execv(path, arguments) as fn(*const c_char, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(name: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the caller has it as execvp(3) does.
    unsafe { attempt_name(name, arguments, real::environ()) };
    real!(execvp(name, arguments) as fn(*const c_char, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(name: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    // SAFETY: the caller has it as execvpe(3) does.
    unsafe { attempt_name(name, arguments, environment) };
    real!(execvpe(name, arguments, environment) as fn(*const c_char, Texts, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(program: c_int, arguments: Texts, environment: Texts) -> c_int {
    if program >= 0 {
        attempt(Wanted { folder: program, path: c"", flags: AT_EMPTY_PATH, arguments, environment, name: None });
    }
    real!(fexecve(program, arguments, environment) as fn(c_int, Texts, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Texts,
    environment: Texts,
    flags: c_int,
) -> c_int {
    if may_lead(path) {
        // SAFETY: the caller has it as execveat(2) does.
        attempt_at(folder, unsafe { CStr::from_ptr(path) }, arguments, environment, flags);
    }
    real!(
        execveat(folder, path, arguments, environment, flags) as fn(c_int, *const c_char, Texts, Texts, c_int) -> c_int,
        else real::missing()
    )
}

fn attempt_at(folder: c_int, path: &CStr, arguments: Texts, environment: Texts, flags: c_int) {
    let by_path = Wanted::by_path(path, arguments, environment);
    match flags {
        0 if folder == AT_FDCWD || path.to_bytes().starts_with(b"/") => attempt(by_path),
        0 => attempt(Wanted { folder, ..by_path }),
        AT_EMPTY_PATH if path.is_empty() && folder >= 0 => attempt(Wanted { folder, flags, name: None, ..by_path }),
        // That links are not to be followed is left to the kernel.
        _ => start::other_way(),
    }
}
