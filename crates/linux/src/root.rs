//! Where `/proc` and `/sys` are, and how files below them are read.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use steady_model::{Absent, Reading};

/// The directory that holds `proc` and `sys`: `/`, or a recorded tree in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// A root at `path`.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Root(path.as_ref().to_path_buf())
    }

    /// Whether this is the running system, of which system calls tell as well as files do.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Where the file with this absolute path, such as `/proc/stat`, is to be found.
    pub fn path(&self, file: &str) -> PathBuf {
        self.0.join(file.trim_start_matches('/'))
    }

    /// The text of a file; bytes that are no UTF-8 are replaced. Absent where it is missing or may not be read.
    pub fn read(&self, file: &str) -> Reading<String> {
        match std::fs::read(self.path(file)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => Err(unreadable(file, &error)),
        }
    }

    /// The first `limit` bytes of a file, as [`Root::read`]: of long files the kernel then makes no more than that.
    pub(crate) fn read_start(&self, file: &str, limit: u64) -> Reading<String> {
        let mut bytes = Vec::new();
        let read = File::open(self.path(file)).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| unreadable(file, &error))
    }

    /// The first line of a file, without blanks around it; absent where there is nothing on it.
    pub fn read_line(&self, file: &str) -> Reading<String> {
        let text = self.read(file)?;
        let line = text.lines().next().unwrap_or("").trim();
        if line.is_empty() { Err(Absent::because(format!("{file} is empty"))) } else { Ok(line.to_owned()) }
    }

    /// Whether the file or directory exists and can be reached.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    /// The names in a directory that are numbers, ascending: processes, threads.
    pub(crate) fn numbered(&self, directory: &str) -> Reading<Vec<i32>> {
        let entries = std::fs::read_dir(self.path(directory)).map_err(|error| unreadable(directory, &error))?;
        let mut numbers: Vec<i32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(|&n| n > 0).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

impl Default for Root {
    /// The running system's own `/`.
    fn default() -> Self {
        Root::at("/")
    }
}

/// The reason that an error in reading `file` amounts to.
pub(crate) fn unreadable(file: &str, error: &std::io::Error) -> Absent {
    Absent::because(match error.kind() {
        ErrorKind::NotFound => format!("{file} does not exist"),
        ErrorKind::PermissionDenied => format!("{file} may not be read by this user"),
        _ => format!("{file} could not be read ({error})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_below_the_root() {
        assert_eq!(Root::at("/trees/vm").path("/proc/stat"), Path::new("/trees/vm/proc/stat"));
        assert!(Root::default().is_live());
        assert!(!Root::at("/trees/vm").is_live());
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let broken = crate::trees::tree("broken");
        assert_eq!(broken.read("/proc/nothing"), Err(Absent::because("/proc/nothing does not exist")));
        assert_eq!(broken.read_line("/proc/loadavg"), Err(Absent::because("/proc/loadavg is empty")));
        assert!(broken.read("/proc").is_err(), "a directory");
        assert!(broken.numbered("/nowhere").is_err());
    }
}
