//! The schema, the steps that bring an older one up to it, and the texts that rows refer to by numbers. docs/agent.md documents it.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::StoreError;

/// `STEPS[n]` makes version n + 1 of version n; version 0 is an empty file. Steps are only ever added.
const STEPS: [&str; 2] = [FIRST, BLOCKS_WITH_LEVELS];

/// Version 2 has the tables of version 1. Its blocks have a format that version 1 cannot read; older blocks stay.
const BLOCKS_WITH_LEVELS: &str = "";

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

/// The newest version.
pub(super) const VERSION: i64 = STEPS.len() as i64;
/// What tells these files from other databases: `stdy`.
const APPLICATION: i64 = 0x7374_6479;

/// Brings a database up to [`VERSION`]. One that is newer, or another program's, is refused, and nothing in it is touched.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    if version(connection)? == 0 {
        // Both can be said only before there are tables. What retention frees is given back bit by bit.
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

/// The version of what is there; 0 is a file without anything.
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
