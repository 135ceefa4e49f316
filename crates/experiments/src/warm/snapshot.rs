//! A snapshot: a program as it was taken, with all that has to be made anew at each launch.

use steady_preload::table::Patch;

use super::taken::{Region, Taken};

/// What becomes a file that can be executed in the program's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The program as it was taken.
    pub taken: Taken,
    /// Its words that are different at each launch, in the order of addresses.
    pub patches: Vec<Patch>,
}

impl Snapshot {
    /// The memory that is mapped.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.taken.regions
    }
}
