//! Sums since the agent began, by what they are told apart by, and how many of them there may be. Wall times are a histogram:
//! the buckets of rows, eight of them together.

use std::collections::BTreeMap;

use steady_model::{HostSecond, ReleaseRows, RequestRuler, RequestSums, RulerSums, WALL_BUCKETS};

use super::requests::{raised, risen, together};
use super::text::{Label, label};
use crate::record::Arrived;
use crate::store::Batch;
use crate::table::Limits;

/// So many sums of requests are kept of a host, whatever its services do; once there are as many, new routes count as
/// `(other)`.
pub(super) const MOST: usize = 10_000;
/// The route of those that are one too many.
const OTHER: &str = "(other)";
/// What nobody used for so long is forgotten.
const UNUSED_SECONDS: u64 = 86_400;
/// What nobody used for so long makes room. The table of rows waits for longer, so that what it has room for finds some
/// here.
const ROOM_SECONDS: u64 = 300;

/// All that is shown.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    limits: Limits,
    /// The second of what was added last, since 1970.
    second: u64,
    /// When the agent began, since 1970.
    pub(super) start: f64,
    pub(super) services: BTreeMap<Label, Service>,
    /// The agent's own.
    pub(super) rulers: BTreeMap<RequestRuler, RulerSums>,
    pub(super) host: Host,
    pub(super) arrived: Arrived,
    pub(super) given_up: u64,
}

/// Of a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    used: u64,
    pub(super) lost: u64,
    pub(super) folded: u64,
    /// Requests that were added already, and that rows to come will tell of as lost.
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

/// What sums of requests of one version are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestKey {
    pub(super) route: Label,
    /// Empty for requests without a class.
    pub(super) class: Label,
    /// How the version was decided.
    pub(super) way: &'static str,
}

/// Of a version of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    used: u64,
    pub(super) requests: BTreeMap<RequestKey, RequestSums>,
    /// CPU time of processes while they served this version only.
    pub(super) processes: Option<ProcessCpu>,
    pub(super) rulers: BTreeMap<RequestRuler, RulerSums>,
    /// Absent where it was only counted from outside.
    pub(super) walls: Option<Walls>,
    /// Wall time of all that is in them, in nanoseconds.
    pub(super) wall: f64,
}

/// A share of time: seconds in which it was read, and its sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    pub(super) observed: u64,
    pub(super) sum: f64,
}

/// Of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Host {
    pub(super) cpus: Option<u32>,
    pub(super) busy: Share,
    pub(super) steal: Share,
    pub(super) pressure: Share,
}

