//! The location of a file that will be replaced: its name, and an open descriptor of its directory.
//!
//! A location stays valid if its path is longer than PATH_MAX, if the working directory changes, or if a directory
//! above it is renamed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, StatxFlags, Uid, fchmod, fchown, fstat, openat, readlinkat,
    renameat, statat, statx, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The maximum number of symbolic links on a path, as in the kernel.
const LINKS: usize = 40;
/// The number of bytes of a file's name that the name of its temporary file begins with. The process ID follows, and a
/// name has at most 255 bytes.
const BEGINNING: usize = 200;

/// The location of a file.
pub(super) struct FileLocation {
    directory: OwnedFd,
    name: OsString,
}

impl FileLocation {
    /// Finds the location of a path, and follows symbolic links at its end.
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
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = match openat(&below, &name, flags, Mode::empty()) {
                Ok(found) => found,
                Err(Errno::NOENT) => return Ok(FileLocation { directory: below, name }),
                Err(error) => return Err(error.into()),
            };
            let stat = fstat(&found)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                return Ok(FileLocation { directory: below, name });
            }
            if !may_follow(&stat, &fstat(&below)?) {
                let why = "a symbolic link of another user in a directory that every user can write";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            path = PathBuf::from(OsString::from_vec(readlinkat(&found, "", Vec::new())?.into_bytes()));
            directory = Some(below);
        }
        Err(Errno::LOOP.into())
    }

    /// Returns whether two locations are the same.
    pub(super) fn is(&self, other: &FileLocation) -> bool {
        let directory = |place: &FileLocation| {
            statat(&place.directory, "", AtFlags::EMPTY_PATH).map(|found| (found.st_dev, found.st_ino)).ok()
        };
        self.name == other.name && directory(self).is_some_and(|found| Some(found) == directory(other))
    }

    /// Checks that the file can be replaced: creates the temporary file of [`FileLocation::replace`], and removes it
    /// again. The name of the file itself is not used, because another process may be writing it.
    pub(super) fn check(&self) -> io::Result<()> {
        let unfinished = self.unfinished();
        self.create(&unfinished)?;
        Ok(unlinkat(&self.directory, &unfinished, AtFlags::empty())?)
    }

    /// Returns whether the file is a mount point, as a file of the host in a container. It cannot be renamed then.
    pub(super) fn is_mount_point(&self) -> bool {
        let mount = |name: &OsStr, flags| {
            let found = statx(&self.directory, name, AtFlags::EMPTY_PATH | flags, StatxFlags::MNT_ID).ok()?;
            (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
        };
        let file = mount(&self.name, AtFlags::SYMLINK_NOFOLLOW);
        file.is_some() && file != mount(OsStr::new(""), AtFlags::empty())
    }

    /// Replaces the file by one with this text and the permissions of the file before. The replacement is atomic.
    pub(super) fn replace(&self, text: &str) -> io::Result<()> {
        let unfinished = self.unfinished();
        let write = || {
            let mut file = self.create(&unfinished)?;
            if let Ok(before) = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
                // Root leaves the file to its owner. For others an error is ignored.
                let _ = fchown(&file, Some(Uid::from_raw(before.st_uid)), Some(Gid::from_raw(before.st_gid)));
                // Not the bits that make a program run as another user.
                fchmod(&file, Mode::from_raw_mode(before.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO))?;
            }
            file.write_all(text.as_bytes())?;
            Ok(renameat(&self.directory, &unfinished, &self.directory, &self.name)?)
        };
        let written = write();
        if written.is_err() {
            // An error is ignored, because the write has failed already.
            let _ = unlinkat(&self.directory, &unfinished, AtFlags::empty());
        }
        written
    }

    /// The name of the temporary file.
    fn unfinished(&self) -> OsString {
        let beginning = &self.name.as_bytes()[..self.name.len().min(BEGINNING)];
        let mut unfinished = OsStr::from_bytes(beginning).to_owned();
        unfinished.push(format!(".{}.tmp", std::process::id()));
        unfinished
    }

    /// Creates the temporary file.
    fn create(&self, unfinished: &OsStr) -> io::Result<File> {
        // A killed process with the same ID may have left this file.
        let _ = unlinkat(&self.directory, unfinished, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.directory, unfinished, flags, Mode::from_raw_mode(0o666))?))
    }
}

/// Returns whether a symbolic link may be followed: in a sticky directory that every user can write, only those of this
/// user and of the owner of the directory (`fs.protected_symlinks` in proc_sys_fs(5)).
fn may_follow(link: &Stat, directory: &Stat) -> bool {
    let shared = Mode::SVTX | Mode::WOTH;
    !Mode::from_raw_mode(directory.st_mode).contains(shared)
        || link.st_uid == geteuid().as_raw()
        || link.st_uid == directory.st_uid
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_through_links_and_with_a_long_name() {
        let folder = std::env::temp_dir().join(format!("steady-place-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("deep")).unwrap();
        let (long, one) = (folder.join("x".repeat(255)), folder.join("deep/one"));
        fs::write(&one, "before").unwrap();
        symlink("deep/two", folder.join("link")).unwrap();
        symlink("one", folder.join("deep/two")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        let (found, linked) = (FileLocation::find(&one).unwrap(), FileLocation::find(&folder.join("link")).unwrap());
        let other = FileLocation::find(&long).unwrap();
        other.check().unwrap();
        found.check().unwrap();
        assert!(!long.exists());
        assert_eq!(fs::read_to_string(&one).unwrap(), "before");
        assert!(found.is(&linked) && !found.is(&other));
        assert!(FileLocation::find(&folder.join("loop")).is_err());
        let mode = || fs::metadata(&one).unwrap().permissions().mode() & 0o7777;
        fs::set_permissions(&one, fs::Permissions::from_mode(0o4610)).unwrap();
        linked.replace("text").unwrap();
        assert_eq!(mode(), 0o610);
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

    #[test]
    fn links_of_others_in_shared_directories_are_not_followed() {
        let folder = fstat(fs::File::open(std::env::temp_dir()).unwrap()).unwrap();
        let of = |mode, uid| {
            let mut stat = folder;
            (stat.st_mode, stat.st_uid) = (mode, uid);
            stat
        };
        let own = geteuid().as_raw();
        let (shared, usual) = (of(0o41777, own + 1), of(0o40777, own + 1));
        assert!(may_follow(&of(0o120777, own), &shared) && may_follow(&of(0o120777, own + 1), &shared));
        assert!(!may_follow(&of(0o120777, own + 2), &shared));
        assert!(may_follow(&of(0o120777, own + 2), &usual));
    }
}
