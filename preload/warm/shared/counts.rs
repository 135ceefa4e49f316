//! What the hook counts, in the file `counts` of its store.

/// How many 64-bit numbers `counts` holds: the first are of the store as a whole ([`Outcome`]), the others of programs, at
/// the place that the card says.
pub const COUNTERS: usize = 8192;
/// Where those of programs begin.
pub const FIRST_PROGRAM: usize = 64;
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
    /// As usual, for the card could not be read or makes no sense.
    Broken = 7,
    /// As usual: by a way that the hook does not know of, as a script with very many arguments.
    OtherWay = 8,
    /// As usual, for the program has another path than the one that it was taken by (a hard link, a bind mount), or its
    /// snapshots do not have the name yet that it was called by.
    OtherName = 9,
}
