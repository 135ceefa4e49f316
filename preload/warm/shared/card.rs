//! The format of a store and of the cards in it. A card says whether and how a program can be started from a snapshot.
//! The hook reads it at every launch.
//!
//! A store is a directory, one per user, boot and version of this format. It contains:
//!
//! - `hook.so`: the hook, which finds its store by its own path. It is never removed while any `LD_PRELOAD` may name
//!   it, because ld.so prints an error at each start of a program if the file is missing;
//! - `cards/KEY`: the [`Card`] of a program or script, replaced atomically. A [key](super::identity::Key) consists of
//!   the numbers of the file's device, inode and mount;
//! - `snapshots/KEY/N/NAME`: its snapshots, N from 0. NAME is the last part of the path that the caller executes,
//!   because the kernel names the process after it. For each name of a program (`dash`, and `sh` by a symbolic link)
//!   and of its scripts there is a symbolic link to the same file, whose ctime in the card stays valid that way. If the
//!   caller passes a descriptor, NAME is the name in the card. For a script the path has two slashes before NAME, see
//!   [`separator`];
//! - `wanted/KEY`: a request to the keeper: a symbolic link to the absolute path of a program or script that was
//!   started without a valid card, or by a name that its snapshots do not have yet. The hook creates it with one system
//!   call; the keeper reads and removes it;
//! - `counts`: [`COUNTERS`] numbers that the hook increments in shared memory. The file is never truncated.
//!
//! Numbers in a card have native byte order.

use core::ffi::CStr;

pub use super::counts::{COUNTERS, FIRST_PROGRAM, OBSERVED, Outcome, PROGRAM_COUNTERS, demand};
use super::identity::Identity;
use super::reader::Reader;

/// Version of the format of a store. It is part of the directory's name.
pub const VERSION: u32 = 2;
/// Maximum length of a card, in bytes.
pub const LONGEST_CARD: usize = 16 << 10;
/// Maximum number of snapshots of a program.
pub const MOST_COPIES: u32 = 64;
/// The first word of a card.
pub const MAGIC: u64 = u64::from_le_bytes(*b"steady2c");
/// Length of the header, in bytes: magic, length, kind and checksum.
pub const HEADER_BYTES: usize = 24;
/// The environment variable that is set while a snapshot of a program is captured. The hook then does all its lookups
/// when it is loaded, so that their results are part of the snapshot.
pub const TAKE_VARIABLE: &str = "STEADY_WARM_TAKE";

/// The environment variable with the programs that always start normally, as [`excepts`] parses it.
pub const EXCEPT_VARIABLE: &str = "STEADY_WARM_EXCEPT";

/// The environment variable that a process passes to programs to have its own launches from a snapshot counted in
/// [`OBSERVED`]: its process number. The programs inherit the variable, but have other numbers.
pub const OBSERVED_VARIABLE: &str = "STEADY_WARM_OBSERVED";

/// Returns what precedes the name in the path by which a snapshot is executed. Two slashes tell the stub that the name
/// is that of a script.
#[must_use]
pub const fn separator(is_script: bool) -> &'static str {
    if is_script { "//" } else { "/" }
}

/// Returns whether a list of paths and names, separated by colons, contains this path or its last part.
#[must_use]
pub fn excepts(list: &[u8], path: &[u8]) -> bool {
    let name = path.rsplit(|&letter| letter == b'/').next().unwrap_or(path);
    list.split(|&letter| letter == b':').any(|entry| !entry.is_empty() && (entry == path || entry == name))
}

