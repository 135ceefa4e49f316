//! Texts and their numbers in the store.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::StoreError;

/// When a text was last in use is written again after so many seconds.
const REFRESH_SECONDS: u64 = 60;
/// Numbers remembered; beyond, all are looked up anew.
const REMEMBERED: usize = 10_000;

/// The numbers of texts, as far as they were needed lately.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<String, (u32, u64)>,
}

impl Names {
    /// The number of a text that is in use in `second`.
    pub(super) fn number(&mut self, connection: &Connection, text: &str, second: u64) -> Result<u32, StoreError> {
        let known = self.known.get(text).copied();
        if let Some((number, until)) = known
            && second < until
        {
            return Ok(number);
        }
        // Never less than it was: rows of older seconds come as well.
        let query = "INSERT INTO names (text, last) VALUES (?1, ?2)
            ON CONFLICT (text) DO UPDATE SET last = max(last, excluded.last) RETURNING id";
        let number = connection.prepare_cached(query)?.query_row((text, whole(second)), |row| row.get(0))?;
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let until = known.map_or(0, |(_, until)| until).max(second + REFRESH_SECONDS);
        self.known.insert(text.to_owned(), (number, until));
        Ok(number)
    }

    /// Forgets all numbers, for what was written with them may not be there.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Removes the texts that no row since `oldest` can name.
    pub(super) fn drop_unused(&mut self, connection: &Connection, oldest: u64) -> Result<(), StoreError> {
        let before = whole(oldest.saturating_sub(REFRESH_SECONDS));
        let dropped = connection.prepare_cached("DELETE FROM names WHERE last < ?1")?.execute([before])?;
        if dropped > 0 {
            self.forget();
        }
        Ok(())
    }
}

/// The number of a text, where there is one.
pub(super) fn find(connection: &Connection, text: &str) -> Result<Option<u32>, StoreError> {
    let query = "SELECT id FROM names WHERE text = ?1";
    Ok(connection.query_row(query, [text], |row| row.get(0)).optional()?)
}

/// The text of a number.
pub(super) fn text(connection: &Connection, number: u32) -> Result<Option<String>, StoreError> {
    let mut query = connection.prepare_cached("SELECT text FROM names WHERE id = ?1")?;
    Ok(query.query_row([number], |row| row.get(0)).optional()?)
}

/// A count as SQLite has it.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
