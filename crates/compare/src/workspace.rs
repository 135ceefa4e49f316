//! The private directory of a comparison, for builds of revisions and for snapshots.
//!
//! Workspaces are in `$TMPDIR/steady-UID`, which other parts of `steady` and other programs may use too. Only a
//! directory with the name and the mark of a workspace is ever removed. Removal uses descriptors of directories that
//! belong to this user.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, StatVfsMountFlags, flock, openat, statvfs};
use steady_feature::{Failure, Session};
use steady_linux::files::gives_rights;
use steady_linux::private::{MARK as MARK_FILE, PrivateDirectory};

/// The prefix of the names of workspaces. The process ID follows, and another number if that name is in use.
const NAME: &str = "workspace-";
/// The file that the owner of a workspace locks as long as it runs. It contains [`MARK`].
const LOCK: &str = MARK_FILE;
/// The content that distinguishes a workspace from another directory of the same name.
const MARK: &[u8] = b"steady workspace\n";
/// The file with the path of the repository that the workspace's trees are registered in.
const REPOSITORY: &str = "repository";
/// The longest path of a repository, in bytes.
const LONGEST_PATH: usize = 4096;
/// The names of the new and the old file while a program is renewed. They are not those of a build.
const RENEWED: &str = "renewed";
const REPLACED: &str = "replaced";

/// A private directory of this process. Dropping it removes it and its trees' registration, as [`Workspace::remove`]
/// does.
pub struct Workspace {
    base: PrivateDirectory,
    name: OsString,
    path: PathBuf,
    is_removed: bool,
    _lock: File,
}

impl Workspace {
    /// Creates a workspace for trees of the repository at `common`, if there is one, and removes the workspaces of
    /// killed processes.
    ///
    /// # Errors
    /// The directory cannot be created, or programs cannot be run in it.
    pub fn open(common: Option<&Path>, session: &dyn Session) -> Result<Self, Failure> {
        let set = session.variable("TMPDIR");
        let temporary = set.clone().unwrap_or_else(|| "/tmp".into());
        let path = Path::new(&temporary).join(format!("steady-{}", rustix::process::geteuid().as_raw()));
        let own = |error: io::Error| {
            let why = format!("'{}': {error}; set TMPDIR to use another directory", path.display());
            match set.is_some() && !Path::new(&temporary).is_dir() {
                true => Failure::Usage(format!("TMPDIR: {why}")),
                false => Failure::Own(why),
            }
        };
        let base = private_directory(&path).map_err(own)?;
        let real = path.canonicalize().map_err(own)?;
        if statvfs(&real).is_ok_and(|facts| facts.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
            return Err(Failure::Usage(format!(
                "programs cannot be run in '{}' (mounted noexec): set TMPDIR to another directory",
                real.display()
            )));
        }
        // Without this lock, another process could remove the workspace before its own lock is held.
        let gate = lock(&base, OFlags::CREATE, FlockOperation::LockExclusive).map_err(own)?;
        prune(&base, &real, &|text| session.notice(text));
        let made = make(base, &real, common).map_err(own);
        drop(gate);
        made
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a tree of the repository and its registration, if it exists.
    pub(crate) fn discard(&self, tree: &OsStr) -> io::Result<()> {
        let workspace = self.base.open_in(&self.name)?;
        let common = workspace.read(OsStr::new(REPOSITORY), LONGEST_PATH)?;
        workspace.remove_tree(tree)?;
        deregister(Path::new(OsStr::from_bytes(&common)), &self.path.join(tree))
    }

    /// Removes the directory and the registration of its trees. If that fails, a notice says why.
    pub fn remove(mut self, session: &dyn Session) {
        self.is_removed = true;
        if let Err(error) = remove(&self.base, &self.name, &self.path) {
            session.notice(&format!("'{}' could not be removed: {error}", self.path.display()));
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // If the removal fails, the next process that prunes removes the workspace.
        let _ = if self.is_removed { Ok(()) } else { remove(&self.base, &self.name, &self.path) };
    }
}

/// Replaces a program by a copy of its file, in other pages of memory, if the file is in the directory `workspace` or
/// below it, and gives no rights that the copy would not give. Returns whether that holds.
///
/// The pages of memory that hold a file change how fast its code runs, for as long as they hold it. With other pages
/// for each pair, that is a random error. A link remains a link, because programs find other files by the place of
/// their own.
///
/// # Errors
/// The program cannot be copied. It is still there then.
pub fn renew(program: &Path, workspace: &Path) -> io::Result<bool> {
    let Some(path) = program.canonicalize().ok().filter(|path| path.starts_with(workspace)) else {
        return Ok(false);
    };
    let mut from = File::open(&path)?;
    let metadata = from.metadata()?;
    if gives_rights(&path, &metadata) {
        return Ok(false);
    }
    let (copy, replaced) = (workspace.join(RENEWED), workspace.join(REPLACED));
    let renewed = write_copy(&mut from, &copy, metadata.permissions()).and_then(|()| {
        // ext4 writes the blocks of a file to disk at once if it replaces another one (auto_da_alloc).
        fs::rename(&path, &replaced)?;
        fs::rename(&copy, &path).or_else(|error| fs::rename(&replaced, &path).and(Err(error)))
    });
    if let Err(error) = renewed {
        // On a full disk, a part of a copy would take the space that the commands need.
        let _ = fs::remove_file(&copy);
        return Err(error);
    }
    fs::remove_file(&replaced)?;
    Ok(true)
}

/// Writes a copy of a file. Bytes are read and written, because a copy that shares its blocks on disk would have to be
/// read from there.
fn write_copy(from: &mut File, copy: &Path, permissions: fs::Permissions) -> io::Result<()> {
    let mut to = File::create(copy)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => break,
            size => to.write_all(&buffer[..size])?,
        }
    }
    to.set_permissions(permissions)
}