/// What is known about a program or script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card<'a> {
    /// It can be started from a snapshot.
    Warm(Warm<'a>),
    /// It is started normally while it and the files that the refusal is based on are unchanged.
    Refused {
        /// The identity of the refused file.
        identity: Identity,
        /// The path of the refused file.
        program: &'a CStr,
        /// The reason for the refusal.
        reason: &'a CStr,
        /// The files that the program had loaded or looked for when it was refused.
        dependencies: Dependencies<'a>,
    },
    /// It begins with `#!`.
    Script {
        /// The identity of the script's file.
        identity: Identity,
        /// The path of the script.
        program: &'a CStr,
        /// The interpreter, as written after `#!`.
        interpreter: &'a CStr,
        /// The rest of that line: a single argument, as the kernel passes it.
        argument: Option<&'a CStr>,
    },
}

/// A program with snapshots, and the conditions under which one may be executed in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warm<'a> {
    /// The identity of the program's file.
    pub identity: Identity,
    /// The user who captured the snapshots. Only that user may execute them.
    pub uid: u32,
    /// How many snapshots there are, at least one.
    pub copies: u32,
    images: List<'a>,
    /// Index of its [`PROGRAM_COUNTERS`] in `counts`; 0 if it has none.
    pub slot: u32,
    /// Whether the snapshots contain the hook.
    pub hook_inside: bool,
    /// The lowest and the highest soft limit of the stack with which it may be started, in bytes; `u64::MAX` is no
    /// limit.
    pub stack_limits: [u64; 2],
    /// The last part of its path.
    pub name: &'a CStr,
    /// Its path: absolute, without symbolic links.
    pub program: &'a CStr,
    dependencies: List<'a>,
    conditions: List<'a>,
}

/// A file that the program loaded or looked for before its snapshot was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency<'a> {
    /// The absolute path of the file.
    pub path: &'a CStr,
    /// The identity that it must still have; none if it must not exist.
    pub identity: Option<Identity>,
}

/// An environment variable that the program read before its snapshot was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition<'a> {
    /// The name of the variable.
    pub name: &'a CStr,
    /// The value that it must have; none if it must not be set.
    pub value: Option<&'a CStr>,
}

/// A validated list of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependencies<'a>(List<'a>);

/// A validated list of entries, still encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List<'a> {
    entries: u32,
    bytes: &'a [u8],
}

pub(crate) const KIND_WARM: u32 = 1;
pub(crate) const KIND_REFUSED: u32 = 2;
pub(crate) const KIND_SCRIPT: u32 = 3;

impl<'a> Card<'a> {
    /// Parses a card. Returns none unless `bytes` are exactly one valid card.
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

    /// Returns the file that the card describes.
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

    /// Returns whether the program may be started with this soft limit of the stack. If several limits are possible,
    /// the stub patches the limit into the C library's variable, which holds whole pages.
    #[must_use]
    pub fn takes_stack(&self, limit: u64) -> bool {
        const PAGE: u64 = 4096;
        let [lowest, highest] = self.stack_limits;
        (lowest..=highest).contains(&limit) && (lowest == highest || limit.is_multiple_of(PAGE))
    }

    /// Returns the identities of the snapshots when they were written. A file with another identity must not be
    /// executed.
    pub fn images(&self) -> impl Iterator<Item = Identity> + use<'a> {
        self.images.iter(Reader::identity)
    }

    /// Returns the files that must be unchanged.
    pub fn dependencies(&self) -> impl Iterator<Item = Dependency<'a>> + use<'a> {
        self.dependencies.iter(Dependency::parse)
    }

    /// Returns the environment variables that must be unchanged.
    pub fn conditions(&self) -> impl Iterator<Item = Condition<'a>> + use<'a> {
        self.conditions.iter(Condition::parse)
    }
}

impl<'a> Dependencies<'a> {
    /// Iterates over the files.
    pub fn iter(&self) -> impl Iterator<Item = Dependency<'a>> + use<'a> {
        self.0.iter(Dependency::parse)
    }
}

/// Returns the checksum of a card, without the checksum field. It detects any change of a single word, because each
/// step is invertible.
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
        // The last chunk may be shorter.
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
    /// Parses the number of entries and each entry, so that iterating cannot fail later.
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
