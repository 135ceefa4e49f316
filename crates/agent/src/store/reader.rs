//! Reads the store: the rows of a service in a window of time, and facts about the store and its services.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};
use steady_model::ReleaseRows;

use crate::paths::denied;

use super::downsample::{append, merge};
use super::pack::Block;
use super::schema::whole;
use super::writer::HOST;
use super::{StoreError, downsample, schema};

/// The longest time to wait for a lock, which an agent holds while it starts or ends.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A store that is open for reading only.
pub struct Reader {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
}

impl Reader {
    /// Opens the store at `path` without changing it.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Denied`], [`StoreError::IsDirectory`], [`StoreError::NotADatabase`],
    /// [`StoreError::TooNew`], [`StoreError::Foreign`] or [`StoreError::Database`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // SQLite reports a file that this user may not read like one that does not exist. Opening a FIFO would wait for
        // its writer, so only regular files are opened.
        let readable = fs::metadata(path).and_then(|facts| match facts.is_file() {
            true => File::open(path).map(|_| facts),
            false => Ok(facts),
        });
        match readable {
            Ok(facts) if facts.is_file() => {}
            Ok(facts) if facts.is_dir() => return Err(StoreError::IsDirectory),
            Ok(_) => return Err(StoreError::NotADatabase),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(StoreError::Denied(denied(path))),
            Err(_) => return Err(StoreError::Missing),
        }
        let connection = connect(path)?;
        match schema::version(&connection)? {
            0 => Err(StoreError::Missing),
            _ => Ok(Reader { connection, path: path.to_owned() }),
        }
    }

    /// Reads all rows of a service from second `from` to the one before `to`, with the load of the hosts and the
    /// readings of their agents' rulers. The result is empty for an unknown service. Downsampled rows have the first
    /// second of their interval.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or [`StoreError::Database`].
    pub fn rows(&self, service: &str, from: u64, to: u64) -> Result<ReleaseRows, StoreError> {
        let mut collected =
            Collected { rows: ReleaseRows { service: service.to_owned(), ..Default::default() }, ..Default::default() };
        let Some(number) = schema::find(&self.connection, service)? else { return Ok(collected.rows) };
        for of in [number, HOST] {
            let query =
                "SELECT second, host, rows, grain FROM blocks WHERE second >= ?1 AND second < ?2 AND service = ?3
                ORDER BY second";
            let mut query = self.connection.prepare_cached(query)?;
            let mut found = query.query((whole(from), whole(to), of))?;
            let mut open: Option<OpenSecond> = None;
            while let Some(row) = found.next()? {
                let second = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0);
                let host = collected.place(self, Kind::Host, row.get(1)?)?;
                let damaged = |why| StoreError::Damaged { second, why };
                let bytes = row.get_ref(2)?.as_blob().map_err(|_| damaged("the column rows is not a blob"))?;
                let mut block = Block::unpack(bytes, second, host).map_err(damaged)?;
                if row.get::<_, u32>(3)? == downsample::DOWNSAMPLED {
                    downsample::set_span(&mut block);
                }
                match &mut open {
                    Some(open) if open.second == second => {
                        append(&mut open.block, block);
                        open.has_several = true;
                    }
                    _ => {
                        if let Some(done) = open.replace(OpenSecond { second, block, has_several: false }) {
                            collected.add(self, done)?;
                        }
                    }
                }
            }
            if let Some(done) = open {
                collected.add(self, done)?;
            }
        }
        Ok(collected.rows)
    }
}

/// A second whose blocks have not all been read yet.
struct OpenSecond {
    second: u64,
    /// The rows of the blocks so far.
    block: Block,
    /// Whether there were several blocks, so that rows with the same key must be added up.
    has_several: bool,
}

