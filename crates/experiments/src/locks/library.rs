//! The watcher as a file that every program of the command can load.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

/// Programs of other users load it too, and nobody but this one may change it.
const MODE: u32 = 0o755;
const NAME: &str = "locks.so";

/// Puts the watcher into a folder of this user's below the first of `folders` where that can be done and code can be run from.
///
/// # Errors
/// Why it cannot be done in the last one.
pub(super) fn unpack(bytes: &[u8], folders: &[PathBuf]) -> io::Result<PathBuf> {
    let mut last = io::Error::other("there is no folder to put it");
    for folder in folders {
        match unpack_in(bytes, folder) {
            Ok(path) => return Ok(path),
            Err(error) => last = io::Error::other(format!("{}: {error}", folder.display())),
        }
    }
    Err(last)
}

fn unpack_in(bytes: &[u8], folder: &Path) -> io::Result<PathBuf> {
    if folder.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b':' | b' ' | b'\t' | b'\n' | b'$')) {
        return Err(io::Error::other("LD_PRELOAD cannot name it"));
    }
    if statvfs(folder)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("no code can be run from there (noexec)"));
    }
    let user = rustix::process::geteuid().as_raw();
    let own = folder.join(format!("steady-u{user}-{:016x}", hash(bytes)));
    match DirBuilder::new().mode(MODE).create(&own) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
        // Whatever the umask is.
        Ok(()) => fs::set_permissions(&own, Permissions::from_mode(MODE))?,
    }
    let found = fs::symlink_metadata(&own)?;
    if !(found.is_dir() && is_ours(&found)) {
        return Err(io::Error::other(format!("'{}' is another user's, or others can write to it", own.display())));
    }
    let path = own.join(NAME);
    let whole = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && is_ours(&found))
        && fs::read(&path).is_ok_and(|read| read == bytes);
    if !whole {
        write_whole(&path, bytes)?;
    }
    Ok(path)
}

fn is_ours(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
}

/// All at once: another command may be loading it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_file_name(format!("{NAME}.{}", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let written = File::options().write(true).create_new(true).mode(MODE).open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(MODE))?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// FNV-1a: tells builds apart; what is there is compared as a whole all the same.
fn hash(bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_spoiled_is_written_anew() {
        let folder = std::env::temp_dir().join(format!("steady-library-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let first = unpack(b"code", std::slice::from_ref(&folder)).unwrap();
        fs::write(&first, b"other code").unwrap();
        assert_eq!(unpack(b"code", std::slice::from_ref(&folder)).unwrap(), first);
        assert_eq!(fs::read(&first).unwrap(), b"code");
        assert_eq!(fs::metadata(&first).unwrap().mode() & 0o777, MODE);
        fs::set_permissions(first.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
        assert!(unpack(b"code", std::slice::from_ref(&folder)).is_err(), "anybody could change it");
        let nowhere = [folder.join("none"), folder.join("a b")];
        assert!(unpack(b"code", &nowhere).unwrap_err().to_string().contains("a b"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
