//! Writes files that are embedded in the binary to disk, for other programs to load.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

/// Mode of files and folders: programs of all users may load them, and only their owner may change them.
const MODE: u32 = 0o755;

/// Name and content of an embedded file.
pub type Carried<'a> = (&'a str, &'a [u8]);

/// Writes files into a folder of this user below the first of `folders` that is writable and not mounted noexec.
/// Creates it if only the last part of its path is missing. Returns the path of the new folder, whose name is unique to
/// the build. Existing files are compared and replaced if they differ.
///
/// # Errors
/// Returns why writing to the last of `folders` failed.
pub fn unpack(files: &[Carried<'_>], folders: &[PathBuf]) -> io::Result<PathBuf> {
    let mut last = io::Error::other("there is no folder for the files");
    for folder in folders {
        match unpack_below(files, folder) {
            Ok(path) => return Ok(path),
            Err(error) => last = io::Error::other(format!("{}: {error}", folder.display())),
        }
    }
    Err(last)
}

fn unpack_below(files: &[Carried<'_>], folder: &Path) -> io::Result<PathBuf> {
    if folder.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b':' | b' ' | b'\t' | b'\n' | b'$')) {
        return Err(io::Error::other(
            "its name contains a colon, a dollar sign or white space, which LD_PRELOAD and pkg-config cannot handle",
        ));
    }
    // The mode that the XDG base directory specification demands of a new `~/.cache`.
    // Errors are ignored because usually the folder exists; the next call reports if it does not.
    let _ = DirBuilder::new().mode(0o700).create(folder);
    if statvfs(folder)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("programs cannot be executed there (mounted noexec)"));
    }
    let user = rustix::process::geteuid().as_raw();
    let own = folder.join(format!("steady-u{user}-{:016x}", hash(files)));
    match DirBuilder::new().mode(MODE).create(&own) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
        // The umask may have removed permissions.
        Ok(()) => fs::set_permissions(&own, Permissions::from_mode(MODE))?,
    }
    let found = fs::symlink_metadata(&own)?;
    if !(found.is_dir() && is_ours(&found)) {
        return Err(io::Error::other(format!(
            "'{}' belongs to another user, or others can write to it",
            own.display()
        )));
    }
    for (name, bytes) in files {
        let path = own.join(name);
        let whole = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && is_ours(&found))
            && fs::read(&path).is_ok_and(|read| read == *bytes);
        if !whole {
            write_whole(&path, bytes)?;
        }
    }
    Ok(own)
}

fn is_ours(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
}

/// Writes files into a folder that the user named, and creates it if it does not exist.
///
/// # Errors
/// Errors of the file system.
pub fn write(files: &[Carried<'_>], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    files.iter().try_for_each(|(name, bytes)| write_whole(&folder.join(name), bytes))
}

/// Replaces a file atomically, because another program may be loading it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = Path::new(&temporary);
    let _ = fs::remove_file(temporary);
    let written = File::options().write(true).create_new(true).mode(MODE).open(temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(MODE))?;
        fs::rename(temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(temporary);
    }
    written
}

/// FNV-1a hash of names and contents.
fn hash(files: &[Carried<'_>]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = files.iter().flat_map(|(name, bytes)| name.as_bytes().iter().chain(bytes.iter()));
    bytes.fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [Carried<'static>; 2] = [("library", b"code"), ("notes", b"")];

    #[test]
    fn changed_files_are_replaced() {
        let folder = std::env::temp_dir().join(format!("steady-library-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let own = unpack(&FILES, std::slice::from_ref(&folder)).unwrap();
        let first = own.join("library");
        fs::write(&first, b"other code").unwrap();
        fs::remove_file(own.join("notes")).unwrap();
        assert_eq!(unpack(&FILES, std::slice::from_ref(&folder)).unwrap(), own);
        assert_eq!((fs::read(&first).unwrap(), fs::read(own.join("notes")).unwrap()), (b"code".to_vec(), vec![]));
        assert_eq!(fs::metadata(&first).unwrap().mode() & 0o777, MODE);
        fs::set_permissions(&own, Permissions::from_mode(0o777)).unwrap();
        assert!(
            unpack(&FILES, std::slice::from_ref(&folder)).is_err(),
            "a folder that others can write to is rejected"
        );
        let nowhere = [folder.join("none/cache"), folder.join("a b")];
        assert!(unpack(&FILES, &nowhere).unwrap_err().to_string().contains("a b"));
        let cache = folder.join("cache");
        assert!(unpack(&FILES, std::slice::from_ref(&cache)).unwrap().starts_with(&cache));
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_named_folder_is_created() {
        let folder = std::env::temp_dir().join(format!("steady-named-{}", std::process::id()));
        let below = folder.join("a b/c");
        write(&FILES, &below).unwrap();
        write(&FILES, &below).unwrap();
        assert_eq!(fs::read_dir(&below).unwrap().count(), 2);
        fs::write(folder.join("file"), b"").unwrap();
        assert!(write(&FILES, &folder.join("file")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
