//! The private place where revisions are built and snapshots to measure lie, and its removal, whoever left it behind.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, StatVfsMountFlags, flock, statvfs};

use crate::failure::{Failure, notice};

/// Held by the process that a workspace belongs to, for as long as it lives.
const LOCK: &str = "lock";
/// The repository that the workspace's trees are registered in.
const REPOSITORY: &str = "repository";

/// A directory of this process's own. Dropping it removes it and what it registered.
pub(crate) struct Workspace {
    path: PathBuf,
    _lock: File,
}

impl Workspace {
    /// Makes one for trees of the repository at `common`, if any, and removes those that killed processes left.
    pub(crate) fn open(common: Option<&Path>) -> Result<Self, Failure> {
        let base = std::env::temp_dir().join(format!("steady-{}", rustix::process::getuid().as_raw()));
        let own = |error: io::Error| Failure::Own(format!("'{}': {error}; TMPDIR names another place", base.display()));
        let base = private_directory(&base).map_err(own)?;
        if statvfs(&base).is_ok_and(|facts| facts.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
            return Err(Failure::Usage(format!(
                "no program may be run in '{}' (mounted noexec): let TMPDIR name another place",
                base.display()
            )));
        }
        // What is half made or half removed is nobody else's business.
        let gate = lock(&base.join(LOCK), FlockOperation::LockExclusive).map_err(own)?;
        prune(&base);
        let made = make(&base, common).map_err(own);
        drop(gate);
        made
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            notice(&format!("'{}' could not be removed: {error}", self.path.display()));
        }
    }
}

/// The directory's full path; it is made where there is none, and refused where others may write to it.
fn private_directory(path: &Path) -> io::Result<PathBuf> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = path.symlink_metadata()?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::getuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("it is not a directory that you alone may write to"));
    }
    path.canonicalize()
}

fn make(base: &Path, common: Option<&Path>) -> io::Result<Workspace> {
    let pid = std::process::id();
    for number in 0.. {
        // Elsewhere, in another container, a process may have the same number.
        let path = base.join(if number == 0 { pid.to_string() } else { format!("{pid}-{number}") });
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let lock = lock(&path.join(LOCK), FlockOperation::NonBlockingLockExclusive)?;
        if let Some(common) = common {
            fs::write(path.join(REPOSITORY), common.as_os_str().as_bytes())?;
        }
        return Ok(Workspace { path, _lock: lock });
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn lock(path: &Path, how: FlockOperation) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    flock(&file, how)?;
    Ok(file)
}

/// Removes the workspaces that no living process holds.
fn prune(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()) {
        let Ok(_dead) = lock(&path.join(LOCK), FlockOperation::NonBlockingLockExclusive) else { continue };
        if let Err(error) = remove(&path) {
            notice(&format!("'{}' was left behind, and could not be removed: {error}", path.display()));
        }
    }
}

/// Removes a workspace: its trees, what the repository knows of them, and at last the place itself, so that what is
/// cut short can be done again.
fn remove(path: &Path) -> io::Result<()> {
    let common = fs::read(path.join(REPOSITORY)).map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
    let entries = match fs::read_dir(path) {
        // A launcher that had to end first has done it.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    if let Ok(common) = common {
        forget(&common, path)?;
    }
    remove_tree(path)
}

/// Removes what the repository knows of working trees below `path` (gitrepository-layout(5), `worktrees`), and of no
/// others: some may be on a disk that is away.
fn forget(common: &Path, path: &Path) -> io::Result<()> {
    let worktrees = common.join("worktrees");
    let entries = match fs::read_dir(&worktrees) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?.path();
        let back = fs::read(entry.join("gitdir")).unwrap_or_default();
        if Path::new(std::ffi::OsStr::from_bytes(back.trim_ascii_end())).starts_with(path) {
            remove_tree(&entry)?;
        }
    }
    // As git itself does with the last: an error means that it was not the last.
    let _ = fs::remove_dir(worktrees);
    Ok(())
}

/// Removes a tree, directories that forbid writing included.
fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            permit(path)?;
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

fn permit(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            permit(&entry.path())?;
        }
    }
    Ok(())
}
