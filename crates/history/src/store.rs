//! The database: what is put in, found and removed.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use steady_linux::private;
use steady_model::{Facts, Kept};

use crate::{HistoryError, Selection, Which, pack, row, schema};

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
        schema::migrate(&mut connection)?;
        Ok(History { connection })
    }

    /// Keeps a run and the text of its record; its number. `log` names where it comes from: nothing is kept twice, and
    /// the number is that of the first time.
    ///
    /// # Errors
    /// [`HistoryError::Database`]; nothing is kept then.
    pub fn insert(&mut self, log: &str, facts: &Facts, record: &str) -> Result<i64, HistoryError> {
        let json = pack::pack(record);
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
        pack::unpack(&packed).map_err(|error| damaged(format!("its record: {error}")))
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
