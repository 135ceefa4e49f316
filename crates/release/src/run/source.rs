//! Where rows come from: the stores of agents, or the store that scrapes a fleet of them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use steady_agent::store::{Reader, ServiceFacts, StoreError};
use steady_feature::{Failure, Session};
use steady_fleet::{Client, FleetError, Gathered, Settings, header};
use steady_linux::clock;
use steady_linux::files::read_bounded;
use steady_model::ReleaseRows;

use super::service::{Service, join, named};
use crate::flags::{FleetFlags, HeaderFlag, ReleaseCompareFlags};
use crate::merged;
use crate::plan::Window;
use crate::record::{ReleaseQuestion, ReleaseReport, ReleaseWarning};

/// An agent writes a second when it is over.
const LATE: u64 = 2;

/// One of the two.
pub(super) enum Source {
    /// Of one host each.
    Stores(Vec<Store>),
    /// Of many.
    Fleet(Box<Client>),
}

/// What was found of a window.
pub(super) struct Found {
    pub(super) rows: ReleaseRows,
    /// The seconds that the rows are of.
    pub(super) window: Window,
    /// How long the blocks are that rows come in.
    pub(super) block: u64,
    /// How much later than a second what happened in it is known.
    pub(super) late: u64,
    warnings: Vec<ReleaseWarning>,
    /// What the store itself warns of.
    pub(super) said: Vec<String>,
}

impl Found {
    /// A report of these rows, with what is to be known of them.
    pub(super) fn told(&self, mut report: ReleaseReport) -> ReleaseReport {
        report.warnings.extend(self.warnings.iter().cloned());
        report
    }
}

/// Passes on what a store warns of.
pub(super) fn pass_on(said: &[String], session: &dyn Session) {
    said.iter().for_each(|said| session.notice(&format!("the fleet's store warns: {said}")));
}

/// Why there are no rows.
pub(super) struct Unfound {
    pub(super) failure: Failure,
    /// Whether asking later may help.
    pub(super) passes: bool,
}

impl Source {
    /// What the flags name: at least one.
    pub(super) fn open(flags: &ReleaseCompareFlags, session: &dyn Session) -> Result<Source, Failure> {
        if let Some(client) = client(&flags.fleet)? {
            return Ok(Source::Fleet(Box::new(client)));
        }
        match &flags.store[..] {
            [] => Ok(Source::Stores(vec![Store::open(None, session)?])),
            paths => {
                paths.iter().map(|path| Store::open(Some(path), session)).collect::<Result<_, _>>().map(Source::Stores)
            }
        }
    }

    /// What is known of the service that was named, or of the only one there is.
    pub(super) fn service(&self, name: Option<&str>, window: Window) -> Result<Service, Failure> {
        match self {
            Source::Stores(stores) => {
                let mut services: Vec<Service> = Vec::new();
                for store in stores {
                    store.services()?.into_iter().for_each(|more| join(&mut services, more));
                }
                services.sort_by(|one, other| one.name.cmp(&other.name));
                let whose = match &stores[..] {
                    [store] => format!("'{}'", store.path().display()),
                    several => format!("the fleet of {} stores", several.len()),
                };
                named(services, name, &whose)
            }
            Source::Fleet(client) => {
                let window = window.looked_back(clock::time_of_day().0);
                let found = client.services(window.from, window.to).map_err(|error| failed(&error))?;
                let services = found
                    .into_iter()
                    .map(|one| Service { name: one.name, versions: one.versions, kept: None })
                    .collect();
                named(services, name, "the fleet's store")
            }
        }
    }

    /// What is known of the two versions within the window of the question.
    pub(super) fn rows(&self, question: &ReleaseQuestion) -> Result<Found, Unfound> {
        let ReleaseQuestion { service, old, new, from, to, .. } = question;
        match self {
            Source::Stores(stores) => {
                let parts: Result<Vec<ReleaseRows>, Failure> =
                    stores.iter().map(|store| store.rows(service, *from, *to)).collect();
                let rows = merged(parts.map_err(|failure| Unfound { failure, passes: false })?);
                let window = Window { from: *from, to: *to };
                Ok(Found { rows, window, block: 1, late: LATE, warnings: Vec::new(), said: Vec::new() })
            }
            Source::Fleet(client) => {
                let now = clock::time_of_day().0;
                let found = client.rows(service, [old, new], *from, *to, now).map_err(|error| Unfound {
                    failure: failed(&error),
                    passes: !error.is_of_usage() || matches!(error, FleetError::TooShort { .. }),
                })?;
                let (from, to) = found.window;
                let warnings = warnings(&found);
                Ok(Found {
                    rows: found.rows,
                    window: Window { from, to },
                    block: found.block,
                    late: found.late,
                    warnings,
                    said: found.said,
                })
            }
        }
    }
}

