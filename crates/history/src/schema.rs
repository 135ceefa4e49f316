//! The schema, and the steps that bring an older one up to it.

use rusqlite::{Connection, TransactionBehavior};

use crate::HistoryError;

/// `STEPS[n]` makes version n + 1 of version n; version 0 is an empty file. Steps are only ever added: files of every
/// version are about.
const STEPS: [&str; 2] = [
    // The records stand apart, so that a list of runs need not step over them.
    "CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        log TEXT NOT NULL UNIQUE,
        started INTEGER NOT NULL,
        hostname TEXT, hostname_absent TEXT,
        kernel TEXT, kernel_absent TEXT,
        revision TEXT, revision_absent TEXT,
        seed TEXT NOT NULL,
        commands TEXT NOT NULL,
        pairs INTEGER NOT NULL,
        complete INTEGER NOT NULL,
        metric TEXT NOT NULL,
        verdict TEXT NOT NULL
    ) STRICT;
    CREATE TABLE records (
        run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        json BLOB NOT NULL
    ) STRICT;",
    // Runs of other kinds than comparisons, which have no pairs, coins or metric. Columns are replaced one by one: were
    // the table made anew, the records would go with the old one.
    "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'compare';
    ALTER TABLE runs RENAME COLUMN seed TO old_seed;
    ALTER TABLE runs ADD COLUMN seed TEXT;
    ALTER TABLE runs ADD COLUMN seed_absent TEXT;
    ALTER TABLE runs RENAME COLUMN pairs TO old_pairs;
    ALTER TABLE runs ADD COLUMN pairs INTEGER;
    ALTER TABLE runs ADD COLUMN pairs_absent TEXT;
    ALTER TABLE runs RENAME COLUMN metric TO old_metric;
    ALTER TABLE runs ADD COLUMN metric TEXT;
    ALTER TABLE runs ADD COLUMN metric_absent TEXT;
    UPDATE runs SET seed = old_seed, pairs = old_pairs, metric = old_metric;
    ALTER TABLE runs DROP COLUMN old_seed;
    ALTER TABLE runs DROP COLUMN old_pairs;
    ALTER TABLE runs DROP COLUMN old_metric;",
];

/// The newest version.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Brings a database up to [`VERSION`]. One that is newer is refused, and nothing in it is touched.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), HistoryError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    if version(connection)? == 0 {
        // The file shrinks with what is removed; this can be said only before there are tables.
        connection.pragma_update(None, "auto_vacuum", "FULL")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    for (step, to) in STEPS.iter().zip(1..).skip(usize::try_from(version(&transaction)?).unwrap_or(0)) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", to as i64)?;
    }
    Ok(transaction.commit()?)
}

fn version(connection: &Connection) -> Result<i64, HistoryError> {
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if (0..=VERSION).contains(&found) { Ok(found) } else { Err(HistoryError::TooNew { found, known: VERSION }) }
}
