//! Directories that other users cannot write to, and files in them.
//!
//! A program that creates, replaces or locks files by path trusts every directory on that path. [`Directory`] checks
//! this trust while it walks the path, one component at a time. Afterwards it works relative to the open directory. No
//! other user can then put a symbolic link in place of a component between the check and the use.
//!
//! A component is trusted if both conditions hold:
//!
//! - It belongs to root, to this process's effective user, or to the owner of the directory where the walk starts.
//! - No other user may write to it. A group may write to it if its number is 0 or equals the user's number. Most
//!   distributions give each user such a private group.
//!
//! A directory with the sticky bit, such as `/tmp`, may be on the way: users cannot rename or remove the entries of
//! others in it. It cannot be the last component, because everybody can create files in it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, fsync, mkdirat, open, openat,
    readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::clock;
use crate::private::{close_to_others, make_own_file};

/// Maximum number of symbolic links on one path: the same as in the kernel.
const LINKS: u32 = 40;
/// Time between two attempts to get a lock that another process holds.
const LOCK_STEP: Duration = Duration::from_millis(20);
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// Why a directory or a file in it cannot be used.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// Another user could replace files in it.
    #[error("'{}' {why}", .path.display())]
    Untrusted {
        /// The component that is not trusted.
        path: PathBuf,
        /// The reason why it is not trusted.
        why: String,
    },
    /// Another process holds a lock.
    #[error("'{}' is locked by {holder}", .path.display())]
    Locked {
        /// Path of the lock file.
        path: PathBuf,
        /// The process that holds the lock, if known.
        holder: String,
    },
    /// The error of a system call.
    #[error("'{}': {error}", .path.display())]
    System {
        /// Path of the file or directory.
        path: PathBuf,
        /// The error that the system call returned.
        error: io::Error,
    },
}

impl DirectoryError {
    fn untrusted(path: &Path, why: impl Into<String>) -> Self {
        DirectoryError::Untrusted { path: path.to_owned(), why: why.into() }
    }

    fn system(path: &Path, error: impl Into<io::Error>) -> Self {
        DirectoryError::System { path: path.to_owned(), error: error.into() }
    }

    /// Returns whether a component of the path does not exist.
    pub fn is_missing(&self) -> bool {
        self.is_of(&[io::ErrorKind::NotFound])
    }

    /// Returns whether nothing can be written to the disk: it is read-only or full.
    pub fn is_of_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        self.is_of(&[QuotaExceeded, ReadOnlyFilesystem, StorageFull])
    }

    fn is_of(&self, kinds: &[io::ErrorKind]) -> bool {
        matches!(self, DirectoryError::System { error, .. } if kinds.contains(&error.kind()))
    }
}

/// An open directory that other users cannot write to.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    path: PathBuf,
    trust: Trust,
}

