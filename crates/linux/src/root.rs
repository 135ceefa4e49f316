//! The directory that contains `/proc` and `/sys`, and functions to read files in it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use steady_model::{Absent, Reading};

/// The directory that contains `proc` and `sys`: `/`, or a recorded tree in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// Makes a root for the directory `path`.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Root(path.as_ref().to_path_buf())
    }

    /// Returns whether this is the running system, for which system calls can be used too.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Returns the path of a file under this root. `file` is an absolute path such as `/proc/stat`.
    pub fn path(&self, file: &str) -> PathBuf {
        self.0.join(file.trim_start_matches('/'))
    }

    /// Returns the text of a file, or the reason why it cannot be read. Bytes that are not UTF-8 are replaced.
    pub fn read(&self, file: &str) -> Reading<String> {
        match std::fs::read(self.path(file)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => Err(unreadable(file, &error)),
        }
    }

    /// Returns the first `limit` bytes of a file, as [`Root::read`] does. The kernel then does not generate the rest of
    /// a long file.
    pub(crate) fn read_start(&self, file: &str, limit: u64) -> Reading<String> {
        let mut bytes = Vec::new();
        let read = File::open(self.path(file)).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| unreadable(file, &error))
    }

    /// Returns the first line of a file without surrounding blanks. An empty line is an error.
    pub fn read_line(&self, file: &str) -> Reading<String> {
        let text = self.read(file)?;
        let line = text.lines().next().unwrap_or("").trim();
        if line.is_empty() { Err(Absent::because(format!("{file} is empty"))) } else { Ok(line.to_owned()) }
    }

    /// Returns whether the file or directory exists and can be reached.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    /// Returns the numeric names in a directory, ascending: process or thread ids.
    pub(crate) fn numbered(&self, directory: &str) -> Reading<Vec<i32>> {
        let entries = std::fs::read_dir(self.path(directory)).map_err(|error| unreadable(directory, &error))?;
        let mut numbers: Vec<i32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(|&n| n > 0).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

impl Default for Root {
    /// The root of the running system, `/`.
    fn default() -> Self {
        Root::at("/")
    }
}

/// A small text file of /proc that stays open and is read again and again.
#[derive(Debug)]
pub(crate) struct OpenText {
    file: File,
    path: &'static str,
}

impl OpenText {
    /// The first bytes of the file that are read. No file of this kind needs more: /proc/self/status lists the groups of
    /// the user.
    const MOST: usize = 16_384;

    /// Opens the file, or says why it cannot be read.
    pub(crate) fn open(root: &Root, path: &'static str) -> Reading<OpenText> {
        let file = File::open(root.path(path)).map_err(|error| unreadable(path, &error))?;
        Ok(OpenText { file, path })
    }

    /// Parses the present text.
    pub(crate) fn read<T>(&self, parse: impl FnOnce(&str) -> Reading<T>) -> Reading<T> {
        let mut text = [0; Self::MOST];
        let length = self.file.read_at(&mut text, 0).map_err(|error| unreadable(self.path, &error))?;
        parse(text.get(..length).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or(""))
    }
}

/// Converts an error from reading `file` into a reason.
pub(crate) fn unreadable(file: &str, error: &std::io::Error) -> Absent {
    Absent::because(match error.kind() {
        ErrorKind::NotFound => format!("{file} does not exist"),
        ErrorKind::PermissionDenied => format!("this user may not read {file}"),
        _ => format!("cannot read {file} ({error})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_the_root() {
        assert_eq!(Root::at("/trees/vm").path("/proc/stat"), Path::new("/trees/vm/proc/stat"));
        assert!(Root::default().is_live());
        assert!(!Root::at("/trees/vm").is_live());
    }

    #[test]
    fn unreadable_files_have_a_reason() {
        let broken = crate::trees::tree("broken");
        assert_eq!(broken.read("/proc/nothing"), Err(Absent::because("/proc/nothing does not exist")));
        assert_eq!(broken.read_line("/proc/loadavg"), Err(Absent::because("/proc/loadavg is empty")));
        assert!(broken.read("/proc").is_err(), "a directory");
        assert!(broken.numbered("/nowhere").is_err());
    }
}
