//! The queries to a store, their order, and the rows that they give.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use steady_model::ReleaseRows;

use crate::answer::Series;
use crate::grid::{self, Grid, LEAST_POINTS};
use crate::http::{Api, When};
use crate::metrics::{AGENT_RULERS, HOST, LEVELS, LOST, PROCESSES, REQUEST_LABELS, REQUESTS, RULERS, START, sums};
use crate::rows::{MissingIntervals, RowBuilder};
use crate::scrapes::{Host, ScrapeTimes, median_gap};
use crate::{Address, FleetError, Matchers};

/// Data that is newer than this number of seconds is not used, because the store may have only a part of a scrape.
const SETTLING: u64 = 3;
/// The number of metrics of requests in one query.
const METRICS_PER_QUERY: std::ops::RangeInclusive<u64> = 1..=5;
/// The most values in the answer to one query, so that it arrives within the timeout.
const VALUES_PER_QUERY: u64 = 500_000;

/// The store, and the agents and the grid that are queried.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the store.
    pub address: Address,
    /// The names and values of headers that are sent with each query.
    pub headers: Vec<(String, String)>,
    /// The longest time of an answer.
    pub timeout: Duration,
    /// The labels that agents must have.
    pub select: Matchers,
    /// The label that identifies hosts.
    pub host_label: String,
    /// The shortest length of a block, in seconds; by default, the time between scrapes.
    pub block: Option<u64>,
}

/// A service in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The name of the service.
    pub name: String,
    /// Its versions, sorted by name.
    pub versions: Vec<String>,
}

/// The rows of a window, and facts about them.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The rows of both versions.
    pub rows: ReleaseRows,
    /// The part of the window that the rows cover: its first second, since 1970, and the second after its last.
    pub window: (u64, u64),
    /// The length of a block, in seconds.
    pub block: u64,
    /// The longest delay, in seconds, until a request is in the rows.
    pub delay: u64,
    /// Intervals that the rows do not have, if any.
    pub missing: Option<MissingIntervals>,
    /// The time between scrapes in seconds, if blocks are longer than that because the fleet is large.
    pub lengthened_from: Option<u64>,
    /// Warnings of the store, in its own words.
    pub store_warnings: Vec<String>,
}

/// A client of a store.
pub struct Client {
    api: Api,
    settings: Settings,
}

impl Client {
    /// Creates a client. It does not connect yet.
    pub fn new(settings: Settings) -> Client {
        let api = Api::new(settings.address.clone(), settings.headers.clone(), settings.timeout);
        Client { api, settings }
    }

