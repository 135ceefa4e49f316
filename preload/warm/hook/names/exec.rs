//! exec(3) and similar functions. They return only on failure.

use core::ffi::{CStr, c_char, c_int};

use crate::calls::{self, AT_EMPTY_PATH, AT_FDCWD};
use crate::pointers::Prober;
use crate::real::{self, real};
use crate::start;
use crate::target::{Invocation, Program, Strings};

/// Executes a snapshot, if possible; returns otherwise.
fn attempt(program: Program<'_>, arguments: Strings, environment: Strings) {
    let invocation = Invocation { arguments, environment, has_file_actions: false };
    // SAFETY: the vectors are the caller's or made from it, and null-terminated.
    start::start(program, invocation, &mut |path, arguments, environment| unsafe {
        calls::execve(path, arguments, environment)
    });
}

/// Like [`attempt`], by path.
pub(super) fn attempt_path(path: *const c_char, arguments: Strings, environment: Strings) {
    if let Some(path) = Prober::new().text(path) {
        attempt(Program::Path(path), arguments, environment);
    }
}

/// Like [`attempt`], by a name that is searched for in PATH.
pub(super) fn attempt_name(name: *const c_char, arguments: Strings, environment: Strings) {
    if let Some(name) = Prober::new().text(name) {
        attempt(Program::Name(name), arguments, environment);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    attempt_path(path, arguments, environment);
    real!(execve(path, arguments, environment) as fn(*const c_char, Strings, Strings) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    attempt_path(path, arguments, real::environ());
    real!(execv(path, arguments) as fn(*const c_char, Strings) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(name: *const c_char, arguments: Strings) -> c_int {
    attempt_name(name, arguments, real::environ());
    real!(execvp(name, arguments) as fn(*const c_char, Strings) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(name: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    attempt_name(name, arguments, environment);
    real!(execvpe(name, arguments, environment) as fn(*const c_char, Strings, Strings) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(program: c_int, arguments: Strings, environment: Strings) -> c_int {
    if program >= 0 {
        attempt(Program::At { directory: program, path: c"", flags: AT_EMPTY_PATH }, arguments, environment);
    }
    real!(fexecve(program, arguments, environment) as fn(c_int, Strings, Strings) -> c_int, else real::missing())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    if let Some(path) = Prober::new().text(path) {
        attempt_at(directory, path, arguments, environment, flags);
    }
    real!(
        execveat(directory, path, arguments, environment, flags) as fn(c_int, *const c_char, Strings, Strings, c_int) -> c_int,
        else real::missing()
    )
}

fn attempt_at(directory: c_int, path: &CStr, arguments: Strings, environment: Strings, flags: c_int) {
    let program = match flags {
        0 if directory == AT_FDCWD || path.to_bytes().starts_with(b"/") => Program::Path(path),
        0 => Program::At { directory, path, flags },
        AT_EMPTY_PATH if path.is_empty() && directory >= 0 => Program::At { directory, path, flags },
        // AT_SYMLINK_NOFOLLOW is left to the kernel.
        _ => return start::count_unsupported(),
    };
    attempt(program, arguments, environment);
}
