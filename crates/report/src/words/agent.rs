//! What the agent tells of itself, in words.

use steady_model::{
    AgentMetrics, AgentRulers, AgentService, AgentStatus, AgentStore, LineFault, Nanos, Reading, RunningAgent,
    Timestamp,
};

use crate::json::started;
use crate::text::Paint;
use crate::units::{TIE, duration, memory, percent, short, thousands};
use crate::words::{count, one_line};

/// A heading, and lines with a label each.
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    pub(crate) items: Vec<(String, Paint, String)>,
}

/// Readings a second of a ruler, below which the load is not known well enough.
const FEW_READINGS: f64 = 20.0;
/// Versions that are named; more are counted.
const NAMED: usize = 4;

/// Whether it runs.
pub(crate) fn sentence(status: &AgentStatus) -> (Paint, String) {
    match &status.agent {
        Ok(agent) => {
            let process = format!("process{TIE}{}", agent.pid);
            let time = duration(Nanos(agent.seconds.max(1).saturating_mul(1_000_000_000)));
            let text = format!("The agent has been running for {time}: {process}, at '{}'.", one_line(&status.socket));
            (Paint::Heading, text)
        }
        Err(why) => (Paint::Open, format!("No agent runs at '{}': {why}.", one_line(&status.socket))),
    }
}

/// All that there is to tell.
pub(crate) fn sections(status: &AgentStatus) -> Vec<Section> {
    let mut sections = Vec::new();
    if let Ok(agent) = &status.agent {
        sections.push(Section { heading: "Arrived", items: arrived(agent) });
        if !agent.services.is_empty() {
            sections.push(Section { heading: "Services", items: agent.services.iter().map(service).collect() });
        }
        if let Some(outside) = &agent.outside {
            let mut items =
                vec![plain("counted", format!("{} requests of {}", big(outside.requests), one_line(&outside.service)))];
            if let Some(version) = &outside.version {
                items.push(plain("version", one_line(version)));
            }
            items.push(plain(
                "readings",
                format!("{}, {} of them in vain", big(outside.readings), big(outside.failures)),
            ));
            items.extend(outside.trouble.as_ref().map(|why| open("trouble", one_line(why))));
            sections.push(Section { heading: "From outside", items });
        }
        sections.push(Section { heading: "Agent", items: own(agent) });
    }
    let path = match &status.store_path {
        Ok(path) => plain("file", one_line(path)),
        Err(why) => open("file", format!("not known: {why}")),
    };
    let mut items = vec![path];
    match &status.store {
        Ok(store) => items.extend(stored(store)),
        Err(why) => items.push(open("holds", format!("not known: {why}"))),
    }
    sections.push(Section { heading: "Store", items });
    sections
}

fn plain(label: &str, text: String) -> (String, Paint, String) {
    (label.to_owned(), Paint::Plain, text)
}

fn open(label: &str, text: String) -> (String, Paint, String) {
    (label.to_owned(), Paint::Open, text)
}

fn big(number: u64) -> String {
    thousands(usize::try_from(number).unwrap_or(usize::MAX))
}

fn arrived(agent: &RunningAgent) -> Vec<(String, Paint, String)> {
    let arrived = &agent.arrived;
    let mut items =
        vec![plain("requests", format!("{} in {} datagrams", big(arrived.requests), big(arrived.datagrams)))];
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

fn service(service: &AgentService) -> (String, Paint, String) {
    let named = if service.versions.is_empty() { without_version(service) } else { versions(&service.versions) };
    let rate = format!("{}{TIE}requests a second", short(service.per_second));
    let (processes, routes) =
        (count(service.processes, "process", "processes"), count(service.routes, "route", "routes"));
    let requests = format!("{} in all", big(service.requests));
    plain(&one_line(&service.name), [named, processes, routes, rate, requests].join(", "))
}

/// What is known of a service that named no version within the last minute.
fn without_version(service: &AgentService) -> String {
    const SILENT_SECONDS: u64 = 60;
    match service.silent_seconds {
        seconds if seconds >= SILENT_SECONDS => {
            format!("silent for {}", duration(Nanos(seconds.saturating_mul(1_000_000_000))))
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

fn own(agent: &RunningAgent) -> Vec<(String, Paint, String)> {
    let mut items = vec![rulers(&agent.rulers)];
    if let Ok(peak) = &agent.peak_memory {
        items.push(plain("memory", format!("{} at most", memory(peak.0 as f64))));
    }
    let clock = &agent.clock;
    if let Some(step) = clock.last_step_seconds {
        let times = count(usize::try_from(clock.steps).unwrap_or(usize::MAX), "time", "times");
        items.push(open("clock", format!("set {times}, last by {}{TIE}s; rows go on by the time before", short(step))));
    } else if clock.ahead_seconds.abs() > 2.0 {
        items.push(open("clock", format!("rows are {}{TIE}s ahead of the time of day", short(clock.ahead_seconds))));
    }
    let writing = &agent.writing;
    items.push(plain("written", format!("{} rows", big(writing.rows))));
    if let Some(why) = &writing.trouble {
        let waiting = count(writing.waiting, "second waits", "seconds wait");
        items.push(open("trouble", format!("nothing can be written: {}; {waiting}", one_line(why))));
    }
    if writing.given_up > 0 {
        items.push(open("given up", format!("{} requests that could not be written", big(writing.given_up))));
    }
    items.extend(agent.metrics.as_ref().map(metrics));
    items
}

fn metrics(metrics: &AgentMetrics) -> (String, Paint, String) {
    let counted =
        |number: u64, one: &str, many: &str| format!("{}{TIE}{}", big(number), if number == 1 { one } else { many });
    let text = format!("{}, {}", metrics.url, counted(metrics.scrapes, "scrape answered", "scrapes answered"));
    if metrics.refused == 0 {
        return plain("metrics", text);
    }
    let refused = counted(metrics.refused, "request without the token", "requests without the token");
    open("metrics", format!("{text}, {refused}"))
}

fn rulers(rulers: &Reading<AgentRulers>) -> (String, Paint, String) {
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
    plain("rulers", text)
}

fn stored(store: &AgentStore) -> Vec<(String, Paint, String)> {
    let span = match (store.first, store.last) {
        (Some(first), Some(last)) => {
            let length = duration(Nanos((last - first.min(last) + 1).saturating_mul(1_000_000_000)));
            format!("{}, {length} up to {}", memory(store.bytes.0 as f64), started(Timestamp(last)))
        }
        _ => format!("{}, nothing yet", memory(store.bytes.0 as f64)),
    };
    let of = |service: &steady_model::StoredService| {
        plain(&one_line(&service.name), format!("{}, {} requests", versions(&service.versions), big(service.requests)))
    };
    std::iter::once(plain("holds", span)).chain(store.services.iter().map(of)).collect()
}
