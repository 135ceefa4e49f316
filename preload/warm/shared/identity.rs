//! The identity of a version of a file.

/// A file as statx(2) reports it. The ctime cannot be set, so every modification changes the identity. The mount is
/// part of it because an image that is mounted in place of another may have files with equal inode numbers and times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number of the device with its file system (`st_dev`).
    pub device: u64,
    /// The inode number in that file system (`st_ino`).
    pub inode: u64,
    /// The unique id of its mount. Since Linux 6.8, no other mount gets the same id until the next boot. 0 before Linux
    /// 5.8.
    pub mount: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The time of the last change of its content (mtime).
    pub modified: Time,
    /// The time of the last change of its content, mode or links (ctime).
    pub changed: Time,
}

/// A timestamp of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    /// Whole seconds since the epoch (1970).
    pub seconds: i64,
    /// Nanoseconds of the current second.
    pub nanoseconds: i64,
}

impl Identity {
    /// Returns the name for the file in a store.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(self.device, self.inode, self.mount)
    }
}

/// The name for a file in a store: the numbers of its device, inode and mount, in hexadecimal, separated by `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    text: [u8; 50],
    bytes: usize,
}

impl Key {
    /// Returns the key of the file with these numbers.
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

    /// Returns the key as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.bytes).unwrap_or(&[])
    }

    /// Returns the key as text.
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
