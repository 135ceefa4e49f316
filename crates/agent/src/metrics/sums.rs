//! The sums since the agent started, by their labels, and the limits of their number. Wall times are a histogram, each
//! of whose buckets combines eight buckets of rows.

use std::collections::BTreeMap;

use steady_model::{HostSecond, ReleaseRows, RequestRuler, RequestSums, RulerSums, WALL_BUCKETS};

use super::requests::{increment, increments, sums_by_key};
use super::text::{Label, label};
use crate::record::Arrived;
use crate::store::Batch;
use crate::table::Limits;

/// The most sums of requests of a host. Beyond this number, new routes count as `(other)`.
pub(super) const MOST: usize = 10_000;
/// The route of requests whose route is beyond a limit.
const OTHER: &str = "(other)";
/// A service or version is removed if it was not used for longer than this.
const UNUSED_SECONDS: u64 = 86_400;
/// A service or version that was not used for longer than this is removed if there is no space for a new one. The table
/// of rows removes names later, so there is always space here for the names that it has.
const REPLACED_SECONDS: u64 = 300;

/// All published sums, with the limits of their number.
#[derive(Clone, Debug)]
pub(super) struct PublishedSums {
    limits: Limits,
    /// The second of the last batch, since 1970.
    second: u64,
    /// The start time of the agent, in seconds since 1970.
    pub(super) start: f64,
    pub(super) services: BTreeMap<Label, Service>,
    /// The agent's own rulers.
    pub(super) rulers: BTreeMap<RequestRuler, RulerSums>,
    pub(super) host: Host,
    pub(super) arrived: Arrived,
    pub(super) given_up: u64,
}

/// The sums of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    /// The last second with rows of the service.
    used: u64,
    pub(super) lost: u64,
    pub(super) folded: u64,
    /// Requests that were added already, and that later rows will report as lost.
    added_already: u64,
    pub(super) versions: BTreeMap<Label, Version>,
    /// CPU time of processes while they served several versions, or none.
    pub(super) processes: Option<ProcessCpu>,
}

/// CPU time of whole processes and of their requests, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProcessCpu {
    pub(super) cpu: f64,
    pub(super) requests_cpu: f64,
}

/// The key of sums of requests of one version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestKey {
    pub(super) route: Label,
    /// Empty for requests without a class.
    pub(super) class: Label,
    /// How the version was decided.
    pub(super) way: &'static str,
}

/// The sums of a version of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// The last second with rows of the version.
    used: u64,
    pub(super) requests: BTreeMap<RequestKey, RequestSums>,
    /// CPU time of processes while they served this version only.
    pub(super) processes: Option<ProcessCpu>,
    pub(super) rulers: BTreeMap<RequestRuler, RulerSums>,
    /// The histogram of wall times; `None` if all requests were counted from outside.
    pub(super) walls: Option<Walls>,
    /// The sum of these wall times, in nanoseconds.
    pub(super) wall: f64,
}

/// The sum of a share of time, and the number of seconds in which the share was read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    pub(super) observed: u64,
    pub(super) sum: f64,
}

/// The load of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Host {
    pub(super) cpus: Option<u32>,
    pub(super) busy: Share,
    pub(super) steal: Share,
    pub(super) pressure: Share,
}

impl PublishedSums {
    pub(super) fn new(limits: Limits, start: f64) -> PublishedSums {
        PublishedSums {
            limits,
            second: 0,
            start,
            services: BTreeMap::new(),
            rulers: BTreeMap::new(),
            host: Host::default(),
            arrived: Arrived::default(),
            given_up: 0,
        }
    }

    /// Adds a batch of rows.
    pub(super) fn add(&mut self, batch: &Batch) {
        self.second = batch.second;
        self.remove_unused();
        batch.services.iter().for_each(|rows| self.add_rows(rows));
        for row in &batch.rulers {
            *self.rulers.entry(row.ruler).or_default() += row.sums;
        }
        batch.seconds.iter().for_each(|second| self.host.add(second));
    }

    /// Notes rows that were added but could not be written. The table will report their requests, and the lost lines
    /// that they count, again as lost.
    pub(super) fn give_up(&mut self, rows: &[ReleaseRows]) {
        for rows in rows {
            let requests = rows.requests.iter().map(|row| row.sums.requests + row.sums.first_requests).sum::<u64>();
            if let Some(service) = self.services.get_mut(&label(&rows.service)) {
                service.added_already = service.added_already.saturating_add(requests.saturating_add(rows.lost));
            }
        }
    }

