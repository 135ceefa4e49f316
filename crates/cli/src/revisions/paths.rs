//! Built files that refer to the directory that they were built in.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How much is read at a time.
const PART: usize = 1 << 20;

/// A program or library below `tree` that names `place`; its path from there.
pub(super) fn file_that_names(place: &Path, tree: &Path) -> Option<PathBuf> {
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file()
                && (metadata.permissions().mode() & 0o111 != 0 || is_library(&path))
                && names(place, &path).unwrap_or(false)
            {
                return path.strip_prefix(tree).ok().map(Path::to_owned);
            }
        }
    }
    None
}

fn is_library(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

fn names(place: &Path, path: &Path) -> io::Result<bool> {
    let wanted = place.as_os_str().as_bytes();
    let mut file = File::open(path)?;
    let mut window = Vec::with_capacity(PART + wanted.len());
    loop {
        let read = (&mut file).take(PART as u64).read_to_end(&mut window)?;
        if window.windows(wanted.len()).any(|part| part == wanted) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // What begins in this part may end in the next.
        window.drain(..window.len().saturating_sub(wanted.len()));
    }
}
