//! The state of one service, and the addition of requests to its rows.

use std::collections::VecDeque;
use std::mem;

use steady_model::{Assignment, ReleaseRows, TimeSlot, WALL_SECONDS, wall_bucket};
use steady_stats::release::{Accumulator, FIRST_REQUESTS, RequestCost};

use super::processes::{CpuReading, Processes};
use super::rows::{AllNames, Key, Names, OTHER_NUMBER, OpenRows, ProcessKey};
use super::{Limits, Now};
use crate::line::{ProcessLine, RequestLine};
use crate::record::{AgentService, Arrived, LineFault};
use crate::time::SECOND;

/// How far in the future a request may end, and how far outside of its slot it may begin, in nanoseconds. The clock is
/// read at different moments, so small differences are normal.
const TOLERANCE: u64 = SECOND;
/// Versions, routes and processes are reported for this number of seconds after their last use. The rate of requests is
/// computed over the same time.
const RECENT_SECONDS: u64 = 60;

/// The rows and the state of one service.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    /// The time of the last datagram, in seconds of the monotonic clock.
    pub(super) last_seen: u64,
    pub(super) processes: Processes,
    pub(super) accumulator: Accumulator,
    pub(super) lost: u64,
    names: AllNames,
    open: OpenRows,
    folded: u64,
    /// Requests since the agent started.
    requests: u64,
    /// Requests in each of the last seconds, and in the current one at the end.
    recent: VecDeque<u64>,
}

impl Service {
    pub(super) fn new(name: String, limits: &Limits) -> Service {
        Service {
            name,
            last_seen: 0,
            processes: Processes::default(),
            accumulator: Accumulator::new(),
            lost: 0,
            names: AllNames {
                versions: Names::new(limits.versions),
                routes: Names::new(limits.routes),
                classes: Names::new(limits.classes),
            },
            open: OpenRows::default(),
            folded: 0,
            requests: 0,
            recent: VecDeque::from([0]),
        }
    }

    /// Returns the number of rows that have not been passed on.
    pub(super) fn rows(&self) -> usize {
        self.open.len()
    }

    /// Returns the bytes of the names of its routes.
    pub(super) fn route_bytes(&self) -> usize {
        self.names.routes.bytes()
    }

    /// Limits the bytes of the names of its routes.
    pub(super) fn limit_route_bytes(&mut self, most: usize) {
        self.names.routes.limit_bytes(most);
    }

    /// Adds a request of a process, which counts its requests since the moment `began`.
    pub(super) fn add(
        &mut self,
        request: &RequestLine<'_>,
        process: u64,
        began: u64,
        limits: &Limits,
        now: Now,
        arrived: &mut Arrived,
    ) {
        arrived.faults[LineFault::Name.index()] += u64::from(request.unknown);
        let is_possible = request.end >= began && is_possible_time(request.end, now, limits.late_seconds);
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
        // The usual costs of a name do not apply to the name that replaces it.
        let costs = &mut self.accumulator;
        let version = self.names.versions.place(request.version, seconds, |number| costs.forget_version(number));
        let Some(version) = version else {
            arrived.folded += 1;
            arrived.left_out += 1;
            self.folded += 1;
            return;
        };
        let route = self.names.routes.place_or_other(request.route, seconds, |number| costs.forget_route(number));
        let class = request.class.map(|class| {
            let forget = |number: u32| costs.forget_class(class_of(Some(number)));
            self.names.classes.place_or_other(class, seconds, forget)
        });
        if route.is_none() || class == Some(None) {
            arrived.folded += 1;
            self.folded += 1;
        }
        let begin = request.slot.map_or(end, |slot| slot.begin.saturating_mul(SECOND));
        let key = Key {
            second: now.second_of(begin),
            process,
            version,
            route: route.unwrap_or(OTHER_NUMBER),
            class: class.map(|class| class.unwrap_or(OTHER_NUMBER)),
            slot_seconds: request.slot.map_or(0, |slot| slot.seconds),
            assignment: request.assignment,
            second_of_pair: request.slot.is_some_and(|slot| slot.begin / u64::from(slot.seconds) % 2 == 1),
        };
        self.add_to(&key, request, now.second_of(end));
    }

    /// Adds a request to the rows with this key; `second` is the second in which it ended.
    fn add_to(&mut self, key: &Key, request: &RequestLine<'_>, second: u64) {
        let cost = RequestCost {
            route: key.route,
            class: class_of(key.class),
            version: key.version,
            process: key.process,
            number: request.number,
            failed: request.status == 0 || request.status >= 500,
            cpu: request.cpu,
            wall: request.wall,
            delay: request.delay,
            ruler: request.ruler,
        };
        self.accumulator.add(&cost, self.open.requests.entry(*key).or_default());
        if request.number <= FIRST_REQUESTS {
            return;
        }
        let interval = second / WALL_SECONDS * WALL_SECONDS;
        *self.open.walls.entry((interval, key.version, key.route, wall_bucket(request.wall))).or_default() += 1;
        if let Some((ruler, took)) = request.ruler {
            let sums = self.open.rulers.entry((key.second, key.process, key.version, ruler)).or_default();
            let log = (took.max(1) as f64).ln();
            sums.readings += 1;
            sums.log += log;
            sums.log_squared += log * log;
        }
    }

