//! A snapshot: a program as it was taken, with all that has to be made anew at each launch.

use std::path::PathBuf;

use steady_preload::table::Patch;

use super::taken::Taken;

/// What becomes a file that can be executed in the program's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The program as it was taken, but for words that no snapshot keeps.
    pub taken: Taken,
    /// The program's file.
    pub program: PathBuf,
    /// Where its dynamic section lies, and how long it is: by it debuggers find the libraries.
    pub dynamic: Option<(u64, u64)>,
    /// Its words that are different at each launch, in the order of addresses.
    pub patches: Vec<Patch>,
}
