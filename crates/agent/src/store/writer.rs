//! Writes batches of rows to the store, one block for each service, host and second.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OptionalExtension, TransactionBehavior};
use steady_linux::directory::{Directory, Lock};
use steady_model::{HostSecond, ReleaseRow, ReleaseRows, ReleaseRulerRow};

use super::pack::Block;
use super::schema::{Names, whole};
use super::{StoreError, schema};

/// The longest time to wait for a lock that a reader holds while it checkpoints the journal.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// The size of SQLite's pages, in bytes.
pub(super) const PAGE: u64 = 4_096;
/// The most space that a row usually needs in the journal, in bytes.
const ROW: u64 = 160;
/// The suffixes of the names of a database's journals.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The service number of blocks with the rows of the host and of the agent's own rulers.
pub(super) const HOST: u32 = 0;

/// The limits of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The largest age of rows, in seconds.
    pub seconds: u64,
    /// The largest size on disk with the journal, in bytes.
    pub bytes: u64,
}

impl Keep {
    /// Returns the part of the size that is reserved for the journal, in bytes. The journal is checkpointed when half
    /// of this is written, and a batch of at most [`Keep::rows`] rows fits into the other half.
    pub(super) fn journal(&self) -> u64 {
        (self.bytes / 4).min(8 << 20)
    }

    /// Returns the part of the size that stored rows may use, in bytes. The file grows by a batch before the oldest
    /// rows are removed, so as much as for the journal is left free.
    pub(super) fn space(&self) -> u64 {
        self.bytes - 2 * self.journal()
    }

    /// Returns the most bytes of the names of a service's routes. They are stored twice, with their index, and the store
    /// never removes names in use: without a limit, they could leave no space for rows. See [`Limits::route_bytes`] for
    /// several services: 20 may have six times as much, so that a quarter of the space remains for rows.
    ///
    /// [`Limits::route_bytes`]: crate::table::Limits::route_bytes
    pub(crate) fn route_bytes(&self) -> usize {
        (self.space() / 16) as usize
    }

    /// Returns the largest number of rows of a batch with which the store stays below its size.
    pub(crate) fn rows(&self) -> usize {
        (self.journal() / 2 / ROW) as usize
    }
}

/// A store that is open for writing. There is at most one writer.
pub struct Writer {
    pub(super) connection: Connection,
    pub(super) names: Names,
    pub(super) keep: Keep,
    path: PathBuf,
    /// The device and the inode of the open file; `None` after it was removed and could not be created again.
    file: Option<(u64, u64)>,
    /// Those of its journals, as far as they exist.
    journals: [Option<(u64, u64)>; 3],
    directory: Directory,
    // A second agent would remove the names that only the first one's new rows refer to.
    _lock: Lock,
}

impl Writer {
    /// Opens the store at `path`. Creates the file and its directories, for this user only, if they do not exist. An
    /// unfinished transaction of a killed agent is rolled back.
    ///
    /// Other users must not be able to write to the directory, because SQLite opens the file and its journals by name.
    /// The file is locked by its real path and must have only one name (hard link), so that two agents cannot open it
    /// by different names. The file and its journals have mode 0600: a user who can read one of them can lock it, and
    /// so prevent the agent from writing.
    ///
    /// # Errors
    /// [`StoreError::Taken`], [`StoreError::ReadOnly`], [`StoreError::TooNew`], [`StoreError::Foreign`],
    /// [`StoreError::Directory`] or [`StoreError::Database`].
    pub fn open(path: &Path, keep: Keep) -> Result<Self, StoreError> {
        let (directory, name) = Directory::of_file(path, 0o700)?;
        let lock = directory.lock(&with(&name, ".lock"), Duration::ZERO)?;
        directory.check_file(&name)?;
        let path = directory.path().join(&name);
        let connection = connect(&directory, &name, keep)?;
        let (file, journals) = (identity(&path), journals(&path));
        Ok(Writer { connection, names: Names::default(), keep, path, file, journals, directory, _lock: lock })
    }

    /// Opens the file that is there now after the open one was removed or replaced; creates it if there is none.
    fn open_again(&mut self) -> Result<(), StoreError> {
        self.names.forget();
        self.file = None;
        // Journals of the old file must not be applied to the one that replaced it, but that one may have its own.
        let (old, now) = (std::mem::take(&mut self.journals), journals(&self.path));
        // Closing the old database may remove its journals by name, so this must come before new ones are created.
        self.connection = Connection::open_in_memory()?;
        let name = self.path.file_name().unwrap_or_default();
        for ((suffix, old), now) in JOURNALS.iter().zip(old).zip(now) {
            if old == now {
                let _ = self.directory.remove(with(name, suffix));
            }
        }
        self.directory.check_file(name)?;
        self.connection = connect(&self.directory, name, self.keep)?;
        (self.file, self.journals) = (identity(&self.path), journals(&self.path));
        Ok(())
    }

    /// Writes a batch in one transaction. If the file was removed or replaced, readers cannot open what was written, so
    /// the batch is written again to the file that is there now, or to a new one. Returns whether that happened.
    ///
    /// # Errors
    /// As [`Writer::open`]; then nothing of the batch is stored.
    pub fn write(&mut self, batch: &Batch) -> Result<bool, StoreError> {
        let written = self.write_to_open_file(batch);
        if self.file.is_some() && self.file == identity(&self.path) {
            return written.map(|()| false);
        }
        self.open_again()?;
        self.write_to_open_file(batch).map(|()| true)
    }

