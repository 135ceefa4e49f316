//! How much a store takes of a disk.

use std::io;

use super::Store;

/// The most that snapshots may take, in bytes.
pub const LIMIT: u64 = 2 << 30;
/// The share of a file system that is left to others: a fiftieth.
const LEFT: u64 = 50;

impl Store {
    /// Makes room for `bytes` more: the programs whose cards are oldest are forgotten, but for `key`. Whether there is room.
    ///
    /// # Errors
    /// What the file system says.
    pub fn make_room(&self, bytes: u64, key: &str) -> io::Result<bool> {
        self.make_room_within(bytes, key, LIMIT)
    }

    pub(super) fn make_room_within(&self, bytes: u64, key: &str, limit: u64) -> io::Result<bool> {
        let locked = self.lock()?;
        let mut cards = self.cards()?;
        cards.sort_by_key(|card| card.written);
        let mut used: u64 = cards.iter().map(|card| self.size(&card.key)).sum();
        for card in cards.iter().filter(|card| card.key != key) {
            if used.saturating_add(bytes) <= limit && self.fits(bytes)? {
                break;
            }
            let size = self.size(&card.key);
            if size > 0 {
                self.forget(&card.key, &locked)?;
                used = used.saturating_sub(size);
            }
        }
        Ok(used.saturating_add(bytes) <= limit && self.fits(bytes)?)
    }

    /// What all snapshots take, in bytes.
    ///
    /// # Errors
    /// What the file system says.
    pub fn used(&self) -> io::Result<u64> {
        Ok(self.cards()?.iter().map(|card| self.size(&card.key)).sum())
    }

    /// Whether the disk has room for as much, and some is left then.
    fn fits(&self, bytes: u64) -> io::Result<bool> {
        let system = rustix::fs::statvfs(self.folder())?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        let all = system.f_blocks.saturating_mul(system.f_frsize);
        Ok(bytes.saturating_add(all / LEFT) <= free)
    }
}