    fn add_rows(&mut self, rows: &ReleaseRows) {
        let name = label(&rows.service);
        if !self.has_service(&name) {
            return;
        }
        let labels = |texts: &[String]| texts.iter().map(|text| label(text)).collect::<Vec<Label>>();
        let (versions, routes, classes) = (labels(&rows.versions), labels(&rows.routes), labels(&rows.classes));
        let no_class = label("");
        for (key, sums) in sums_by_key(&rows.requests) {
            let class = if key.class == 0 { Some(&no_class) } else { classes.get(key.class as usize) };
            let (version, route) = (versions.get(key.version as usize), routes.get(key.route as usize));
            let (Some(version), Some(route), Some(class)) = (version, route, class) else { continue };
            let key = RequestKey { route: Label::clone(route), class: Label::clone(class), way: key.way };
            self.add_requests([&name, version], key, &sums);
        }
        for row in &rows.processes {
            let processes = match row.version {
                Some(version) => {
                    let version = versions.get(version as usize).and_then(|version| self.version(&name, version));
                    version.map(|version| &mut version.processes)
                }
                None => self.services.get_mut(&name).map(|service| &mut service.processes),
            };
            if let Some(processes) = processes {
                let sums = processes.get_or_insert_default();
                sums.cpu += increment(row.cpu);
                sums.requests_cpu += increment(row.requests_cpu);
            }
        }
        for row in &rows.walls {
            let version = versions.get(row.version as usize);
            if let Some(version) = version.and_then(|version| self.version(&name, version)) {
                let walls = version.walls.get_or_insert_default();
                row.counts.iter().for_each(|(bucket, requests)| walls.add(*bucket, *requests));
            }
        }
        for row in &rows.rulers {
            let version = row.version.and_then(|version| versions.get(version as usize));
            if let Some(version) = version.and_then(|version| self.version(&name, version)) {
                *version.rulers.entry(row.ruler).or_default() += row.sums;
            }
        }
        if let Some(service) = self.services.get_mut(&name) {
            let repeated = service.added_already.min(rows.lost);
            service.added_already -= repeated;
            service.lost = service.lost.saturating_add(rows.lost - repeated);
            service.folded += rows.folded;
        }
    }

    fn add_requests(&mut self, [service, version]: [&Label; 2], key: RequestKey, sums: &RequestSums) {
        let Some(of_version) = self.version(service, version) else {
            return self.count_folded(service, sums);
        };
        let has_space = of_version.requests.contains_key(&key) || self.has_space_for(service, version, &key.route);
        if !has_space {
            self.count_folded(service, sums);
        }
        if let Some(of_version) = self.version(service, version) {
            let added = increments(sums);
            of_version.wall += added.wall;
            let other = || RequestKey { route: OTHER.into(), class: "".into(), way: key.way };
            *of_version.requests.entry(if has_space { key } else { other() }).or_default() += added;
        }
    }

    fn count_folded(&mut self, service: &Label, sums: &RequestSums) {
        if let Some(service) = self.services.get_mut(service) {
            service.folded += sums.requests + sums.first_requests;
        }
    }

    /// Returns whether sums with a new key of this route may be added.
    fn has_space_for(&mut self, service: &Label, version: &Label, route: &Label) -> bool {
        let Some(of_version) = self.version(service, version) else { return false };
        let has_route = of_version.has_route(route);
        let is_beyond_limit = !has_route && of_version.routes() >= self.limits.routes;
        &**route == OTHER || !is_beyond_limit && (self.request_sums() < MOST || self.evict_version())
    }

    /// Returns the number of sums of requests.
    fn request_sums(&self) -> usize {
        let versions = self.services.values().flat_map(|service| service.versions.values());
        versions.map(|version| version.requests.len()).sum()
    }

    /// Evicts the least recently used version if it was unused for long enough. Returns whether one was evicted.
    fn evict_version(&mut self) -> bool {
        let oldest = self
            .services
            .values_mut()
            .min_by_key(|service| service.versions.values().map(|version| version.used).min().unwrap_or(u64::MAX));
        oldest.is_some_and(|service| evict_oldest(&mut service.versions, self.second, |version| version.used))
    }

    /// Adds a service if it is new, and notes that it is used now. Returns false if there is no space for it.
    fn has_service(&mut self, name: &Label) -> bool {
        // The table's limit does not include the service that is counted from outside.
        let most = self.limits.services + 1;
        let has_space = self.services.contains_key(name)
            || self.services.len() < most
            || evict_oldest(&mut self.services, self.second, |service| service.used);
        if has_space {
            self.services.entry(Label::clone(name)).or_default().used = self.second;
        }
        has_space
    }

    /// Returns a version of an existing service, adds it if it is new, and notes that it is used now; `None` if there
    /// is no space for it.
    fn version(&mut self, service: &Label, name: &Label) -> Option<&mut Version> {
        let versions = &mut self.services.get_mut(service)?.versions;
        let has_space = versions.contains_key(name)
            || versions.len() < self.limits.versions
            || evict_oldest(versions, self.second, |version| version.used);
        if !has_space {
            return None;
        }
        let version = versions.entry(Label::clone(name)).or_default();
        version.used = self.second;
        Some(version)
    }

