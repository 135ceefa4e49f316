//! Sources of rows: the stores of agents, or the store that scrapes the agents of a fleet.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use steady_agent::store::{Reader, ServiceFacts, StoreError, VersionFacts};
use steady_feature::{Failure, Session};
use steady_fleet::{Client, FleetError, Gathered, Settings, header};
use steady_linux::clock;
use steady_linux::files::read_bounded;
use steady_model::ReleaseRows;
use steady_render::letters::one_line;

use super::service::{Service, Version, join, named};
use crate::flags::{FleetFlags, HeaderFlag, ReleaseCompareFlags};
use crate::merged;
use crate::plan::{LATE, Window, at};
use crate::record::{ReleaseQuestion, ReleaseReport, ReleaseWarning};

/// Where rows come from.
pub(super) enum Source {
    /// Stores of agents, at least one, of one host each.
    Stores {
        stores: Vec<Store>,
        /// Default socket of an agent.
        socket: PathBuf,
        /// Whether the user named the stores. Agents at other sockets may write them.
        are_named: bool,
    },
    /// Client of the store that scrapes the agents of many hosts.
    Fleet(Box<Client>),
}

/// Rows of a window, and facts about them.
pub(super) struct Found {
    pub(super) rows: ReleaseRows,
    /// Window that the rows cover.
    pub(super) window: Window,
    /// Length of the blocks of time that rows are sums of, in seconds.
    pub(super) block: u64,
    /// Delay until the rows of a second are available, in seconds.
    pub(super) delay: u64,
    /// End of the newest row of any service or host; not known for the store of a fleet.
    pub(super) newest: Option<u64>,
    warnings: Vec<ReleaseWarning>,
    /// Warnings of the store itself, as text.
    pub(super) store_warnings: Vec<String>,
}

impl Found {
    /// Returns the second (excluded) up to which all rows are known at second `now`.
    pub(super) fn until(&self, now: u64) -> u64 {
        self.window.to.min(now.saturating_sub(self.delay))
    }

    /// Adds the warnings about these rows to their report.
    pub(super) fn with_warnings(&self, mut report: ReleaseReport) -> ReleaseReport {
        report.warnings.retain(|warning| !self.explains(warning));
        report.warnings.extend(self.warnings.iter().cloned());
        report
    }

    /// Returns whether a warning is about a gap, and scrapes that are missing on all hosts explain the gap.
    fn explains(&self, warning: &ReleaseWarning) -> bool {
        let ReleaseWarning::Gaps { seconds } = warning else { return false };
        let served = self.rows.requests.iter().map(|row| row.host).collect::<HashSet<_>>().len();
        self.warnings.iter().any(|known| match known {
            // Scrapes are not exactly as far apart as blocks are long, so the gap may be a block longer.
            ReleaseWarning::MissingScrapes { intervals, hosts, .. } => {
                *hosts == served && (intervals / served as u64 + 1) * self.block >= *seconds
            }
            _ => false,
        })
    }
}

/// Prints the warnings of a fleet's store as notices.
pub(super) fn print_store_warnings(warnings: &[String], session: &dyn Session) {
    warnings.iter().for_each(|warning| session.notice(&format!("the fleet's store warns: {warning}")));
}

/// Reason why a source has no rows.
pub(super) struct SourceError {
    pub(super) failure: Failure,
    /// What the progress line says while the watch waits; `None` if later attempts cannot succeed.
    pub(super) waiting: Option<String>,
}

impl Source {
    /// Opens the source that the flags name, or the store of this user's agent.
    pub(super) fn open(flags: &ReleaseCompareFlags, session: &dyn Session) -> Result<Source, Failure> {
        if let Some(client) = client(&flags.fleet)? {
            return Ok(Source::Fleet(Box::new(client)));
        }
        let socket = steady_agent::socket_file(None, session);
        let stores = match &flags.store[..] {
            [] => vec![Store::of_agent(&socket, session)?],
            paths => paths.iter().map(|path| Store::open(path)).collect::<Result<_, _>>()?,
        };
        let are_named = !flags.store.is_empty();
        Ok(Source::Stores { stores, socket, are_named })
    }

