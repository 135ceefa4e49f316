//! What is told of the store and of what is in it, without reading rows.

use std::path::Path;

use rusqlite::Connection;

use super::{Reader, StoreError, names};

/// A service of which there are rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFacts {
    /// Its name.
    pub name: String,
    /// Its versions, the one that was seen last at the end.
    pub versions: Vec<String>,
    /// The first second of which there are rows, since 1970.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// Requests, those of warming processes among them; by the minute, so that some may be of seconds that are gone.
    pub requests: u64,
}

/// The file, and how far back it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFacts {
    /// How large it is, with its journal, in bytes.
    pub bytes: u64,
    /// The first second, since 1970.
    pub first: Option<u64>,
    /// The last.
    pub last: Option<u64>,
}

impl Reader {
    /// The services of which there are rows, by name.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn services(&self) -> Result<Vec<ServiceFacts>, StoreError> {
        let mut query = self.connection.prepare(
            "SELECT service, version, min(first), max(last), sum(requests) FROM totals
                GROUP BY service, version ORDER BY service, max(last), min(first)",
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
            facts.versions.push(self.name(version)?);
            (facts.first, facts.last) = (facts.first.min(first), facts.last.max(last));
            facts.requests = facts.requests.saturating_add(requests);
        }
        let mut facts: Vec<ServiceFacts> = services.into_iter().map(|(_, facts)| facts).collect();
        facts.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(facts)
    }

    /// The last second of which there is anything: about now, while the agent runs.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn last_second(&self) -> Result<Option<u64>, StoreError> {
        super::writer::last_second(&self.connection)
    }

    /// The file, and how far back it goes.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn facts(&self) -> Result<StoreFacts, StoreError> {
        let first: Option<i64> = self.connection.query_row("SELECT min(second) FROM blocks", [], |row| row.get(0))?;
        let first = first.and_then(|second| u64::try_from(second).ok());
        Ok(StoreFacts { bytes: bytes_of(&self.path), first, last: self.last_second()? })
    }

    /// The text of a number that stands in some row.
    pub(super) fn name(&self, number: u32) -> Result<String, StoreError> {
        let text = names::text(&self.connection, number)?;
        text.ok_or(StoreError::Damaged { second: 0, why: "a name is missing" })
    }
}

/// How large a store is, with its journal.
pub(super) fn bytes_of(path: &Path) -> u64 {
    let size = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).map_or(0, |facts| facts.len())
    };
    size("") + size("-wal")
}

/// How large the pages are that are in use.
pub(super) fn bytes_in_use(connection: &Connection) -> Result<u64, StoreError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let pages = number("page_count")? - number("freelist_count")?;
    Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
}