    /// Removes services and versions that were unused for a day.
    fn remove_unused(&mut self) {
        let until = self.second.saturating_sub(UNUSED_SECONDS);
        for service in self.services.values_mut() {
            service.versions.retain(|_, version| version.used >= until);
        }
        self.services.retain(|_, service| service.used >= until);
    }
}

/// Evicts the least recently used entry if it was unused for long enough. Returns whether one was evicted.
fn evict_oldest<T>(all: &mut BTreeMap<Label, T>, now: u64, used: impl Fn(&T) -> u64) -> bool {
    let oldest = all.iter().min_by_key(|(_, one)| used(one));
    let oldest = oldest.filter(|(_, one)| used(one) + REPLACED_SECONDS < now).map(|(name, _)| Label::clone(name));
    oldest.is_some_and(|name| all.remove(&name).is_some())
}

impl Version {
    /// Returns the number of routes other than `(other)`.
    fn routes(&self) -> usize {
        let mut routes: Vec<&Label> = self.requests.keys().map(|key| &key.route).collect();
        routes.dedup();
        routes.iter().filter(|route| &****route != OTHER).count()
    }

    fn has_route(&self, route: &Label) -> bool {
        let least = RequestKey { route: Label::clone(route), class: "".into(), way: "" };
        self.requests.range(least..).next().is_some_and(|(found, _)| found.route == *route)
    }
}

impl Host {
    fn add(&mut self, second: &HostSecond) {
        if second.cpus > 0 {
            self.cpus = Some(second.cpus);
        }
        let shares =
            [(&mut self.busy, second.busy), (&mut self.steal, second.steal), (&mut self.pressure, second.pressure)];
        for (share, read) in shares {
            if let Some(read) = read {
                share.observed += 1;
                share.sum += read.max(0.0);
            }
        }
    }
}

/// The number of buckets of rows in a published bucket. Rows have sixteen buckets to each doubling, metrics two.
const COMBINED: u16 = 8;
/// The lowest bound: 2 to the power of half this number, in microseconds: 0.512 ms.
const LOWEST: u16 = 18;
/// The highest bound, in the same way: 67 s.
const HIGHEST: u16 = 52;
/// The number of bounds, without the bound `+Inf`.
pub(super) const BOUNDS: usize = (HIGHEST - LOWEST + 1) as usize;

const _: () = assert!(HIGHEST * COMBINED <= WALL_BUCKETS);

/// A histogram of wall times.
#[derive(Clone, Debug)]
pub(super) struct Walls {
    /// For each bound, the requests that took at most as long as the bound, and longer than the previous bound.
    counts: [u64; BOUNDS],
    /// Requests that took longer than the last bound.
    beyond: u64,
}

impl Default for Walls {
    fn default() -> Self {
        Walls { counts: [0; BOUNDS], beyond: 0 }
    }
}

impl Walls {
    /// Adds requests of a bucket of a row.
    pub(super) fn add(&mut self, bucket: u16, requests: u32) {
        let place = (bucket / COMBINED + 1).saturating_sub(LOWEST);
        let count = self.counts.get_mut(usize::from(place)).unwrap_or(&mut self.beyond);
        *count += u64::from(requests);
    }

    /// Returns the number of requests up to each bound.
    pub(super) fn up_to(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }

    /// Returns the number of all requests.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }
}

/// Returns a bound in seconds, rounded down to whole nanoseconds. If the bound is a whole number of nanoseconds before
/// the rounding, a request that took exactly as long counts as longer. The buckets of rows have the same property.
pub(super) fn bound(place: usize) -> f64 {
    let halves = f64::from(LOWEST) + place as f64;
    (1_000.0 * (halves / 2.0).exp2()).floor() / 1e9
}

#[cfg(test)]
mod tests {
    use steady_model::wall_bucket;

    use super::*;

    #[test]
    fn requests_are_counted_at_all_bounds_above_their_wall_time() {
        let (first, last) = (bound(0), bound(BOUNDS - 1));
        assert_eq!((first, bound(1), last), (0.000512, 0.000724077, 67.108864));
        for nanoseconds in
            [0, 1_000, 511_999, 512_001, 724_077, 724_078, 5_000_000, 67_108_863_999, 67_108_864_001, u64::MAX]
        {
            let mut walls = Walls::default();
            walls.add(wall_bucket(nanoseconds), 3);
            let below: Vec<u64> = walls.up_to().collect();
            let expected = |place: usize| if nanoseconds as f64 / 1e9 <= bound(place) { 3 } else { 0 };
            assert_eq!(below, (0..BOUNDS).map(expected).collect::<Vec<_>>(), "{nanoseconds}");
            assert_eq!(walls.count(), 3);
        }
    }
}
