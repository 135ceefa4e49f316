//! Whether nobody else can put anything into a store: all folders on the way are looked at.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use super::place::{FOLDERS, Place};
use super::{FOLDER, NoStore, is_ours, make_folder};

const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The folder of the store at a place, made where it is missing: its real path.
pub(super) fn made(place: &Place) -> Result<PathBuf, NoStore> {
    // The cache itself is everybody's to make, as the specification has it.
    let cache = DirBuilder::new().recursive(true).mode(FOLDER).create(&place.cache);
    cache.map_err(|error| no_store(&place.cache, &error))?;
    let cache = place.cache.canonicalize().map_err(|error| no_store(&place.cache, &error))?;
    trusted(&cache)?;
    let mut path = cache;
    for name in FOLDERS.into_iter().chain([place.name.as_str()]) {
        path.push(name);
        make_folder(&path).map_err(|error| no_store(&path, &error))?;
    }
    usable(&path)?;
    Ok(path)
}

/// Whether the folder of a store that was made can be trusted; nothing where there is none.
pub(super) fn check(folder: &Path) -> Result<Option<()>, NoStore> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && is_ours(&found, FOLDER) => {}
        Ok(_) => return Err(NoStore(format!("'{}' is not a folder of this user's alone", folder.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(no_store(folder, &error)),
    }
    trusted(folder)?;
    usable(folder)?;
    Ok(Some(()))
}

/// Whether nobody but this user and root can replace a folder or one above it.
fn trusted(path: &Path) -> Result<(), NoStore> {
    let user = rustix::process::geteuid().as_raw();
    for folder in path.ancestors() {
        let found = fs::symlink_metadata(folder).map_err(|error| no_store(folder, &error))?;
        if let Some(why) = mistrust(&found, user) {
            return Err(NoStore(format!("'{}' {why}, who could put programs there", folder.display())));
        }
    }
    Ok(())
}

/// Why a folder above a store is not to be trusted.
fn mistrust(found: &Metadata, user: u32) -> Option<&'static str> {
    let mode = found.permissions().mode();
    if found.uid() != user && found.uid() != 0 {
        Some("belongs to another user")
    } else if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        // In a sticky folder everybody may make things, but replace one's own only.
        Some("can be written by other users")
    } else {
        None
    }
}

/// Whether a hook and snapshots can be used from there.
fn usable(path: &Path) -> Result<(), NoStore> {
    let text = path.display();
    let system = rustix::fs::statvfs(path).map_err(|error| no_store(path, &error.into()))?;
    if system.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(NoStore(format!("nothing may be executed from the file system of '{text}'")));
    }
    // As ld.so takes LD_PRELOAD apart; and its `$ORIGIN` and the like would be taken for something else.
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'$' | b'\n' | b'\t')) {
        return Err(NoStore(format!(
            "the loader cannot be told of '{text}': it has a blank, a colon or a dollar sign"
        )));
    }
    Ok(())
}

fn no_store(path: &Path, error: &io::Error) -> NoStore {
    NoStore(format!("'{}': {error}", path.display()))
}
