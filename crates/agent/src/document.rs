//! The status of an agent as a document, and its services as rows of CSV.

use steady_feature::Report;
use steady_model::{Nanos, Reading};
use steady_render::csv::{Column, table};
use steady_render::document::{Block, Document, Emphasis, Fact, Section};
use steady_render::letters::{count, cut, listed, numbered, one_line};
use steady_render::units::{TIE, duration, memory, percent, short, thousands};
use steady_render::{json, timestamp};

use crate::record::{
    AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStatus, AgentStore, LineFault, RunningAgent, SCHEMA,
    StoredService,
};

/// Readings of all rulers per second that a verdict needs; with fewer, the load of the host is not known well enough.
const FEW_READINGS: f64 = 20.0;
/// The most versions that are listed by name; more are only counted.
const NAMED: usize = 4;
/// A service that sent nothing for this long is silent. The counts of the last minute then say nothing about it.
const SILENT_SECONDS: u64 = 60;
/// The most columns of a service's name.
const LABEL: usize = 24;

impl Report for AgentStatus {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// Returns the same text with and without samples, because a status has none.
    fn json(&self, _samples: bool) -> String {
        json::text_by_lines(&SCHEMA, self, "services")
    }
}

/// Returns the report: whether an agent runs, what it receives, and what its store contains.
fn document(status: &AgentStatus) -> Document {
    let mut sections = Vec::new();
    if let Ok(agent) = &status.agent {
        sections.push(("Received", arrived(agent)));
        let is_silent = |service: &&AgentService| service.silent_seconds >= SILENT_SECONDS;
        let (silent, active): (Vec<_>, Vec<_>) = agent.services.iter().partition(is_silent);
        sections.push(("Services in the last minute", active.into_iter().map(service).collect()));
        sections.push(("Silent services", silent.into_iter().map(service).collect()));
        sections.push(("Counted from outside", agent.outside.iter().flat_map(outside).collect()));
        sections.push(("Agent", own(agent)));
    }
    sections.push(("Store", stored(status)));
    let sections = sections.into_iter().filter(|(_, facts)| !facts.is_empty());
    Document {
        subject: "Steadyhand: the status of an agent".to_owned(),
        answer: vec![vec![answer(status)]],
        sections: sections.map(|(heading, facts)| Section::new(heading, vec![Block::Facts(facts)]).whole()).collect(),
        is_brief: false,
    }
}

/// Returns a row of CSV for each service that the agent knows.
fn csv(status: &AgentStatus) -> String {
    const COLUMNS: [Column<AgentService>; 7] = [
        ("service", |service| service.name.clone()),
        ("versions", |service| service.versions.join("; ")),
        ("routes", |service| service.routes.to_string()),
        ("processes", |service| service.processes.to_string()),
        ("requests_per_second", |service| service.per_second.to_string()),
        ("requests", |service| service.requests.to_string()),
        ("silent_seconds", |service| service.silent_seconds.to_string()),
    ];
    table(&COLUMNS, status.agent.as_ref().map_or(&[], |agent| &agent.services))
}

fn answer(status: &AgentStatus) -> (Emphasis, String) {
    match &status.agent {
        Ok(agent) if !status.running => {
            let (pid, socket) = (agent.pid, one_line(&status.socket));
            let text = format!(
                "The agent still runs (process{TIE}{pid}), but its socket '{socket}' was removed, so services cannot \
                 reach it. Stop it with 'kill {pid}', and start it again."
            );
            (Emphasis::Open, text)
        }
        Ok(agent) => {
            let process = format!("process{TIE}{}", agent.pid);
            let time = duration(seconds(agent.seconds.max(1)));
            let text = format!("The agent has been running for {time}: {process}, at '{}'.", one_line(&status.socket));
            (Emphasis::Heading, text)
        }
        Err(why) => {
            let socket = one_line(&status.socket);
            let text = match (status.running, status.running_known) {
                (true, _) => format!("An agent listens at '{socket}', but its status is not known: {why}."),
                (false, true) => format!(
                    "No agent runs at '{socket}': {why}. Start one with 'steady agent', and with the same --socket if \
                     you gave one."
                ),
                (false, false) => format!("It is not known whether an agent runs at '{socket}': {why}."),
            };
            (Emphasis::Open, text)
        }
    }
}

fn seconds(number: u64) -> Nanos {
    Nanos(number.saturating_mul(1_000_000_000))
}

