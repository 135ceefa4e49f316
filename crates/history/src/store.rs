//! The database: its schema, what is put in, found and removed, and why it cannot give or take something.

use std::path::Path;
use std::time::Duration;

use rusqlite::ffi::{SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use steady_linux::limits::file_size_limit;
use steady_linux::private;
use steady_model::{Facts, Kept};
use thiserror::Error;

use crate::{Selection, Which, row};

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// The history in a file.
pub struct History {
    connection: Connection,
}

impl History {
    /// Opens the history in the file at `path`; creates it if there is none, and migrates an older one. It is created with mode
    /// 0600: a user who can read it can lock it and prevent runs from being recorded.
    ///
    /// # Errors
    /// [`HistoryError::TooNew`] or [`HistoryError::Database`].
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        // Where it cannot be made, SQLite says why; where it can only be read, it is.
        let _ = private::own_file(path);
        History::of(Connection::open(path)?)
    }

    /// A history with nothing in it, kept nowhere.
    ///
    /// # Errors
    /// [`HistoryError::Database`].
    pub fn empty() -> Result<Self, HistoryError> {
        History::of(Connection::open_in_memory()?)
    }

    fn of(mut connection: Connection) -> Result<Self, HistoryError> {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrate(&mut connection)?;
        Ok(History { connection })
    }

    /// Keeps a run and the text of its record; its number. `log` names where it comes from: nothing is kept twice, and
    /// the number is that of the first time.
    ///
    /// # Errors
    /// [`HistoryError::Database`]; nothing is kept then.
    pub fn insert(&mut self, log: &str, facts: &Facts, record: &str) -> Result<i64, HistoryError> {
        let json = row::pack(record);
        let transaction = self.change()?;
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

    /// The last `limit` runs, or all, the first of them first.
    ///
    /// # Errors
    /// [`HistoryError::Damaged`] or [`HistoryError::Database`].
    pub fn list(&self, limit: Option<u32>) -> Result<Vec<Kept>, HistoryError> {
        let mut query = self.connection.prepare(&format!("{} ORDER BY id DESC LIMIT ?1", row::SELECT))?;
        // A negative limit is none.
        let mut rows = query.query([limit.map_or(-1, i64::from)])?;
        let mut all = Vec::new();
        while let Some(found) = rows.next()? {
            all.push(row::read(found)?);
        }
        all.reverse();
        Ok(all)
    }

    /// One run.
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

    /// Removes runs; how many.
    ///
    /// # Errors
    /// [`HistoryError::Unknown`], [`HistoryError::Empty`] or [`HistoryError::Database`]; nothing is removed then.
    pub fn remove(&mut self, selection: &Selection) -> Result<usize, HistoryError> {
        let transaction = self.change()?;
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

    /// A transaction that will write: who waits for another writer does so before it has read anything.
    fn change(&mut self) -> Result<Transaction<'_>, HistoryError> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}

/// The number of a run that is there.
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

/// What may be added to an error of a database that could not write: SQLite says no more than "disk I/O error" of a file that has
/// become as long as this process's files may be.
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

/// What the history has to say when it cannot do what it was asked for.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The database was written by a version that this one does not know.
    #[error(
        "it was written by a newer version: its schema is {found}, and {known} is the newest known here; upgrade steady"
    )]
    TooNew {
        /// The schema's version in the file.
        found: i64,
        /// The newest that this version knows.
        known: i64,
    },
    /// There is no such run.
    #[error("no run {0} in the history; steady history list shows those that there are")]
    Unknown(i64),
    /// The last run of none was asked for.
    #[error("the history is empty")]
    Empty,
    /// What is kept of a run makes no sense.
    #[error("run {id} is damaged: {why}; steady history remove {id} drops it")]
    Damaged {
        /// The run.
        id: i64,
        /// What is wrong with it.
        why: String,
    },
    /// What the database says: locked for too long, full, no database, ...
    #[error("{0}{limit}", limit = cannot_grow(.0))]
    Database(#[from] rusqlite::Error),
}

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
