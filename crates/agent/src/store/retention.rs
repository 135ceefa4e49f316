//! Removes the oldest rows when they exceed the limit of age or the store exceeds its limit of size.

use rusqlite::TransactionBehavior;

use super::reader::bytes_in_use;
use super::schema::whole;
use super::{StoreError, Writer, downsample};

/// The store is downsampled when more than this share of its space is used.
const DOWNSAMPLING_SHARE: f64 = 0.5;
/// Only seconds that are older than this are downsampled.
const DOWNSAMPLING_AGE_SECONDS: u64 = 15 * 60;
/// The most ten-second intervals that one call downsamples. It is small, so that writing never waits for long.
const MOST_DOWNSAMPLED: usize = 3;
/// The most blocks that one statement removes.
const MOST_REMOVED: u32 = 200;
/// The most free pages that one call returns to the file system.
const MOST_PAGES_FREED: u32 = 500;

/// What one call of [`Writer::enforce_limits`] removed and downsampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Blocks removed because of their age.
    pub outdated: usize,
    /// Blocks removed because the store was too large.
    pub displaced: usize,
    /// Intervals of ten seconds that were downsampled.
    pub downsampled: usize,
}

impl Writer {
    /// Enforces the limits of age and size. Call it once a second, so that each call has little to do.
    ///
    /// # Errors
    /// [`StoreError::Database`], or [`StoreError::Damaged`].
    pub fn enforce_limits(&mut self, now: u64) -> Result<Retention, StoreError> {
        let oldest = whole(now.saturating_sub(self.keep.seconds));
        let mut done = Retention { outdated: self.remove("WHERE second < ?1", oldest)?, ..Retention::default() };
        let space = self.keep.bytes - self.keep.journal();
        let mut used = bytes_in_use(&self.connection)?;
        if used as f64 > DOWNSAMPLING_SHARE * space as f64 {
            let before = now.saturating_sub(DOWNSAMPLING_AGE_SECONDS);
            while done.downsampled < MOST_DOWNSAMPLED && downsample::oldest(self, before)? {
                done.downsampled += 1;
            }
        }
        while used > space {
            let removed = self.remove("WHERE ?1 = 0", 0)?;
            if removed == 0 {
                break;
            }
            done.displaced += removed;
            used = bytes_in_use(&self.connection)?;
        }
        if done != Retention::default() {
            self.clean()?;
        }
        Ok(done)
    }

    /// Removes some of the oldest blocks that match a condition with one parameter. Returns their number.
    fn remove(&mut self, which: &str, value: i64) -> Result<usize, StoreError> {
        let query = format!(
            "DELETE FROM blocks WHERE id IN (SELECT id FROM blocks {which} ORDER BY second LIMIT {MOST_REMOVED})"
        );
        Ok(self.connection.prepare_cached(&query)?.execute([value])?)
    }

    /// Removes totals and names that no row refers to, and returns free pages to the file system.
    fn clean(&mut self) -> Result<(), StoreError> {
        let oldest: Option<i64> = self.connection.query_row("SELECT min(second) FROM blocks", [], |row| row.get(0))?;
        let oldest = oldest.and_then(|second| u64::try_from(second).ok()).unwrap_or(0);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.prepare_cached("DELETE FROM totals WHERE minute < ?1")?.execute([whole(oldest / 60)])?;
        self.names.drop_unused(&transaction, oldest)?;
        transaction.commit()?;
        let free: i64 = self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > i64::from(2 * MOST_PAGES_FREED) {
            let mut query = self.connection.prepare(&format!("PRAGMA incremental_vacuum({MOST_PAGES_FREED})"))?;
            let mut steps = query.query([])?;
            while steps.next()?.is_some() {}
        }
        Ok(())
    }
}
