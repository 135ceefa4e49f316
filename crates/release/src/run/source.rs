//! Where rows come from: the stores of agents, or the store that scrapes a fleet of them.

use crate::record::{ReleaseQuestion, ReleaseReport, ReleaseWarning};
use steady_feature::{Failure, Session};
use steady_fleet::{Client, FleetError, Gathered};
use steady_linux::clock;
use steady_model::ReleaseRows;

use super::fleet;
use super::service::{Service, join, named};
use super::store::Store;
use super::window::Window;
use crate::flags::ReleaseCompareFlags;
use crate::merged;

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
        if let Some(client) = fleet::client(&flags.fleet)? {
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
                let found = client.services(window.from, window.to).map_err(|error| fleet::failed(&error))?;
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
                let found = client.rows(service, [old, new], (*from, *to), now).map_err(|error| Unfound {
                    failure: fleet::failed(&error),
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
