//! What the agent writes: batches of rows, a block for each second.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use steady_linux::directory::{Directory, Lock};
use steady_model::{HostSecond, ReleaseRow, ReleaseRows, ReleaseRulerRow};

use super::pack::Block;
use super::schema::{Names, whole};
use super::{StoreError, schema};

/// How long to wait for a reader that brings the journal home.
const PATIENCE: Duration = Duration::from_secs(2);
/// The length of SQLite's pages.
const PAGE: u64 = 4_096;
/// What the names of a database's journals end with.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The service of what is the host's own.
pub(super) const HOST: u32 = 0;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Not longer than so many seconds.
    pub seconds: u64,
    /// Not more than so many bytes on the disk.
    pub bytes: u64,
}

impl Keep {
    /// What the journal may take of the bytes: it goes home when half of that is written, unless one write is longer.
    pub(super) fn journal(&self) -> u64 {
        (self.bytes / 8).min(8 << 20)
    }
}

/// The store, as its one writer has it.
pub struct Writer {
    pub(super) connection: Connection,
    pub(super) names: Names,
    pub(super) keep: Keep,
    path: PathBuf,
    directory: Directory,
    // Two agents would remove the names of each other's rows.
    _lock: Lock,
}

impl Writer {
    /// Opens the store in the file at `path`; creates it, and directories for this user alone, where they are missing. What a
    /// kill left of an unfinished write is dropped. Other users must not be able to write to the directory: SQLite opens the
    /// file and its journals by name. The file is locked by its real path and must have one name, so that no two agents open
    /// it in different ways. The file and its journals are created with mode 0600: a user who can read one of
    /// them can lock it and prevent the agent from writing.
    ///
    /// # Errors
    /// [`StoreError::Taken`], [`StoreError::TooNew`], [`StoreError::Foreign`], [`StoreError::Directory`] or [`StoreError::Database`].
    pub fn open(path: &Path, keep: Keep) -> Result<Self, StoreError> {
        let (directory, name) = Directory::of_file(path, 0o700)?;
        let lock = directory.lock(&with(&name, ".lock"), Duration::ZERO)?;
        directory.check_file(&name)?;
        let path = directory.path().join(&name);
        let connection = connect(&directory, &name, keep)?;
        Ok(Writer { connection, names: Names::default(), keep, path, directory, _lock: lock })
    }

    /// The file, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file again, because the one that was open has been removed.
    ///
    /// # Errors
    /// As [`Writer::open`]; nothing can be written then before this has succeeded.
    pub fn open_again(&mut self) -> Result<(), StoreError> {
        self.names.forget();
        // The old one removes its journal by name when it is closed, and what it left is no journal of the new one.
        self.connection = Connection::open_in_memory()?;
        let name = self.path.file_name().unwrap_or_default();
        for suffix in JOURNALS {
            let _ = self.directory.remove(with(name, suffix));
        }
        self.connection = connect(&self.directory, name, self.keep)?;
        Ok(())
    }