    /// Returns the services that had requests from second `from` to `to`, sorted by name.
    ///
    /// # Errors
    /// [`FleetError`] if the store does not answer, or has no agents.
    pub fn services(&self, from: u64, to: u64) -> Result<Vec<Service>, FleetError> {
        let select = &self.settings.select;
        let query = format!(
            "group by (service,version,exported_service,exported_version) (last_over_time({}{select}[{}s]))",
            REQUESTS[0],
            (to - from).max(1)
        );
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut renamed = None;
        self.api.query(&query, When::Moment(to), &mut |mut series| {
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

    /// Returns the time between scrapes before second `to`, in seconds: the 0.9 quantile over agents of their median.
    ///
    /// # Errors
    /// [`FleetError`] if the store does not answer, or has no agents.
    pub fn scrape_seconds(&self, from: u64, to: u64) -> Result<u64, FleetError> {
        /// The lengths of time, in seconds, that are searched for scrapes until some are found.
        const BACK: [u64; 2] = [300, 3_600];
        let select = &self.settings.select;
        for back in BACK.into_iter().chain([to - from]) {
            let mut gaps: Vec<f64> = Vec::new();
            let query = format!("{START}{select}[{back}s]");
            self.api.query(&query, When::Moment(to), &mut |series| gaps.extend(median_gap(&series)))?;
            gaps.sort_by(f64::total_cmp);
            if let Some(gap) = gaps.get(gaps.len() * 9 / 10) {
                return Ok(gap.round().max(1.0) as u64);
            }
        }
        let (address, matchers) = (self.settings.address.to_string(), select.to_string());
        Err(FleetError::NoAgents { address, matchers, now: self.has_agents_now()? })
    }

    /// Returns whether the store has agents now.
    fn has_agents_now(&self) -> Result<bool, FleetError> {
        let mut there = false;
        let query = format!("count({START}{})", self.settings.select);
        self.api.query(&query, When::Now, &mut |_| there = true)?;
        Ok(there)
    }

    /// Reads the rows of two versions of a service from second `from` to `to`. `now` is the current second.
    ///
    /// # Errors
    /// [`FleetError`] if the store does not answer, or its data cannot be evaluated.
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
        if let Some(seconds) = self.settings.block.filter(|seconds| *seconds < scrape) {
            return Err(FleetError::ShortBlock { seconds, scrape_seconds: scrape });
        }
        let of_service = self.settings.select.and("service", service);
        let of_versions = of_service.and_one_of("version", &versions);
        let series = self.series(&of_versions, from, to)?;
        let block = grid::block(scrape, self.settings.block, series, to - from);
        let grid = Grid::of(from, to, block, scrape);
        if grid.points < LEAST_POINTS {
            let sufficient_seconds = grid::sufficient(block, scrape) + SETTLING;
            return Err(FleetError::TooShort { seconds: block, scrape_seconds: scrape, sufficient_seconds });
        }
        let mut warnings = BTreeSet::new();
        // The times of scrapes must be queried before the counters: a scrape that the first query sees has then been
        // stored completely when the counters are queried.
        let hosts = self.hosts(grid, from, &mut warnings)?;
        // Before the first scrapes, there are no data: the agents or the store may have started later.
        let first = hosts.values().filter_map(|host| host.intervals.first()).map(|interval| interval.from).min();
        let start = grid.moment(first.unwrap_or(0));
        let mut builder = RowBuilder::new(grid, &self.settings.host_label, versions, hosts);
        let metrics = VALUES_PER_QUERY / (series * grid.points as u64).max(1);
        let metrics = metrics.clamp(*METRICS_PER_QUERY.start(), *METRICS_PER_QUERY.end()) as usize;
        self.query_counters(grid, [&of_service, &of_versions], metrics, &mut builder, &mut warnings)?;
        let (rows, missing) = builder.finish(service);
        let lengthened_from = (block > scrape && self.settings.block.is_none()).then_some(scrape);
        let (window, delay) = ((start, grid.end()), SETTLING + block + scrape);
        let store_warnings = warnings.into_iter().collect();
        Ok(Gathered { rows, window, block, delay, missing, lengthened_from, store_warnings })
    }

    /// Returns the number of series of a metric of requests.
    fn series(&self, matchers: &Matchers, from: u64, to: u64) -> Result<u64, FleetError> {
        let query = format!("count(last_over_time({}{matchers}[{}s]))", REQUESTS[0], (to - from).max(1));
        let mut count = 0.0;
        self.api.query(&query, When::Moment(to), &mut |series| {
            count = series.samples.first().map_or(0.0, |sample| sample.value);
        })?;
        Ok(count as u64)
    }

    /// Returns the agents' hosts with the intervals between their scrapes.
    fn hosts(
        &self,
        grid: Grid,
        from: u64,
        warnings: &mut BTreeSet<String>,
    ) -> Result<BTreeMap<String, Host>, FleetError> {
        let metric = format!("{START}{}", self.settings.select);
        let mut times = ScrapeTimes::new(grid, &self.settings.host_label);
        self.query_grid(&format!("timestamp({metric})"), grid, warnings, &mut |series| times.add_scrape(&series))?;
        self.query_grid(&metric, grid, warnings, &mut |series| times.add_start(&series))?;
        times.hosts(from)
    }

    /// Queries all counters, with `metrics` metrics of requests in each query.
    fn query_counters(
        &self,
        grid: Grid,
        [of_service, of_versions]: [&Matchers; 2],
        metrics: usize,
        builder: &mut RowBuilder,
        warnings: &mut BTreeSet<String>,
    ) -> Result<(), FleetError> {
        let host = self.settings.host_label.as_str();
        let by = [&[host], REQUEST_LABELS.as_slice()].concat();
        for names in REQUESTS.chunks(metrics) {
            let query = sums(names, &by, of_versions);
            self.query_grid(&query, grid, warnings, &mut |series| builder.add_requests(&series))?;
        }
        for names in LEVELS.chunks(metrics) {
            let query = sums(names, &by, of_versions);
            self.query_grid(&query, grid, warnings, &mut |series| builder.add_levels(&series))?;
        }
        let query = sums(&PROCESSES, &[host, "version"], of_service);
        self.query_grid(&query, grid, warnings, &mut |series| builder.add_process(&series))?;
        let query = sums(&RULERS, &[host, "version", "ruler"], of_versions);
        self.query_grid(&query, grid, warnings, &mut |series| builder.add_ruler(&series))?;
        let query = sums(&AGENT_RULERS, &[host, "ruler"], &self.settings.select);
        self.query_grid(&query, grid, warnings, &mut |series| builder.add_agent_ruler(&series))?;
        let query = sums(&HOST, &[host], &self.settings.select);
        self.query_grid(&query, grid, warnings, &mut |series| builder.add_host(&series))?;
        let query = sums(&LOST, &[host], of_service);
        self.query_grid(&query, grid, warnings, &mut |series| builder.add_lost(&series))
    }

    /// Queries all points of a grid, and passes each series to `take` until it returns an error.
    fn query_grid(
        &self,
        query: &str,
        grid: Grid,
        warnings: &mut BTreeSet<String>,
        take: &mut dyn FnMut(Series) -> Result<(), FleetError>,
    ) -> Result<(), FleetError> {
        let mut result = Ok(());
        let new_warnings = self.api.query(query, When::Grid(grid), &mut |series| {
            if result.is_ok() {
                result = match series.samples.iter().all(|sample| grid.place(sample.at).is_some()) {
                    true => take(series),
                    false => Err(FleetError::Invalid {
                        address: self.settings.address.to_string(),
                        why: "it has values at times that were not requested".to_owned(),
                    }),
                };
            }
        })?;
        warnings.extend(new_warnings);
        result
    }
}