fn outside(outside: &AgentOutside) -> Vec<Fact> {
    let requests = numbered(outside.requests, "request", "requests");
    let requests = format!("{requests} of {}", one_line(&outside.service));
    let mut facts = vec![Fact::new("counted", requests)];
    facts.extend(outside.version.as_ref().map(|version| Fact::new("version", one_line(version))));
    let readings = format!("{}, of which {} failed", big(outside.readings), big(outside.failures));
    facts.push(Fact::new("readings", readings));
    facts.extend(outside.trouble.as_ref().map(|why| open("problem", one_line(why))));
    facts
}

fn open(label: &str, text: String) -> Fact {
    Fact::emphasized(label, Emphasis::Open, text)
}

fn big(number: u64) -> String {
    thousands(usize::try_from(number).unwrap_or(usize::MAX))
}

fn arrived(agent: &RunningAgent) -> Vec<Fact> {
    let arrived = &agent.arrived;
    let datagrams = if arrived.datagrams == 1 { "datagram" } else { "datagrams" };
    let requests = format!("{} in {} {datagrams}", big(arrived.requests), big(arrived.datagrams));
    let mut items = vec![Fact::new("requests", requests)];
    let faults = LineFault::ALL.into_iter().filter(|fault| arrived.faults[fault.index()] > 0);
    let counted_fault = |fault: LineFault| {
        let [one, many] = fault_name(fault);
        numbered(arrived.faults[fault.index()], one, many)
    };
    let faults: Vec<String> = faults.map(counted_fault).collect();
    if !faults.is_empty() {
        items.push(open("invalid", faults.join(", ")));
    }
    let some = |number: u64, label: &str, one: &str, many: &str, what: &str| {
        (number > 0).then(|| open(label, format!("{} {what}", numbered(number, one, many))))
    };
    items.extend((arrived.lost > 0).then(|| {
        let lines = numbered(arrived.lost, "line", "lines");
        open("lost", format!("at least {lines} that services could not send"))
    }));
    items.extend((arrived.folded > 0).then(|| {
        let (left_out, other) = (big(arrived.left_out), big(arrived.folded.saturating_sub(arrived.left_out)));
        let text = format!(
            "{} of these requests: {left_out} of further services or versions (left out), {other} of further routes or \
             classes (counted as '(other)')",
            big(arrived.folded)
        );
        open("folded", text)
    }));
    items.extend(some(
        arrived.ends_replaced,
        "end times",
        "request",
        "requests",
        "with an impossible end time; the time of receipt replaces it",
    ));
    items
}

/// Returns the singular and the plural of what has this fault.
fn fault_name(fault: LineFault) -> [&'static str; 2] {
    match fault {
        LineFault::Protocol => ["datagram of another protocol version", "datagrams of another protocol version"],
        LineFault::Head => ["datagram with an invalid first line", "datagrams with an invalid first line"],
        LineFault::TooLong => ["datagram that is too long", "datagrams that are too long"],
        LineFault::Letter => ["line with an unknown first letter", "lines with an unknown first letter"],
        LineFault::Fields => ["line with a wrong number of fields", "lines with a wrong number of fields"],
        LineFault::Number => ["line with an invalid number", "lines with an invalid number"],
        LineFault::Text => ["line with an invalid text", "lines with an invalid text"],
        LineFault::Assignment => ["line with an unknown assignment", "lines with an unknown assignment"],
        LineFault::Slot => ["line with an invalid slot", "lines with an invalid slot"],
        LineFault::Name => ["unknown field name", "unknown field names"],
    }
}

fn service(service: &AgentService) -> Fact {
    let label = cut(&one_line(&service.name), LABEL);
    let requests = format!("{}{TIE}in{TIE}total", big(service.requests));
    if service.silent_seconds >= SILENT_SECONDS {
        return Fact::new(&label, format!("silent for {}, {requests}", duration(seconds(service.silent_seconds))));
    }
    let named = match &service.versions[..] {
        [] => "no requests in the last minute".to_owned(),
        some => versions(some),
    };
    let rate = format!("{}{TIE}requests per second", short(service.per_second));
    let (processes, routes) =
        (count(service.processes, "process", "processes"), count(service.routes, "route", "routes"));
    Fact::new(&label, [named, processes, routes, rate, requests].join(", "))
}

