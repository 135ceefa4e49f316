//! Directories that only this user can write to, and removal of trees in them.
//!
//! Every step is relative to an open descriptor (openat2(2), unlinkat(2)). Symbolic links are removed but never
//! followed, and nothing below a mount point is removed. Therefore a removal stays within the directory where it
//! starts.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// The file that marks a tree. It is removed last, so a partly removed tree still has its mark.
pub const MARK: &str = "lock";

/// Write permission for the group and for others.
const OTHERS_WRITE: u32 = 0o022;
/// Maximum number of symbolic links on one path: the same as in the kernel.
const LINKS: u32 = 40;
/// All permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// An open directory that belongs to this user and that no other user may write to.
#[derive(Debug)]
pub struct PrivateDirectory(OwnedFd);

impl PrivateDirectory {
    /// Opens a directory.
    ///
    /// # Errors
    /// The last component of the path is a symbolic link or not a directory, or another user owns the directory or may
    /// write to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty());
        Self::verified(directory.map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => io::Error::other("not a directory"),
            error => error.into(),
        })?)
    }

    /// Opens a directory in this one, on the same mount.
    ///
    /// # Errors
    /// As [`PrivateDirectory::open`]; also if `name` is a mount point.
    pub fn open_in(&self, name: &OsStr) -> io::Result<Self> {
        Self::verified(open_below(self.0.as_fd(), name)?)
    }

    fn verified(directory: OwnedFd) -> io::Result<Self> {
        if is_ours(&rustix::fs::fstat(&directory)?) {
            Ok(PrivateDirectory(directory))
        } else {
            Err(io::Error::other("not a directory that only this user may write to"))
        }
    }

    /// Returns the names in the directory, without `.` and `..`.
    ///
    /// # Errors
    /// The error of getdents64(2).
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        names(self.0.as_fd())
    }

    /// Returns the content of a regular file of this user in the directory, if it has at most `longest` bytes.
    ///
    /// # Errors
    /// There is no such file, it is too long, or another user owns it or may write to it.
    pub fn read(&self, name: &OsStr, longest: usize) -> io::Result<Vec<u8>> {
        // Without NONBLOCK, opening a FIFO would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        let found = rustix::fs::fstat(&file)?;
        let is_short = u64::try_from(found.st_size).is_ok_and(|size| size <= longest as u64);
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || !is_ours(&found) || !is_short {
            return Err(io::Error::other("not a short file that only this user may write to"));
        }
        let mut bytes = vec![0; longest];
        let length = rustix::io::read(&file, &mut bytes[..])?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Removes the entry `name` and everything below it. Returns without an error if it does not exist.
    ///
    /// # Errors
    /// The error of unlinkat(2). EXDEV for a mount point, of which nothing is removed.
    pub fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        remove(self.0.as_fd(), name)
    }
}

impl AsFd for PrivateDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Removes a directory of this user and everything below it. Returns without an error if it does not exist.
///
/// # Errors
/// The path is a symbolic link, a mount point, or a directory that another user owns or may write to; nothing is
/// removed then. Otherwise the error of unlinkat(2).
pub fn remove_own_tree(path: &Path) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        parent => parent?,
    };
    match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory && is_ours(&found) => {
            remove(parent.as_fd(), name)
        }
        Ok(_) => Err(io::Error::other("not a directory that only this user may write to")),
        Err(error) => Err(error.into()),
    }
}

/// Creates a regular file with mode 0600 if it does not exist. Removes the permissions of other users from an existing
/// file of this user. A user who can open a file, even only for reading, can lock it (fcntl(2)) and prevent its owner
/// from writing. A symbolic link at the end of the path is followed.
///
/// An existing file is not opened, because closing it would release the locks that this process holds on it.
///
/// # Errors
/// The error of a system call. An existing file can still be used.
pub fn own_file(path: &Path) -> io::Result<()> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match std::fs::read_link(&path) {
            // An absolute target replaces the whole path.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => {
                make_own_file(CWD, path.as_os_str())?;
                return close_to_others(CWD, &path);
            }
        }
    }
    Err(Errno::LOOP.into())
}