    /// Writes all of a batch, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Database`]; nothing was written then.
    pub fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let written = self.try_to_write(batch);
        if written.is_err() {
            // Some of those numbers were never written.
            self.names.forget();
        }
        written
    }

    fn try_to_write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for rows in &batch.services {
            let mut number = |text: &str| self.names.number(&transaction, text, batch.second);
            let service = number(&rows.service)?;
            let of = |texts: &[String], number: &mut dyn FnMut(&str) -> Result<u32, StoreError>| {
                texts.iter().map(|text| number(text)).collect::<Result<Vec<u32>, _>>()
            };
            let numbers = Numbers {
                hosts: of(&rows.hosts, &mut number)?,
                versions: of(&rows.versions, &mut number)?,
                routes: of(&rows.routes, &mut number)?,
                classes: of(rows.classes.get(1..).unwrap_or_default(), &mut number)?,
            };
            let host = numbers.hosts.first().copied().map_or_else(|| number(&batch.host), Ok)?;
            insert(&transaction, service, blocks_of(rows, &numbers, (host, batch.second)))?;
            count(&transaction, service, &rows.requests, &numbers)?;
        }
        let host = self.names.number(&transaction, &batch.host, batch.second)?;
        insert(&transaction, HOST, blocks_of_host(batch, host))?;
        Ok(transaction.commit()?)
    }

    /// What was to be added, in whole seconds, to the monotonic clock of a host for seconds since 1970, and the boot that it
    /// was of.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn clock(&self, host: &str) -> Result<Option<(String, i64)>, StoreError> {
        let query = "SELECT boot, ahead FROM clock JOIN names ON names.id = clock.host WHERE text = ?1";
        Ok(self.connection.query_row(query, [host], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Keeps that for the next time.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn keep_clock(&mut self, host: &str, boot: &str, ahead: i64, now: u64) -> Result<(), StoreError> {
        let host = self.names.number(&self.connection, host, now)?;
        let query = "INSERT INTO clock (host, boot, ahead) VALUES (?1, ?2, ?3)
            ON CONFLICT (host) DO UPDATE SET boot = excluded.boot, ahead = excluded.ahead";
        self.connection.execute(query, (host, boot, ahead))?;
        Ok(())
    }

    /// The last second that anything is kept of.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn last_second(&self) -> Result<Option<u64>, StoreError> {
        last_second(&self.connection)
    }
}

/// Opens a database for writing, and makes it what it should be.
fn connect(directory: &Directory, name: &OsStr, keep: Keep) -> Result<Connection, StoreError> {
    // SQLite would make it for all to read, and it makes its journals as it finds the database.
    directory.make_own_file(name)?;
    // Earlier versions let others open them. What another program has on a disk without such rights may stay as it is.
    for suffix in [""].into_iter().chain(JOURNALS) {
        let _ = directory.close_to_others(&with(name, suffix));
    }
    let mut connection = Connection::open(directory.path().join(name))?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(32);
    schema::migrate(&mut connection)?;
    // Whatever kills the agent, what it has written stays; only a machine that fails may take the last seconds with it.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", keep.journal() as i64)?;
    connection.pragma_update(None, "wal_autocheckpoint", (keep.journal() / 2 / PAGE).clamp(8, 1_000) as i64)?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    Ok(connection)
}

fn with(name: &OsStr, suffix: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(suffix);
    name
}

/// The last second of which there is a block.
pub(super) fn last_second(connection: &Connection) -> Result<Option<u64>, StoreError> {
    let last: Option<i64> = connection.query_row("SELECT max(second) FROM blocks", [], |row| row.get(0))?;
    Ok(last.and_then(|second| u64::try_from(second).ok()))
}

/// The numbers that the names of some rows have in the store, in their order.
struct Numbers {
    hosts: Vec<u32>,
    versions: Vec<u32>,
    routes: Vec<u32>,
    /// Without the first class, which stands for none and has number 0.
    classes: Vec<u32>,
}

/// Blocks by host and second.
type Blocks = BTreeMap<(u32, u64), Block>;

/// A service's rows, by host and second, with the store's numbers in them. What was folded or lost is booked at `here`.
fn blocks_of(rows: &ReleaseRows, numbers: &Numbers, here: (u32, u64)) -> Blocks {
    let of = |numbers: &[u32], place: u32| numbers.get(place as usize).copied().unwrap_or(u32::MAX);
    let (host, version) = (|place| of(&numbers.hosts, place), |place| of(&numbers.versions, place));
    let route = |place| of(&numbers.routes, place);
    let class = |place: u32| place.checked_sub(1).map_or(0, |place| of(&numbers.classes, place));
    let mut blocks = Blocks::new();
    if rows.folded > 0 || rows.lost > 0 {
        blocks.insert(here, Block { folded: rows.folded, lost: rows.lost, ..Block::default() });
    }
    for row in &rows.requests {
        let (version, route, class) = (version(row.version), route(row.route), class(row.class));
        let row = ReleaseRow { version, route, class, ..*row };
        blocks.entry((host(row.host), row.second)).or_default().requests.push(row);
    }
    for row in &rows.rulers {
        let mut row = *row;
        row.version = row.version.map(version);
        blocks.entry((host(row.host), row.second)).or_default().rulers.push(row);
    }
    for row in &rows.processes {
        let mut row = *row;
        row.version = row.version.map(version);
        blocks.entry((host(row.host), row.second)).or_default().processes.push(row);
    }
    for row in &rows.walls {
        let mut row = row.clone();
        (row.version, row.route) = (version(row.version), route(row.route));
        blocks.entry((host(row.host), row.second)).or_default().walls.push(row);
    }
    blocks
}