impl Directory {
    /// Opens the directory at `path`. The walk starts at the root directory; a relative path is made absolute first.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        Walk::from_root()?.finish(&absolute(path)?, None)
    }

    /// Opens the directory at `path`. Creates missing components with `mode`, which the umask restricts.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn create(path: &Path, mode: u32) -> Result<Self, DirectoryError> {
        Walk::from_root()?.finish(&absolute(path)?, Some(mode))
    }

    /// Opens the directory at `path` below `base`. The caller trusts `base` and all directories above it.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn open_below(base: &Path, path: &Path) -> Result<Self, DirectoryError> {
        Walk::from(base)?.finish(path, None)
    }

    /// Opens a directory as [`Directory::open_below`] does. Creates missing components with `mode`, which the umask
    /// restricts.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn create_below(base: &Path, path: &Path, mode: u32) -> Result<Self, DirectoryError> {
        Walk::from(base)?.finish(path, Some(mode))
    }

    /// Opens a directory below `base` that any user may own and write to, without following symbolic links. The
    /// directories above it are verified as in [`Directory::open_below`]. Use it for files whose content proves who
    /// wrote them.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn open_any(base: &Path, path: &Path) -> Result<Self, DirectoryError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(DirectoryError::system(path, Errno::INVAL));
        };
        let Directory { handle, path, trust } = Directory::open_below(base, parent)?;
        let path = path.join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | SAFE;
        let handle =
            openat(&handle, name, flags, Mode::empty()).map_err(|error| DirectoryError::system(&path, error))?;
        Ok(Directory { handle, path, trust })
    }

    /// Returns the directory of the file at `path`, and the file's name in it. Follows a symbolic link at `path` that
    /// belongs to a trusted user. The file need not exist. Creates missing directories with `mode`.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn of_file(path: &Path, mode: u32) -> Result<(Self, OsString), DirectoryError> {
        let mut path = absolute(path)?;
        for _ in 0..LINKS {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(DirectoryError::system(&path, Errno::ISDIR));
            };
            let (directory, name) = (Directory::create(parent, mode)?, name.to_owned());
            let Some(found) = directory.stat(&name)? else { return Ok((directory, name)) };
            if kind(&found) != FileType::Symlink {
                return Ok((directory, name));
            }
            let target = directory.follow(&name, &found)?;
            path = directory.path.join(target);
        }
        Err(DirectoryError::system(&path, Errno::LOOP))
    }

    /// Path of the directory, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file `name`; `None` if there is none. It must pass the checks of [`Directory::check_file`].
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn read(&self, name: impl AsRef<OsStr>) -> Result<Option<Vec<u8>>, DirectoryError> {
        let name = name.as_ref();
        let path = self.path.join(name);
        let file = match openat(&self.handle, name, OFlags::RDONLY | OFlags::NONBLOCK | SAFE, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened.map_err(|error| DirectoryError::system(&path, error))?),
        };
        self.check(&path, &fstat(&file).map_err(|error| DirectoryError::system(&path, error))?)?;
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes).map_err(|error| DirectoryError::system(&path, error))?;
        Ok(Some(bytes))
    }

    /// Replaces the file `name` atomically by a file with these bytes and this mode. Calls `before_rename` before the
    /// file is renamed. With `durable`, the content is written to the disk before that call, and the new name at the
    /// end.
    ///
    /// # Errors
    /// The error of a system call. The old file is then unchanged, unless only the last write to the disk failed.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        bytes: &[u8],
        mode: u32,
        durable: bool,
        before_rename: impl FnOnce(),
    ) -> io::Result<()> {
        let name = name.as_ref();
        let mut unfinished = name.to_owned();
        unfinished.push(".new");
        self.remove(&unfinished)?;
        let write = || {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE;
            let mut file = File::from(openat(&self.handle, &unfinished, flags, Mode::from_raw_mode(0o600))?);
            file.write_all(bytes)?;
            fchmod(&file, Mode::from_raw_mode(mode))?;
            if durable { file.sync_all() } else { Ok(()) }
        };
        let written = write().and_then(|()| {
            before_rename();
            self.rename(&unfinished, name)?;
            if durable { self.sync() } else { Ok(()) }
        });
        if written.is_err() {
            // A file that cannot be removed only uses space on the disk.
            let _ = self.remove(&unfinished);
        }
        written
    }

    /// Sets the permissions of this directory.
    ///
    /// # Errors
    /// The error of fchmod(2).
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.handle, Mode::from_raw_mode(mode))?)
    }

    /// Renames a file within this directory.
    ///
    /// # Errors
    /// The error of renameat(2).
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.handle, from.as_ref(), &self.handle, to.as_ref())?)
    }

    /// Removes the file `name`, if there is one.
    ///
    /// # Errors
    /// The error of unlinkat(2).
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&self.handle, name.as_ref(), AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Writes the names in this directory to the disk.
    ///
    /// # Errors
    /// The error of fsync(2).
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.handle)?)
    }

    /// Verifies that the file `name`, if there is one, is a regular file of a trusted user with only one name.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn check_file(&self, name: &OsStr) -> Result<(), DirectoryError> {
        match self.stat(name)? {
            Some(found) => self.check(&self.path.join(name), &found),
            None => Ok(()),
        }
    }

    /// Creates the file `name` for this user only (0600), if it does not exist. See
    /// [`own_file`](crate::private::own_file).
    ///
    /// # Errors
    /// The error of mknodat(2), except EEXIST.
    pub fn make_own_file(&self, name: &OsStr) -> Result<(), DirectoryError> {
        make_own_file(&self.handle, name).map_err(|error| DirectoryError::system(&self.path.join(name), error))
    }

    /// Removes the permissions of other users from the file `name`, if it belongs to this user.
    ///
    /// # Errors
    /// The error of chmod(2).
    pub fn close_to_others(&self, name: &OsStr) -> Result<(), DirectoryError> {
        close_to_others(&self.handle, name).map_err(|error| DirectoryError::system(&self.path.join(name), error))
    }

    /// Locks the file `name`, and waits for the lock for up to `patience`. Creates the file if it does not exist. Only
    /// this user can open the file, so no other user can hold the lock.
    ///
    /// # Errors
    /// [`DirectoryError::Locked`] if another process still holds the lock.
    pub fn lock(&self, name: &OsStr, patience: Duration) -> Result<Lock, DirectoryError> {
        let path = self.path.join(name);
        let failed = |error: Errno| DirectoryError::system(&path, error);
        let handle = self.handle.try_clone().map_err(|error| DirectoryError::system(&path, error))?;
        let began = clock::monotonic();
        loop {
            let flags = OFlags::NONBLOCK | SAFE;
            let opened = openat(&self.handle, name, OFlags::RDWR | OFlags::CREATE | flags, Mode::from_raw_mode(0o600));
            // On a read-only file system, only a file that exists can be locked.
            let opened = opened.or_else(|error| match error {
                Errno::ROFS => openat(&self.handle, name, flags, Mode::empty()).map_err(|_| error),
                _ => Err(error),
            });
            let mut file = File::from(opened.map_err(failed)?);
            let opened = fstat(&file).map_err(failed)?;
            self.trust.owner(&path, &opened)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::AGAIN) if u128::from((clock::monotonic() - began).0) >= patience.as_nanos() => {
                    return Err(DirectoryError::Locked { path, holder: holder(&mut file) });
                }
                Err(Errno::AGAIN) => {
                    std::thread::sleep(LOCK_STEP);
                    continue;
                }
                locked => locked.map_err(failed)?,
            }
            // The previous holder may have removed the file in between. Then this lock is on a file that no other
            // process can find.
            let now = self.stat(name)?;
            if now.is_some_and(|now| (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino)) {
                // Earlier versions created the file with permissions for other users.
                let _ = fchmod(&file, Mode::from_raw_mode(0o600));
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                return Ok(Lock { directory: handle, name: name.to_owned(), _file: file });
            }
        }
    }

    fn check(&self, path: &Path, found: &Stat) -> Result<(), DirectoryError> {
        if kind(found) != FileType::RegularFile {
            return Err(DirectoryError::untrusted(path, "is not a regular file"));
        }
        self.trust.owner(path, found)?;
        match found.st_nlink {
            0 | 1 => Ok(()),
            _ => Err(DirectoryError::untrusted(path, "has several names (hard links)")),
        }
    }

    fn stat(&self, name: &OsStr) -> Result<Option<Stat>, DirectoryError> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(DirectoryError::system(&self.path.join(name), error)),
        }
    }

    /// Returns the target of a symbolic link if its owner is trusted.
    fn follow(&self, name: &OsStr, found: &Stat) -> Result<PathBuf, DirectoryError> {
        follow(&self.handle, name, found, &self.path.join(name), self.trust)
    }
}