    /// Returns why no agent listens at the default socket, and what to do, if that is known.
    pub(super) fn stopped(&self) -> Option<String> {
        let Source::Stores { socket, are_named: false, .. } = self else { return None };
        let path = socket.display();
        let text = || match steady_agent::unreachable_agent(socket) {
            Some(agent) => {
                let pid = agent.pid;
                format!(
                    "the agent's socket was removed: stop the agent with 'kill {pid}', and start it again ('{path}')"
                )
            }
            None => format!(
                "no agent listens at '{path}': start one with 'steady agent', unless one listens elsewhere (its \
                 --socket)"
            ),
        };
        steady_agent::is_stopped(socket).then(text)
    }

    /// Returns why the agent at the default socket cannot write one of the stores, if that is known.
    fn unwritten(&self) -> Option<String> {
        let Source::Stores { stores, socket, .. } = self else { return None };
        let agent = steady_agent::running_agent(socket).ok()?;
        let is_its =
            |store: &Store| std::path::absolute(store.path()).is_ok_and(|path| path == Path::new(&agent.store));
        agent.writing.trouble.filter(|_| stores.iter().any(is_its))
    }

    /// Finds the service with this name, or the only one if no name is given.
    pub(super) fn service(&self, name: Option<&str>, window: Window) -> Result<Service, Failure> {
        match self {
            Source::Stores { stores, .. } => {
                let mut services: Vec<Service> = Vec::new();
                for store in stores {
                    store.services()?.into_iter().for_each(|more| join(&mut services, more));
                }
                services.sort_by(|one, other| one.name.cmp(&other.name));
                let whose = match &stores[..] {
                    [store] => format!("'{}'", store.path().display()),
                    several => format!("the set of {} stores", several.len()),
                };
                if services.is_empty() {
                    let unwritten = self.unwritten().map(|why| format!("the agent cannot write rows: {why}"));
                    let why = unwritten.or(self.removed_before()?.map(removed));
                    if let Some(why) = why {
                        return Err(Failure::Usage(format!("{whose} has no service: {why}")));
                    }
                }
                named(services, name, &whose)
            }
            Source::Fleet(client) => {
                let window = window.looked_back(clock::time_of_day().0);
                let found = client.services(window.from, window.to).map_err(|error| failed(&error))?;
                let services = found
                    .into_iter()
                    .map(|one| Service {
                        name: one.name,
                        versions: one.versions.into_iter().map(|name| Version { name, kept: None }).collect(),
                        kept: None,
                    })
                    .collect();
                named(services, name, "the fleet's store")
            }
        }
    }

    /// Returns the second before which a store's limit of size removed rows, if it did.
    fn removed_before(&self) -> Result<Option<u64>, Failure> {
        let Source::Stores { stores, .. } = self else { return Ok(None) };
        let before: Vec<Option<u64>> = stores.iter().map(Store::removed_before).collect::<Result<_, _>>()?;
        Ok(before.into_iter().flatten().max())
    }

    /// Returns a warning if a store's limit of size removed rows of the window that was asked for.
    pub(super) fn removed(&self, asked: Window) -> Option<ReleaseWarning> {
        // If the store cannot be read any more, the report must not be lost.
        let before = self.removed_before().ok().flatten().filter(|before| asked.from < *before);
        before.map(|before| ReleaseWarning::RowsRemoved { before })
    }

    /// Adds to a failure about missing rows that a store's limit of size removed rows of the window.
    pub(super) fn explained(&self, failure: Failure, asked: Window) -> Failure {
        match (failure, self.removed(asked)) {
            (Failure::Usage(why), Some(ReleaseWarning::RowsRemoved { before })) => {
                Failure::Usage(format!("{why}; {}", removed(before)))
            }
            (failure, _) => failure,
        }
    }