impl Sums {
    pub(super) fn new(limits: Limits, start: f64) -> Sums {
        Sums {
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

    /// Adds what was gathered.
    pub(super) fn add(&mut self, batch: &Batch) {
        self.second = batch.second;
        self.forget();
        batch.services.iter().for_each(|rows| self.add_rows(rows));
        for row in &batch.rulers {
            *self.rulers.entry(row.ruler).or_default() += row.sums;
        }
        batch.seconds.iter().for_each(|second| self.host.add(second));
    }

    /// Rows were given up, which their service will be told to have lost, with what was lost before them.
    pub(super) fn give_up(&mut self, rows: &[ReleaseRows]) {
        for rows in rows {
            let requests = rows.requests.iter().map(|row| row.sums.requests + row.sums.warming).sum::<u64>();
            if let Some(service) = self.services.get_mut(&label(&rows.service)) {
                service.added_already += requests + rows.lost;
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
        for (key, sums) in together(&rows.requests) {
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
                sums.cpu += risen(row.cpu);
                sums.requests_cpu += risen(row.requests_cpu);
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
            let told_again = service.added_already.min(rows.lost);
            service.added_already -= told_again;
            service.lost += rows.lost - told_again;
            service.folded += rows.folded;
        }
    }

    fn add_requests(&mut self, [service, version]: [&Label; 2], key: RequestKey, sums: &RequestSums) {
        let Some(of_version) = self.version(service, version) else {
            return self.fold(service, sums);
        };
        let has_room = of_version.requests.contains_key(&key) || self.has_room_for(service, version, &key.route);
        if !has_room {
            self.fold(service, sums);
        }
        if let Some(of_version) = self.version(service, version) {
            let raised = raised(sums);
            of_version.wall += raised.wall;
            let other = || RequestKey { route: OTHER.into(), class: "".into(), way: key.way };
            *of_version.requests.entry(if has_room { key } else { other() }).or_default() += raised;
        }
    }

    fn fold(&mut self, service: &Label, sums: &RequestSums) {
        if let Some(service) = self.services.get_mut(service) {
            service.folded += sums.requests + sums.warming;
        }
    }

    /// Whether there may be sums of a route that has none yet.
    fn has_room_for(&mut self, service: &Label, version: &Label, route: &Label) -> bool {
        let Some(of_version) = self.version(service, version) else { return false };
        let has_route = of_version.has_route(route);
        let is_one_too_many = !has_route && of_version.routes() >= self.limits.routes;
        &**route == OTHER || !is_one_too_many && (self.kept() < MOST || self.make_room())
    }

    /// How many sums of requests there are.
    fn kept(&self) -> usize {
        let versions = self.services.values().flat_map(|service| service.versions.values());
        versions.map(|version| version.requests.len()).sum()
    }

    /// Forgets the version that nobody used for longest, if that is long enough; whether there was one.
    fn make_room(&mut self) -> bool {
        let oldest = self
            .services
            .values_mut()
            .min_by_key(|service| service.versions.values().map(|version| version.used).min().unwrap_or(u64::MAX));
        oldest.is_some_and(|service| forget_oldest(&mut service.versions, self.second, |version| version.used))
    }

    /// Sees that there is this service, and notes that it is used; whether there is room for it.
    fn has_service(&mut self, name: &Label) -> bool {
        // The one that is counted from outside is in no table.
        let most = self.limits.services + 1;
        let has_room = self.services.contains_key(name)
            || self.services.len() < most
            || forget_oldest(&mut self.services, self.second, |service| service.used);
        if has_room {
            self.services.entry(Label::clone(name)).or_default().used = self.second;
        }
        has_room
    }

    /// The version of a service that there is, which is used now; `None` where it is one too many.
    fn version(&mut self, service: &Label, name: &Label) -> Option<&mut Version> {
        let versions = &mut self.services.get_mut(service)?.versions;
        let has_room = versions.contains_key(name)
            || versions.len() < self.limits.versions
            || forget_oldest(versions, self.second, |version| version.used);
        if !has_room {
            return None;
        }
        let version = versions.entry(Label::clone(name)).or_default();
        version.used = self.second;
        Some(version)
    }

    /// Forgets what nobody used for a day.
    fn forget(&mut self) {
        let until = self.second.saturating_sub(UNUSED_SECONDS);
        for service in self.services.values_mut() {
            service.versions.retain(|_, version| version.used >= until);
        }
        self.services.retain(|_, service| service.used >= until);
    }
}

/// Forgets the one that nobody used for longest, if that is long enough to make room; whether it was.
fn forget_oldest<T>(all: &mut BTreeMap<Label, T>, now: u64, used: impl Fn(&T) -> u64) -> bool {
    let oldest = all.iter().min_by_key(|(_, one)| used(one));
    let oldest = oldest.filter(|(_, one)| used(one) + ROOM_SECONDS < now).map(|(name, _)| Label::clone(name));
    oldest.is_some_and(|name| all.remove(&name).is_some())
}

impl Version {
    /// How many routes it has, but for `(other)`.
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

/// Buckets of rows in one that is shown: two to each doubling.
const TOGETHER: u16 = 8;
/// The bounds that are shown, in halves of a doubling of a microsecond: 0.512 ms and 67 s.
const LOWEST: u16 = 18;
const HIGHEST: u16 = 52;
/// How many bounds there are; what lies beyond the last one is in the bucket without.
pub(super) const BOUNDS: usize = (HIGHEST - LOWEST + 1) as usize;

const _: () = assert!(HIGHEST * TOGETHER <= WALL_BUCKETS);

/// How many requests took longer than one bound and no longer than the next, from the first bound on; the last have
/// none.
#[derive(Clone, Debug)]
pub(super) struct Walls {
    counts: [u64; BOUNDS],
    beyond: u64,
}

impl Default for Walls {
    fn default() -> Self {
        Walls { counts: [0; BOUNDS], beyond: 0 }
    }
}

impl Walls {
    /// Adds requests of one of the rows' buckets.
    pub(super) fn add(&mut self, bucket: u16, requests: u32) {
        let place = (bucket / TOGETHER + 1).saturating_sub(LOWEST);
        let count = self.counts.get_mut(usize::from(place)).unwrap_or(&mut self.beyond);
        *count += u64::from(requests);
    }

    /// Requests up to each bound.
    pub(super) fn up_to(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }

    /// All requests.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }
}

/// A bound in seconds, in whole nanoseconds. A request that took exactly as long as a bound that is whole counts as
/// longer, for the rows have it so.
pub(super) fn bound(place: usize) -> f64 {
    let halves = f64::from(LOWEST) + place as f64;
    (1_000.0 * (halves / 2.0).exp2()).floor() / 1e9
}

#[cfg(test)]
mod tests {
    use steady_model::wall_bucket;

    use super::*;

    #[test]
    fn requests_are_counted_below_the_bounds_that_they_are_below() {
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