/// Opens a database for reading. SQLite creates the files `-wal` and `-shm` next to a database with a write-ahead log,
/// with its permissions, even to read it. If this user may not write the database, or nobody may, these files could keep
/// an agent from writing later. The database is then opened without creating them
/// (<https://www.sqlite.org/wal.html#read_only_databases>).
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // The files are next to the database itself, not to a symbolic link to it.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let how = match (may_write(&path), Path::new(&journal).exists()) {
        (true, _) => "mode=ro",
        (false, true) => "mode=ro&readonly_shm=1",
        (false, false) => "immutable=1",
    };
    let uri = format!("file:{}?{how}", escaped(&path));
    let connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Returns whether a database and its directory may be written by this user, and the database by its owner: files of
/// the user root belong to that owner.
fn may_write(path: &Path) -> bool {
    let by_owner = fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o200 != 0);
    by_owner && path.ancestors().take(2).all(|path| access(path, Access::WRITE_OK).is_ok())
}

/// Escapes a path for a URI.
fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let each = path.as_os_str().as_bytes().iter();
    each.map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The kind of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Host,
    Version,
    Route,
    Class,
}

/// The rows so far.
#[derive(Default)]
struct Collected {
    rows: ReleaseRows,
    /// The position of each name in `rows`, by its kind and its number in the store.
    places: HashMap<(Kind, u32), u32>,
}

impl Collected {
    /// Returns the position in the rows of the name with this number in the store, and adds the name if it is new.
    fn place(&mut self, reader: &Reader, kind: Kind, number: u32) -> Result<u32, StoreError> {
        if let Some(&place) = self.places.get(&(kind, number)) {
            return Ok(place);
        }
        // Number 0 stands for no class. Its name, the empty text, is the first if there are classes.
        if kind == Kind::Class && (number == 0 || self.rows.classes.is_empty()) {
            if number == 0 {
                return Ok(0);
            }
            self.rows.classes.push(String::new());
        }
        let names = match kind {
            Kind::Host => &mut self.rows.hosts,
            Kind::Version => &mut self.rows.versions,
            Kind::Route => &mut self.rows.routes,
            Kind::Class => &mut self.rows.classes,
        };
        let place = names.len() as u32;
        names.push(reader.name(number)?);
        self.places.insert((kind, number), place);
        Ok(place)
    }

    /// Adds the rows of one second.
    fn add(&mut self, reader: &Reader, done: OpenSecond) -> Result<(), StoreError> {
        let OpenSecond { mut block, has_several, .. } = done;
        if has_several {
            merge(&mut block);
        }
        self.rows.folded += block.folded;
        self.rows.lost = self.rows.lost.saturating_add(block.lost);
        for row in &mut block.requests {
            row.version = self.place(reader, Kind::Version, row.version)?;
            row.route = self.place(reader, Kind::Route, row.route)?;
            row.class = self.place(reader, Kind::Class, row.class)?;
        }
        for row in &mut block.rulers {
            row.version = row.version.map(|version| self.place(reader, Kind::Version, version)).transpose()?;
        }
        for row in &mut block.processes {
            row.version = row.version.map(|version| self.place(reader, Kind::Version, version)).transpose()?;
        }
        for row in &mut block.walls {
            row.version = self.place(reader, Kind::Version, row.version)?;
            row.route = self.place(reader, Kind::Route, row.route)?;
        }
        self.rows.requests.append(&mut block.requests);
        self.rows.rulers.append(&mut block.rulers);
        self.rows.walls.append(&mut block.walls);
        self.rows.seconds.append(&mut block.seconds);
        self.rows.processes.append(&mut block.processes);
        Ok(())
    }
}

/// A service with rows in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFacts {
    /// The name of the service.
    pub name: String,
    /// Its versions, sorted by name.
    pub versions: Vec<VersionFacts>,
    /// The first second with requests, since 1970.
    pub first: u64,
    /// The last second with requests, since 1970.
    pub last: u64,
    /// The number of requests, those of the warm-up included.
    pub requests: u64,
}

/// A version of a service with rows in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionFacts {
    /// The name of the version.
    pub name: String,
    /// The first second with requests, since 1970.
    pub first: u64,
    /// The last second with requests, since 1970.
    pub last: u64,
}

