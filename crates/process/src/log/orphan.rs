//! Logs whose writers are gone.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::Logged;

/// A log that nobody writes to any more, locked so that one process alone takes it.
#[derive(Debug)]
pub struct Orphan {
    file: File,
    path: PathBuf,
    /// Its text, once it was read.
    text: String,
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
        Ok((!removed).then(|| Orphan { file, path: path.to_owned(), text: String::new() }))
    }

    /// What it tells; `None` where nothing was measured yet.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn record(&mut self) -> io::Result<Option<Logged>> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        self.text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(super::read(&self.text))
    }

    /// Whether there is more in it than [`Orphan::record`] found: a line that makes no sense, and others behind it. A writer that is
    /// killed leaves such a line at the end only.
    pub fn holds_more(&self) -> bool {
        super::read::is_garbled(&self.text)
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
