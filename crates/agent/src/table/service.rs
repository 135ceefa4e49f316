//! One service: its names and processes, and how a request is added to its rows.

use std::collections::VecDeque;
use std::mem;

use steady_model::{AgentService, Arrived, Assignment, LineFault, ReleaseRows, TimeSlot, WALL_SECONDS, wall_bucket};
use steady_release::{Fold, RequestCost, WARMING_REQUESTS};

use super::names::{NONE_OF_THEM, Names};
use super::processes::Processes;
use super::rows::{Key, Open};
use super::{Limits, Now};
use crate::line::{RequestLine, Text};
use crate::time::SECOND;

/// A request cannot end later than this from now, nor begin further outside of its slot: clocks are read one after the other.
const TOLERANCE: u64 = SECOND;
/// Over how many seconds the rate of requests is told.
const RATE_SECONDS: usize = 10;
/// For how many seconds versions and processes are told after they were heard of last.
const RECENT_SECONDS: u64 = 60;

/// A service.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    /// When it was heard of last, in seconds of the monotonic clock.
    pub(super) heard: u64,
    pub(super) processes: Processes,
    pub(super) fold: Fold,
    pub(super) lost: u64,
    versions: Names,
    routes: Names,
    open: Open,
    folded: u64,
    /// Requests in all, and in this second and the last ones.
    requests: u64,
    recent: VecDeque<u64>,
}

impl Service {
    pub(super) fn new(name: String, limits: &Limits) -> Service {
        Service {
            name,
            heard: 0,
            processes: Processes::default(),
            fold: Fold::new(),
            lost: 0,
            versions: Names::new(limits.versions),
            routes: Names::new(limits.routes),
            open: Open::default(),
            folded: 0,
            requests: 0,
            recent: VecDeque::from([0]),
        }
    }

    /// How many rows are open.
    pub(super) fn rows(&self) -> usize {
        self.open.len()
    }

    /// Adds a request of a process.
    pub(super) fn add(
        &mut self,
        request: &RequestLine<'_>,
        process: u64,
        (limits, now): (&Limits, Now),
        arrived: &mut Arrived,
    ) {
        arrived.faults[LineFault::Name.index()] += u64::from(request.unknown);
        let is_possible = ends_possibly(request.end, now, limits.late_seconds);
        if let Some(slot) = request.slot
            && !(is_possible && begins_in(request, slot))
        {
            arrived.faults[LineFault::Slot.index()] += 1;
            return;
        }
        arrived.ends_replaced += u64::from(!is_possible);
        let end = if is_possible { request.end } else { now.monotonic };
        let seconds = now.monotonic / SECOND;
        self.requests += 1;
        arrived.requests += 1;
        if let Some(this) = self.recent.back_mut() {
            *this += 1;
        }
        let Some(version) = self.versions.place(request.version, seconds) else {
            arrived.folded += 1;
            self.folded += 1;
            return;
        };
        let route = self.route(request.route, seconds, arrived);
        let begin = request.slot.map_or(end, |slot| slot.begin.saturating_mul(SECOND));
        let key = Key {
            second: now.second_of(begin),
            process,
            version,
            route,
            slot_seconds: request.slot.map_or(0, |slot| slot.seconds),
            assignment: request.assignment,
            second_of_pair: request.slot.is_some_and(|slot| slot.begin / u64::from(slot.seconds) % 2 == 1),
        };
        self.add_to(&key, request, now.second_of(end));
    }

    /// Adds to the row of this key.
    fn add_to(&mut self, key: &Key, request: &RequestLine<'_>, second: u64) {
        let cost = RequestCost {
            route: key.route,
            class: 0,
            version: key.version,
            process: key.process,
            number: request.number,
            failed: request.status == 0 || request.status >= 500,
            cpu: request.cpu,
            wall: request.wall,
            delay: request.delay,
            ruler: request.ruler,
        };
        self.fold.add(&cost, self.open.requests.entry(*key).or_default());
        if request.number <= WARMING_REQUESTS {
            return;
        }
        let ten = second / WALL_SECONDS * WALL_SECONDS;
        *self.open.walls.entry((ten, key.version, key.route, wall_bucket(request.wall))).or_default() += 1;
        if let Some((ruler, took)) = request.ruler {
            let sums = self.open.rulers.entry((key.second, key.process, key.version, ruler)).or_default();
            let log = (took.max(1) as f64).ln();
            sums.readings += 1;
            sums.log += log;
            sums.log_squared += log * log;
        }
    }

    /// The number of a route; of those that are too many, that of `(other)`.
    fn route(&mut self, route: Text<'_>, seconds: u64, arrived: &mut Arrived) -> u32 {
        self.routes.place(route, seconds).unwrap_or_else(|| {
            arrived.folded += 1;
            self.folded += 1;
            NONE_OF_THEM
        })
    }

    /// Takes all rows.
    pub(super) fn take(&mut self, host: &str) -> ReleaseRows {
        let mut rows = mem::take(&mut self.open).into_rows(&self.name, host, &self.versions, &self.routes);
        rows.folded = mem::take(&mut self.folded);
        rows.lost = mem::take(&mut self.lost);
        rows
    }

    /// A second has passed.
    pub(super) fn tick(&mut self) {
        self.recent.push_back(0);
        // The one that has just begun, besides.
        while self.recent.len() > RATE_SECONDS + 1 {
            self.recent.pop_front();
        }
    }

    pub(super) fn facts(&self, now: Now) -> AgentService {
        let then = (now.monotonic / SECOND).saturating_sub(RECENT_SECONDS);
        let whole = self.recent.len().saturating_sub(1);
        let requests: u64 = self.recent.iter().take(whole).sum();
        AgentService {
            name: self.name.clone(),
            versions: self.versions.used_since(then).map(str::to_owned).collect(),
            routes: self.routes.used_since(then).count(),
            processes: self.processes.since(then),
            per_second: if whole == 0 { 0.0 } else { requests as f64 / whole as f64 },
            requests: self.requests,
        }
    }
}

/// Whether a request can have ended then.
fn ends_possibly(end: u64, now: Now, late_seconds: u64) -> bool {
    let earliest = now.monotonic.saturating_sub(late_seconds.saturating_mul(SECOND));
    (earliest..=now.monotonic.saturating_add(TOLERANCE)).contains(&end)
}

/// Whether a request can have begun in that slot.
fn begins_in(request: &RequestLine<'_>, slot: TimeSlot) -> bool {
    debug_assert_eq!(request.assignment, Assignment::Slot);
    let begin = slot.begin.saturating_mul(SECOND);
    let end = begin.saturating_add(u64::from(slot.seconds) * SECOND);
    let began = request.end.saturating_sub(request.wall);
    (begin.saturating_sub(TOLERANCE)..=end.saturating_add(TOLERANCE)).contains(&began)
}
