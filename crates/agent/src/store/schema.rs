//! The schema, and the steps that bring an older one up to it. docs/agent.md documents it.

use rusqlite::{Connection, TransactionBehavior};

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
