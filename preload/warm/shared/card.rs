//! What is known of a program that may be warm: a small file, read by the hook at every launch.
//!
//! A store is a folder, one for each user, boot and version of this format. In it:
//!
//! - `hook.so`: the hook, which finds its store by where it lies. It stays there as long as it may be named in somebody's
//!   `LD_PRELOAD`: of one that is gone ld.so complains at each start of a program;
//! - `cards/KEY`: the [`Card`] of a program or script, replaced whole or not at all; a [key](super::identity::Key) is made of the numbers of
//!   the file's device, inode and mount;
//! - `snapshots/KEY/N/NAME`: its snapshots, N from 0. NAME is what the program is called by, for that is what the kernel calls
//!   a process by: the last part of the path that the caller gave, so that a program with several names (`dash`, and
//!   `sh` by a symbolic link) has the same file there under several (symbolic links, so that the ctime of the file stays what
//!   the card says), and so have its scripts' names. Where the caller gave a descriptor, it is the card's own name;
//! - `wanted/KEY`: a symbolic link to a program or script that was started without a card, with one that does not hold
//!   any more, or by a name that its snapshots do not have yet: made by the hook in one system call, read and removed by
//!   the keeper. It leads to the path that the caller gave, made absolute;
//! - `counts`: [`COUNTERS`] numbers that the hook adds to in shared memory, and never truncated.
//!
//! Numbers in a card are in the order of this machine's bytes.

use core::ffi::CStr;

pub use super::counts::{COUNTERS, FIRST_PROGRAM, Outcome, PROGRAM_COUNTERS, demand};
use super::identity::Identity;
use super::reader::Reader;

/// The version of the format of a store: stands in its folder's name.
pub const VERSION: u32 = 2;
/// How long a card is at most.
pub const LONGEST_CARD: usize = 16 << 10;
/// How many snapshots a program has at most.
pub const MOST_COPIES: u32 = 64;
/// How every card begins.
pub const MAGIC: u64 = u64::from_le_bytes(*b"steady2c");
/// What precedes the content: magic, length, kind and checksum.
pub const HEADER_BYTES: usize = 24;
/// The variable that stands in the environment of a program while it is taken, so that the hook in it finds its ways
/// beforehand, and they are part of what is taken.
pub const TAKE_VARIABLE: &str = "STEADY_WARM_TAKE";

/// The variable that names programs that always start as usual, as [`excepts`] reads it.
pub const EXCEPT_VARIABLE: &str = "STEADY_WARM_EXCEPT";

/// Returns whether a list of paths and names, separated by colons, has this path or its last part.
#[must_use]
pub fn excepts(list: &[u8], path: &[u8]) -> bool {
    let name = path.rsplit(|&letter| letter == b'/').next().unwrap_or(path);
    list.split(|&letter| letter == b':').any(|entry| !entry.is_empty() && (entry == path || entry == name))
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card<'a> {
    /// It can be started from a snapshot.
    Warm(Warm<'a>),
    /// It is started as usual, as long as it and the files that the refusal is based on stay what they are.
    Refused {
        /// The file that was refused.
        identity: Identity,
        /// Its path.
        program: &'a CStr,
        /// Why.
        reason: &'a CStr,
        /// The files that it had asked for when it was refused.
        dependencies: Dependencies<'a>,
    },
    /// It begins with `#!`.
    Script {
        /// The script.
        identity: Identity,
        /// Its path.
        program: &'a CStr,
        /// What interprets it, as it stands there.
        interpreter: &'a CStr,
        /// What else stands there: one argument, as the kernel takes it.
        argument: Option<&'a CStr>,
    },
}

/// A program with snapshots, and what must hold for one to be executed in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warm<'a> {
    /// The program itself.
    pub identity: Identity,
    /// Whose it is: who took it, and who alone may start it so.
    pub uid: u32,
    /// How many snapshots there are, at least one.
    pub copies: u32,
    images: List<'a>,
    /// Where in `counts` its own [`PROGRAM_COUNTERS`] begin; 0 where it has none.
    pub slot: u32,
    /// Whether the hook is part of its snapshots.
    pub hook_inside: bool,
    /// The lowest and the highest soft limit of the stack that it may be started with, in bytes; the largest number is none.
    pub stack_limits: [u64; 2],
    /// The last part of its path.
    pub name: &'a CStr,
    /// Its path: absolute, without symbolic links.
    pub program: &'a CStr,
    dependencies: List<'a>,
    conditions: List<'a>,
}

/// A file that the program loaded or asked for before it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency<'a> {
    /// Its path, absolute.
    pub path: &'a CStr,
    /// What it must still be; absent where it must not be there.
    pub identity: Option<Identity>,
}

/// A variable of the environment that the program asked for before it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// What it must be; absent where it must not be set.
    pub value: Option<&'a CStr>,
}

/// Files, checked already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependencies<'a>(List<'a>);

/// So many entries, checked already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List<'a> {
    entries: u32,
    bytes: &'a [u8],
}

pub(crate) const KIND_WARM: u32 = 1;
pub(crate) const KIND_REFUSED: u32 = 2;
pub(crate) const KIND_SCRIPT: u32 = 3;

