//! The schema of the database, its migrations, and the numbers of texts. docs/agent.md documents the schema.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::StoreError;

/// `STEPS[n]` migrates version n to version n + 1; version 0 is an empty file. Existing steps must not change.
const STEPS: [&str; 3] = [FIRST, BLOCKS_WITH_LEVELS, REMOVED];

/// Version 2 has the tables of version 1. New blobs have a format that version 1 cannot read; older blobs stay as they
/// are.
const BLOCKS_WITH_LEVELS: &str = "";

/// Version 3 records which rows the limit of size removed. The table has at most one row.
const REMOVED: &str = "CREATE TABLE removed (id INTEGER PRIMARY KEY CHECK (id = 1), before INTEGER NOT NULL) STRICT;";
/// The first version of the schema with [`REMOVED`].
pub(super) const WITH_REMOVED: i64 = 3;

const FIRST: &str = "CREATE TABLE names (
        id INTEGER PRIMARY KEY,
        text TEXT NOT NULL UNIQUE,
        last INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        service INTEGER NOT NULL,
        host INTEGER NOT NULL,
        second INTEGER NOT NULL,
        grain INTEGER NOT NULL,
        rows BLOB NOT NULL
    ) STRICT;
    CREATE INDEX blocks_by_second ON blocks (second, service);
    CREATE INDEX blocks_as_written ON blocks (second) WHERE grain = 0;
    CREATE TABLE totals (
        service INTEGER NOT NULL,
        version INTEGER NOT NULL,
        minute INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        PRIMARY KEY (minute, service, version)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE clock (
        host INTEGER PRIMARY KEY,
        boot TEXT NOT NULL,
        ahead INTEGER NOT NULL
    ) STRICT;";

/// The newest version of the schema.
pub(super) const VERSION: i64 = STEPS.len() as i64;
/// `application_id` of the database: `stdy` in ASCII.
const APPLICATION: i64 = 0x7374_6479;

/// Migrates a database to [`VERSION`]. A newer database, or another program's, is an error and remains unchanged.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    if version(connection)? == 0 {
        // SQLite accepts this only before the first table is created. The pages of removed rows are then returned to
        // the file system in small steps.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (step, to) in STEPS.iter().zip(1..).skip(usize::try_from(version(&transaction)?).unwrap_or(0)) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", to as i64)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    Ok(transaction.commit()?)
}

/// Returns the version of the schema of a database; 0 for an empty file.
pub(super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (found, application) {
        (0, 0) if tables == 0 => Ok(0),
        (1..=VERSION, APPLICATION) => Ok(found),
        (_, APPLICATION) => Err(StoreError::TooNew { found, known: VERSION }),
        _ => Err(StoreError::Foreign),
    }
}

/// The time of the last use of a text is written at most once in this number of seconds.
const REFRESH_SECONDS: u64 = 60;
/// The most numbers in the cache; it is cleared when it is full.
const REMEMBERED: usize = 10_000;

/// A cache of the numbers of texts.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The number of each text, and the second until which the stored time of its last use is good enough.
    known: HashMap<String, (u32, u64)>,
}

impl Names {
    /// Returns the number of a text that is used in `second`, and stores the text if it is new.
    pub(super) fn number(&mut self, connection: &Connection, text: &str, second: u64) -> Result<u32, StoreError> {
        let known = self.known.get(text).copied();
        if let Some((number, until)) = known
            && second < until
        {
            return Ok(number);
        }
        // The time must not go back, because rows of older seconds can follow newer ones.
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

    /// Clears the cache, because a transaction that stored new texts may have failed.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Removes the texts that no row from second `oldest` on can refer to.
    pub(super) fn drop_unused(&mut self, connection: &Connection, oldest: u64) -> Result<(), StoreError> {
        let before = whole(oldest.saturating_sub(REFRESH_SECONDS));
        let dropped = connection.prepare_cached("DELETE FROM names WHERE last < ?1")?.execute([before])?;
        if dropped > 0 {
            self.forget();
        }
        Ok(())
    }
}

/// Returns the number of a text, if it is stored.
pub(super) fn find(connection: &Connection, text: &str) -> Result<Option<u32>, StoreError> {
    let query = "SELECT id FROM names WHERE text = ?1";
    Ok(connection.query_row(query, [text], |row| row.get(0)).optional()?)
}

/// Returns the text with a number, if it is stored.
pub(super) fn text(connection: &Connection, number: u32) -> Result<Option<String>, StoreError> {
    let mut query = connection.prepare_cached("SELECT text FROM names WHERE id = ?1")?;
    Ok(query.query_row([number], |row| row.get(0)).optional()?)
}

/// Converts a number to SQLite's signed type.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