/// Opens a directory, and creates it if it does not exist.
fn private_directory(path: &Path) -> io::Result<PrivateDirectory> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => PrivateDirectory::open(path),
    }
}

fn make(base: PrivateDirectory, real: &Path, common: Option<&Path>) -> io::Result<Workspace> {
    let pid = std::process::id();
    for number in 0.. {
        // A process in another container may have the same ID.
        let name = if number == 0 { format!("{NAME}{pid}") } else { format!("{NAME}{pid}-{number}") };
        let (name, path) = (OsString::from(&name), real.join(name));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        return match mark(&base, &name, &path, common) {
            Ok(lock) => Ok(Workspace { base, name, path, is_removed: false, _lock: lock }),
            Err(error) => {
                // If the removal fails, the next process that prunes removes the workspace.
                let _ = base.remove_tree(&name);
                Err(error)
            }
        };
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Marks a directory as a workspace of this process. Returns its lock.
fn mark(base: &PrivateDirectory, name: &OsStr, path: &Path, common: Option<&Path>) -> io::Result<File> {
    let lock = lock(&base.open_in(name)?, OFlags::CREATE, FlockOperation::NonBlockingLockExclusive)?;
    (&lock).write_all(MARK)?;
    if let Some(common) = common {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path.join(REPOSITORY))?;
        file.write_all(common.as_os_str().as_bytes())?;
    }
    Ok(lock)
}

/// Opens and locks the file [`LOCK`] of a directory.
fn lock(directory: &PrivateDirectory, create: OFlags, how: FlockOperation) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | create;
    let file = openat(directory, LOCK, flags, Mode::RUSR | Mode::WUSR)?;
    flock(&file, how)?;
    Ok(file.into())
}

/// Removes the workspaces that no running process has locked.
fn prune(base: &PrivateDirectory, real: &Path, notice: &dyn Fn(&str)) {
    for name in base.names().unwrap_or_default().into_iter().filter(|name| is_workspace(name)) {
        let Ok(workspace) = base.open_in(&name) else { continue };
        // The process was killed after it removed the mark, or before it created the mark.
        if workspace.names().is_ok_and(|names| names.is_empty()) {
            let _ = base.remove_tree(&name);
            continue;
        }
        let Ok(found) = workspace.read(OsStr::new(LOCK), MARK.len()) else { continue };
        // A workspace whose mark is incomplete, as on a full disk, contains nothing else.
        let is_incomplete = MARK.starts_with(&found) && workspace.names().is_ok_and(|names| names == [LOCK]);
        if found != MARK && !is_incomplete {
            continue;
        }
        let Ok(_dead) = lock(&workspace, OFlags::empty(), FlockOperation::NonBlockingLockExclusive) else { continue };
        let path = real.join(&name);
        if let Err(error) = remove(base, &name, &path) {
            notice(&format!("'{}' of an earlier run could not be removed: {error}", path.display()));
        }
    }
}

