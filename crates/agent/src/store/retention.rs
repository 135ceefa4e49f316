//! Removes the oldest rows when they exceed the limit of age or the store exceeds its limit of size.

use std::collections::BTreeMap;

use rusqlite::TransactionBehavior;

use super::downsample::{DOWNSAMPLED, SECONDS};
use super::pack::Block;
use super::reader::bytes_in_use;
use super::schema::whole;
use super::writer::PAGE;
use super::{StoreError, Writer, downsample};

/// The store is downsampled when more than this share of its space is used.
const DOWNSAMPLING_SHARE: f64 = 0.5;
/// Only seconds that are older than this are downsampled.
const DOWNSAMPLING_AGE_SECONDS: u64 = 15 * 60;
/// The most ten-second intervals that one call downsamples. It is small, so that writing never waits for long.
const MOST_DOWNSAMPLED: usize = 3;
/// The most blocks that one transaction removes.
const MOST_REMOVED: u32 = 200;
/// The most free pages that one call returns to the file system.
const MOST_PAGES_FREED: u64 = 500;

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
        let mut done = Retention::default();
        self.remove(&mut done, Excess::Age(now.saturating_sub(self.keep.seconds)))?;
        let space = self.keep.space();
        let mut used = bytes_in_use(&self.connection)?;
        if used as f64 > DOWNSAMPLING_SHARE * space as f64 {
            let before = now.saturating_sub(DOWNSAMPLING_AGE_SECONDS);
            while done.downsampled < MOST_DOWNSAMPLED && downsample::oldest(self, before)? {
                done.downsampled += 1;
            }
        }
        while used > space && self.remove(&mut done, Excess::Size(used - space))? {
            used = bytes_in_use(&self.connection)?;
        }
        if done != Retention::default() {
            self.clean(now)?;
        }
        self.shrink()?;
        Ok(done)
    }

    /// Removes some of the oldest blocks, and their requests from the totals. Returns whether there was one.
    fn remove(&mut self, done: &mut Retention, excess: Excess) -> Result<bool, StoreError> {
        let (before, most_bytes) = match excess {
            Excess::Age(before) => (before, u64::MAX),
            Excess::Size(bytes) => (u64::MAX, bytes),
        };
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (mut ids, mut bytes, mut end) = (Vec::new(), 0, 0);
        let mut requests = BTreeMap::<(u64, u32, u32), u64>::new();
        {
            let query = format!(
                "SELECT id, service, second, grain, rows FROM blocks WHERE second < ?1 ORDER BY second LIMIT {MOST_REMOVED}"
            );
            let mut query = transaction.prepare_cached(&query)?;
            let mut found = query.query([whole(before)])?;
            while bytes < most_bytes
                && let Some(row) = found.next()?
            {
                ids.push(row.get::<_, i64>(0)?);
                let (service, second): (u32, i64) = (row.get(1)?, row.get(2)?);
                let second = u64::try_from(second).unwrap_or(0);
                end = second + if row.get::<_, u32>(3)? == DOWNSAMPLED { u64::from(SECONDS) } else { 1 };
                let blob = row.get_ref(4)?.as_blob().unwrap_or_default();
                bytes += blob.len() as u64;
                // The requests of a damaged block stay in the totals until their minute is removed.
                for row in Block::unpack(blob, second, 0).map(|block| block.requests).unwrap_or_default() {
                    *requests.entry((row.second / 60, service, row.version)).or_default() +=
                        row.sums.requests + row.sums.first_requests;
                }
            }
        }
        if ids.is_empty() {
            return Ok(false);
        }
        for ((minute, service, version), requests) in requests {
            let key = (whole(minute), service, version, whole(requests));
            let which = "WHERE minute = ?1 AND service = ?2 AND version = ?3";
            let query = format!("UPDATE totals SET requests = requests - ?4 {which}");
            transaction.prepare_cached(&query)?.execute(key)?;
            let query = format!("DELETE FROM totals {which} AND requests <= 0");
            transaction.prepare_cached(&query)?.execute((key.0, key.1, key.2))?;
        }
        for id in &ids {
            transaction.prepare_cached("DELETE FROM blocks WHERE id = ?1")?.execute([id])?;
        }
        match excess {
            Excess::Age(_) => done.outdated += ids.len(),
            Excess::Size(_) => {
                done.displaced += ids.len();
                let query = "INSERT INTO removed (id, before) VALUES (1, ?1)
                    ON CONFLICT DO UPDATE SET before = max(before, excluded.before)";
                transaction.prepare_cached(query)?.execute([whole(end)])?;
            }
        }
        transaction.commit()?;
        Ok(true)
    }

    /// Removes totals and names that no row refers to.
    fn clean(&mut self, now: u64) -> Result<(), StoreError> {
        let oldest: Option<i64> = self.connection.query_row("SELECT min(second) FROM blocks", [], |row| row.get(0))?;
        let oldest = oldest.and_then(|second| u64::try_from(second).ok()).unwrap_or(now);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.prepare_cached("DELETE FROM totals WHERE minute < ?1")?.execute([whole(oldest / 60)])?;
        let query = "UPDATE totals SET first = ?1 WHERE minute = ?2 AND first < ?1 AND last >= ?1";
        transaction.prepare_cached(query)?.execute([whole(oldest), whole(oldest / 60)])?;
        self.names.drop_unused(&transaction, oldest)?;
        Ok(transaction.commit()?)
    }

    /// Returns free pages to the file system if there are many, or if the file is too large because the limit was
    /// lowered.
    fn shrink(&mut self) -> Result<(), StoreError> {
        let pages = |pragma: &str| self.connection.pragma_query_value(None, pragma, |row| row.get::<_, u64>(0));
        let is_large = pages("page_count")? * PAGE > self.keep.bytes - self.keep.journal();
        if is_large || pages("freelist_count")? > 2 * MOST_PAGES_FREED {
            // Moved pages are written to the journal.
            let most = (self.keep.journal() / 2 / PAGE).clamp(1, MOST_PAGES_FREED);
            let mut query = self.connection.prepare(&format!("PRAGMA incremental_vacuum({most})"))?;
            let mut steps = query.query([])?;
            while steps.next()?.is_some() {}
            drop(steps);
            drop(query);
            // Only this makes the file shorter.
            self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

/// The reason why blocks are removed.
#[derive(Clone, Copy)]
enum Excess {
    /// They are of seconds before this one.
    Age(u64),
    /// The store uses this number of bytes too many.
    Size(u64),
}
