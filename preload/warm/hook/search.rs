//! Where execvp(3) and posix_spawnp(3) find a program.

use core::ffi::CStr;

use super::buffer::PathBuffer;
use super::calls::{self, AT_FDCWD, ENOENT, ENOTDIR};
use super::{environment, real};

/// What is searched where PATH is not set, as the C library has it.
const USUAL: &[u8] = b"/bin:/usr/bin";

/// The path that the C library would execute: the first file of this name that is there. None where it would have to go on
/// searching for another reason than that there was nothing, or where the program is not found.
#[inline(never)]
pub(crate) fn find<'a>(name: &'a CStr, path: &'a mut PathBuffer) -> Option<&'a CStr> {
    let letters = name.to_bytes();
    if letters.is_empty() {
        return None;
    }
    if letters.contains(&b'/') {
        return Some(name);
    }
    let folders = environment::value(real::environ(), b"PATH").unwrap_or(USUAL);
    for folder in folders.split(|&letter| letter == b':') {
        path.clear();
        // A folder without a name is the working directory, and the name alone is executed.
        if !folder.is_empty() {
            path.push(folder).push(b"/");
        }
        let candidate = path.push(letters).path()?;
        match calls::stat(candidate) {
            Ok(_) => {
                calls::executable(AT_FDCWD, candidate, 0).ok()?;
                return path.path();
            }
            Err(ENOENT | ENOTDIR) => {}
            Err(_) => return None,
        }
    }
    None
}