    /// Reads the rows of both versions within the window of the question.
    pub(super) fn rows(&self, question: &ReleaseQuestion) -> Result<Found, SourceError> {
        let ReleaseQuestion { service, old, new, from, to, .. } = question;
        match self {
            Source::Stores { stores, .. } => {
                let failed = |failure| SourceError { failure, waiting: None };
                // Read before the rows, so that the rows contain it.
                let newest: Result<Vec<Option<u64>>, Failure> = stores.iter().map(Store::newest).collect();
                let newest = newest.map_err(failed)?.into_iter().flatten().max();
                let parts: Result<Vec<ReleaseRows>, Failure> =
                    stores.iter().map(|store| store.rows(service, *from, *to)).collect();
                let parts = parts.map_err(failed)?;
                if let Some([one, other]) = copies(&parts) {
                    let [one, other] = [one, other].map(|store| stores[store].path().display());
                    let text = format!(
                        "'{one}' and '{other}' have the same rows: they are copies of one store, whose requests must \
                         not count twice; give one of them"
                    );
                    return Err(failed(Failure::Usage(text)));
                }
                let rows = merged(parts);
                let window = Window { from: *from, to: *to };
                let (warnings, store_warnings) = (Vec::new(), Vec::new());
                Ok(Found { rows, window, block: 1, delay: LATE, newest, warnings, store_warnings })
            }
            Source::Fleet(client) => {
                let now = clock::time_of_day().0;
                let found = client.rows(service, [old, new], *from, *to, now).map_err(|error| SourceError {
                    failure: failed(&error),
                    waiting: match &error {
                        FleetError::TooShort { .. } => Some("too few scrapes yet".to_owned()),
                        _ => (!error.is_of_usage()).then(|| error.to_string()),
                    },
                })?;
                let (from, to) = found.window;
                let warnings = warnings(&found);
                Ok(Found {
                    rows: found.rows,
                    window: Window { from, to },
                    block: found.block,
                    delay: found.delay,
                    newest: None,
                    warnings,
                    store_warnings: found.store_warnings,
                })
            }
        }
    }
}

/// Describes that the limit of size removed rows, and what to do.
fn removed(before: u64) -> String {
    format!(
        "rows before {} were removed because the store reached its --store-limit: start the agent with a larger one",
        at(before)
    )
}

/// Returns two parts that are copies: of the rows in the seconds that both have, more than half are the same. Some rows
/// of different agents may agree by chance, because the CPU time of a control group is in microseconds.
fn copies(parts: &[ReleaseRows]) -> Option<[usize; 2]> {
    let rows = parts.iter().map(|part| {
        let measured = part.requests.iter().filter(|row| row.sums.cpu > 0.0);
        measured.map(|row| (row.second, row.sums.cpu.to_bits(), row.sums.wall.to_bits())).collect::<HashSet<_>>()
    });
    let rows: Vec<_> = rows.collect();
    let seconds: Vec<HashSet<u64>> = rows.iter().map(|rows| rows.iter().map(|row| row.0).collect()).collect();
    let are_copies = |one: usize, other: usize| {
        let common = rows[other].iter().filter(|row| seconds[one].contains(&row.0)).count();
        2 * rows[other].intersection(&rows[one]).count() > common
    };
    (0..parts.len())
        .flat_map(|other| (0..other).map(move |one| [one, other]))
        .find(|&[one, other]| are_copies(one, other))
}

/// Returns warnings about the rows of a fleet's store.
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

/// Largest accepted file of headers, in bytes.
const LONGEST: u64 = 1 << 20;

