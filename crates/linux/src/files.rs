//! Reads files whose names come from outside.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
/// The extended attribute with the capabilities of a file: capabilities(7).
const CAPABILITIES: &str = "security.capability";

/// Whether a process gets other rights than its parent's when it executes this file: those of another user or group, or
/// capabilities. `found` is what stat(2) says about the file. See execve(2).
pub fn gives_rights(path: &Path, found: &Metadata) -> bool {
    let mode = found.permissions().mode();
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let other = mode & SETUID != 0 && found.uid() != user || mode & SETGID != 0 && found.gid() != group;
    let mut value = [0_u8; 64];
    other || user != 0 && rustix::fs::getxattr(path, CAPABILITIES, &mut value).is_ok()
}

/// Reads a regular file of at most `longest` bytes. It does not block: a FIFO or a device is an error.
///
/// # Errors
/// The error of a system call, or the file is too long or not a regular file.
pub fn read_short(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    read_bounded(file, longest)
}

/// Reads to the end, if that is at most `longest` bytes.
///
/// # Errors
/// The error of a system call, or there are more bytes.
pub fn read_bounded(from: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Read one more byte than allowed, to detect that there is more.
    from.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(io::Error::other(format!("longer than {longest} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn a_file_gives_rights_if_another_user_owns_it_and_it_is_setuid() {
        let path = std::env::temp_dir().join(format!("steady-rights-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        let gives = |mode: u32| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            gives_rights(&path, &fs::metadata(&path).unwrap())
        };
        assert!(!gives(0o755) && !gives(0o4755), "the owner is this user");
        let other = rustix::process::getuid().as_raw() + 1;
        match std::os::unix::fs::chown(&path, Some(other), None) {
            Ok(()) => assert!(!gives(0o755) && gives(0o4755)),
            Err(why) => eprintln!("skipped: a_file_gives_rights_if_another_user_owns_it_and_it_is_setuid: {why}"),
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn long_files_and_special_files_are_refused() {
        let path = std::env::temp_dir().join(format!("steady-files-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_short(&path, 5).unwrap(), b"12345");
        assert_eq!(read_short(&path, 4).unwrap_err().to_string(), "longer than 4 bytes");
        std::fs::remove_file(&path).unwrap();
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [path.as_path(), Path::new("/dev/zero"), Path::new("/")] {
            assert_eq!(read_short(path, 5).unwrap_err().to_string(), "not a regular file");
        }
        assert!(read_bounded(io::repeat(0), 1 << 10).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
