//! A card as it is written. The hook only ever reads one.

use std::ffi::CString;

use crate::card::{HEADER_BYTES, KIND_REFUSED, KIND_SCRIPT, KIND_WARM, LONGEST_CARD, MAGIC, checksum};
use crate::identity::{Identity, Time};

/// A [`Card`](crate::card::Card) that owns what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardDraft {
    /// It can be started from a snapshot.
    Warm(WarmDraft),
    /// It is started as usual, always.
    Refused {
        /// The file that was refused.
        identity: Identity,
        /// Its path.
        program: CString,
        /// Why.
        reason: CString,
        /// The files that it had asked for, as [`WarmDraft::dependencies`].
        dependencies: Vec<(CString, Option<Identity>)>,
    },
    /// It begins with `#!`.
    Script {
        /// The script.
        identity: Identity,
        /// Its path.
        program: CString,
        /// What interprets it, as it stands there.
        interpreter: CString,
        /// What else stands there: one argument, as the kernel takes it.
        argument: Option<CString>,
    },
}

/// A [`Warm`](crate::card::Warm) that owns what it says; the fields are explained there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct WarmDraft {
    pub identity: Identity,
    pub uid: u32,
    /// The snapshots, as [`Warm::images`](crate::card::Warm::images).
    pub images: Vec<Identity>,
    pub slot: u32,
    pub hook_inside: bool,
    pub stack_limits: [u64; 2],
    pub name: CString,
    pub program: CString,
    /// Files by their absolute paths, without the program itself: what each must still be, or nothing where it must not
    /// be there.
    pub dependencies: Vec<(CString, Option<Identity>)>,
    /// Variables by their names: what each must be, or nothing where it must not be set.
    pub conditions: Vec<(CString, Option<CString>)>,
}

impl CardDraft {
    /// The card as it lies in a file; none where it would be longer than [`LONGEST_CARD`].
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Writer::default();
        match self {
            CardDraft::Warm(warm) => warm.write(&mut bytes),
            CardDraft::Refused { identity, program, reason, dependencies } => {
                bytes.begin(KIND_REFUSED, identity);
                bytes.text(program);
                bytes.text(reason);
                bytes.dependencies(dependencies);
            }
            CardDraft::Script { identity, program, interpreter, argument } => {
                bytes.begin(KIND_SCRIPT, identity);
                bytes.text(program);
                bytes.text(interpreter);
                bytes.optional(argument.as_ref(), |bytes, argument| bytes.text(argument));
            }
        }
        bytes.end()
    }
}

impl WarmDraft {
    fn write(&self, bytes: &mut Writer) {
        bytes.begin(KIND_WARM, &self.identity);
        bytes.length(self.images.len());
        self.images.iter().for_each(|image| bytes.identity(image));
        bytes.u32(self.uid);
        bytes.u32(self.slot);
        bytes.u32(self.hook_inside.into());
        self.stack_limits.iter().for_each(|limit| bytes.u64(*limit));
        bytes.text(&self.name);
        bytes.text(&self.program);
        bytes.dependencies(&self.dependencies);
        bytes.length(self.conditions.len());
        for (name, value) in &self.conditions {
            bytes.text(name);
            bytes.optional(value.as_ref(), |bytes, value| bytes.text(value));
        }
    }
}

/// The card so far. Its length stands behind the first word, and is set at the end, as is the checksum.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn begin(&mut self, kind: u32, identity: &Identity) {
        self.u64(MAGIC);
        self.u32(0);
        self.u32(kind);
        self.u64(0);
        self.identity(identity);
    }

    fn end(mut self) -> Option<Vec<u8>> {
        let length = u32::try_from(self.bytes.len()).ok().filter(|_| self.bytes.len() <= LONGEST_CARD)?;
        self.bytes[8..12].copy_from_slice(&length.to_ne_bytes());
        let sum = checksum(&self.bytes);
        self.bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&sum.to_ne_bytes());
        Some(self.bytes)
    }

    fn u32(&mut self, number: u32) {
        self.bytes.extend(number.to_ne_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.bytes.extend(number.to_ne_bytes());
    }

    fn length(&mut self, number: usize) {
        // What has more entries than that is longer than a card may be.
        self.u32(u32::try_from(number).unwrap_or(u32::MAX));
    }

    fn text(&mut self, text: &CString) {
        let text = text.as_bytes_with_nul();
        self.length(text.len());
        self.bytes.extend(text);
    }

    fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u32(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn dependencies(&mut self, files: &[(CString, Option<Identity>)]) {
        self.length(files.len());
        for (path, identity) in files {
            self.text(path);
            self.optional(identity.as_ref(), Writer::identity);
        }
    }

    fn identity(&mut self, identity: &Identity) {
        self.u64(identity.device);
        self.u64(identity.inode);
        self.u64(identity.mount);
        self.u64(identity.bytes);
        for Time { seconds, nanoseconds } in [identity.modified, identity.changed] {
            self.bytes.extend(seconds.to_ne_bytes());
            self.bytes.extend(nanoseconds.to_ne_bytes());
        }
    }
}
