//! Directories that other users cannot write to, and files in them.
//!
//! A program that creates, replaces or locks files by path trusts every directory on that path. [`Directory`] checks this
//! trust while it walks the path, one component at a time, and then works relative to the open directory, so that nobody
//! can put another file or a symbolic link in the way between the check and the use.
//!
//! A component is trusted if it belongs to root, to this process's effective user or to the owner of the directory where
//! the walk begins, and if nobody else may write to it. A group may write to it if it is root's or has the number of that
//! user, as the private groups of users have on most distributions. A directory with the sticky bit, such as `/tmp`, may
//! be on the way, since nobody can rename or remove what others have there; it cannot be the last one, since everybody
//! can create files in it.

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

/// Symbolic links on one path, as many as the kernel follows.
const LINKS: u32 = 40;
/// How often a lock that another process holds is tried again.
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
        /// What is wrong with it.
        why: String,
    },
    /// Another process holds a lock.
    #[error("'{}' is locked by {holder}", .path.display())]
    Locked {
        /// The lock's file.
        path: PathBuf,
        /// The process that holds it, as far as known.
        holder: String,
    },
    /// What the system says.
    #[error("'{}': {error}", .path.display())]
    System {
        /// The file or directory.
        path: PathBuf,
        /// The error.
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

    /// Whether a component of the path does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, DirectoryError::System { error, .. } if error.kind() == io::ErrorKind::NotFound)
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
    /// Opens the directory at `path`, walking from the root directory, or from the working directory's path.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        Walk::from_root()?.finish(&absolute(path)?, None)
    }

    /// Opens the directory at `path`, and creates the components that are missing with `mode`, less the umask.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn create(path: &Path, mode: u32) -> Result<Self, DirectoryError> {
        Walk::from_root()?.finish(&absolute(path)?, Some(mode))
    }

    /// Opens the directory at `path` below `base`, which the caller trusts with all above it.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn open_below(base: &Path, path: &Path) -> Result<Self, DirectoryError> {
        Walk::from(base)?.finish(path, None)
    }

    /// As [`Directory::open_below`]; creates the components that are missing with `mode`, less the umask.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn create_below(base: &Path, path: &Path, mode: u32) -> Result<Self, DirectoryError> {
        Walk::from(base)?.finish(path, Some(mode))
    }

    /// Opens a directory below `base` that any user may own and write to, without following symbolic links; the directories
    /// above it are verified as by [`Directory::open_below`]. For files that prove by themselves whose they are.
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

    /// The directory that holds the file at `path`, and the file's name in it; a symbolic link at `path` that this user
    /// or root has made is followed. The file need not exist; missing directories are created with `mode`.
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

    /// The path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file `name`; `None` where there is none. It must be what [`Directory::check_file`] verifies.
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

    /// Replaces the file `name` by one with these bytes and this mode, without a moment at which it is not whole. With
    /// `durable` it is on the disk before `before_it_counts` is called and the name is changed, and so is the name after.
    ///
    /// # Errors
    /// What the system calls say. The file is the one before.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        bytes: &[u8],
        mode: u32,
        durable: bool,
        before_it_counts: impl FnOnce(),
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
            before_it_counts();
            self.rename(&unfinished, name)?;
            if durable { self.sync() } else { Ok(()) }
        });
        if written.is_err() {
            // It is in nobody's way but the disk's.
            let _ = self.remove(&unfinished);
        }
        written
    }

    /// Renames a file of this directory.
    ///
    /// # Errors
    /// What renameat(2) says.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.handle, from.as_ref(), &self.handle, to.as_ref())?)
    }

    /// Removes the file `name`, if there is one.
    ///
    /// # Errors
    /// What unlinkat(2) says.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&self.handle, name.as_ref(), AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Has the names in it written to the disk.
    ///
    /// # Errors
    /// What fsync(2) says.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.handle)?)
    }

    /// Verifies that the file `name`, if there is one, is a regular file of this user or of root with no other name.
    ///
    /// # Errors
    /// [`DirectoryError`]
    pub fn check_file(&self, name: &OsStr) -> Result<(), DirectoryError> {
        match self.stat(name)? {
            Some(found) => self.check(&self.path.join(name), &found),
            None => Ok(()),
        }
    }

    /// Makes the file `name` for this user alone (0600) where there is none. See [`own_file`](crate::private::own_file).
    ///
    /// # Errors
    /// As mknodat(2), but for EEXIST.
    pub fn make_own_file(&self, name: &OsStr) -> Result<(), DirectoryError> {
        make_own_file(&self.handle, name).map_err(|error| DirectoryError::system(&self.path.join(name), error))
    }

    /// Takes from other users what rights they have to the file `name`, if it is this user's.
    ///
    /// # Errors
    /// As chmod(2).
    pub fn close_to_others(&self, name: &OsStr) -> Result<(), DirectoryError> {
        close_to_others(&self.handle, name).map_err(|error| DirectoryError::system(&self.path.join(name), error))
    }

    /// Locks the file `name`, which is created where it is missing, and waits for that as long as `patience`. Only this
    /// user can open the file, so that nobody else can hold the lock.
    ///
    /// # Errors
    /// [`DirectoryError::Locked`] where another process still holds it.
    pub fn lock(&self, name: &OsStr, patience: Duration) -> Result<Lock, DirectoryError> {
        let path = self.path.join(name);
        let failed = |error: Errno| DirectoryError::system(&path, error);
        let handle = self.handle.try_clone().map_err(|error| DirectoryError::system(&path, error))?;
        let began = clock::monotonic();
        loop {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK | SAFE;
            let mut file = File::from(openat(&self.handle, name, flags, Mode::from_raw_mode(0o600)).map_err(failed)?);
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
            // The process that had it may have removed it in between: then this is a lock that nobody else sees.
            let now = self.stat(name)?;
            if now.is_some_and(|now| (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino)) {
                // Earlier versions let others open it.
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

    /// The target of a symbolic link, if its owner is trusted.
    fn follow(&self, name: &OsStr, found: &Stat) -> Result<PathBuf, DirectoryError> {
        follow(&self.handle, name, found, &self.path.join(name), self.trust)
    }
}

/// A file that this process has locked. It is removed when this is dropped, and the lock with it.
#[derive(Debug)]
pub struct Lock {
    directory: OwnedFd,
    name: OsString,
    // The lock is held through this descriptor.
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // One that stays can be locked again.
        let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

/// Never through a symbolic link, and not for programs that are started.
const SAFE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// The process that wrote its number into a lock's file.
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

/// The users who are trusted.
#[derive(Clone, Copy, Debug)]
struct Trust {
    own: u32,
    /// The owner of the directory where the walk begins. It could replace everything below anyway; in a user namespace
    /// root's files may belong to a number of their own.
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

/// A walk along a path.
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

    /// Walks to the end of `path`; missing directories are created with the mode in `create`.
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
        // What was opened to walk through cannot be synchronised.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = match openat(&self.handle, ".", flags, Mode::empty()) {
            // A directory that may be entered and not be listed.
            Err(Errno::ACCESS) => self.handle,
            opened => opened.map_err(failed)?,
        };
        Ok(Directory { handle, path: self.path, trust: self.trust })
    }

    fn make(&self, name: &OsStr, mode: u32) -> rustix::io::Result<()> {
        match mkdirat(&self.handle, name, Mode::from_raw_mode(mode)) {
            // Another process was faster.
            Err(Errno::EXIST) => Ok(()),
            made => made,
        }?;
        // The directory must outlive a crash as the files in it do; where it cannot be listed, it cannot be synchronised.
        let _ = openat(&self.handle, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).and_then(fsync);
        Ok(())
    }
}

/// Directories on the way need not be readable.
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn follow(handle: &OwnedFd, name: &OsStr, found: &Stat, at: &Path, trust: Trust) -> Result<PathBuf, DirectoryError> {
    trust.owner(at, found)?;
    let target = readlinkat(handle, name, Vec::new()).map_err(|error| DirectoryError::system(at, error))?;
    Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
}

/// The names on a path, `..` included.
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

    /// The user `nobody`.
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
            // On the way, the sticky bit keeps others from replacing what is below.
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
        assert!(Directory::open_below(&base.join("theirs"), Path::new("below")).is_ok(), "who is trusted is named");
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_file_is_replaced_and_never_through_a_link() {
        let base = scratch("replace");
        let (directory, victim) = (Directory::open(&base).unwrap(), base.join("victim"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, base.join("file.new")).unwrap();
        symlink(&victim, base.join("file")).unwrap();
        assert!(directory.read("file").is_err(), "a link");
        directory.replace("file", b"new", 0o644, true, || ()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(directory.read("file").unwrap().unwrap(), b"new");
        assert_eq!(fs::metadata(base.join("file")).unwrap().mode() & 0o777, 0o644);
        assert_eq!((directory.read("none").unwrap(), base.join("file.new").exists()), (None, false));
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_lock_is_for_its_owner_alone_and_names_who_holds_it() {
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
        assert!(lock(0).is_err(), "a link");
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
