//! exec(3) and its like. All of them return only if the program could not be executed.

use core::ffi::{CStr, c_char, c_int};

use crate::calls::{self, AT_EMPTY_PATH, AT_FDCWD};
use crate::pointers::Prober;
use crate::real::{self, real};
use crate::start::{self, Given, Program, Texts};

/// Executes a snapshot, if there is one to be executed; returns otherwise.
fn attempt(program: Program<'_>, arguments: Texts, environment: Texts) {
    let given = Given { arguments, environment, acts: false };
    // SAFETY: the vectors are the caller's, or made of it.
    start::start(program, given, &mut |path, arguments, environment| unsafe {
        calls::execve(path, arguments, environment)
    });
}

/// As [`attempt`], by a path.
pub(super) fn attempt_path(path: *const c_char, arguments: Texts, environment: Texts) {
    if let Some(path) = Prober::new().text(path) {
        attempt(Program::Path(path), arguments, environment);
    }
}

/// As [`attempt`], by a name that is searched for.
pub(super) fn attempt_name(name: *const c_char, arguments: Texts, environment: Texts) {
    if let Some(name) = Prober::new().text(name) {
        attempt(Program::Name(name), arguments, environment);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    attempt_path(path, arguments, environment);
    real!(execve(path, arguments, environment) as fn(*const c_char, Texts, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    attempt_path(path, arguments, real::environ());
    real!(execv(path, arguments) as fn(*const c_char, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(name: *const c_char, arguments: Texts) -> c_int {
    attempt_name(name, arguments, real::environ());
    real!(execvp(name, arguments) as fn(*const c_char, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(name: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    attempt_name(name, arguments, environment);
    real!(execvpe(name, arguments, environment) as fn(*const c_char, Texts, Texts) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(program: c_int, arguments: Texts, environment: Texts) -> c_int {
    if program >= 0 {
        attempt(Program::At { folder: program, path: c"", flags: AT_EMPTY_PATH }, arguments, environment);
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
    if let Some(path) = Prober::new().text(path) {
        attempt_at(folder, path, arguments, environment, flags);
    }
    real!(
        execveat(folder, path, arguments, environment, flags) as fn(c_int, *const c_char, Texts, Texts, c_int) -> c_int,
        else real::missing()
    )
}

fn attempt_at(folder: c_int, path: &CStr, arguments: Texts, environment: Texts, flags: c_int) {
    let program = match flags {
        0 if folder == AT_FDCWD || path.to_bytes().starts_with(b"/") => Program::Path(path),
        0 => Program::At { folder, path, flags },
        AT_EMPTY_PATH if path.is_empty() && folder >= 0 => Program::At { folder, path, flags },
        // That links are not to be followed is left to the kernel.
        _ => return start::other_way(),
    };
    attempt(program, arguments, environment);
}