    fn write_to_open_file(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let written = self.try_to_write(batch);
        if written.is_err() {
            // The cache may have numbers that the failed transaction did not store.
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

    /// Returns the boot ID of a host's last agent, and the seconds that it added to the monotonic clock to get seconds
    /// since 1970.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn clock(&self, host: &str) -> Result<Option<(String, i64)>, StoreError> {
        let query = "SELECT boot, ahead FROM clock JOIN names ON names.id = clock.host WHERE text = ?1";
        Ok(self.connection.query_row(query, [host], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Stores the boot ID and the offset that [`Writer::clock`] returns; `now` is in seconds since 1970.
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

    /// Returns the last second with rows.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn last_second(&self) -> Result<Option<u64>, StoreError> {
        last_second(&self.connection)
    }
}

/// Opens or creates a database for writing, with its permissions, schema and settings.
fn connect(directory: &Directory, name: &OsStr, keep: Keep) -> Result<Connection, StoreError> {
    // SQLite would create a file that others can read. Its journals get the mode of the database.
    directory.make_own_file(name)?;
    // Earlier versions of steady created files that others could read. Errors are ignored: some file systems have no
    // modes.
    for suffix in [""].into_iter().chain(JOURNALS) {
        let _ = directory.close_to_others(&with(name, suffix));
    }
    let mut connection = Connection::open(directory.path().join(name))?;
    // SQLite opens such a file for reading, and would create an index of the journal that it can neither write nor
    // remove.
    if connection.is_readonly(MAIN_DB)? {
        return Err(StoreError::ReadOnly);
    }
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(32);
    schema::migrate(&mut connection)?;
    // With these settings, a killed agent loses no committed transaction; only a failure of the machine may lose the
    // last seconds.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", keep.journal() as i64)?;
    connection.pragma_update(None, "wal_autocheckpoint", (keep.journal() / 2 / PAGE).clamp(8, 1_000) as i64)?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    // The first read in this mode creates the journals, whose identities the writer keeps.
    connection.pragma_query_value(None, "schema_version", |_| Ok(()))?;
    Ok(connection)
}

/// Returns the device and the inode of the file at `path`, if there is one.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

/// Returns the devices and the inodes of the journals of the file at `path`.
fn journals(path: &Path) -> [Option<(u64, u64)>; 3] {
    JOURNALS.map(|suffix| identity(Path::new(&with(path.as_os_str(), suffix))))
}

fn with(name: &OsStr, suffix: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(suffix);
    name
}

/// Returns the last second with a block.
pub(super) fn last_second(connection: &Connection) -> Result<Option<u64>, StoreError> {
    let last: Option<i64> = connection.query_row("SELECT max(second) FROM blocks", [], |row| row.get(0))?;
    Ok(last.and_then(|second| u64::try_from(second).ok()))
}

/// The numbers in the store of the names in a [`ReleaseRows`], in their order there.
struct Numbers {
    hosts: Vec<u32>,
    versions: Vec<u32>,
    routes: Vec<u32>,
    /// Without the first name, which stands for requests without a class and has number 0.
    classes: Vec<u32>,
}

/// Blocks by the number of the host and the second.
type Blocks = BTreeMap<(u32, u64), Block>;

/// Groups a service's rows by host and second, and replaces their names' positions by the store's numbers. Counts of
/// folded and lost requests are added to the host and second `here`.
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

/// Stores a block. `grain` is 0 for rows as written, and [`super::downsample::DOWNSAMPLED`] after downsampling.
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

/// Adds the number of requests to the totals by version and minute, which lists of services use.
fn count(connection: &Connection, service: u32, rows: &[ReleaseRow], numbers: &Numbers) -> Result<(), StoreError> {
    let mut minutes: BTreeMap<(u64, u32), (u64, u64, u64)> = BTreeMap::new();
    for row in rows {
        let Some(&version) = numbers.versions.get(row.version as usize) else { continue };
        let counted = minutes.entry((row.second / 60, version)).or_insert((row.second, row.second, 0));
        let (first, last, requests) = *counted;
        *counted =
            (first.min(row.second), last.max(row.second), requests + row.sums.requests + row.sums.first_requests);
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

/// The rows since the last write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The second, since 1970, in which the rows were collected. Counts of folded and lost requests are stored with it.
    pub second: u64,
    /// The name of the host, for `rulers` and `seconds`.
    pub host: String,
    /// The rows of each service. Their `rulers` are readings in processes of the service, and their `seconds` are
    /// empty.
    pub services: Vec<ReleaseRows>,
    /// Readings of the agent's own rulers.
    pub rulers: Vec<ReleaseRulerRow>,
    /// The load of the host in each second.
    pub seconds: Vec<HostSecond>,
}

impl Batch {
    /// Returns whether the batch has no rows and no counts.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.rulers.is_empty() && self.seconds.is_empty()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        let of = |rows: &ReleaseRows| rows.requests.len() + rows.rulers.len() + rows.walls.len() + rows.processes.len();
        self.services.iter().map(of).sum::<usize>() + self.rulers.len() + self.seconds.len()
    }

    /// Returns the number of requests, those of the warm-up included.
    pub fn requests(&self) -> u64 {
        let rows = self.services.iter().flat_map(|rows| &rows.requests);
        rows.map(|row| row.sums.requests + row.sums.first_requests).sum()
    }
}