/// A file that this process has locked. When this is dropped, the file is removed and the lock released.
#[derive(Debug)]
pub struct Lock {
    directory: OwnedFd,
    name: OsString,
    // This descriptor holds the lock.
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that cannot be removed can be locked again.
        let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

/// Flags for opening files: do not follow a symbolic link, and close the file in programs that are started.
const SAFE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// Returns the process that wrote its id into the lock file.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(32).read_to_string(&mut text);
    match read.ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

fn absolute(path: &Path) -> Result<PathBuf, DirectoryError> {
    std::path::absolute(path).map_err(|error| DirectoryError::system(path, error))
}

/// The trusted users, in addition to root.
#[derive(Clone, Copy, Debug)]
struct Trust {
    own: u32,
    /// The owner of the directory where the walk starts. This user could replace everything below it anyway. In a user
    /// namespace, root's files may belong to another user number.
    base: u32,
}

impl Trust {
    fn owner(self, path: &Path, found: &Stat) -> Result<(), DirectoryError> {
        if [0, self.own, self.base].contains(&found.st_uid) {
            return Ok(());
        }
        Err(DirectoryError::untrusted(path, format!("belongs to another user (number {})", found.st_uid)))
    }

    fn directory(self, path: &Path, found: &Stat, is_last: bool) -> Result<(), DirectoryError> {
        self.owner(path, found)?;
        let mode = found.st_mode & 0o7777;
        let by_group = mode & GROUP_WRITES != 0 && ![0, self.own].contains(&found.st_gid);
        let is_open = mode & OTHERS_WRITE != 0 || by_group;
        if !is_open || !is_last && mode & STICKY != 0 {
            return Ok(());
        }
        let who = if mode & OTHERS_WRITE != 0 { "everybody".to_owned() } else { format!("group {}", found.st_gid) };
        let why = format!("can be written by {who} (mode {mode:04o}); use a directory that only its owner can write");
        Err(DirectoryError::untrusted(path, why))
    }
}

/// State of a walk along a path.
struct Walk {
    handle: OwnedFd,
    path: PathBuf,
    trust: Trust,
}

impl Walk {
    fn from_root() -> Result<Self, DirectoryError> {
        Walk::from(Path::new("/"))
    }

