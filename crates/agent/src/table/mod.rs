//! The rows that have not been passed on yet. Requests are added to them as they arrive. [`Limits`] bound their memory
//! for any input.

mod processes;
mod rows;
mod service;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use steady_model::ReleaseRows;

use crate::line::{Datagram, Line};
use crate::record::{AgentService, Arrived, LineFault};
use crate::time::SECOND;
use service::Service;

/// A service is replaced by a new one if it sent nothing for longer than this.
const FORGOTTEN_SECONDS: u64 = 600;

/// A moment on the monotonic clock, and the offset of that clock to seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The moment, in nanoseconds of the monotonic clock.
    pub monotonic: u64,
    /// The seconds to add to the monotonic clock to get seconds since 1970.
    pub ahead: i64,
}

impl Now {
    /// Returns the second, since 1970, of a moment in nanoseconds of the monotonic clock.
    pub fn second_of(&self, moment: u64) -> u64 {
        (moment / SECOND).saturating_add_signed(self.ahead)
    }

    /// Returns the second of this moment, since 1970.
    pub fn second(&self) -> u64 {
        self.second_of(self.monotonic)
    }
}

/// The rows of all services since the last [`Table::take`], and the state that is needed to add further requests.
#[derive(Debug, Default)]
pub struct Table {
    limits: Limits,
    services: HashMap<Box<str>, Service>,
    arrived: Arrived,
}

impl Table {
    /// Creates an empty table.
    pub fn new(limits: Limits) -> Table {
        Table { limits, ..Table::default() }
    }

    /// Adds the lines of a datagram that arrived at `now`.
    pub fn take_in(&mut self, datagram: &[u8], now: Now) {
        self.arrived.datagrams += 1;
        let datagram = match Datagram::of(datagram) {
            Ok(datagram) => datagram,
            Err(fault) => return self.fault(fault),
        };
        let all_bytes: usize = self.services.values().map(Service::route_bytes).sum();
        let Table { limits, services, arrived } = self;
        let Some(service) = service_of(services, limits, &datagram, now) else {
            for line in datagram.lines() {
                match line {
                    Ok(Line::Request(_)) => {
                        arrived.requests += 1;
                        arrived.folded += 1;
                        arrived.left_out += 1;
                    }
                    Ok(Line::Process(_)) => {}
                    Ok(Line::Lost(lines)) => arrived.lost = arrived.lost.saturating_add(lines),
                    Err(fault) => arrived.faults[fault.index()] += 1,
                }
            }
            return;
        };
        service.limit_route_bytes(limits.route_bytes_beside(all_bytes.saturating_sub(service.route_bytes())));
        let process = service.processes.seen(
            datagram.process,
            now.monotonic / SECOND,
            limits.processes,
            &mut service.accumulator,
        );
        for line in datagram.lines() {
            match line {
                Ok(Line::Request(request)) => {
                    service.add(&request, process, datagram.process.began, limits, now, arrived)
                }
                Ok(Line::Process(reading)) => service.add_process(&reading, process, limits, now, arrived),
                Ok(Line::Lost(lines)) => {
                    service.processes.lost_lines(process);
                    arrived.lost = arrived.lost.saturating_add(lines);
                    service.lost = service.lost.saturating_add(lines);
                }
                Err(fault) => arrived.faults[fault.index()] += 1,
            }
        }
    }

    /// Counts a datagram that was truncated because it is too long.
    pub fn too_long(&mut self) {
        self.arrived.datagrams += 1;
        self.fault(LineFault::TooLong);
    }

    fn fault(&mut self, fault: LineFault) {
        self.arrived.faults[fault.index()] += 1;
    }

    /// Returns whether the limit of rows is reached, so that the rows should be taken before more are added.
    pub fn is_full(&self) -> bool {
        self.services.values().map(Service::rows).sum::<usize>() >= self.limits.rows
    }

