//! posix_spawn(3): calls the real function with the snapshot's path in place of the program's.

use core::ffi::{c_char, c_int, c_void};

use crate::calls::Error;
use crate::pointers::Prober;
use crate::real::{self, real};
use crate::start;
use crate::target::{Invocation, Program, Strings};

/// `posix_spawn_file_actions_t`: its first two fields.
#[repr(C)]
struct FileActions {
    allocated: c_int,
    used: c_int,
}

/// The arguments that are passed on unchanged.
#[derive(Clone, Copy)]
struct OtherArguments {
    pid: *mut c_int,
    actions: *const FileActions,
    attributes: *const c_void,
}

/// Starts a program from a snapshot. Returns the result; none if the real function must be called.
fn attempt(program: Program<'_>, others: OtherArguments, arguments: Strings, environment: Strings) -> Option<c_int> {
    // SAFETY: if not null, it points to such a structure.
    let has_file_actions = !others.actions.is_null() && unsafe { (*others.actions).used } != 0;
    let invocation = Invocation { arguments, environment, has_file_actions };
    let result = start::start(program, invocation, &mut |path, arguments, environment| {
        Error(real_spawn(path.as_ptr(), others, arguments, environment))
    });
    result.map(|error| error.0)
}

fn real_spawn(path: *const c_char, others: OtherArguments, arguments: Strings, environment: Strings) -> c_int {
    real!(
        posix_spawn(others.pid, path, others.actions, others.attributes, arguments, environment)
            as fn(*mut c_int, *const c_char, *const FileActions, *const c_void, Strings, Strings) -> c_int,
        else real::missing()
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const FileActions,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let others = OtherArguments { pid, actions, attributes };
    let result = Prober::new().text(path).and_then(|path| attempt(Program::Path(path), others, arguments, environment));
    result.unwrap_or_else(|| real_spawn(path, others, arguments, environment))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut c_int,
    name: *const c_char,
    actions: *const FileActions,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let others = OtherArguments { pid, actions, attributes };
    let result = Prober::new().text(name).and_then(|name| attempt(Program::Name(name), others, arguments, environment));
    result.unwrap_or_else(|| {
        real!(
            posix_spawnp(pid, name, actions, attributes, arguments, environment)
                as fn(*mut c_int, *const c_char, *const FileActions, *const c_void, Strings, Strings) -> c_int,
            else real::missing()
        )
    })
}