    fn from(base: &Path) -> Result<Self, DirectoryError> {
        let failed = |error: Errno| DirectoryError::system(base, error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = open(base, flags, Mode::empty()).map_err(failed)?;
        let found = fstat(&handle).map_err(failed)?;
        let trust = Trust { own: rustix::process::geteuid().as_raw(), base: found.st_uid };
        Ok(Walk { handle, path: base.to_owned(), trust })
    }

    /// Walks to the end of `path`. Creates missing directories with the mode in `create`.
    fn finish(mut self, path: &Path, create: Option<u32>) -> Result<Directory, DirectoryError> {
        let mut left: VecDeque<OsString> = names(path).collect();
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            let at = self.path.join(&name);
            let failed = |error: Errno| DirectoryError::system(&at, error);
            if name == ".." {
                self.handle = openat(&self.handle, "..", STEP, Mode::empty()).map_err(failed)?;
                self.path.pop();
                continue;
            }
            let found = match (statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW), create) {
                (Err(Errno::NOENT), Some(mode)) => {
                    self.make(&name, mode).map_err(failed)?;
                    statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?
                }
                (found, _) => found.map_err(failed)?,
            };
            if kind(&found) == FileType::Symlink {
                links += 1;
                if links > LINKS {
                    return Err(failed(Errno::LOOP));
                }
                let target = follow(&self.handle, &name, &found, &at, self.trust)?;
                if target.is_absolute() {
                    self = Walk::from_root()?;
                }
                names(&target).rev().for_each(|name| left.push_front(name));
                continue;
            }
            let next = openat(&self.handle, &name, STEP | OFlags::NOFOLLOW, Mode::empty()).map_err(failed)?;
            self.trust.directory(&at, &fstat(&next).map_err(failed)?, left.is_empty())?;
            (self.handle, self.path) = (next, at);
        }
        let here = self.path.clone();
        let failed = |error: Errno| DirectoryError::system(&here, error);
        self.trust.directory(&here, &fstat(&self.handle).map_err(failed)?, true)?;
        // The handle of the walk is an O_PATH descriptor, on which fsync(2) fails.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = match openat(&self.handle, ".", flags, Mode::empty()) {
            // The directory may be entered but not listed.
            Err(Errno::ACCESS) => self.handle,
            opened => opened.map_err(failed)?,
        };
        Ok(Directory { handle, path: self.path, trust: self.trust })
    }

    fn make(&self, name: &OsStr, mode: u32) -> rustix::io::Result<()> {
        match mkdirat(&self.handle, name, Mode::from_raw_mode(mode)) {
            // Another process created it first.
            Err(Errno::EXIST) => Ok(()),
            made => made,
        }?;
        // Write the new name to the disk, because the files in the directory must survive a crash. A directory that
        // cannot be listed cannot be written to the disk.
        let _ = openat(&self.handle, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).and_then(fsync);
        Ok(())
    }
}

/// Flags for directories on the way, which need not be readable.
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn follow(handle: &OwnedFd, name: &OsStr, found: &Stat, at: &Path, trust: Trust) -> Result<PathBuf, DirectoryError> {
    trust.owner(at, found)?;
    let target = readlinkat(handle, name, Vec::new()).map_err(|error| DirectoryError::system(at, error))?;
    Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
}

