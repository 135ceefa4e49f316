//! What is asked of a store, in which order, and the rows that come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use steady_model::ReleaseRows;

use crate::answer::Series;
use crate::gathering::{Gathering, MissingIntervals};
use crate::grid::{self, Grid};
use crate::http::{Api, When};
use crate::metrics::{AGENT_RULERS, HOST, LEVELS, LOST, PROCESSES, REQUEST_LABELS, REQUESTS, RULERS, START, sums};
use crate::scrapes::{Host, Sights, usual_gap};
use crate::{Address, FleetError, Matchers};

/// What is newer may still be arriving: a store may hold a part of a scrape only.
const SETTLING: u64 = 3;
/// Metrics that are asked for at once, and no more than so many values of them: an answer has to come within the time
/// that is allowed for one.
const AT_ONCE: std::ops::RangeInclusive<u64> = 1..=5;
const VALUES_AT_ONCE: u64 = 500_000;
/// Fewer points than this have no two intervals between them.
const LEAST_POINTS: usize = 3;

/// Where a store is, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it answers.
    pub address: Address,
    /// What is sent along with each question.
    pub headers: Vec<(String, String)>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Which agents.
    pub select: Matchers,
    /// The label that tells hosts.
    pub host_label: String,
    /// How long a block is at least, in seconds; as long as the time between scrapes where nothing is said.
    pub block: Option<u64>,
}

/// A service that the store knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its versions, in the order of their names.
    pub versions: Vec<String>,
}

/// What was found of a window.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The rows.
    pub rows: ReleaseRows,
    /// The part of the window that they are of: its first second, since 1970, and the one behind its last.
    pub window: (u64, u64),
    /// How long a block is, in seconds.
    pub block: u64,
    /// How many seconds later than it happens something is known.
    pub late: u64,
    /// Intervals that are left out of them, if there are any.
    pub missing: Option<MissingIntervals>,
    /// How many seconds scrapes are apart, if blocks are longer than that because the fleet is large.
    pub lengthened_from: Option<u64>,
    /// What the store warns of, in its own words.
    pub said: Vec<String>,
}

/// A store.
pub struct Client {
    api: Api,
    settings: Settings,
}

impl Client {
    /// Asks nothing yet.
    pub fn new(settings: Settings) -> Client {
        let api = Api::new(settings.address.clone(), settings.headers.clone(), settings.timeout);
        Client { api, settings }
    }

    /// The services that had requests from second `from` until `to`, by name.
    ///
    /// # Errors
    /// Where the store does not answer, or knows no agent.
    pub fn services(&self, from: u64, to: u64) -> Result<Vec<Service>, FleetError> {
        let select = &self.settings.select;
        let query = format!(
            "group by (service,version,exported_service,exported_version) (last_over_time({}{select}[{}s]))",
            REQUESTS[0],
            (to - from).max(1)
        );
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut renamed = None;
        self.api.ask(&query, When::Moment(to), &mut |mut series| {
            for label in ["service", "version"] {
                renamed = renamed.or(series.labels.contains_key(&format!("exported_{label}")).then_some(label));
            }
            let mut label = |name| series.labels.remove(name).unwrap_or_default();
            found.entry(label("service")).or_default().insert(label("version"));
        })?;
        if let Some(label) = renamed {
            return Err(FleetError::Renamed { address: self.settings.address.to_string(), label });
        }
        if found.is_empty() {
            self.scrape_seconds(from, to)?;
        }
        Ok(found
            .into_iter()
            .map(|(name, versions)| Service { name, versions: versions.into_iter().collect() })
            .collect())
    }

    /// How many seconds lie between two scrapes of agents before second `to`: of nine agents in ten no more than that.
    ///
    /// # Errors
    /// Where the store does not answer, or knows no agent.
    pub fn scrape_seconds(&self, from: u64, to: u64) -> Result<u64, FleetError> {
        /// How far back scrapes are looked at: as far as is needed to find some.
        const BACK: [u64; 2] = [300, 3_600];
        let select = &self.settings.select;
        for back in BACK.into_iter().chain([to - from]) {
            let mut gaps: Vec<f64> = Vec::new();
            let query = format!("{START}{select}[{back}s]");
            self.api.ask(&query, When::Moment(to), &mut |series| gaps.extend(usual_gap(&series)))?;
            gaps.sort_by(f64::total_cmp);
            if let Some(gap) = gaps.get(gaps.len() * 9 / 10) {
                return Ok(gap.round().max(1.0) as u64);
            }
        }
        let (address, matchers) = (self.settings.address.to_string(), select.to_string());
        Err(FleetError::NoAgents { address, matchers, now: self.knows_agents()? })
    }

    /// Whether there are agents now.
    fn knows_agents(&self) -> Result<bool, FleetError> {
        let mut there = false;
        let query = format!("count({START}{})", self.settings.select);
        self.api.ask(&query, When::Now, &mut |_| there = true)?;
        Ok(there)
    }

