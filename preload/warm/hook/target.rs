//! The program that a caller wants to start: how it is named, and where it is found.

use core::ffi::{CStr, c_char, c_int};

use super::buffer::{PathBuffer, descriptor_link};
use super::calls::{self, AT_FDCWD, ENOENT, ENOTDIR};
use super::card::{EXCEPT_VARIABLE, demand, excepts};
use super::identity::Identity;
use super::pointers::is_vector_of_strings;
use super::proc_exe::{ProgramFile, program_of_link};
use super::store::Store;
use super::{counters, environment, real};

/// A null-terminated vector of strings.
pub(crate) type Strings = *const *const c_char;

/// A program as the caller names it.
#[derive(Clone, Copy)]
pub(crate) enum Program<'a> {
    /// By a path, as in execve(2).
    Path(&'a CStr),
    /// By a name that is searched for in PATH (execvp(3)).
    Name(&'a CStr),
    /// As in execveat(2): relative to a directory, or a descriptor with AT_EMPTY_PATH.
    At { directory: c_int, path: &'a CStr, flags: c_int },
}

impl Program<'_> {
    /// Returns the program's file if it is named by a link in `/proc` to a snapshot.
    pub(crate) fn of_link(self) -> Option<ProgramFile> {
        match self {
            Program::Path(path) | Program::Name(path) => program_of_link(AT_FDCWD, path),
            Program::At { directory, path, flags: 0 } => program_of_link(directory, path),
            Program::At { .. } => None,
        }
    }
}

/// The other arguments of the caller.
#[derive(Clone, Copy)]
pub(crate) struct Invocation {
    pub(crate) arguments: Strings,
    pub(crate) environment: Strings,
    /// Whether posix_spawn(3) performs file actions first. They may change the meaning of a path, and must not be
    /// performed twice.
    pub(crate) has_file_actions: bool,
}

/// A program that is about to be started, as in execveat(2).
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The directory that `path` is relative to; the program itself if the flags contain AT_EMPTY_PATH.
    pub(crate) directory: c_int,
    pub(crate) path: &'a CStr,
    pub(crate) flags: c_int,
    pub(crate) arguments: Strings,
    pub(crate) environment: Strings,
    /// The name that the process gets; none if unknown, then the program's own name is used.
    pub(crate) name: Option<&'a [u8]>,
}

impl<'a> Target<'a> {
    /// Resolves the program; none if it is not found. `found` is a buffer for its path.
    pub(crate) fn new(program: Program<'a>, invocation: Invocation, found: &'a mut PathBuffer) -> Option<Self> {
        let Invocation { arguments, environment, has_file_actions } = invocation;
        let (directory, path, flags) = match program {
            Program::Path(path) => (AT_FDCWD, path, 0),
            Program::Name(name) => (AT_FDCWD, find_in_path(name, has_file_actions, found)?, 0),
            Program::At { directory, path, flags } => (directory, path, flags),
        };
        let name = path.to_bytes().rsplit(|&letter| letter == b'/').next().filter(|_| flags == 0);
        Some(Target { directory, path, flags, arguments, environment, name })
    }

    /// Returns whether the path leads to the same file for all descriptors and working directories.
    pub(crate) fn is_stable(&self) -> bool {
        is_stable(self.path)
    }
}

fn is_stable(path: &CStr) -> bool {
    let path = path.to_bytes();
    path.starts_with(b"/") && !path.starts_with(b"/proc/") && !path.starts_with(b"/dev/")
}

/// Returns whether the user has excepted the program with this path (`steady warm --except`). The caller may have
/// cleared the environment of the program. Then the one that the caller was started with has the list.
pub(crate) fn is_excepted(target: &Target<'_>, path: &CStr) -> bool {
    let list = |environment| environment::value(environment, EXCEPT_VARIABLE.as_bytes());
    let own = || Some(real::first_environment()).filter(|&own| is_vector_of_strings(own)).and_then(list);
    list(target.environment).or_else(own).is_some_and(|list| excepts(list, path.to_bytes()))
}

/// The default of PATH in the C library.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// Finds the program that execvp(3) and posix_spawnp(3) would execute: the first file of this name in PATH. Returns
/// none if there is none, or if the C library would continue after an error other than ENOENT and ENOTDIR. With file
/// actions the search ends at the first path that they may lead to another file.
#[inline(never)]
fn find_in_path<'a>(name: &'a CStr, has_file_actions: bool, path: &'a mut PathBuffer) -> Option<&'a CStr> {
    let letters = name.to_bytes();
    if letters.is_empty() {
        return None;
    }
    if letters.contains(&b'/') {
        return Some(name);
    }
    let directories = environment::value(real::environ(), b"PATH").unwrap_or(DEFAULT_PATH);
    for directory in directories.split(|&letter| letter == b':') {
        path.clear();
        // An empty entry is the working directory. The name alone is executed then.
        if !directory.is_empty() {
            path.push(directory).push(b"/");
        }
        let candidate = path.push(letters).path()?;
        if has_file_actions && !is_stable(candidate) {
            return path.path();
        }
        match calls::stat(candidate) {
            Ok(_) => {
                calls::check_access(AT_FDCWD, candidate, 0).ok()?;
                return path.path();
            }
            Err(ENOENT | ENOTDIR) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Requests a snapshot of the target from the keeper, if its absolute path can be determined.
#[inline(never)]
pub(crate) fn request_snapshot(target: &Target<'_>, program: &Identity, store: &mut Store<'_>, path: &mut PathBuffer) {
    counters::increment(store, demand(program));
    let key = &program.key();
    if target.flags == 0 && target.path.to_bytes().starts_with(b"/") {
        return store.request(key, target.path);
    }
    let started =
        if target.directory == AT_FDCWD { working_directory(path) } else { descriptor_path(target.directory, path) };
    // The kernel's answer does not begin with a slash if the path is not reachable from the root.
    if !started || !path.bytes().starts_with(b"/") {
        return;
    }
    if target.flags == 0 {
        path.push(b"/").push(target.path.to_bytes());
    }
    if let Some(path) = path.path() {
        store.request(key, path);
    }
}

fn working_directory(path: &mut PathBuffer) -> bool {
    // The length includes the terminating NUL.
    path.fill(|buffer| calls::getcwd(buffer).map(|length| length.saturating_sub(1)))
}

fn descriptor_path(descriptor: i32, path: &mut PathBuffer) -> bool {
    descriptor_link(descriptor).path().is_some_and(|link| path.fill(|buffer| calls::readlink(link, buffer)))
}