/// The size of a store and the time that it covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFacts {
    /// The size with the journal, in bytes.
    pub bytes: u64,
    /// The first second with rows, since 1970.
    pub first: Option<u64>,
    /// The last second with rows, since 1970.
    pub last: Option<u64>,
}

impl Reader {
    /// Returns the services with rows, sorted by name.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn services(&self) -> Result<Vec<ServiceFacts>, StoreError> {
        let mut query = self.connection.prepare(
            "SELECT service, version, min(first), max(last), sum(requests) FROM totals
                GROUP BY service, version ORDER BY service",
        )?;
        let mut found = query.query([])?;
        let mut services: Vec<(u32, ServiceFacts)> = Vec::new();
        while let Some(row) = found.next()? {
            let (number, version): (u32, u32) = (row.get(0)?, row.get(1)?);
            let [first, last, requests] =
                [2, 3, 4].map(|place| row.get::<_, i64>(place).map(|value| u64::try_from(value).unwrap_or(0)));
            let (first, last, requests) = (first?, last?, requests?);
            if services.last().is_none_or(|(last, _)| *last != number) {
                let name = self.name(number)?;
                services.push((number, ServiceFacts { name, versions: vec![], first, last, requests: 0 }));
            }
            let Some((_, facts)) = services.last_mut() else { continue };
            facts.versions.push(VersionFacts { name: self.name(version)?, first, last });
            (facts.first, facts.last) = (facts.first.min(first), facts.last.max(last));
            facts.requests = facts.requests.saturating_add(requests);
        }
        let mut facts: Vec<ServiceFacts> = services.into_iter().map(|(_, facts)| facts).collect();
        facts.sort_by(|one, other| one.name.cmp(&other.name));
        facts.iter_mut().for_each(|facts| facts.versions.sort_by(|one, other| one.name.cmp(&other.name)));
        Ok(facts)
    }

    /// Returns the last second with rows. While the agent runs, this is at most some seconds ago.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn last_second(&self) -> Result<Option<u64>, StoreError> {
        super::writer::last_second(&self.connection)
    }

    /// Returns the second before which the limit of size removed rows, if it ever did.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn removed_before(&self) -> Result<Option<u64>, StoreError> {
        if schema::version(&self.connection)? < schema::WITH_REMOVED {
            return Ok(None);
        }
        let before: Option<i64> = self.connection.query_row("SELECT max(before) FROM removed", [], |row| row.get(0))?;
        Ok(before.and_then(|second| u64::try_from(second).ok()))
    }

    /// Returns the size of the store and the time that it covers.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn facts(&self) -> Result<StoreFacts, StoreError> {
        // A block of wall times begins up to ten seconds before its first request, so it does not count.
        let query = "SELECT max(least, coalesce((SELECT min(second) FROM (SELECT second FROM blocks WHERE service = ?1
                UNION ALL SELECT first FROM totals)), 0))
            FROM (SELECT min(second) AS least FROM blocks)";
        let first: Option<i64> = self.connection.query_row(query, [HOST], |row| row.get(0))?;
        let first = first.and_then(|second| u64::try_from(second).ok());
        Ok(StoreFacts { bytes: bytes_of(&self.path), first, last: self.last_second()? })
    }

    /// Returns the name with a number that a row refers to.
    pub(super) fn name(&self, number: u32) -> Result<String, StoreError> {
        let text = schema::text(&self.connection, number)?;
        text.ok_or(StoreError::UnknownName(number))
    }
}

/// Returns the size of a store with its journal, in bytes.
pub(super) fn bytes_of(path: &Path) -> u64 {
    let size = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).map_or(0, |facts| facts.len())
    };
    size("") + size("-wal")
}

/// Returns the total size of the pages in use, in bytes.
pub(super) fn bytes_in_use(connection: &Connection) -> Result<u64, StoreError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let pages = number("page_count")? - number("freelist_count")?;
    Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
}