/// Returns the names on a path, including `..`.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use super::*;

    /// User id of `nobody`.
    const NOBODY: u32 = 65_534;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("steady-directory-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn why(opened: Result<Directory, DirectoryError>) -> String {
        opened.map(|directory| directory.path).unwrap_err().to_string()
    }

    #[test]
    fn directories_that_others_can_write_are_refused() {
        let base = scratch("open");
        for (mode, is_trusted) in [(0o755, true), (0o700, true), (0o1777, false), (0o777, false), (0o757, false)] {
            let path = base.join(format!("{mode:o}"));
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(Directory::open(&path).is_ok(), is_trusted, "{mode:o}");
            // With the sticky bit on a directory on the way, others cannot replace what is below it.
            let below = Directory::create(&path.join("below"), 0o700);
            assert_eq!(below.is_ok(), is_trusted || mode & STICKY != 0, "{mode:o}");
        }
        assert!(why(Directory::open(&base.join("777"))).contains("can be written by everybody (mode 0777)"));
        assert!(Directory::open(&base.join("missing")).unwrap_err().is_missing());
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn directories_and_links_of_other_users_are_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let base = scratch("owner");
        fs::create_dir_all(base.join("theirs/below")).unwrap();
        fs::create_dir_all(base.join("group")).unwrap();
        symlink(base.join("target"), base.join("link")).unwrap();
        fs::create_dir(base.join("target")).unwrap();
        assert_eq!(
            Directory::open(&base.join("link")).unwrap().path(),
            base.join("target"),
            "our own link is followed"
        );
        chown(base.join("theirs"), Some(NOBODY), None).unwrap();
        std::os::unix::fs::lchown(base.join("link"), Some(NOBODY), None).unwrap();
        chown(base.join("group"), None, Some(NOBODY)).unwrap();
        fs::set_permissions(base.join("group"), Permissions::from_mode(0o775)).unwrap();
        for (name, says) in [
            ("theirs", "belongs to another user (number 65534)"),
            ("theirs/below", "belongs to another user"),
            ("link", "belongs to another user"),
            ("group", "can be written by group 65534"),
        ] {
            let why = why(Directory::open(&base.join(name)));
            assert!(why.contains(says), "{name}: {why}");
        }
        assert!(Directory::open_below(&base.join("theirs"), Path::new("below")).is_ok(), "the caller trusts the base");
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_file_is_replaced_and_never_through_a_link() {
        let base = scratch("replace");
        let (directory, victim) = (Directory::open(&base).unwrap(), base.join("victim"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, base.join("file.new")).unwrap();
        symlink(&victim, base.join("file")).unwrap();
        assert!(directory.read("file").is_err(), "symbolic links are refused");
        directory.replace("file", b"new", 0o644, true, || ()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(directory.read("file").unwrap().unwrap(), b"new");
        assert_eq!(fs::metadata(base.join("file")).unwrap().mode() & 0o777, 0o644);
        assert_eq!((directory.read("none").unwrap(), base.join("file.new").exists()), (None, false));
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_lock_is_private_and_names_its_holder() {
        let base = scratch("lock");
        let directory = Directory::open(&base).unwrap();
        let lock = |patience: u64| directory.lock("it.lock".as_ref(), Duration::from_millis(patience));
        let held = lock(0).unwrap();
        assert_eq!(fs::metadata(base.join("it.lock")).unwrap().mode() & 0o777, 0o600);
        let error = lock(50).unwrap_err();
        assert!(error.to_string().ends_with(&format!("is locked by process {}", std::process::id())), "{error}");
        drop(held);
        assert!(!base.join("it.lock").exists());
        drop(lock(0).unwrap());
        symlink("/dev/null", base.join("it.lock")).unwrap();
        assert!(lock(0).is_err(), "symbolic links are refused");
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_file_is_found_through_links_and_checked() {
        let base = scratch("file");
        fs::write(base.join("real"), "").unwrap();
        symlink("real", base.join("one")).unwrap();
        symlink(base.join("one"), base.join("two")).unwrap();
        let (directory, name) = Directory::of_file(&base.join("two"), 0o700).unwrap();
        assert_eq!(directory.path().join(&name), base.join("real"));
        directory.check_file(&name).unwrap();
        fs::hard_link(base.join("real"), base.join("other")).unwrap();
        assert!(directory.check_file(&name).unwrap_err().to_string().contains("several names"));
        assert!(directory.check_file("one".as_ref()).unwrap_err().to_string().contains("not a regular file"));
        let (made, name) = Directory::of_file(&base.join("a/b/file"), 0o700).unwrap();
        assert_eq!(fs::metadata(base.join("a/b")).unwrap().mode() & 0o777, 0o700);
        made.check_file(&name).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        assert!(Directory::of_file(&base.join("loop"), 0o700).is_err());
        fs::remove_dir_all(base).unwrap();
    }
}