fn versions(versions: &[String]) -> String {
    match versions {
        some if some.len() <= NAMED => listed(&some.iter().map(|version| one_line(version)).collect::<Vec<_>>()),
        many => count(many.len(), "version", "versions"),
    }
}

fn own(agent: &RunningAgent) -> Vec<Fact> {
    let mut items = vec![rulers(&agent.rulers)];
    if let Ok(peak) = &agent.peak_memory {
        items.push(Fact::new("memory", format!("{} at most", memory(peak.0 as f64))));
    }
    let clock = &agent.clock;
    if let Ok(step) = clock.last_step_seconds {
        let times = numbered(clock.steps, "time", "times");
        let text = format!("set {times}, last by {}{TIE}s; rows continue with the previous time", short(step));
        items.push(open("clock", text));
    } else if clock.ahead_seconds.abs() > 2.0 {
        items.push(open("clock", format!("rows are {}{TIE}s ahead of the time of day", short(clock.ahead_seconds))));
    }
    let writing = &agent.writing;
    items.push(Fact::new("written", numbered(writing.rows, "row", "rows")));
    if let Some(why) = &writing.trouble {
        let waiting = count(writing.waiting, "second waits", "seconds wait");
        items.push(open("problem", format!("rows cannot be written: {}; {waiting}", one_line(why))));
    }
    if writing.given_up > 0 {
        let requests = numbered(writing.given_up, "request", "requests");
        items.push(open("given up", format!("{requests} that could not be written")));
    }
    items.extend(agent.metrics.as_ref().ok().map(metrics));
    items
}

fn metrics(metrics: &AgentMetrics) -> Fact {
    let text = format!("{}, {}", metrics.url, numbered(metrics.scrapes, "scrape answered", "scrapes answered"));
    if metrics.refused == 0 {
        return Fact::new("metrics", text);
    }
    let refused = numbered(metrics.refused, "request without the token", "requests without the token");
    open("metrics", format!("{text}, {refused}"))
}

fn rulers(rulers: &Reading<AgentRulers>) -> Fact {
    let Ok(rulers) = rulers else {
        return open("rulers", format!("not measured: {}", rulers.as_ref().err().map_or("", |why| &why.0)));
    };
    let rates = rulers.per_second.iter().map(|(_, rate)| *rate);
    let (least, most) = (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
    let rates = if least.round() == most.round() {
        numbered(most.round() as u64, "reading", "readings")
    } else {
        format!("{least:.0} to {most:.0} readings")
    };
    let kinds = count(rulers.per_second.len(), "ruler", "rulers");
    let cpu = format!("{} of one CPU (limit: {})", percent(rulers.cpu_ratio), percent(rulers.cpu_limit_ratio));
    let text = format!("{kinds}, {rates} of each per second, {cpu}");
    let all: f64 = rulers.per_second.iter().map(|(_, rate)| *rate).sum();
    // A second that ends between two readings has one reading less.
    if all < FEW_READINGS - 1.0 {
        return open(
            "rulers",
            format!(
                "{text}; comparisons of one version after the other need {FEW_READINGS} of all rulers together, from \
                 the agent or from the workers"
            ),
        );
    }
    Fact::new("rulers", text)
}

fn stored(status: &AgentStatus) -> Vec<Fact> {
    let file = match &status.store_path {
        Ok(path) => Fact::new("file", one_line(path)),
        Err(why) => open("file", format!("not known: {why}")),
    };
    let of = |service: &StoredService| {
        let requests = numbered(service.requests, "request", "requests");
        let text = format!("{}, {requests}", versions(&service.versions));
        Fact::new(&cut(&one_line(&service.name), LABEL), text)
    };
    let mut facts = vec![file];
    match &status.store {
        Ok(store) => {
            facts.extend(std::iter::once(Fact::new("contains", size(store))).chain(store.services.iter().map(of)))
        }
        Err(why) => facts.push(open("contains", format!("not known: {why}"))),
    }
    facts
}

/// Returns the size of a store, and the time that its rows cover.
fn size(store: &AgentStore) -> String {
    let bytes = memory(store.bytes.0 as f64);
    match (&store.first, &store.last) {
        (Ok(first), Ok(last)) => {
            let length = duration(seconds(last.0.saturating_sub(first.0) + 1));
            format!("{bytes}, {length} until {}", timestamp::text(*last))
        }
        _ => format!("{bytes}, no rows yet"),
    }
}
