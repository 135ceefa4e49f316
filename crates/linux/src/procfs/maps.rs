//! The memory mappings of a process: proc_pid_maps(5).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mapped range of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Address of the first byte.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// Whether it is readable, writable and executable.
    pub protection: [bool; 3],
    /// Whether other processes see writes to it (`MAP_SHARED`).
    pub shared: bool,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Inode of the file; 0 without a file.
    pub inode: u64,
    /// Path of the file, or the kernel's name for the mapping in brackets; empty for neither.
    pub name: PathBuf,
}

impl Mapping {
    /// Returns the mapped file, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        (self.inode != 0 || self.name.is_absolute()).then_some(&self.name)
    }

    /// Returns whether the mapping has this name, for example `[heap]`.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_os_str() == name
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end - self.start
    }
}

/// Parses the content of `/proc/PID/maps`. Returns `None` if it is malformed.
#[must_use]
pub fn parse_maps(text: &[u8]) -> Option<Vec<Mapping>> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = text()?.split_once('-')?;
    let rights = text()?.as_bytes();
    let offset = text()?;
    text()?;
    let inode = text()?;
    let name = fields.next().unwrap_or_default().trim_ascii_start();
    let hexadecimal = |digits| u64::from_str_radix(digits, 16).ok();
    let &[read, write, execute, shared] = rights else { return None };
    Some(Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        protection: [read == b'r', write == b'w', execute == b'x'],
        shared: shared == b's',
        offset: hexadecimal(offset)?,
        inode: inode.trim().parse().ok()?,
        name: unescaped(name),
    })
}

/// Replaces `\012` in a name by a newline. The kernel escapes nothing else.
fn unescaped(name: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, more)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = after;
        } else {
            bytes.push(first);
            rest = more;
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_with_any_name() {
        let text = b"55d0-55e0 r-xp 00001000 fe:00 325835                     /usr/lib/a\\012b c\n\
                     7ffd-7fff rw-p 00000000 00:00 0 \n\
                     7fff-8000 rw-s 00000000 00:01 7 /dev/zero (deleted)\n\
                     8000-9000 rw-p 00000000 00:00 0                          [heap]\n";
        let maps = parse_maps(text).unwrap();
        assert_eq!(maps[0].file(), Some(Path::new("/usr/lib/a\nb c")));
        assert_eq!((maps[0].start, maps[0].length(), maps[0].offset), (0x55d0, 0x10, 0x1000));
        assert_eq!(maps[0].protection, [true, false, true]);
        assert_eq!(maps[1].file(), None);
        assert!(maps[2].shared && maps[2].file() == Some(Path::new("/dev/zero (deleted)")));
        assert!(maps[3].is_named("[heap]") && maps[3].file().is_none());
    }

    #[test]
    fn malformed_lines_are_rejected() {
        for text in ["x", "1-2 rwxp", "1-2 rwx 0 0:0 0", "2 rwxp 0 0:0 0", "1-2 rwxp 0 0:0 x"] {
            assert_eq!(parse_maps(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_maps(b""), Some(vec![]));
        assert!(parse_maps(&std::fs::read("/proc/self/maps").unwrap()).unwrap().len() > 5);
    }
}
