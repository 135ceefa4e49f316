//! What tells a file from any other, and from itself before it was written to.

/// A file as statx(2) reports it. ctime(3type) cannot be set, so whatever is done to a file changes its identity. The mount is
/// part of it because an image that is mounted in the place of another may have files with the same numbers and times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number of its device.
    pub device: u64,
    /// The number of its inode.
    pub inode: u64,
    /// The number of the mount that it was found by: since Linux 6.8 no other mount ever has the same number until the next
    /// boot. 0 before Linux 5.8.
    pub mount: u64,
    /// How long it is.
    pub bytes: u64,
    /// When its content was last changed.
    pub modified: Time,
    /// When its content, its rights or its names were last changed.
    pub changed: Time,
}

/// A time of day of the file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    /// Whole seconds since 1970.
    pub seconds: i64,
    /// And so many nanoseconds.
    pub nanoseconds: i64,
}

impl Identity {
    /// What the file is called by in a store.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(self.device, self.inode, self.mount)
    }
}

/// The name of a file in a store: the numbers of its device, inode and mount, hexadecimal, with `-` between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    text: [u8; 50],
    bytes: usize,
}

impl Key {
    /// The key of the file with these numbers.
    #[must_use]
    pub fn new(device: u64, inode: u64, mount: u64) -> Self {
        let mut key = Key { text: [0; 50], bytes: 0 };
        key.push_number(device);
        key.push(b'-');
        key.push_number(inode);
        key.push(b'-');
        key.push_number(mount);
        key
    }

    /// Its letters.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.bytes).unwrap_or(&[])
    }

    /// Its letters, as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    fn push_number(&mut self, number: u64) {
        let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            self.push(b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15]);
        }
    }

    fn push(&mut self, letter: u8) {
        if let Some(place) = self.text.get_mut(self.bytes) {
            *place = letter;
            self.bytes += 1;
        }
    }
}
