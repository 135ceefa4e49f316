//! Where the journal lies: one folder for the whole host, that outlives everything but a boot.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use steady_linux::{Root, host};
use steady_model::{Absent, JournalFacts, Reading};

use super::HostError;
use super::journal::{Holder, Journal};

/// Knobs are the host's, so there is one journal, whoever quietens it.
const FOLDER: &str = "/var/lib/steady";
const NAME: &str = "host.json";
/// One of an earlier boot.
const VOID: &str = "host.void.json";

/// The folder, locked: nobody else sets or restores anything until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    /// Closing it gives the lock back.
    handle: File,
    is_live: bool,
    boot_id: Reading<String>,
}

impl Place {
    /// Waits until nobody else is at it.
    pub(super) fn lock(root: &Root) -> Result<Self, HostError> {
        let folder = root.path(FOLDER);
        let refused = |error: io::Error| HostError::NotJournalled(format!("'{}': {error}", folder.display()));
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o755).create(&folder).map_err(refused)?;
            if let Some(above) = folder.parent() {
                File::open(above).and_then(|above| above.sync_all()).map_err(refused)?;
            }
        }
        let handle = File::open(&folder).map_err(refused)?;
        flock(&handle, FlockOperation::LockExclusive).map_err(|error| refused(error.into()))?;
        Ok(Place { handle, is_live: root.is_live(), boot_id: host::boot_id(root), folder })
    }

    /// The boot that knobs are of now.
    pub(super) fn boot_id(&self) -> Result<String, HostError> {
        self.boot_id.clone().map_err(|absent| HostError::NotJournalled(format!("which boot this is: {absent}")))
    }

    /// The journal, if there is one that is still of this boot; and a note where one was set aside.
    pub(super) fn load(&self) -> Result<(Option<Journal>, Vec<String>), HostError> {
        let path = self.folder.join(NAME);
        let Some(journal) = read(&path, self.is_live)? else { return Ok((None, Vec::new())) };
        if journal.boot_id == self.boot_id()? {
            return Ok((Some(journal), Vec::new()));
        }
        let aside = self.folder.join(VOID);
        let moved = fs::rename(&path, &aside).and_then(|()| self.handle.sync_all());
        moved.map_err(|error| HostError::BadJournal(format!("'{}': {error}", path.display())))?;
        Ok((None, vec![void(&aside)]))
    }

    /// Writes the journal, whole and to the disk, or leaves the one that is there.
    pub(super) fn save(&self, journal: &Journal, before_it_counts: impl FnOnce()) -> io::Result<()> {
        let temporary = self.folder.join(format!("{NAME}.tmp"));
        let write = || {
            let mut file = File::create(&temporary)?;
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
            file.write_all(journal.text().as_bytes())?;
            file.sync_all()
        };
        let written = write().and_then(|()| {
            before_it_counts();
            fs::rename(&temporary, self.folder.join(NAME))?;
            self.handle.sync_all()
        });
        if written.is_err() {
            // It could not be made; it is in nobody's way but the disk's.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes the journal: everything is back.
    pub(super) fn forget(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.handle.sync_all(),
        }
    }
}

fn void(aside: &Path) -> String {
    format!(
        "the journal was of an earlier boot, which ended with all that it was about; it was set aside as {}",
        aside.display()
    )
}

/// The journal of a file, if there is one.
fn read(path: &Path, is_live: bool) -> Result<Option<Journal>, HostError> {
    let bad = |why: String| HostError::BadJournal(format!("'{}': {why}", path.display()));
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(bad(error.to_string())),
    };
    let owner = fs::metadata(path).map_err(|error| bad(error.to_string()))?.uid();
    if is_live && owner != 0 && rustix::process::geteuid().is_root() {
        return Err(bad(format!("it belongs to the user {owner}, and root believes root alone")));
    }
    Journal::parse(&text).map(Some).map_err(bad)
}

/// Whether there is no journal at all.
pub(super) fn is_empty(root: &Root) -> bool {
    !root.path(FOLDER).join(NAME).exists()
}

/// What the journal holds, as far as this user may read it.
pub(super) fn facts(root: &Root) -> (Reading<Option<JournalFacts>>, Vec<String>) {
    let path = root.path(FOLDER).join(NAME);
    let journal = match read(&path, root.is_live()) {
        Ok(Some(journal)) => journal,
        Ok(None) => return (Ok(None), Vec::new()),
        Err(error) => return (Err(Absent::because(error.to_string())), Vec::new()),
    };
    let mut notes = Vec::new();
    if host::boot_id(root).is_ok_and(|boot| boot != journal.boot_id) {
        let note = format!("the journal {} is of an earlier boot, so there is nothing to restore", path.display());
        return (Ok(None), vec![note]);
    }
    if journal.entries.iter().any(|entry| !entry.is_held() && entry.holders.iter().any(|one| *one != Holder::Stays)) {
        notes.push("a command for which this host was made quiet was killed: steady host restore".to_owned());
    }
    (Ok(Some(journal.facts(path.display().to_string()))), notes)
}
