//! Writes cards. The hook only reads them.

use std::ffi::CString;

use crate::card::{HEADER_BYTES, KIND_REFUSED, KIND_SCRIPT, KIND_WARM, LONGEST_CARD, MAGIC, checksum};
use crate::identity::{Identity, Time};

/// An owned [`Card`](crate::card::Card), to be written to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardDraft {
    /// A program with snapshots, as in [`Card::Warm`](crate::card::Card::Warm).
    Warm(WarmDraft),
    /// A refused program, as in [`Card::Refused`](crate::card::Card::Refused).
    Refused {
        /// The identity of the refused file.
        identity: Identity,
        /// The path of the refused file.
        program: CString,
        /// The reason for the refusal.
        reason: CString,
        /// The files that the refusal is based on, as [`WarmDraft::dependencies`].
        dependencies: Vec<(CString, Option<Identity>)>,
    },
    /// A script and its interpreter, as in [`Card::Script`](crate::card::Card::Script).
    Script {
        /// The identity of the script's file.
        identity: Identity,
        /// The path of the script.
        program: CString,
        /// The interpreter, as written after `#!`.
        interpreter: CString,
        /// The rest of that line: a single argument, as the kernel passes it.
        argument: Option<CString>,
    },
}

/// An owned [`Warm`](crate::card::Warm), which documents the fields.
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
    /// Files other than the program by their absolute paths: the identity that each must still have, or none if it must
    /// not exist.
    pub dependencies: Vec<(CString, Option<Identity>)>,
    /// Environment variables by name: the value that each must have, or none if it must not be set.
    pub conditions: Vec<(CString, Option<CString>)>,
}

impl CardDraft {
    /// Returns the contents of the card's file; none if they would be longer than [`LONGEST_CARD`].
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

/// Builds a card. Its length and checksum are set at the end.
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
        // More entries than that exceed the length of a card anyway.
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
