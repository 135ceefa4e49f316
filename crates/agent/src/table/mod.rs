//! The rows of the seconds that are open: what arrives is added to them, and all of it is bounded, whatever arrives.

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

/// A service that was not heard of for so long makes room for others.
const FORGOTTEN_SECONDS: u64 = 600;

/// When something happens: nanoseconds of the monotonic clock, and the whole seconds that lead from it to seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The former.
    pub monotonic: u64,
    /// The latter.
    pub ahead: i64,
}

impl Now {
    /// The second since 1970 that a moment of the monotonic clock lies in.
    pub fn second_of(&self, moment: u64) -> u64 {
        (moment / SECOND).saturating_add_signed(self.ahead)
    }

    /// This second, since 1970.
    pub fn second(&self) -> u64 {
        self.second_of(self.monotonic)
    }
}

/// What was told of all services since the last [`Table::take`], and what must be known to add more.
#[derive(Debug, Default)]
pub struct Table {
    limits: Limits,
    services: HashMap<Box<str>, Service>,
    arrived: Arrived,
}

impl Table {
    /// An empty one.
    pub fn new(limits: Limits) -> Table {
        Table { limits, ..Table::default() }
    }

    /// Takes in what arrived in one datagram.
    pub fn take_in(&mut self, datagram: &[u8], now: Now) {
        self.arrived.datagrams += 1;
        let datagram = match Datagram::of(datagram) {
            Ok(datagram) => datagram,
            Err(fault) => return self.fault(fault),
        };
        let Table { limits, services, arrived } = self;
        let Some(service) = service_of(services, limits, &datagram, now) else {
            for line in datagram.lines() {
                match line {
                    Ok(Line::Request(_)) => arrived.folded += 1,
                    Ok(Line::Process(_)) => {}
                    Ok(Line::Lost(lines)) => arrived.lost = arrived.lost.saturating_add(lines),
                    Err(fault) => arrived.faults[fault.index()] += 1,
                }
            }
            return;
        };
        let process =
            service.processes.heard(datagram.process, now.monotonic / SECOND, limits.processes, &mut service.fold);
        for line in datagram.lines() {
            match line {
                Ok(Line::Request(request)) => service.add(&request, process, limits, now, arrived),
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

    /// A datagram that was cut off, for it was too long.
    pub fn too_long(&mut self) {
        self.arrived.datagrams += 1;
        self.fault(LineFault::TooLong);
    }

    fn fault(&mut self, fault: LineFault) {
        self.arrived.faults[fault.index()] += 1;
    }

    /// Whether there are so many rows that they should be taken before more are added.
    pub fn is_full(&self) -> bool {
        self.services.values().map(Service::rows).sum::<usize>() >= self.limits.rows
    }

    /// Takes all rows, by service.
    pub fn take(&mut self, host: &str) -> Vec<ReleaseRows> {
        let taken = self.services.values_mut().map(|service| service.take(host));
        taken.filter(|rows| !is_empty(rows)).collect()
    }

    /// A second has passed.
    pub fn tick(&mut self) {
        self.services.values_mut().for_each(Service::tick);
    }

    /// Books requests of rows that were given up as lost.
    pub fn give_up(&mut self, rows: &[ReleaseRows]) {
        for rows in rows {
            let told = rows.requests.iter().map(|row| row.sums.requests + row.sums.warming).sum::<u64>();
            if let Some(service) = self.services.values_mut().find(|service| service.name == rows.service) {
                service.lost = service.lost.saturating_add(told + rows.lost);
            }
        }
    }

    /// What has arrived so far.
    pub fn arrived(&self) -> &Arrived {
        &self.arrived
    }

    /// The services that were heard of lately, by name.
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

/// The service that speaks; `None` where it is one too many.
fn service_of<'a>(
    services: &'a mut HashMap<Box<str>, Service>,
    limits: &Limits,
    datagram: &Datagram<'_>,
    now: Now,
) -> Option<&'a mut Service> {
    let (written, seconds) = (datagram.service.written(), now.monotonic / SECOND);
    if !services.contains_key(written) {
        if services.len() >= limits.services {
            let oldest = services.iter().min_by_key(|(_, service)| service.heard);
            let oldest =
                oldest.filter(|(_, service)| service.heard + FORGOTTEN_SECONDS < seconds && service.rows() == 0);
            let oldest = oldest.map(|(written, _)| written.clone())?;
            services.remove(&oldest);
        }
        services.insert(written.into(), Service::new(datagram.service.plain().into_owned(), limits));
    }
    let service = services.get_mut(written)?;
    service.heard = seconds;
    Some(service)
}

/// How many there may be of what services name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Services; more are left out.
    pub services: usize,
    /// Versions of a service; requests of more are left out.
    pub versions: usize,
    /// Routes of a service; more are folded into `(other)`.
    pub routes: usize,
    /// Classes of requests of a service; more are folded into `(other)`.
    pub classes: usize,
    /// Processes of a service; the least recently heard of are forgotten, which loses what their last request took.
    pub processes: usize,
    /// Rows of all services at a time; then they are written before their second is over.
    pub rows: usize,
    /// How long ago, in seconds, a request may have ended to be added to its own second.
    pub late_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            services: 20,
            versions: 24,
            routes: 200,
            classes: 16,
            processes: 2_000,
            rows: 50_000,
            late_seconds: 86_400,
        }
    }
}