impl<'a> Card<'a> {
    /// Reads a card: all of it is checked, and it must be nothing but a card.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut from = Reader::new(bytes);
        if bytes.len() > LONGEST_CARD || from.u64()? != MAGIC || from.u32()? as usize != bytes.len() {
            return None;
        }
        let kind = from.u32()?;
        if from.u64()? != checksum(bytes) {
            return None;
        }
        let identity = from.identity()?;
        let card = match kind {
            KIND_WARM => Card::Warm(Warm::parse(identity, &mut from)?),
            KIND_REFUSED => Card::Refused {
                identity,
                program: from.text()?,
                reason: from.text()?,
                dependencies: Dependencies(List::parse(&mut from, Dependency::parse)?),
            },
            KIND_SCRIPT => Card::Script {
                identity,
                program: from.text()?,
                interpreter: from.text()?,
                argument: from.optional(Reader::text)?,
            },
            _ => return None,
        };
        from.is_empty().then_some(card)
    }

    /// The file that the card is about.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        match self {
            Card::Warm(warm) => &warm.identity,
            Card::Refused { identity, .. } | Card::Script { identity, .. } => identity,
        }
    }
}

impl<'a> Warm<'a> {
    fn parse(identity: Identity, from: &mut Reader<'a>) -> Option<Self> {
        let images = List::parse(from, Reader::identity)?;
        let warm = Warm {
            identity,
            copies: images.entries,
            images,
            uid: from.u32()?,
            slot: from.u32()?,
            hook_inside: from.flag()?,
            stack_limits: [from.u64()?, from.u64()?],
            name: from.text()?,
            program: from.text()?,
            dependencies: List::parse(from, Dependency::parse)?,
            conditions: List::parse(from, Condition::parse)?,
        };
        let last = COUNTERS - PROGRAM_COUNTERS;
        let counted = warm.slot == 0 || (FIRST_PROGRAM..=last).contains(&(warm.slot as usize));
        let named = !warm.name.is_empty() && !warm.name.to_bytes().contains(&b'/');
        let copies = (1..=MOST_COPIES).contains(&warm.copies);
        (counted && named && copies && warm.program.to_bytes().starts_with(b"/")).then_some(warm)
    }

    /// Whether it may be started with this soft limit of the stack. Where it may be with several, the first code of its
    /// snapshots writes the limit where it is kept, in whole pages.
    #[must_use]
    pub fn takes_stack(&self, limit: u64) -> bool {
        const PAGE: u64 = 4096;
        let [lowest, highest] = self.stack_limits;
        (lowest..=highest).contains(&limit) && (lowest == highest || limit.is_multiple_of(PAGE))
    }

    /// The snapshots as they were written: a file that is another one must not be executed.
    pub fn images(&self) -> impl Iterator<Item = Identity> + use<'a> {
        self.images.iter(Reader::identity)
    }

    /// The files that must be as they were.
    pub fn dependencies(&self) -> impl Iterator<Item = Dependency<'a>> + use<'a> {
        self.dependencies.iter(Dependency::parse)
    }

    /// The variables that must be as they were.
    pub fn conditions(&self) -> impl Iterator<Item = Condition<'a>> + use<'a> {
        self.conditions.iter(Condition::parse)
    }
}

impl<'a> Dependencies<'a> {
    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = Dependency<'a>> + use<'a> {
        self.0.iter(Dependency::parse)
    }
}

/// A checksum of a card, without the place of the checksum itself. Any change of a single word changes it, because each step
/// is invertible.
#[must_use]
pub fn checksum(card: &[u8]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |sum: u64, word: u64| {
        let sum = (sum ^ word).wrapping_mul(PRIME);
        sum ^ sum >> 32
    };
    let (start, content) = card.split_at_checked(HEADER_BYTES).unwrap_or((card, &[]));
    let (start, _) = start.split_at_checked(HEADER_BYTES - 8).unwrap_or((start, &[]));
    start.chunks(8).chain(content.chunks(8)).fold(card.len() as u64, |sum, bytes| {
        // The last one may be shorter.
        step(sum, bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    })
}

impl<'a> Dependency<'a> {
    fn parse(from: &mut Reader<'a>) -> Option<Self> {
        Some(Dependency { path: from.text()?, identity: from.optional(Reader::identity)? })
    }
}

impl<'a> Condition<'a> {
    fn parse(from: &mut Reader<'a>) -> Option<Self> {
        Some(Condition { name: from.text()?, value: from.optional(Reader::text)? })
    }
}

impl<'a> List<'a> {
    /// Their number and then each; all are read once, so that the iterator has them all.
    fn parse<T>(from: &mut Reader<'a>, mut entry: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Self> {
        let entries = from.u32()?;
        let start = from.rest();
        for _ in 0..entries {
            entry(from)?;
        }
        Some(List { entries, bytes: start.get(..start.len() - from.rest().len())? })
    }

    fn iter<T>(self, mut entry: impl FnMut(&mut Reader<'a>) -> Option<T>) -> impl Iterator<Item = T> {
        let mut from = Reader::new(self.bytes);
        (0..self.entries).map_while(move |_| entry(&mut from))
    }
}
