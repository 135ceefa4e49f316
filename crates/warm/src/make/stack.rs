//! The limit on the stack: takes are given different ones, so that where the C library keeps it is found, and launches may have
//! others.

use rustix::process::{Resource, getrlimit};

const MIB: u64 = 1 << 20;
/// Libraries lie so far below the stack that one of this limit does not reach them.
const HIGHEST: u64 = 1 << 40;
const PAGE: u64 = 4096;

/// Another limit than this process's own, for one of the takes; none where its own is none, or too small to be told from
/// what the C library makes of small ones.
pub(super) fn another() -> Option<u64> {
    let own = getrlimit(Resource::Stack).current?;
    ((2 * MIB..=HIGHEST).contains(&own) && own.is_multiple_of(PAGE)).then(|| own - MIB)
}

/// With which limits what was taken so may be started.
pub(super) fn limits() -> [u64; 2] {
    match another() {
        Some(_) => [MIB, HIGHEST],
        None => [getrlimit(Resource::Stack).current.unwrap_or(u64::MAX); 2],
    }
}
