//! What memory a process has: proc_pid_maps(5).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::Debuggee;

/// A stretch of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where it begins.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Whether it may be read, written and executed.
    pub protection: [bool; 3],
    /// Whether others see what is written to it.
    pub shared: bool,
    /// The place in its file.
    pub offset: u64,
    /// The file's inode; 0 for none.
    pub inode: u64,
    /// The file, or the kernel's name for it in brackets; empty for neither.
    pub name: PathBuf,
}

impl Mapping {
    /// The file that it maps, if it does.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        (self.inode != 0 || self.name.is_absolute()).then_some(&self.name)
    }

    /// Whether the kernel has given it this name.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_os_str() == name
    }

    /// Its length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end - self.start
    }
}

impl Debuggee {
    /// Its memory, in the order of addresses.
    ///
    /// # Errors
    /// `/proc` cannot be read or makes no sense.
    pub fn maps(&self) -> io::Result<Vec<Mapping>> {
        let text = std::fs::read(self.file("maps"))?;
        parse_maps(&text).ok_or_else(|| io::Error::other("/proc/PID/maps makes no sense"))
    }
}

/// What such a file says; `None` where it makes no sense.
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

/// A newline in a name is written as `\012`, and nothing else is escaped.
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
    fn lines_are_read_with_any_name() {
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
    fn what_makes_no_sense_is_not_read() {
        for text in ["x", "1-2 rwxp", "1-2 rwx 0 0:0 0", "2 rwxp 0 0:0 0", "1-2 rwxp 0 0:0 x"] {
            assert_eq!(parse_maps(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_maps(b""), Some(vec![]));
        assert!(parse_maps(&std::fs::read("/proc/self/maps").unwrap()).unwrap().len() > 5);
    }
}