/// Creates a regular file for this user only, unless the name exists.
pub(crate) fn make_own_file(directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    let mode = Mode::RUSR | Mode::WUSR;
    let made = match rustix::fs::mknodat(directory.as_fd(), name, FileType::RegularFile, mode, 0) {
        // Some file systems and sandboxes do not support this call.
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(directory, name, flags, mode).map(drop)
        }
        made => made,
    };
    if made == Err(Errno::EXIST) { Ok(()) } else { made }
}

/// Removes the permissions of other users from a regular file of this user. Does nothing if the file does not exist or
/// is of another kind or user. It does not open the file or follow a symbolic link.
///
/// # Errors
/// The error of openat(2) or chmod(2). The file is then unchanged.
pub fn close_to_others(directory: impl AsFd, name: impl AsRef<OsStr>) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, name.as_ref(), flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        file => file?,
    };
    let found = rustix::fs::fstat(&file)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if !is_file || found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & OTHERS == 0 {
        return Ok(());
    }
    let own = Mode::from_raw_mode(found.st_mode & 0o700);
    // Change the file that was checked, even if its name belongs to another file by now.
    Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), own)?)
}

fn is_ours(found: &Stat) -> bool {
    found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & OTHERS_WRITE == 0
}

/// Opens a directory in another one. Symbolic links and mount points are errors.
fn open_below(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match rustix::fs::openat2(parent, name, flags, Mode::empty(), inside) {
        // Kernels before 5.6 and some sandboxes do not support this call.
        Err(Errno::NOSYS | Errno::PERM) => {
            let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
            let same = rustix::fs::fstat(&directory)?.st_dev == rustix::fs::fstat(parent)?.st_dev;
            if same { Ok(directory) } else { Err(Errno::XDEV) }
        }
        opened => opened,
    }
}

fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_owned();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

fn remove(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let directory = match open_below(parent, name) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return unlink(parent, name, AtFlags::empty()),
        // The directory may forbid its owner to read it.
        Err(Errno::ACCESS) => {
            permit(parent, name)?;
            open_below(parent, name)?
        }
        opened => opened?,
    };
    let mut entries = names(directory.as_fd())?;
    entries.sort_by_key(|entry| entry == MARK);
    for entry in entries {
        remove_entry(directory.as_fd(), &entry)?;
    }
    unlink(parent, name, AtFlags::REMOVEDIR)
}

/// Removes an entry of a directory that may forbid its owner to change it.
fn remove_entry(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match remove(directory, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            rustix::fs::fchmod(directory, Mode::RWXU)?;
            remove(directory, name)
        }
        removed => removed,
    }
}

