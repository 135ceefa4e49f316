//! Files that somebody names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Reads a regular file of no more than `longest` bytes, and waits for nobody: a FIFO or a device is refused.
///
/// # Errors
/// What the system says, or what it is instead.
pub fn read_short(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    read_bounded(file, longest)
}

/// Reads all that comes, if that is no more than `longest` bytes.
///
/// # Errors
/// What the system says, or that there is more.
pub fn read_bounded(from: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than there may be tells that there is more.
    from.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(io::Error::other(format!("it has more than {longest} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_endless_or_keeps_waiting_is_refused() {
        let path = std::env::temp_dir().join(format!("steady-files-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_short(&path, 5).unwrap(), b"12345");
        assert_eq!(read_short(&path, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        std::fs::remove_file(&path).unwrap();
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [path.as_path(), Path::new("/dev/zero"), Path::new("/")] {
            assert_eq!(read_short(path, 5).unwrap_err().to_string(), "it is not a regular file");
        }
        assert!(read_bounded(io::repeat(0), 1 << 10).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
