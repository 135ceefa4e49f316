//! The counters of the hook, in the file `counts` of its store.

use super::identity::Identity;

/// How many 64-bit counters `counts` holds. The first are for all launches by [`Outcome`], then come launches of
/// programs without snapshots ([`demand`]), then launches of programs with snapshots, at the index in their card.
pub const COUNTERS: usize = 8192;
/// Index of the first counter of launches of programs without snapshots.
const FIRST_DEMAND: usize = 64;
/// Index of the counter of launches from a snapshot by one process, which an environment variable names.
pub const OBSERVED: u32 = 63;
const DEMANDS: usize = 1024;
/// Index of the first counter of programs with snapshots.
pub const FIRST_PROGRAM: usize = FIRST_DEMAND + DEMANDS;
/// Counters of a program with snapshots: launches from a snapshot, and normal launches.
pub const PROGRAM_COUNTERS: usize = 2;

/// The outcome of a launch. "Normal" means that the program was started by the real function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Outcome {
    /// Started from a snapshot.
    Warm = 0,
    /// Normal: there is no card yet.
    NoCard = 1,
    /// Normal: the program was refused.
    Refused = 2,
    /// Normal: the program or a file that it loads has changed.
    Changed = 3,
    /// Normal: an environment variable does not allow it.
    Environment = 4,
    /// Normal: a limit, the personality or the user ids of the process do not allow it.
    Limits = 5,
    /// Normal: the snapshot could not be executed.
    NotExecuted = 6,
    /// Normal: the card cannot be read or is invalid, or the snapshot is not the file that was written.
    Broken = 7,
    /// Normal: the program is started in a way that the hook does not support, such as a script with very many
    /// arguments.
    OtherWay = 8,
    /// Normal: the program is executed by another path than the one in its card (a hard link, a bind mount), or its
    /// snapshots do not have the caller's name yet.
    OtherName = 9,
}

/// Index of the counter of launches of a program that has no snapshots. Programs that are launched most are captured
/// first. Two programs may share a counter, which only affects that order.
#[must_use]
pub fn demand(program: &Identity) -> u32 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (program.inode ^ program.device.rotate_left(32) ^ program.mount.rotate_left(16)).wrapping_mul(PRIME);
    (FIRST_DEMAND + (mixed >> 54) as usize % DEMANDS) as u32
}
