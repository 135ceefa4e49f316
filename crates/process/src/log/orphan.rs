//! Logs whose writers are gone.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A log that nobody writes to any more, locked so that one process alone takes it.
#[derive(Debug)]
pub struct Orphan {
    file: File,
    path: PathBuf,
}

impl Orphan {
    /// Takes the log at `path`; `None` while somebody writes to it, or where somebody else has taken it.
    ///
    /// # Errors
    /// What open(2) and flock(2) say.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let removed = is_removed(&file)?;
        Ok((!removed).then(|| Orphan { file, path: path.to_owned() }))
    }

    /// Its text, with marks in the place of what is no text.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn text(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Gives it a name that is no log's, beside the old one.
    ///
    /// # Errors
    /// What rename(2) says.
    pub fn set_aside(self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("unreadable"))
    }

    /// Removes it: what it told is kept elsewhere, or it told nothing.
    ///
    /// # Errors
    /// What unlink(2) says.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Whether a file has lost its name since it was opened.
pub(super) fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}
