//! How much is kept: not longer than an age, not more than a size, the oldest go first.

use rusqlite::TransactionBehavior;

use super::reader::bytes_in_use;
use super::schema::whole;
use super::{StoreError, Writer, fold};

/// Rows are folded once more than this share of the room is used, ...
const FOLDING_SHARE: f64 = 0.5;
/// ... those that are older than this.
const FOLDING_AGE_SECONDS: u64 = 15 * 60;
/// How many tens are folded at a time, and blocks removed: so that writing never waits for long.
const FOLDED_AT_ONCE: usize = 3;
const REMOVED_AT_ONCE: u32 = 200;
/// Free pages that are given back at a time.
const GIVEN_BACK: u32 = 500;

/// What was done to keep within the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tended {
    /// Blocks removed for their age.
    pub outdated: usize,
    /// Blocks removed for want of room.
    pub displaced: usize,
    /// Tens of seconds folded.
    pub folded: usize,
}

impl Writer {
    /// Keeps the store within its limits, at most a little of it at a time: to be called each second.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn tend(&mut self, now: u64) -> Result<Tended, StoreError> {
        let oldest = whole(now.saturating_sub(self.keep.seconds));
        let mut tended = Tended { outdated: self.remove("WHERE second < ?1", oldest)?, ..Tended::default() };
        let room = self.keep.bytes - self.keep.journal();
        let mut used = bytes_in_use(&self.connection)?;
        if used as f64 > FOLDING_SHARE * room as f64 {
            let before = now.saturating_sub(FOLDING_AGE_SECONDS);
            while tended.folded < FOLDED_AT_ONCE && fold::oldest(self, before)? {
                tended.folded += 1;
            }
        }
        while used > room {
            let removed = self.remove("WHERE ?1 = 0", 0)?;
            if removed == 0 {
                break;
            }
            tended.displaced += removed;
            used = bytes_in_use(&self.connection)?;
        }
        if tended != Tended::default() {
            self.clean()?;
        }
        Ok(tended)
    }

    /// Removes some of the oldest blocks that fit a condition; how many.
    fn remove(&mut self, which: &str, value: i64) -> Result<usize, StoreError> {
        let query = format!(
            "DELETE FROM blocks WHERE id IN (SELECT id FROM blocks {which} ORDER BY second LIMIT {REMOVED_AT_ONCE})"
        );
        Ok(self.connection.prepare_cached(&query)?.execute([value])?)
    }

    /// Drops what nothing refers to any more, and gives free pages back.
    fn clean(&mut self) -> Result<(), StoreError> {
        let oldest: Option<i64> = self.connection.query_row("SELECT min(second) FROM blocks", [], |row| row.get(0))?;
        let oldest = oldest.and_then(|second| u64::try_from(second).ok()).unwrap_or(0);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.prepare_cached("DELETE FROM totals WHERE minute < ?1")?.execute([whole(oldest / 60)])?;
        self.names.drop_unused(&transaction, oldest)?;
        transaction.commit()?;
        let free: i64 = self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > i64::from(2 * GIVEN_BACK) {
            let mut query = self.connection.prepare(&format!("PRAGMA incremental_vacuum({GIVEN_BACK})"))?;
            let mut steps = query.query([])?;
            while steps.next()?.is_some() {}
        }
        Ok(())
    }
}