/// Creates a client of the fleet's store if `--prometheus` was given.
pub(super) fn client(flags: &FleetFlags) -> Result<Option<Client>, Failure> {
    let Some(address) = flags.prometheus.clone() else { return Ok(None) };
    let mut headers = Vec::new();
    for flag in &flags.header {
        match flag {
            HeaderFlag::One(name, value) => headers.push((name.clone(), value.clone())),
            HeaderFlag::File(path) => headers.extend(headers_in(path)?),
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

/// Reads headers from a file, one per line.
fn headers_in(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--header @{}: {why}", path.display()));
    // The path may be a pipe, as in `@<(pass show token)`, so its size is not known in advance.
    let bytes =
        File::open(path).and_then(|file| read_bounded(file, LONGEST)).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| header(line).map_err(wrong)).collect()
}

/// Converts an error of the fleet's store to a failure.
pub(super) fn failed(error: &FleetError) -> Failure {
    match error.is_of_usage() {
        true => Failure::Usage(error.to_string()),
        false => Failure::Own(error.to_string()),
    }
}

/// An agent's store, opened for reading.
pub(crate) struct Store {
    reader: Reader,
    path: PathBuf,
}

impl Store {
    /// Opens the store at a path.
    pub(crate) fn open(path: &Path) -> Result<Store, Failure> {
        Store::open_or(path, || "start steady agent, which creates it, or name another store with --store".to_owned())
    }

    /// Opens the store of the agent that listens at a socket, else the default store of this user's agents.
    fn of_agent(socket: &Path, session: &dyn Session) -> Result<Store, Failure> {
        if let Some(path) = steady_agent::trusted_store(socket) {
            return Store::open(&path);
        }
        Store::open_or(&steady_agent::store_file(None, session)?, || match steady_agent::running_agent(socket) {
            Ok(agent) => format!(
                "the agent at '{}' stores in '{}', but other users could change where it says that; name the store \
                 with --store if you trust it",
                socket.display(),
                one_line(&agent.store)
            ),
            Err(_) => format!(
                "start steady agent, which creates it, or name another store with --store; no agent is found at '{}', \
                 and 'steady agent status --socket PATH' shows the store of an agent at another socket",
                socket.display()
            ),
        })
    }

    /// Opens the store at a path. If there is none, the error ends with `advice`.
    fn open_or(path: &Path, advice: impl FnOnce() -> String) -> Result<Store, Failure> {
        match Reader::open(path) {
            Ok(reader) => Ok(Store { reader, path: path.to_owned() }),
            Err(StoreError::Missing) => {
                Err(Failure::Usage(format!("there is no store '{}': {}", path.display(), advice())))
            }
            Err(error) => Err(store_failed(path, &error)),
        }
    }

    /// Lists the services in the store.
    pub(super) fn services(&self) -> Result<Vec<Service>, Failure> {
        let services = self.reader.services().map_err(|error| store_failed(&self.path, &error))?;
        let version = |VersionFacts { name, first, last }| Version { name, kept: Some((first, last)) };
        let service = |ServiceFacts { name, versions, first, last, .. }| Service {
            name,
            versions: versions.into_iter().map(version).collect(),
            kept: Some((first, last)),
        };
        Ok(services.into_iter().map(service).collect())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the end of the newest row of any service or host.
    fn newest(&self) -> Result<Option<u64>, Failure> {
        let last = self.reader.last_second().map_err(|error| store_failed(&self.path, &error))?;
        Ok(last.map(|second| second + 1))
    }

    /// Returns the second before which the limit of size removed rows, if it did.
    fn removed_before(&self) -> Result<Option<u64>, Failure> {
        self.reader.removed_before().map_err(|error| store_failed(&self.path, &error))
    }

    /// Reads the rows of a service from second `from` to `to` (excluded).
    pub(crate) fn rows(&self, service: &str, from: u64, to: u64) -> Result<ReleaseRows, Failure> {
        self.reader.rows(service, from, to).map_err(|error| store_failed(&self.path, &error))
    }
}

/// Converts an error of the store to a failure. A file that is not an agent's store is wrong usage.
fn store_failed(path: &Path, error: &StoreError) -> Failure {
    let text = format!("'{}': {error}", path.display());
    match error {
        StoreError::Missing
        | StoreError::Denied(_)
        | StoreError::ReadOnly
        | StoreError::IsDirectory
        | StoreError::NotADatabase
        | StoreError::Foreign
        | StoreError::TooNew { .. } => Failure::Usage(text),
        StoreError::Taken(_)
        | StoreError::Directory(_)
        | StoreError::Damaged { .. }
        | StoreError::UnknownName(_)
        | StoreError::Database(_) => Failure::Own(text),
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{ALL_PROCESSES, Assignment, ReleaseRow, RequestSums};

    use super::*;

    #[test]
    fn a_gap_that_missing_scrapes_explain_is_reported_once() {
        let row = |host| ReleaseRow {
            second: 0,
            host,
            process: ALL_PROCESSES,
            version: 0,
            route: 0,
            class: 0,
            assignment: Assignment::Random,
            span_seconds: 15,
            slot_seconds: 0,
            second_of_pair: false,
            sums: RequestSums::default(),
        };
        let explains = |intervals, hosts, seconds| {
            let missing = ReleaseWarning::MissingScrapes { intervals, of: 40, hosts };
            let found = Found {
                rows: ReleaseRows { requests: vec![row(0), row(1)], ..ReleaseRows::default() },
                window: Window { from: 0, to: 300 },
                block: 15,
                delay: 30,
                newest: None,
                warnings: vec![missing],
                store_warnings: Vec::new(),
            };
            found.explains(&ReleaseWarning::Gaps { seconds })
        };
        assert!(explains(4, 2, 45) && !explains(4, 2, 46), "two blocks of each host are missing");
        assert!(!explains(4, 1, 30), "the other host has no gap");
    }

    #[test]
    fn without_an_agent_the_watch_says_how_to_start_one() {
        let socket = std::path::PathBuf::from("/proc/steady/agent.sock");
        let why = Source::Stores { stores: vec![], socket, are_named: false }.stopped();
        let text = why.unwrap_or_default();
        assert!(text.contains("agent.sock': start one with 'steady agent'"), "{text}");
    }
}
