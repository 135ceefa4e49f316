//! The database: its schema, insertion, queries, removal and errors.

use std::path::Path;
use std::time::Duration;

use rusqlite::ffi::{SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use steady_linux::limits::file_size_limit;
use steady_linux::private;
use steady_model::{Facts, Kept};
use thiserror::Error;

use crate::{Selection, Which, row};

/// The maximum time to wait for another process that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// An open history, in a file or in memory.
pub struct History {
    connection: Connection,
}

impl History {
    /// Opens the history in the file at `path`. Creates it if it does not exist, and migrates an older version. Its
    /// mode is 0600, because a user who can read the file can lock it and prevent runs from being stored.
    ///
    /// # Errors
    /// [`HistoryError::TooNew`] or [`HistoryError::Database`].
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        // If the file cannot be created, SQLite reports the reason. A read-only file can still be read.
        let _ = private::own_file(path);
        History::of(Connection::open(path)?)
    }

    /// An empty history in memory.
    ///
    /// # Errors
    /// [`HistoryError::Database`].
    pub fn empty() -> Result<Self, HistoryError> {
        History::of(Connection::open_in_memory()?)
    }

    fn of(mut connection: Connection) -> Result<Self, HistoryError> {
        connection.busy_timeout(LOCK_TIMEOUT)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrate(&mut connection)?;
        Ok(History { connection })
    }

    /// Stores a run and the text of its record, and returns its number. `log` is the unique name of the run's log. A
    /// run whose log is stored already is not stored again, and the existing number is returned.
    ///
    /// # Errors
    /// [`HistoryError::Database`]. Nothing is stored then.
    pub fn insert(&mut self, log: &str, facts: &Facts, record: &str) -> Result<i64, HistoryError> {
        let json = row::pack(record);
        let transaction = self.write_transaction()?;
        let found = transaction.query_row("SELECT id FROM runs WHERE log = ?1", [log], |row| row.get(0)).optional()?;
        if let Some(id) = found {
            return Ok(id);
        }
        row::with_parameters(log, facts, |parameters| transaction.execute(row::INSERT, parameters))?;
        let id = transaction.last_insert_rowid();
        transaction.execute("INSERT INTO records (run, json) VALUES (?1, ?2)", (id, json))?;
        transaction.commit()?;
        Ok(id)
    }

    /// The last `limit` runs, or all runs, in ascending order.
    ///
    /// # Errors
    /// [`HistoryError::Damaged`] or [`HistoryError::Database`].
    pub fn list(&self, limit: Option<u32>) -> Result<Vec<Kept>, HistoryError> {
        let mut query = self.connection.prepare(&format!("{} ORDER BY id DESC LIMIT ?1", row::SELECT))?;
        // In SQLite, a negative limit means no limit.
        let mut rows = query.query([limit.map_or(-1, i64::from)])?;
        let mut all = Vec::new();
        while let Some(found) = rows.next()? {
            all.push(row::read(found)?);
        }
        all.reverse();
        Ok(all)
    }

    /// Finds one run.
    ///
    /// # Errors
    /// [`HistoryError::Unknown`], [`HistoryError::Empty`], [`HistoryError::Damaged`] or [`HistoryError::Database`].
    pub fn find(&self, which: Which) -> Result<Kept, HistoryError> {
        let id = id_of(&self.connection, which)?;
        let mut query = self.connection.prepare(&format!("{} WHERE id = ?1", row::SELECT))?;
        let mut rows = query.query([id])?;
        rows.next()?.map_or(Err(HistoryError::Unknown(id)), row::read)
    }

    /// The text of a run's record.
    ///
    /// # Errors
    /// As [`History::find`].
    pub fn record(&self, id: i64) -> Result<String, HistoryError> {
        let query = "SELECT json FROM records WHERE run = ?1";
        let packed: Option<Vec<u8>> = self.connection.query_row(query, [id], |row| row.get(0)).optional()?;
        let damaged = |why: String| HistoryError::Damaged { id, why };
        let packed = packed.ok_or_else(|| damaged("its record is missing".to_owned()))?;
        row::unpack(&packed).map_err(|error| damaged(format!("its record: {error}")))
    }

    /// Removes runs and returns their number.
    ///
    /// # Errors
    /// [`HistoryError::Unknown`], [`HistoryError::Empty`] or [`HistoryError::Database`]. Nothing is removed then.
    pub fn remove(&mut self, selection: &Selection) -> Result<usize, HistoryError> {
        let transaction = self.write_transaction()?;
        let removed = match selection {
            Selection::All => transaction.execute("DELETE FROM runs", [])?,
            Selection::Before(time) => {
                let time = i64::try_from(time.0).unwrap_or(i64::MAX);
                transaction.execute("DELETE FROM runs WHERE started < ?1", [time])?
            }
            Selection::These(these) => {
                let ids = these.iter().map(|which| id_of(&transaction, *which)).collect::<Result<Vec<_>, _>>()?;
                let remove = |id: &i64| transaction.execute("DELETE FROM runs WHERE id = ?1", [id]);
                ids.iter().map(remove).sum::<Result<usize, _>>()?
            }
        };
        transaction.commit()?;
        Ok(removed)
    }

    /// Begins a transaction that writes. It waits for other writers here, before it reads anything.
    fn write_transaction(&mut self) -> Result<Transaction<'_>, HistoryError> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}

/// The number of an existing run.
fn id_of(connection: &Connection, which: Which) -> Result<i64, HistoryError> {
    match which {
        Which::Last => {
            let last: Option<i64> = connection.query_row("SELECT max(id) FROM runs", [], |row| row.get(0))?;
            last.ok_or(HistoryError::Empty)
        }
        Which::Id(id) => {
            let found = connection.query_row("SELECT id FROM runs WHERE id = ?1", [id], |row| row.get(0)).optional()?;
            found.ok_or(HistoryError::Unknown(id))
        }
    }
}

/// An addition to the error of a failed write, if the file size limit of this process may be the cause. SQLite only
/// reports "disk I/O error" then.
fn cannot_grow(error: &rusqlite::Error) -> String {
    match (error, file_size_limit()) {
        (rusqlite::Error::SqliteFailure(error, _), Some(limit))
            if [SQLITE_IOERR_WRITE, SQLITE_IOERR_TRUNCATE].contains(&error.extended_code) =>
        {
            format!("; files of this process may have no more than {limit} bytes (ulimit -f)")
        }
        _ => String::new(),
    }
}

/// Errors of the history.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The database was written by a version that this one does not know.
    #[error(
        "it was written by a newer version: its schema is {found}, and {known} is the newest known here; upgrade steady"
    )]
    TooNew {
        /// The version of the schema in the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// There is no run with this number.
    #[error("no run {0} in the history; 'steady history list' shows all runs")]
    Unknown(i64),
    /// The last run was requested, and there are no runs.
    #[error("the history is empty")]
    Empty,
    /// The stored data of a run are invalid.
    #[error("run {id} is damaged: {why}; 'steady history remove {id}' removes it")]
    Damaged {
        /// The number of the run.
        id: i64,
        /// What is wrong with its data.
        why: String,
    },
    /// An error of the database, for example: locked for too long, disk full, not a database.
    #[error("{0}{limit}", limit = cannot_grow(.0))]
    Database(#[from] rusqlite::Error),
}

/// `STEPS[n]` migrates version n to version n + 1. Version 0 is an empty file. Steps are never changed, only added,
/// because files of every version exist.
const STEPS: [&str; 2] = [
    // Records have a table of their own, so that listing runs does not read them.
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
    // Adds runs of other kinds, which have no pairs, seed or metric. Columns are replaced one by one, because dropping
    // the table would also delete the records.
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

/// The newest version of the schema.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Migrates a database to [`VERSION`]. A newer database is refused and not changed.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), HistoryError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    if version(connection)? == 0 {
        // Makes the file shrink when runs are removed. It can be set only before there are tables.
        connection.pragma_update(None, "auto_vacuum", "FULL")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the database since the check above.
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