    /// What two versions of a service came to from second `from` until `to`, where it is `now`.
    ///
    /// # Errors
    /// Where the store does not answer, or has nothing that can be judged.
    pub fn rows(
        &self,
        service: &str,
        versions: [&str; 2],
        from: u64,
        to: u64,
        now: u64,
    ) -> Result<Gathered, FleetError> {
        let to = to.min(now.saturating_sub(SETTLING)).max(from);
        let scrape = self.scrape_seconds(from, to)?;
        let of_service = self.settings.select.and("service", service);
        let of_versions = of_service.and_one_of("version", &versions);
        let series = self.series(&of_versions, from, to)?;
        let block = grid::block(scrape, self.settings.block, series, to - from);
        let grid = Grid::of(from, to, block, scrape);
        if grid.points < LEAST_POINTS {
            return Err(FleetError::TooShort { seconds: block, scrape_seconds: scrape });
        }
        let mut said = BTreeSet::new();
        // Scrapes first: what has arrived of one that is seen has arrived when counters are asked for.
        let hosts = self.hosts(grid, from, &mut said)?;
        let mut gathering = Gathering::new(grid, &self.settings.host_label, versions, hosts);
        let at_once = VALUES_AT_ONCE / (series * grid.points as u64).max(1);
        let at_once = at_once.clamp(*AT_ONCE.start(), *AT_ONCE.end()) as usize;
        self.gather(grid, [&of_service, &of_versions], at_once, &mut gathering, &mut said)?;
        let (rows, missing) = gathering.finish(service);
        let lengthened_from = (block > scrape && self.settings.block.is_none()).then_some(scrape);
        let (window, late) = ((grid.start, grid.end()), SETTLING + block + scrape);
        let said = said.into_iter().collect();
        Ok(Gathered { rows, window, block, late, missing, lengthened_from, said })
    }

    /// How many series a metric of requests has.
    fn series(&self, matchers: &Matchers, from: u64, to: u64) -> Result<u64, FleetError> {
        let query = format!("count(last_over_time({}{matchers}[{}s]))", REQUESTS[0], (to - from).max(1));
        let mut count = 0.0;
        self.api.ask(&query, When::Moment(to), &mut |series| {
            count = series.samples.first().map_or(0.0, |sample| sample.value);
        })?;
        Ok(count as u64)
    }

    /// The agents' hosts, and between which scrapes their counters can be held against each other.
    fn hosts(&self, grid: Grid, from: u64, said: &mut BTreeSet<String>) -> Result<BTreeMap<String, Host>, FleetError> {
        let metric = format!("{START}{}", self.settings.select);
        let mut sights = Sights::new(grid, &self.settings.host_label);
        self.each(&format!("timestamp({metric})"), grid, said, &mut |series| sights.add_scraped(&series))?;
        self.each(&metric, grid, said, &mut |series| sights.add_began(&series))?;
        sights.hosts(from)
    }

    /// Asks for all counters, so many metrics of requests at once.
    fn gather(
        &self,
        grid: Grid,
        [of_service, of_versions]: [&Matchers; 2],
        at_once: usize,
        gathering: &mut Gathering,
        said: &mut BTreeSet<String>,
    ) -> Result<(), FleetError> {
        let host = self.settings.host_label.as_str();
        let by = [&[host], REQUEST_LABELS.as_slice()].concat();
        for names in REQUESTS.chunks(at_once) {
            let query = sums(names, &by, of_versions);
            self.each(&query, grid, said, &mut |series| gathering.add_requests(&series))?;
        }
        for names in LEVELS.chunks(at_once) {
            let query = sums(names, &by, of_versions);
            self.each(&query, grid, said, &mut |series| gathering.add_levels(&series))?;
        }
        let query = sums(&PROCESSES, &[host, "version"], of_service);
        self.each(&query, grid, said, &mut |series| gathering.add_process(&series))?;
        let query = sums(&RULERS, &[host, "version", "ruler"], of_versions);
        self.each(&query, grid, said, &mut |series| gathering.add_ruler(&series))?;
        let query = sums(&AGENT_RULERS, &[host, "ruler"], &self.settings.select);
        self.each(&query, grid, said, &mut |series| gathering.add_agent_ruler(&series))?;
        let query = sums(&HOST, &[host], &self.settings.select);
        self.each(&query, grid, said, &mut |series| gathering.add_host(&series))?;
        let query = sums(&LOST, &[host], of_service);
        self.each(&query, grid, said, &mut |series| gathering.add_lost(&series))
    }

    /// Asks for all points of a grid; the first failure of `take` ends it.
    fn each(
        &self,
        query: &str,
        grid: Grid,
        said: &mut BTreeSet<String>,
        take: &mut dyn FnMut(Series) -> Result<(), FleetError>,
    ) -> Result<(), FleetError> {
        let mut taken = Ok(());
        let warnings = self.api.ask(query, When::Grid(grid), &mut |series| {
            if taken.is_ok() {
                taken = match series.samples.iter().all(|sample| grid.place(sample.at).is_some()) {
                    true => take(series),
                    false => Err(FleetError::Nonsense {
                        address: self.settings.address.to_string(),
                        why: "it tells of other moments than were asked for".to_owned(),
                    }),
                };
            }
        })?;
        said.extend(warnings);
        taken
    }
}