/// Returns whether [`make`] may have created a directory of this name: `workspace-PID` or `workspace-PID-NUMBER`.
fn is_workspace(name: &OsStr) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.to_str().and_then(|name| name.strip_prefix(NAME));
    numbers.is_some_and(|numbers| match numbers.split_once('-') {
        Some((pid, number)) => is_number(pid) && is_number(number),
        None => is_number(numbers),
    })
}

/// Removes a workspace: first its trees and their registration, then its lock and the directory itself. An interrupted
/// removal can be repeated.
fn remove(base: &PrivateDirectory, name: &OsStr, path: &Path) -> io::Result<()> {
    let workspace = match base.open_in(name) {
        // A launcher has removed it already.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        workspace => workspace?,
    };
    let common =
        workspace.read(OsStr::new(REPOSITORY), LONGEST_PATH).map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
    for entry in workspace.names()?.iter().filter(|entry| *entry != LOCK && *entry != REPOSITORY) {
        workspace.remove_tree(entry)?;
    }
    // If the disk was full, the file may be empty.
    if let Some(common) = common.ok().filter(|common| !common.as_os_str().is_empty()) {
        deregister(&common, path)?;
    }
    workspace.remove_tree(OsStr::new(REPOSITORY))?;
    base.remove_tree(name)
}