    /// Adds the CPU time of a process since its previous reading.
    pub(super) fn add_process(
        &mut self,
        line: &ProcessLine<'_>,
        process: u64,
        limits: &Limits,
        now: Now,
        arrived: &mut Arrived,
    ) {
        arrived.faults[LineFault::Name.index()] += u64::from(line.unknown);
        if !is_possible_time(line.time, now, limits.late_seconds) {
            arrived.faults[LineFault::Number.index()] += 1;
            return;
        }
        let reading = CpuReading { time: line.time, cpu: line.cpu, requests_cpu: line.requests_cpu };
        let Some(between) = self.processes.cpu_since(process, reading) else { return };
        // The version and the slot of a line apply to the time since the last reading that the process sent. If lines
        // were lost, this reading may not have arrived.
        let is_one_version =
            !between.lost_lines && line.slot.is_none_or(|slot| lies_in(slot, between.since, line.time));
        let version = line.version.filter(|_| is_one_version);
        let costs = &mut self.accumulator;
        let version = version.and_then(|version| {
            let forget = |number| costs.forget_version(number);
            self.names.versions.place(version, now.monotonic / SECOND, forget)
        });
        let slot = line.slot.filter(|_| version.is_some());
        let key = ProcessKey {
            second: now.second_of(slot.map_or(line.time, |slot| slot.begin.saturating_mul(SECOND))),
            slot_seconds: slot.map_or(0, |slot| slot.seconds),
            process,
            version,
        };
        let sums = self.open.processes.entry(key).or_default();
        sums.cpu += between.cpu as f64;
        sums.requests_cpu += between.requests_cpu as f64;
    }

    /// Removes and returns all rows.
    pub(super) fn take(&mut self, host: &str) -> ReleaseRows {
        let mut rows = mem::take(&mut self.open).into_rows(&self.name, host, &self.names);
        rows.folded = mem::take(&mut self.folded);
        rows.lost = mem::take(&mut self.lost);
        rows
    }

    /// Notes that a second has ended, for the rate of requests.
    pub(super) fn tick(&mut self) {
        self.recent.push_back(0);
        // The current second is not part of the rate, so one more is stored.
        while self.recent.len() as u64 > RECENT_SECONDS + 1 {
            self.recent.pop_front();
        }
    }

    pub(super) fn facts(&self, now: Now) -> AgentService {
        let then = (now.monotonic / SECOND).saturating_sub(RECENT_SECONDS);
        let whole = self.recent.len().saturating_sub(1);
        let requests: u64 = self.recent.iter().take(whole).sum();
        let mut versions: Vec<String> = self.names.versions.used_since(then).map(str::to_owned).collect();
        versions.sort_unstable();
        AgentService {
            name: self.name.clone(),
            versions,
            routes: self.names.routes.used_since(then).count(),
            processes: self.processes.since(then),
            per_second: if whole == 0 { 0.0 } else { requests as f64 / whole as f64 },
            requests: self.requests,
            silent_seconds: (now.monotonic / SECOND).saturating_sub(self.last_seen),
        }
    }
}

/// Returns the class of a request for the usual costs, from the number of its name; 0 stands for requests without one.
fn class_of(number: Option<u32>) -> u32 {
    number.map_or(0, |number| number.saturating_add(1))
}

/// Returns whether a time that a service reports is neither in the future nor too long ago.
fn is_possible_time(time: u64, now: Now, late_seconds: u64) -> bool {
    let earliest = now.monotonic.saturating_sub(late_seconds.saturating_mul(SECOND));
    (earliest..=now.monotonic.saturating_add(TOLERANCE)).contains(&time)
}

/// Returns whether a request can have begun in a slot.
fn begins_in(request: &RequestLine<'_>, slot: TimeSlot) -> bool {
    debug_assert_eq!(request.assignment, Assignment::Slot);
    let begin = slot.begin.saturating_mul(SECOND);
    let end = begin.saturating_add(u64::from(slot.seconds) * SECOND);
    let began = request.end.saturating_sub(request.wall);
    (begin.saturating_sub(TOLERANCE)..=end.saturating_add(TOLERANCE)).contains(&began)
}

/// Returns whether an interval begins in a slot, and ends in it or in the following one. Times are in nanoseconds of
/// the monotonic clock.
fn lies_in(slot: TimeSlot, since: u64, until: u64) -> bool {
    let begin = slot.begin.saturating_mul(SECOND);
    let length = u64::from(slot.seconds) * SECOND;
    begin <= since && since <= until && until <= begin.saturating_add(2 * length)
}
