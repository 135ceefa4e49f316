//! What the hook counts, in the file `counts` of its store.

use super::identity::Identity;

/// How many 64-bit numbers `counts` holds: the first are of the store as a whole ([`Outcome`]), then come launches of programs
/// that have no snapshots yet ([`demand`]), then those of programs that have, at the place that the card says.
pub const COUNTERS: usize = 8192;
/// Where launches of programs without snapshots are counted.
const FIRST_DEMAND: usize = 64;
const DEMANDS: usize = 1024;
/// Where counters of programs with snapshots begin.
pub const FIRST_PROGRAM: usize = FIRST_DEMAND + DEMANDS;
/// How many a program has: how often it was started from a snapshot, and how often as usual, though it had a card.
pub const PROGRAM_COUNTERS: usize = 2;

/// How a launch went, as counted by the hook for all programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Outcome {
    /// From a snapshot.
    Warm = 0,
    /// As usual, for there was no card yet.
    NoCard = 1,
    /// As usual, for the program was refused a snapshot.
    Refused = 2,
    /// As usual, for the program or a file that it loads has changed.
    Changed = 3,
    /// As usual, for a variable of the environment speaks against it.
    Environment = 4,
    /// As usual, for a limit, the personality or the users of the process speak against it.
    Limits = 5,
    /// As usual, for the snapshot could not be executed.
    NotExecuted = 6,
    /// As usual, for the card could not be read or makes no sense, or the snapshot is not the file that was written.
    Broken = 7,
    /// As usual: by a way that the hook does not know of, as a script with very many arguments.
    OtherWay = 8,
    /// As usual, for the program has another path than the one that it was taken by (a hard link, a bind mount), or its
    /// snapshots do not have the name yet that it was called by.
    OtherName = 9,
}

/// Where launches of a program are counted that should have snapshots and has none: what is launched most is captured first. Programs
/// may share a place by chance, which only makes their order less good.
#[must_use]
pub fn demand(program: &Identity) -> u32 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (program.inode ^ program.device.rotate_left(32) ^ program.mount.rotate_left(16)).wrapping_mul(PRIME);
    (FIRST_DEMAND + (mixed >> 54) as usize % DEMANDS) as u32
}