/// Removes the registration of working trees below `path` from a repository (gitrepository-layout(5), `worktrees`).
/// Other trees stay registered, because they may be on a disk that is not mounted.
fn deregister(common: &Path, path: &Path) -> io::Result<()> {
    let worktrees = common.join("worktrees");
    let entries = match fs::read_dir(&worktrees) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let back = fs::read(entry.path().join("gitdir")).unwrap_or_default();
        if entry.file_type()?.is_dir() && Path::new(OsStr::from_bytes(back.trim_ascii_end())).starts_with(path) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    // git removes this directory with the last tree. An error means that other trees are registered.
    let _ = fs::remove_dir(worktrees);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use super::*;

    /// Creates a base directory with one workspace that no process has locked. Returns the paths of both.
    fn abandoned(test: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("steady-workspaces-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let base = private_directory(&folder).unwrap();
        let made = make(base, &folder, None).unwrap();
        let path = made.path.clone();
        // As if the process had been killed.
        let Workspace { _lock, .. } = &made;
        flock(_lock, FlockOperation::Unlock).unwrap();
        std::mem::forget(made);
        fs::create_dir(path.join("build")).unwrap();
        fs::write(path.join("build/file"), "").unwrap();
        (folder, path)
    }

    fn prune_in(folder: &Path) {
        prune(&PrivateDirectory::open(folder).unwrap(), folder, &|text| panic!("{text}"));
    }

    /// Creates a directory with a file that must not be removed.
    fn directory(path: &Path) {
        fs::DirBuilder::new().mode(0o700).create(path).unwrap();
        fs::write(path.join("precious"), "").unwrap();
    }

    #[test]
    fn abandoned_workspaces_are_removed_and_nothing_else_is() {
        let (folder, workspace) = abandoned("others");
        let held = make(PrivateDirectory::open(&folder).unwrap(), &folder, None).unwrap();
        let outside = folder.with_extension("outside");
        let _ = fs::remove_dir_all(&outside);
        directory(&outside);
        fs::write(outside.join(LOCK), MARK).unwrap();
        // Links named like a workspace that lead to a directory with the mark, and links inside a workspace.
        symlink(&outside, folder.join("workspace-1")).unwrap();
        symlink(&outside, workspace.join("build/link")).unwrap();
        symlink(outside.join("precious"), workspace.join("build/file-link")).unwrap();
        // Directories of other programs: with the mark only, with the name only, with the name and an empty mark.
        for (name, mark) in [("store", MARK), ("4711", MARK), ("workspace-2", b"" as &[u8]), ("workspace-x", MARK)] {
            directory(&folder.join(name));
            fs::write(folder.join(name).join(LOCK), mark).unwrap();
        }
        directory(&folder.join("workspace-3"));
        directory(&folder.join("workspace-4"));
        symlink(outside.join(LOCK), folder.join("workspace-4").join(LOCK)).unwrap();
        fs::write(folder.join("agent.sock"), "").unwrap();
        prune_in(&folder);
        assert!(!workspace.exists());
        assert!(held.path().exists());
        for name in ["store", "4711", "workspace-2", "workspace-x", "workspace-3", "workspace-4", "workspace-1"] {
            assert!(folder.join(name).join("precious").exists(), "{name}");
        }
        assert!(outside.join("precious").exists() && folder.join("agent.sock").exists());
        let path = held.path().to_owned();
        drop(held);
        assert!(!path.exists());
        fs::remove_dir_all(folder).unwrap();
        fs::remove_dir_all(outside).unwrap();
    }

    #[test]
    fn incompletely_marked_workspaces_are_removed() {
        let (folder, abandoned) = abandoned("unmarked");
        let base = || PrivateDirectory::open(&folder).unwrap();
        // The mark exists, and the file with the repository's path cannot be created.
        let other = folder.join(format!("{NAME}{}-1", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&other).unwrap();
        fs::write(other.join(REPOSITORY), "").unwrap();
        assert!(mark(&base(), other.file_name().unwrap(), &other, Some(Path::new("/repository"))).is_err());
        // The state after a full disk: no mark, or a part of it.
        for (name, mark) in [("workspace-2", b"" as &[u8]), ("workspace-3", &MARK[..4]), ("workspace-4", b"other")] {
            fs::DirBuilder::new().mode(0o700).create(folder.join(name)).unwrap();
            fs::write(folder.join(name).join(LOCK), mark).unwrap();
        }
        let held = lock(
            &PrivateDirectory::open(&folder.join("workspace-3")).unwrap(),
            OFlags::empty(),
            FlockOperation::NonBlockingLockExclusive,
        )
        .unwrap();
        prune_in(&folder);
        let left = |name: &str| folder.join(name).exists();
        assert_eq!(["workspace-2", "workspace-3", "workspace-4"].map(left), [false, true, true]);
        assert!(!abandoned.exists());
        drop(held);
        prune_in(&folder);
        assert!(!left("workspace-3") && !other.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn workspaces_that_other_users_can_change_are_not_removed() {
        let (folder, workspace) = abandoned("foreign");
        let empty = folder.join("workspace-7");
        fs::DirBuilder::new().mode(0o700).create(&empty).unwrap();
        fs::set_permissions(&workspace, fs::Permissions::from_mode(0o777)).unwrap();
        prune_in(&folder);
        assert!(workspace.join("build/file").exists());
        fs::set_permissions(&workspace, fs::Permissions::from_mode(0o700)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&workspace, Some(12_345), None).unwrap();
            prune_in(&folder);
            assert!(workspace.join("build/file").exists());
            chown(&workspace, Some(0), None).unwrap();
        }
        prune_in(&folder);
        assert!(!workspace.exists() && !empty.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_base_directory_that_is_a_link_or_writable_by_others_is_refused() {
        let (folder, _) = abandoned("base");
        let link = folder.with_extension("link");
        let _ = fs::remove_file(&link);
        symlink(&folder, &link).unwrap();
        assert!(private_directory(&link).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private_directory(&folder).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(private_directory(&folder).is_ok());
        fs::remove_file(link).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_renewed_program_is_another_file_with_the_same_bytes_and_permissions() {
        let (folder, workspace) = abandoned("renew");
        let workspace = workspace.canonicalize().unwrap();
        let build = workspace.join("build");
        let path = build.join("prog");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::write(build.join("prog-copy"), "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        let link = build.join("link");
        symlink("prog", &link).unwrap();
        for name in [&path, &link] {
            // While it is open, its number is not used for another file.
            let open = File::open(&path).unwrap();
            assert!(renew(name, &workspace).unwrap());
            let (before, after) = (open.metadata().unwrap(), path.metadata().unwrap());
            assert_ne!(before.ino(), after.ino());
            assert_eq!(after.mode() & 0o777, 0o750);
            assert_eq!(fs::read(&path).unwrap(), b"#!/bin/sh\n");
            assert!(link.is_symlink() && fs::read_dir(&build).unwrap().count() == 4);
            assert_eq!(fs::read_dir(&workspace).unwrap().count(), 2);
        }
        let before = path.metadata().unwrap().ino();
        assert!(!renew(&path, &workspace.join("elsewhere")).unwrap());
        assert!(!renew(Path::new("/bin/sh"), &workspace).unwrap());
        assert_eq!(path.metadata().unwrap().ino(), before);
        // A full disk: the program is still there, and no part of a copy.
        symlink("/dev/full", workspace.join(RENEWED)).unwrap();
        assert_eq!(renew(&path, &workspace).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(path.metadata().unwrap().ino(), before);
        assert!(!workspace.join(RENEWED).is_symlink() && !workspace.join(REPLACED).exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
