//! Where `/proc` and `/sys` are, and how files below them are read.

use std::path::{Path, PathBuf};

/// The directory that holds `proc` and `sys`: `/`, or a recorded tree in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// A root at `path`.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Root(path.as_ref().to_path_buf())
    }
}

impl Default for Root {
    /// The running system's own `/`.
    fn default() -> Self {
        Root::at("/")
    }
}
