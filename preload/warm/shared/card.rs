//! What is known of a program that may be warm: a small file, read by the hook at every launch.
//!
//! A store is a folder, one for each user, boot and version of this format. In it:
//!
//! - `hook.so`: the hook, which finds its store by where it lies;
//! - `cards/DEVICE-INODE`: the [card](Card) of a program or script, replaced whole or not at all;
//! - `snapshots/DEVICE-INODE/N/NAME`: its snapshots, N from 0; NAME is the program's own, for that is what the kernel calls
//!   a process by;
//! - `wanted/DEVICE-INODE`: a symbolic link to a program that was started without a card, or with one that does not hold
//!   any more: made by the hook in one system call, read and removed by the keeper;
//! - `counts`: [`COUNTERS`] numbers that the hook adds to in shared memory, and never truncated.

/// The version of the format of a store: stands in its folder's name.
pub const VERSION: u32 = 1;
/// How long a card is at most, so that the hook reads it into memory of its own stack.
pub const LONGEST_CARD: usize = 16 << 10;
/// How many 64-bit numbers `counts` holds: the first are of the store as a whole ([`Outcome`]), the others of programs, at
/// the place that the card says.
pub const COUNTERS: usize = 8192;
/// Where those of programs begin.
pub const FIRST_PROGRAM: usize = 64;

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
    /// As usual, for a limit or the personality of the process speaks against it.
    Limits = 5,
    /// As usual, for the snapshot could not be executed.
    NotExecuted = 6,
    /// As usual, for the card could not be read or makes no sense.
    Broken = 7,
    /// As usual: by a way that the hook does not know of, as a script with very many arguments.
    OtherWay = 8,
}
