//! Reads the identity of files, as it is stored in cards.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, StatxTimestamp, makedev, statx};
use rustix::io::Errno;
use steady_preload::identity::{Identity, Time};

/// `STATX_MNT_ID_UNIQUE`: a mount number that is not reused until the next boot (since Linux 6.8).
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// `STATX_MNT_ID`: the mount number that kernels from 5.8 on return if they do not know the unique one.
const MOUNT: StatxFlags = StatxFlags::MNT_ID;

/// The major number of loop devices.
const LOOP: u32 = 7;
/// Magic numbers (statfs(2)) of image file systems: cramfs, EROFS, ISO 9660, romfs, SquashFS, UDF, FUSE.
const IMAGES: [u64; 7] = [0x28cd_3d45, 0xe0f5_e1e2, 0x9660, 0x7275, 0x7371_7368, 0x1501_3346, 0x6573_5546];

/// Returns the identity of the file that a path leads to, or `None` if there is no file.
///
/// # Errors
/// As statx(2), such as for a directory that may not be searched.
pub fn at(path: &Path) -> io::Result<Option<Identity>> {
    Ok(status(path)?.as_ref().map(of))
}

/// Returns the identity of a file.
///
/// # Errors
/// As statx(2), also if there is no file.
pub fn existing(path: &Path) -> io::Result<Identity> {
    at(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns the properties in which two identities differ, in words: `size, change time`.
pub(crate) fn difference(before: &Identity, now: &Identity) -> String {
    if (before.device, before.inode, before.mount) != (now.device, now.inode, now.mount) {
        return "it is another file or on another mount".to_owned();
    }
    let properties = [
        (before.bytes != now.bytes, "size"),
        (before.modified != now.modified, "modification time"),
        (before.changed != now.changed, "change time"),
    ];
    let differ: Vec<&str> = properties.into_iter().filter(|(differs, _)| *differs).map(|(_, name)| name).collect();
    match differ.as_slice() {
        ["change time"] => "only its change time (ctime), as by a new hard link or chmod".to_owned(),
        differ => differ.join(", "),
    }
}

/// Returns the name of a file's card in a store.
///
/// # Errors
/// As [`existing`].
pub fn key(path: &Path) -> io::Result<String> {
    existing(path).map(|file| file.key().as_str().to_owned())
}

/// Returns whether another file could later have the identity of this one. Its file system may be replaced by another
/// image with the same numbers and times, and this kernel reuses mount numbers.
///
/// # Errors
/// As statx(2) and statfs(2).
pub fn is_ambiguous(path: &Path) -> io::Result<bool> {
    let file = status(path)?.ok_or(io::ErrorKind::NotFound)?;
    let is_unique = file.stx_mask & UNIQUE_MOUNT.bits() != 0;
    Ok(!is_unique && is_of_an_image(file.stx_dev_major, rustix::fs::statfs(path)?.f_type as u64))
}

fn is_of_an_image(major: u32, file_system: u64) -> bool {
    major == LOOP || IMAGES.contains(&file_system)
}

fn status(path: &Path) -> io::Result<Option<Statx>> {
    match statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS | MOUNT | UNIQUE_MOUNT) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn of(file: &Statx) -> Identity {
    let time = |time: StatxTimestamp| Time { seconds: time.tv_sec, nanoseconds: i64::from(time.tv_nsec) };
    Identity {
        device: makedev(file.stx_dev_major, file.stx_dev_minor),
        inode: file.stx_ino,
        mount: file.stx_mnt_id,
        bytes: file.stx_size,
        modified: time(file.stx_mtime),
        changed: time(file.stx_ctime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_file_systems_are_recognised_by_device_or_type() {
        const EXT4: u64 = 0xef53;
        assert!(is_of_an_image(LOOP, EXT4) && is_of_an_image(253, 0x7371_7368));
        assert!(!is_of_an_image(253, EXT4));
        assert!(!is_ambiguous(Path::new("/proc/self/stat")).unwrap());
    }

    #[test]
    fn a_difference_names_the_properties() {
        let before = Identity { inode: 7, bytes: 100, ..Identity::default() };
        let later = Time { seconds: 1, nanoseconds: 0 };
        let linked = Identity { changed: later, ..before };
        assert_eq!(difference(&before, &linked), "only its change time (ctime), as by a new hard link or chmod");
        let written = Identity { bytes: 101, modified: later, ..linked };
        assert_eq!(difference(&before, &written), "size, modification time, change time");
        let other = Identity { inode: 8, ..written };
        assert_eq!(difference(&before, &other), "it is another file or on another mount");
    }

    #[test]
    fn identities_agree_with_stat() {
        use std::os::unix::fs::MetadataExt;
        let (own, stat) = (existing(Path::new("/bin/sh")).unwrap(), std::fs::metadata("/bin/sh").unwrap());
        assert_eq!((own.device, own.inode, own.bytes), (stat.dev(), stat.ino(), stat.size()));
        assert_eq!((own.changed.seconds, own.changed.nanoseconds), (stat.ctime(), stat.ctime_nsec()));
        assert_eq!((own.modified.seconds, own.modified.nanoseconds), (stat.mtime(), stat.mtime_nsec()));
        assert_eq!(at(Path::new("/bin/sh/x")).unwrap(), None);
        assert_eq!(at(Path::new("/nonexistent")).unwrap(), None);
    }
}