/// What a reader should know of what a fleet's store had.
fn warnings(found: &Gathered) -> Vec<ReleaseWarning> {
    let missing = found.missing.map(|missing| ReleaseWarning::MissingScrapes {
        intervals: missing.intervals,
        of: missing.of,
        hosts: missing.hosts,
    });
    let long =
        found.lengthened_from.map(|scrape| ReleaseWarning::LongBlocks { seconds: found.block, scrape_seconds: scrape });
    missing.into_iter().chain(long).collect()
}

/// The most that is read of a file with headers.
const LONGEST: u64 = 1 << 20;

/// The client of the store, if one is named.
pub(super) fn client(flags: &FleetFlags) -> Result<Option<Client>, Failure> {
    let Some(address) = flags.prometheus.clone() else { return Ok(None) };
    let mut headers = Vec::new();
    for flag in &flags.header {
        match flag {
            HeaderFlag::One(name, value) => headers.push((name.clone(), value.clone())),
            HeaderFlag::File(path) => headers.extend(in_file(path)?),
        }
    }
    Ok(Some(Client::new(Settings {
        address,
        headers,
        timeout: Duration::from_nanos(flags.timeout.0),
        select: flags.select.clone(),
        host_label: flags.host_label.clone(),
        block: flags.block.map(|block| block.seconds().ceil() as u64),
    })))
}

/// The headers in a file, a line each.
fn in_file(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--header @{}: {why}", path.display()));
    // A pipe may be meant: `@<(pass show token)`.
    let bytes =
        File::open(path).and_then(|file| read_bounded(file, LONGEST)).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| header(line).map_err(wrong)).collect()
}

/// What the store gave instead of rows.
pub(super) fn failed(error: &FleetError) -> Failure {
    match error.is_of_usage() {
        true => Failure::Usage(error.to_string()),
        false => Failure::Own(error.to_string()),
    }
}

/// A store that can be read.
pub(crate) struct Store {
    reader: Reader,
    path: PathBuf,
}

impl Store {
    /// Opens the store that was named, or that of this user's agent.
    pub(crate) fn open(path: Option<&PathBuf>, session: &dyn Session) -> Result<Store, Failure> {
        let path = steady_agent::store_file(path.map(PathBuf::as_path), session)?;
        match Reader::open(&path) {
            Ok(reader) => Ok(Store { reader, path }),
            Err(StoreError::Missing) => Err(Failure::Usage(format!(
                "there is no store '{}': steady agent makes it, and --store names another",
                path.display()
            ))),
            Err(error) => Err(store_failed(&path, &error)),
        }
    }

    /// The services that it knows.
    pub(super) fn services(&self) -> Result<Vec<Service>, Failure> {
        let services = self.reader.services().map_err(|error| store_failed(&self.path, &error))?;
        let service =
            |ServiceFacts { name, versions, first, last, .. }| Service { name, versions, kept: Some((first, last)) };
        Ok(services.into_iter().map(service).collect())
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of it from second `from` up to the one before `to`.
    pub(crate) fn rows(&self, service: &str, from: u64, to: u64) -> Result<ReleaseRows, Failure> {
        self.reader.rows(service, from, to).map_err(|error| store_failed(&self.path, &error))
    }
}

/// A store that is there and cannot be read; what is no store of an agent's is wrong usage.
fn store_failed(path: &Path, error: &StoreError) -> Failure {
    let text = format!("'{}': {error}", path.display());
    match error {
        StoreError::Missing | StoreError::Foreign | StoreError::TooNew { .. } => Failure::Usage(text),
        StoreError::Taken(_) | StoreError::Directory(_) | StoreError::Damaged { .. } | StoreError::Database(_) => {
            Failure::Own(text)
        }
    }
}