fn unlink(parent: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives the owner all permissions for a directory in another one. fchmod(2) does not work on the descriptor of an
/// unreadable directory, so this uses the link in `/proc`.
fn permit(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    if !is_own(&rustix::fs::fstat(&directory)?) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok(rustix::fs::chmodat(CWD, OsStr::from_bytes(link.as_bytes()), Mode::RWXU, AtFlags::empty())?)
}

fn is_own(found: &Stat) -> bool {
    found.st_uid == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, DirBuilder, Permissions};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    use super::*;

    /// A private directory that is removed when it is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("steady-private-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            DirBuilder::new().mode(0o700).create(&path).unwrap();
            Folder(path)
        }

        /// Creates a directory with a file below this directory.
        fn with_file(&self, name: &str) -> PathBuf {
            let path = self.0.join(name);
            DirBuilder::new().mode(0o755).recursive(true).create(&path).unwrap();
            fs::write(path.join("file"), "precious").unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_tree_is_removed_and_links_in_it_are_not_followed() {
        let folder = Folder::new("tree");
        let other = folder.with_file("other");
        let tree = folder.with_file("tree");
        folder.with_file("tree/a/b");
        symlink(&other, tree.join("a/link")).unwrap();
        symlink(other.join("file"), tree.join("a/b/file-link")).unwrap();
        symlink("/nonexistent", tree.join("dangling")).unwrap();
        for unwritable in ["a/b", "a"] {
            fs::set_permissions(tree.join(unwritable), Permissions::from_mode(0o555)).unwrap();
        }
        fs::create_dir(tree.join("closed")).unwrap();
        fs::set_permissions(tree.join("closed"), Permissions::from_mode(0o000)).unwrap();
        let private = PrivateDirectory::open(&folder.0).unwrap();
        private.remove_tree("tree".as_ref()).unwrap();
        private.remove_tree("tree".as_ref()).unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(other.join("file")).unwrap(), "precious");
        symlink(&other, &tree).unwrap();
        assert!(remove_own_tree(&tree).is_err());
        private.remove_tree("tree".as_ref()).unwrap();
        assert!(other.join("file").exists() && tree.symlink_metadata().is_err());
        remove_own_tree(&other).unwrap();
        remove_own_tree(&other).unwrap();
        assert!(!other.exists());
    }

    /// A mount point below the tree stops the removal halfway.
    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn a_partly_removed_tree_is_still_marked() {
        let folder = Folder::new("marked");
        let tree = folder.with_file("tree");
        fs::write(tree.join(MARK), "").unwrap();
        let mounted = folder.with_file("tree/zzz");
        if rustix::mount::mount_bind(folder.with_file("other"), &mounted).is_err() {
            eprintln!("skipped: a_partly_removed_tree_is_still_marked: cannot mount a directory");
            return;
        }
        let removed = remove_own_tree(&tree);
        rustix::mount::unmount(&mounted, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(removed.is_err() && tree.join(MARK).exists());
    }

    #[test]
    fn directories_that_others_can_change_are_refused() {
        let folder = Folder::new("others");
        let tree = folder.with_file("tree");
        symlink(&tree, folder.0.join("link")).unwrap();
        assert!(PrivateDirectory::open(&folder.0.join("link")).is_err());
        assert!(PrivateDirectory::open(&tree.join("file")).is_err());
        let private = PrivateDirectory::open(&folder.0).unwrap();
        assert!(private.open_in("link".as_ref()).is_err());
        assert_eq!(private.open_in("tree".as_ref()).unwrap().names().unwrap(), ["file"]);
        for mode in [0o770, 0o702] {
            fs::set_permissions(&tree, Permissions::from_mode(mode)).unwrap();
            assert!(PrivateDirectory::open(&tree).is_err(), "{mode:o}");
            assert!(private.open_in("tree".as_ref()).is_err(), "{mode:o}");
            assert!(remove_own_tree(&tree).is_err(), "{mode:o}");
        }
        fs::set_permissions(&tree, Permissions::from_mode(0o700)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&tree, Some(12_345), None).unwrap();
            assert!(PrivateDirectory::open(&tree).is_err() && remove_own_tree(&tree).is_err());
        }
        assert!(tree.join("file").exists());
    }

    #[test]
    fn only_short_regular_files_are_read() {
        let folder = Folder::new("read");
        let private = PrivateDirectory::open(&folder.with_file("tree")).unwrap();
        assert_eq!(private.read("file".as_ref(), 100).unwrap(), b"precious");
        assert!(private.read("file".as_ref(), 3).is_err() && private.read("none".as_ref(), 100).is_err());
        symlink("file", folder.0.join("tree/link")).unwrap();
        assert!(private.read("link".as_ref(), 100).is_err());
        rustix::fs::mkfifoat(&private, "fifo", Mode::RUSR | Mode::WUSR).unwrap();
        assert!(private.read("fifo".as_ref(), 100).is_err());
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn mounted_directories_are_not_removed() {
        let folder = Folder::new("mounted");
        let tree = folder.with_file("tree");
        let mounted = folder.with_file("tree/mounted");
        let other = folder.with_file("other");
        let mount = rustix::mount::mount_bind(&other, &mounted);
        if mount.is_err() {
            eprintln!("skipped: mounted_directories_are_not_removed: cannot mount a directory: {mount:?}");
            return;
        }
        let removed = remove_own_tree(&tree);
        let unmounted = rustix::mount::unmount(&mounted, rustix::mount::UnmountFlags::DETACH);
        assert!(removed.is_err() && other.join("file").exists());
        unmounted.unwrap();
        remove_own_tree(&tree).unwrap();
        assert!(!tree.exists());
    }
}
