//! The place of a file that will be replaced: its name in a directory that is held open.
//!
//! A place that was opened stays valid if its path is longer than PATH_MAX, if the working directory changes, or if a directory
//! above it is renamed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, readlinkat, renameat, statat, unlinkat};
use rustix::io::Errno;

/// Symbolic links on one path, as many as the kernel follows.
const LINKS: usize = 40;
/// How much of a file's name the name of the one beside it begins with: it has a number too, and room for 255 bytes.
const BEGINNING: usize = 200;

/// A place for a file.
pub(super) struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// The place that a path leads to, through symbolic links at its end.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        let mut directory = None::<OwnedFd>;
        for _ in 0..LINKS {
            let name = path.file_name().ok_or(Errno::ISDIR)?.to_owned();
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let below = match &directory {
                Some(directory) => openat(directory, parent, flags, Mode::empty()),
                None => openat(CWD, parent, flags, Mode::empty()),
            }?;
            match readlinkat(&below, &name, Vec::new()) {
                Ok(target) => path = PathBuf::from(OsString::from_vec(target.into_bytes())),
                // No link, or nothing yet.
                Err(Errno::INVAL | Errno::NOENT) => return Ok(Place { directory: below, name }),
                Err(error) => return Err(error.into()),
            }
            directory = Some(below);
        }
        Err(Errno::LOOP.into())
    }

    /// Whether it is the same place as another.
    pub(super) fn is(&self, other: &Place) -> bool {
        let directory = |place: &Place| {
            statat(&place.directory, "", AtFlags::EMPTY_PATH).map(|found| (found.st_dev, found.st_ino)).ok()
        };
        self.name == other.name && directory(self).is_some_and(|found| Some(found) == directory(other))
    }

    /// Puts a file with this text there, whole or not at all.
    pub(super) fn replace(&self, text: &str) -> io::Result<()> {
        let beginning = &self.name.as_bytes()[..self.name.len().min(BEGINNING)];
        let mut unfinished = OsStr::from_bytes(beginning).to_owned();
        unfinished.push(format!(".{}.tmp", std::process::id()));
        // One that a process with this number left.
        let _ = unlinkat(&self.directory, &unfinished, AtFlags::empty());
        let write = || {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(&self.directory, &unfinished, flags, Mode::from_raw_mode(0o666))?);
            file.write_all(text.as_bytes())?;
            Ok(renameat(&self.directory, &unfinished, &self.directory, &self.name)?)
        };
        let written = write();
        if written.is_err() {
            // Nothing is left behind; what cannot be removed could not be written either.
            let _ = unlinkat(&self.directory, &unfinished, AtFlags::empty());
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_where_links_lead_and_its_name_may_be_long() {
        let folder = std::env::temp_dir().join(format!("steady-place-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("deep")).unwrap();
        let (long, one) = (folder.join("x".repeat(255)), folder.join("deep/one"));
        fs::write(&one, "before").unwrap();
        symlink("deep/two", folder.join("link")).unwrap();
        symlink("one", folder.join("deep/two")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        let (found, linked) = (Place::find(&one).unwrap(), Place::find(&folder.join("link")).unwrap());
        let other = Place::find(&long).unwrap();
        assert!(found.is(&linked) && !found.is(&other));
        assert!(Place::find(&folder.join("loop")).is_err());
        linked.replace("text").unwrap();
        other.replace("long").unwrap();
        assert_eq!(
            (fs::read_to_string(&one).unwrap(), fs::read_to_string(&long).unwrap()),
            ("text".into(), "long".into())
        );
        assert!(folder.join("link").is_symlink() && folder.join("deep/two").is_symlink());
        // The directory was renamed after it was opened.
        fs::rename(folder.join("deep"), folder.join("moved")).unwrap();
        found.replace("again").unwrap();
        assert_eq!(fs::read_to_string(folder.join("moved/one")).unwrap(), "again");
        assert_eq!(fs::read_dir(folder.join("moved")).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