    /// Removes and returns all rows, grouped by service; `host` is the name that the rows get.
    pub fn take(&mut self, host: &str) -> Vec<ReleaseRows> {
        let taken = self.services.values_mut().map(|service| service.take(host));
        taken.filter(|rows| !is_empty(rows)).collect()
    }

    /// Notes that a second has ended, for the rates of requests.
    pub fn tick(&mut self) {
        self.services.values_mut().for_each(Service::tick);
    }

    /// Counts the requests of rows that could not be written as lost lines of their services.
    pub fn give_up(&mut self, rows: &[ReleaseRows]) {
        for rows in rows {
            let requests = rows.requests.iter().map(|row| row.sums.requests + row.sums.first_requests).sum::<u64>();
            if let Some(service) = self.services.values_mut().find(|service| service.name == rows.service) {
                service.lost = service.lost.saturating_add(requests.saturating_add(rows.lost));
            }
        }
    }

    /// Returns counts of what has arrived so far.
    pub fn arrived(&self) -> &Arrived {
        &self.arrived
    }

    /// Returns the status of the known services, sorted by name.
    pub fn services(&self, now: Now) -> Vec<AgentService> {
        let mut all: Vec<AgentService> = self.services.values().map(|service| service.facts(now)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
}

fn is_empty(rows: &ReleaseRows) -> bool {
    let has_rows = !(rows.requests.is_empty() && rows.rulers.is_empty() && rows.processes.is_empty());
    !has_rows && rows.lost == 0 && rows.folded == 0
}

/// Returns the service that sent a datagram, and adds it if it is new; `None` if there are too many services.
fn service_of<'a>(
    services: &'a mut HashMap<Box<str>, Service>,
    limits: &Limits,
    datagram: &Datagram<'_>,
    now: Now,
) -> Option<&'a mut Service> {
    let (written, seconds) = (datagram.service.written(), now.monotonic / SECOND);
    if !services.contains_key(written) {
        if services.len() >= limits.services {
            let oldest = services.iter().min_by_key(|(_, service)| service.last_seen);
            let oldest =
                oldest.filter(|(_, service)| service.last_seen + FORGOTTEN_SECONDS < seconds && service.rows() == 0);
            let oldest = oldest.map(|(written, _)| written.clone())?;
            services.remove(&oldest);
        }
        services.insert(written.into(), Service::new(datagram.service.plain().into_owned(), limits));
    }
    let service = services.get_mut(written)?;
    service.last_seen = seconds;
    Some(service)
}

/// The limits of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most services; further services are left out.
    pub services: usize,
    /// The most versions of a service; requests of further versions are left out.
    pub versions: usize,
    /// The most routes of a service; further routes count as `(other)`.
    pub routes: usize,
    /// The most bytes of the names of a service's routes together; further routes count as `(other)`. All services have
    /// four times as much, and each a tenth in any case.
    pub route_bytes: usize,
    /// The most classes of a service; further classes count as `(other)`.
    pub classes: usize,
    /// The most processes of a service. The least recently seen ones are forgotten, so the costs of their earlier
    /// requests and their last reading of CPU time are unknown if they send again.
    pub processes: usize,
    /// The most rows of all services; when they are reached, the rows are passed on before the second ends.
    pub rows: usize,
    /// The age, in seconds, up to which a request is added to the second in which it ended. A sender may keep its last
    /// lines until the next request, which may be hours later.
    pub late_seconds: u64,
}

impl Limits {
    /// Returns the most bytes of the names of a service's routes, if those of the other services have `others`.
    fn route_bytes_beside(&self, others: usize) -> usize {
        let shared = self.route_bytes.saturating_mul(4).saturating_sub(others);
        self.route_bytes.min(shared).max(self.route_bytes / 10)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            services: 20,
            versions: 24,
            routes: 200,
            route_bytes: 5 << 20,
            classes: 16,
            processes: 2_000,
            rows: 50_000,
            late_seconds: 86_400,
        }
    }
}