fn blocks_of_host(batch: &Batch, host: u32) -> Blocks {
    let mut blocks = Blocks::new();
    for row in &batch.rulers {
        blocks.entry((host, row.second)).or_default().rulers.push(*row);
    }
    for row in &batch.seconds {
        blocks.entry((host, row.second)).or_default().seconds.push(*row);
    }
    blocks
}

fn insert(connection: &Connection, service: u32, blocks: Blocks) -> Result<(), StoreError> {
    for ((host, second), block) in blocks {
        insert_block(connection, service, host, second, 0, &block)?;
    }
    Ok(())
}

/// Adds a block: whose and when, and whether it has been folded.
pub(super) fn insert_block(
    connection: &Connection,
    service: u32,
    host: u32,
    second: u64,
    grain: u32,
    block: &Block,
) -> Result<(), StoreError> {
    let query = "INSERT INTO blocks (service, host, second, grain, rows) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(query)?.execute((service, host, whole(second), grain, block.pack()))?;
    Ok(())
}

/// Counts requests by version and minute, for lists of services.
fn count(connection: &Connection, service: u32, rows: &[ReleaseRow], numbers: &Numbers) -> Result<(), StoreError> {
    let mut minutes: BTreeMap<(u64, u32), (u64, u64, u64)> = BTreeMap::new();
    for row in rows {
        let Some(&version) = numbers.versions.get(row.version as usize) else { continue };
        let counted = minutes.entry((row.second / 60, version)).or_insert((row.second, row.second, 0));
        let (first, last, requests) = *counted;
        *counted = (first.min(row.second), last.max(row.second), requests + row.sums.requests + row.sums.warming);
    }
    let query = "INSERT INTO totals (service, version, minute, first, last, requests) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last),
        requests = requests + excluded.requests";
    let mut query = connection.prepare_cached(query)?;
    for ((minute, version), (first, last, requests)) in minutes {
        query.execute((service, version, whole(minute), whole(first), whole(last), whole(requests)))?;
    }
    Ok(())
}

/// What was gathered since the last write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The second in which it was gathered, since 1970: what was folded or lost is booked there.
    pub second: u64,
    /// The host's name, for `rulers` and `seconds`.
    pub host: String,
    /// Rows of services, each once; their own `rulers` are those of processes, and `seconds` are empty.
    pub services: Vec<ReleaseRows>,
    /// The agent's own rulers.
    pub rulers: Vec<ReleaseRulerRow>,
    /// The host.
    pub seconds: Vec<HostSecond>,
}

impl Batch {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.rulers.is_empty() && self.seconds.is_empty()
    }

    /// How many rows there are in it.
    pub fn rows(&self) -> usize {
        let of = |rows: &ReleaseRows| rows.requests.len() + rows.rulers.len() + rows.walls.len() + rows.processes.len();
        self.services.iter().map(of).sum::<usize>() + self.rulers.len() + self.seconds.len()
    }

    /// How many requests it tells of.
    pub fn requests(&self) -> u64 {
        let rows = self.services.iter().flat_map(|rows| &rows.requests);
        rows.map(|row| row.sums.requests + row.sums.warming).sum()
    }
}
