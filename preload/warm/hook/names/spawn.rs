//! posix_spawn(3): the real one, with the snapshot's path in place of the program's.

use core::ffi::{c_char, c_int, c_void};

use crate::calls::Error;
use crate::pointers::Prober;
use crate::real::{self, real};
use crate::start::{self, Given, Program, Texts};

/// What is done to descriptors and folders before the program is executed, as the C library has it.
#[repr(C)]
struct FileActions {
    allocated: c_int,
    used: c_int,
}

/// The arguments that are handed on as they are.
#[derive(Clone, Copy)]
struct Others {
    pid: *mut c_int,
    actions: *const FileActions,
    attributes: *const c_void,
}

/// Whether it was started from a snapshot.
fn attempt(program: Program<'_>, others: Others, arguments: Texts, environment: Texts) -> bool {
    // SAFETY: where it is not null it is such a struct.
    let acts = !others.actions.is_null() && unsafe { (*others.actions).used } != 0;
    let given = Given { arguments, environment, acts };
    start::start(program, given, &mut |path, arguments, environment| {
        Error(real_spawn(path.as_ptr(), others, arguments, environment))
    })
}

fn real_spawn(path: *const c_char, others: Others, arguments: Texts, environment: Texts) -> c_int {
    real!(
        posix_spawn(others.pid, path, others.actions, others.attributes, arguments, environment)
            as fn(*mut c_int, *const c_char, *const FileActions, *const c_void, Texts, Texts) -> c_int,
        else real::missing()
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const FileActions,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    let others = Others { pid, actions, attributes };
    if let Some(path) = Prober::new().text(path)
        && attempt(Program::Path(path), others, arguments, environment)
    {
        return 0;
    }
    real_spawn(path, others, arguments, environment)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut c_int,
    name: *const c_char,
    actions: *const FileActions,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    let others = Others { pid, actions, attributes };
    if let Some(name) = Prober::new().text(name)
        && attempt(Program::Name(name), others, arguments, environment)
    {
        return 0;
    }
    real!(
        posix_spawnp(pid, name, actions, attributes, arguments, environment)
            as fn(*mut c_int, *const c_char, *const FileActions, *const c_void, Texts, Texts) -> c_int,
        else real::missing()
    )
}
