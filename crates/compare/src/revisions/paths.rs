//! Paths as words of a shell, and paths of the build directory inside built files.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use steady_feature::Failure;

/// A path quoted for a shell.
///
/// # Errors
/// It is not UTF-8.
pub fn quoted(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| Failure::Usage(format!("'{}' is not UTF-8", path.display())))?;
    Ok(shell_words::quote(text).into_owned())
}

/// Replaces the path `from` by `to` in the programs and libraries below `tree`: run paths of the dynamic linker, files
/// of tests, interpreters of scripts. Both paths must have the same length, so that offsets in a program do not change.
/// Data files stay as they were built.
///
/// Otherwise a program could silently load the system's copy of the library that is compared.
pub(super) fn redirect(tree: &Path, from: &Path, to: &Path) -> io::Result<()> {
    let finder = Finder::new(from.as_os_str().as_bytes());
    let mut problem = Ok(());
    visit(tree, &mut |path, metadata| {
        if is_code(path, metadata) {
            problem = rewrite(path, metadata, &finder, to.as_os_str().as_bytes());
        }
        problem.is_ok()
    });
    problem
}

/// Finds a file below `tree` that still contains the path `place`. Returns its path relative to `tree`.
pub(super) fn file_that_names(place: &Path, tree: &Path) -> Option<PathBuf> {
    let finder = Finder::new(place.as_os_str().as_bytes());
    let mut found = None;
    visit(tree, &mut |path, _| {
        if fs::read(path).is_ok_and(|bytes| finder.find(&bytes).is_some()) {
            found = path.strip_prefix(tree).ok().map(Path::to_owned);
        }
        found.is_none()
    });
    found
}

/// Calls `each` for all files below a folder, except git's own, until it returns false.
fn visit(tree: &Path, each: &mut dyn FnMut(&Path, &Metadata) -> bool) {
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            if entry.file_name() == ".git" {
                continue;
            }
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() && !each(&path, &metadata) {
                return;
            }
        }
    }
}

/// Returns whether a file is executable, or is a library by its name.
fn is_code(path: &Path, metadata: &Metadata) -> bool {
    let is_library = || path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
    metadata.permissions().mode() & 0o111 != 0 || is_library()
}

/// Replaces the path in a file. Writes a new file and renames it, because a compiler cache may have a hard link to the
/// old one.
fn rewrite(path: &Path, metadata: &Metadata, finder: &Finder<'_>, new: &[u8]) -> io::Result<()> {
    // A file that the user cannot read is left as it is.
    let Ok(mut bytes) = fs::read(path) else { return Ok(()) };
    let places: Vec<usize> = finder.find_iter(&bytes).collect();
    if places.is_empty() {
        return Ok(());
    }
    for place in places {
        bytes[place..place + new.len()].copy_from_slice(new);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".steady");
    let fresh = path.with_file_name(name);
    let written = fs::write(&fresh, &bytes)
        .and_then(|()| fs::set_permissions(&fresh, metadata.permissions()))
        .and_then(|()| fs::rename(&fresh, path));
    match written {
        // In a read-only folder the file stays as it is. If a run fails because of that, its error says so.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_redirected_and_data_is_not() {
        let tree = std::env::temp_dir().join(format!("steady-test-paths-{}", std::process::id()));
        fs::create_dir_all(tree.join("bin")).unwrap();
        let [program, link, data] = ["bin/program", "bin/link", "data"].map(|name| tree.join(name));
        fs::write(&program, "\0/x/build/lib:/x/build/\0/x/buil").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::hard_link(&program, &link).unwrap();
        fs::set_permissions(&link, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&data, "/x/build").unwrap();
        let before = fs::read(&program).unwrap();
        redirect(&tree.join("bin"), Path::new("/x/build"), Path::new("/x/rev00")).unwrap();
        redirect(&tree, Path::new("/y/build"), Path::new("/x/rev00")).unwrap();
        assert_eq!(fs::read(&program).unwrap(), b"\0/x/rev00/lib:/x/rev00/\0/x/buil");
        assert_eq!(fs::read(&program).unwrap().len(), before.len());
        assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(file_that_names(Path::new("/x/build"), &tree), Some("data".into()));
        assert_eq!(file_that_names(Path::new("/z/build"), &tree), None);
        fs::remove_dir_all(tree).unwrap();
    }
}
