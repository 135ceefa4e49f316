//! Running the command lines of `testdata/warm`, as usual and from snapshots.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod lines;
pub(crate) mod round;
pub(crate) mod store;
pub(crate) mod swapped;
