//! The status of an agent as a document, and its services as lines of CSV.

use steady_feature::Report;
use steady_model::{Nanos, Reading};
use steady_render::csv::{Column, table};
use steady_render::document::{Block, Document, Emphasis, Fact, Section};
use steady_render::letters::{count, cut, one_line};
use steady_render::units::{TIE, duration, memory, percent, short, thousands};
use steady_render::{json, timestamp};

use crate::record::{
    AgentMetrics, AgentOutside, AgentRulers, AgentService, AgentStatus, AgentStore, LineFault, RunningAgent, SCHEMA,
    StoredService,
};

/// Readings a second of a ruler, below which the load is not known well enough.
const FEW_READINGS: f64 = 20.0;
/// Versions that are named; more are counted.
const NAMED: usize = 4;
/// Labels that services choose are cut to so many columns.
const LABEL: usize = 24;

impl Report for AgentStatus {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// It has no samples.
    fn json(&self, _samples: bool) -> String {
        json::text_by_lines(&SCHEMA, self, "services")
    }
}

/// The report: whether an agent runs, what arrives, what is in the store.
fn document(status: &AgentStatus) -> Document {
    let mut sections = Vec::new();
    if let Ok(agent) = &status.agent {
        sections.push(("Arrived", arrived(agent)));
        sections.push(("Services", agent.services.iter().map(service).collect()));
        sections.push(("From outside", agent.outside.iter().flat_map(outside).collect()));
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

/// The services that the agent has heard of, a line each.
fn csv(status: &AgentStatus) -> String {
    const COLUMNS: [Column<AgentService>; 7] = [
        ("service", |service| service.name.clone()),
        ("versions", |service| service.versions.join(" ")),
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
        Ok(agent) => {
            let process = format!("process{TIE}{}", agent.pid);
            let time = duration(seconds(agent.seconds.max(1)));
            let text = format!("The agent has been running for {time}: {process}, at '{}'.", one_line(&status.socket));
            (Emphasis::Heading, text)
        }
        Err(why) => (Emphasis::Open, format!("No agent runs at '{}': {why}.", one_line(&status.socket))),
    }
}

fn seconds(number: u64) -> Nanos {
    Nanos(number.saturating_mul(1_000_000_000))
}

fn outside(outside: &AgentOutside) -> Vec<Fact> {
    let requests = format!("{} requests of {}", big(outside.requests), one_line(&outside.service));
    let mut facts = vec![Fact::new("counted", requests)];
    facts.extend(outside.version.as_ref().map(|version| Fact::new("version", one_line(version))));
    let readings = format!("{}, of which {} failed", big(outside.readings), big(outside.failures));
    facts.push(Fact::new("readings", readings));
    facts.extend(outside.trouble.as_ref().map(|why| open("trouble", one_line(why))));
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
    let mut items =
        vec![Fact::new("requests", format!("{} in {} datagrams", big(arrived.requests), big(arrived.datagrams)))];
    let faults = LineFault::ALL.into_iter().filter(|fault| arrived.faults[fault.index()] > 0);
    let said = |fault: LineFault| {
        let (number, [one, many]) = (arrived.faults[fault.index()], fault_name(fault));
        format!("{}{TIE}{}", big(number), if number == 1 { one } else { many })
    };
    let faults: Vec<String> = faults.map(said).collect();
    let some =
        |number: u64, label: &str, what: &str| (number > 0).then(|| open(label, format!("{} {what}", big(number))));
    if !faults.is_empty() {
        items.push(open("wrong", faults.join(", ")));
    }
    items.extend(some(arrived.lost, "lost", "lines that services could not send"));
    items.extend(some(
        arrived.folded,
        "folded",
        "requests of services, versions, routes or classes that were one too many",
    ));
    items.extend(some(
        arrived.ends_replaced,
        "ends",
        "requests that ended when they cannot have; the time of receipt stands for it",
    ));
    items
}

/// What a fault is called, where there is one of it and where there are many.
fn fault_name(fault: LineFault) -> [&'static str; 2] {
    match fault {
        LineFault::Protocol => ["datagram of another version", "datagrams of another version"],
        LineFault::Head => ["datagram that does not say who speaks", "datagrams that do not say who speaks"],
        LineFault::TooLong => ["datagram that is too long", "datagrams that are too long"],
        LineFault::Letter => ["line with an unknown letter", "lines with an unknown letter"],
        LineFault::Fields => ["line with too few fields or too many", "lines with too few fields or too many"],
        LineFault::Number => ["line with a wrong number", "lines with a wrong number"],
        LineFault::Text => ["line with a wrong text", "lines with a wrong text"],
        LineFault::Assignment => ["line with an unknown assignment", "lines with an unknown assignment"],
        LineFault::Slot => ["line with a slot that cannot be", "lines with a slot that cannot be"],
        LineFault::Name => ["unknown name", "unknown names"],
    }
}

fn service(service: &AgentService) -> Fact {
    let named = if service.versions.is_empty() { without_version(service) } else { versions(&service.versions) };
    let rate = format!("{}{TIE}requests a second", short(service.per_second));
    let (processes, routes) =
        (count(service.processes, "process", "processes"), count(service.routes, "route", "routes"));
    let requests = format!("{} in all", big(service.requests));
    Fact::new(&cut(&one_line(&service.name), LABEL), [named, processes, routes, rate, requests].join(", "))
}

/// What is known of a service that named no version within the last minute.
fn without_version(service: &AgentService) -> String {
    const SILENT_SECONDS: u64 = 60;
    match service.silent_seconds {
        seconds if seconds >= SILENT_SECONDS => {
            format!("silent for {}", duration(self::seconds(seconds)))
        }
        _ => "no requests in the last minute".to_owned(),
    }
}

fn versions(versions: &[String]) -> String {
    match versions {
        some if some.len() <= NAMED => some.iter().map(|version| one_line(version)).collect::<Vec<_>>().join(" and "),
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
        let times = count(usize::try_from(clock.steps).unwrap_or(usize::MAX), "time", "times");
        items.push(open("clock", format!("set {times}, last by {}{TIE}s; rows go on by the time before", short(step))));
    } else if clock.ahead_seconds.abs() > 2.0 {
        items.push(open("clock", format!("rows are {}{TIE}s ahead of the time of day", short(clock.ahead_seconds))));
    }
    let writing = &agent.writing;
    items.push(Fact::new("written", format!("{} rows", big(writing.rows))));
    if let Some(why) = &writing.trouble {
        let waiting = count(writing.waiting, "second waits", "seconds wait");
        items.push(open("trouble", format!("nothing can be written: {}; {waiting}", one_line(why))));
    }
    if writing.given_up > 0 {
        items.push(open("given up", format!("{} requests that could not be written", big(writing.given_up))));
    }
    items.extend(agent.metrics.as_ref().ok().map(metrics));
    items
}

fn metrics(metrics: &AgentMetrics) -> Fact {
    let counted =
        |number: u64, one: &str, many: &str| format!("{}{TIE}{}", big(number), if number == 1 { one } else { many });
    let text = format!("{}, {}", metrics.url, counted(metrics.scrapes, "scrape answered", "scrapes answered"));
    if metrics.refused == 0 {
        return Fact::new("metrics", text);
    }
    let refused = counted(metrics.refused, "request without the token", "requests without the token");
    open("metrics", format!("{text}, {refused}"))
}

fn rulers(rulers: &Reading<AgentRulers>) -> Fact {
    let Ok(rulers) = rulers else {
        return open("rulers", format!("none: {}", rulers.as_ref().err().map_or("", |why| &why.0)));
    };
    let rates = rulers.per_second.iter().map(|(_, rate)| *rate);
    let (least, most) = (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
    let rates = if least.round() == most.round() { format!("{most:.0}") } else { format!("{least:.0} to {most:.0}") };
    let kinds = count(rulers.per_second.len(), "ruler", "rulers");
    let cpu =
        format!("{} of one CPU of the {} that it may take", percent(rulers.cpu_ratio), percent(rulers.cpu_limit_ratio));
    let text = format!("{kinds}, {rates} readings a second of each, {cpu}");
    // A second that ends within a gap has one less.
    if least < FEW_READINGS - 1.0 {
        return open("rulers", format!("{text}: fewer than the {FEW_READINGS} that a verdict by them needs"));
    }
    Fact::new("rulers", text)
}

fn stored(status: &AgentStatus) -> Vec<Fact> {
    let file = match &status.store_path {
        Ok(path) => Fact::new("file", one_line(path)),
        Err(why) => open("file", format!("not known: {why}")),
    };
    let of = |service: &StoredService| {
        let text = format!("{}, {} requests", versions(&service.versions), big(service.requests));
        Fact::new(&cut(&one_line(&service.name), LABEL), text)
    };
    let mut facts = vec![file];
    match &status.store {
        Ok(store) => {
            facts.extend(std::iter::once(Fact::new("holds", size(store))).chain(store.services.iter().map(of)))
        }
        Err(why) => facts.push(open("holds", format!("not known: {why}"))),
    }
    facts
}

/// How large a store is, and which time its rows cover.
fn size(store: &AgentStore) -> String {
    let bytes = memory(store.bytes.0 as f64);
    match (&store.first, &store.last) {
        (Ok(first), Ok(last)) => {
            let length = duration(seconds(last.0.saturating_sub(first.0) + 1));
            format!("{bytes}, {length} up to {}", timestamp::text(*last))
        }
        _ => format!("{bytes}, nothing yet"),
    }
}
