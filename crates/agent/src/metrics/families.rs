//! The metrics: what each is called, what it says, and what it is taken from. docs/metrics.md lists them.

use steady_model::{RequestSums, RulerSums};

use super::sums::{Service, Share, Sums};
use super::text::{Head, Kind, Value};
use Kind::{Counter, Gauge, Histogram, Info};
use Value::{Real, Whole};

/// What the samples of a family are taken from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Sums of requests, by service, version, route and how the version was decided.
    Requests(fn(&RequestSums) -> Value),
    /// The same, but for what is counted from outside, of which nothing more is known.
    Inside(fn(&RequestSums) -> Value),
    /// Wall times, by service and version.
    Walls,
    /// A service's own.
    Services(fn(&Service) -> u64),
    /// Rulers, by service, version and kind.
    Rulers(fn(&RulerSums) -> Value),
    /// The agent's own rulers, by kind.
    OwnRulers(fn(&RulerSums) -> Value),
    /// One sample without labels, where it can be had.
    Single(fn(&Sums) -> Option<Value>),
    /// What was wrong with datagrams, by kind.
    Faults,
    /// The agent's version.
    Version,
}

/// A metric.
pub(super) struct Family {
    pub(super) head: Head,
    pub(super) source: Source,
}

const fn family(kind: Kind, name: &'static str, help: &'static str, source: Source) -> Family {
    Family { head: Head { name, kind, help }, source }
}

/// All of them, in the order of a page.
pub(super) const FAMILIES: &[Family] = &[
    family(
        Counter,
        "steady_requests",
        "Requests past the warm-up of their process.",
        Source::Requests(|sums| Whole(sums.requests)),
    ),
    family(
        Counter,
        "steady_requests_warming",
        "Requests among the first of their process, which are in no other metric.",
        Source::Inside(|sums| Whole(sums.warming)),
    ),
    family(
        Counter,
        "steady_requests_failed",
        "Requests answered with a status of 500 or above, or not at all.",
        Source::Inside(|sums| Whole(sums.failed)),
    ),
    family(Counter, "steady_requests_cpu_seconds", "CPU time of requests.", Source::Requests(|sums| seconds(sums.cpu))),
    family(
        Counter,
        "steady_requests_cpu_seconds_squared",
        "Squares of the CPU time of each request.",
        Source::Inside(|sums| Real(sums.cpu_squared / 1e18)),
    ),
    family(
        Counter,
        "steady_requests_cpu_log",
        "Natural logarithms of the CPU time of each request in nanoseconds, by a robust estimate.",
        Source::Inside(|sums| Real(sums.log)),
    ),
    family(
        Counter,
        "steady_requests_cpu_log_squared",
        "Squares of these logarithms.",
        Source::Inside(|sums| Real(sums.log_squared)),
    ),
    family(
        Counter,
        "steady_requests_before_log",
        "16 and, for each request, how far the requests before it in its process lay from what is usual, as a logarithm.",
        Source::Inside(|sums| Real(sums.before)),
    ),
    family(
        Counter,
        "steady_requests_before_log_squared",
        "Squares of what each request adds to steady_requests_before_log_total.",
        Source::Inside(|sums| Real(sums.before_squared)),
    ),
    family(
        Counter,
        "steady_requests_before_product",
        "Products of what each request adds to steady_requests_before_log_total and steady_requests_cpu_log_total.",
        Source::Inside(|sums| Real(sums.before_log)),
    ),
    family(
        Counter,
        "steady_requests_wall_seconds",
        "Wall time of requests.",
        Source::Inside(|sums| seconds(sums.wall)),
    ),
    family(
        Counter,
        "steady_requests_watched",
        "Requests of which it is known how long they waited for a CPU.",
        Source::Inside(|sums| Whole(sums.watched)),
    ),
    family(
        Counter,
        "steady_requests_watched_cpu_seconds",
        "CPU time of watched requests.",
        Source::Inside(|sums| seconds(sums.watched_cpu)),
    ),
    family(
        Counter,
        "steady_requests_watched_wall_seconds",
        "Wall time of watched requests.",
        Source::Inside(|sums| seconds(sums.watched_wall)),
    ),
    family(
        Counter,
        "steady_requests_watched_waiting_seconds",
        "Time that watched requests waited for a CPU.",
        Source::Inside(|sums| seconds(sums.watched_delay)),
    ),
    family(Histogram, "steady_request_wall_seconds", "Wall time of each request, over all routes.", Source::Walls),
    family(
        Counter,
        "steady_requests_lost",
        "Lines of requests lost on the way to the agent, as far as that is known.",
        Source::Services(|service| service.lost),
    ),
    family(
        Counter,
        "steady_requests_folded",
        "Requests folded into others, or left out, for want of room.",
        Source::Services(|service| service.folded),
    ),
    family(
        Counter,
        "steady_ruler_readings",
        "Readings of rulers before requests, on their threads.",
        Source::Rulers(|sums| Whole(sums.readings)),
    ),
    family(
        Counter,
        "steady_ruler_log",
        "Natural logarithms of the nanoseconds of each reading.",
        Source::Rulers(|sums| Real(sums.log)),
    ),
    family(
        Counter,
        "steady_ruler_log_squared",
        "Squares of these logarithms.",
        Source::Rulers(|sums| Real(sums.log_squared)),
    ),
    family(
        Counter,
        "steady_agent_ruler_readings",
        "Readings of the agent's own rulers.",
        Source::OwnRulers(|sums| Whole(sums.readings)),
    ),
    family(
        Counter,
        "steady_agent_ruler_log",
        "Natural logarithms of the nanoseconds of each reading of the agent's own.",
        Source::OwnRulers(|sums| Real(sums.log)),
    ),
    family(
        Counter,
        "steady_agent_ruler_log_squared",
        "Squares of these logarithms.",
        Source::OwnRulers(|sums| Real(sums.log_squared)),
    ),
    family(
        Gauge,
        "steady_host_cpus",
        "CPUs online.",
        Source::Single(|sums| sums.host.cpus.map(|cpus| Whole(cpus.into()))),
    ),
    family(
        Counter,
        "steady_host_busy_observed_seconds",
        "Seconds in which it was read how busy the CPUs were.",
        Source::Single(|sums| observed(sums.host.busy)),
    ),
    family(
        Counter,
        "steady_host_busy_seconds",
        "The sum of the share of all CPUs that was busy in each of these.",
        Source::Single(|sums| share(sums.host.busy)),
    ),
    family(
        Counter,
        "steady_host_steal_observed_seconds",
        "Seconds in which it was read what a hypervisor took.",
        Source::Single(|sums| observed(sums.host.steal)),
    ),
    family(
        Counter,
        "steady_host_steal_seconds",
        "The sum of the share of all CPUs that a hypervisor took in each of these.",
        Source::Single(|sums| share(sums.host.steal)),
    ),
    family(
        Counter,
        "steady_host_pressure_observed_seconds",
        "Seconds in which the pressure on the CPUs was read.",
        Source::Single(|sums| observed(sums.host.pressure)),
    ),
    family(
        Counter,
        "steady_host_pressure_seconds",
        "The sum of the share of each of these in which somebody waited for a CPU.",
        Source::Single(|sums| share(sums.host.pressure)),
    ),
    family(Info, "steady_agent", "The agent's own version.", Source::Version),
    family(
        Gauge,
        "steady_agent_start_time_seconds",
        "When the agent began, since 1970; what is counted began at 0 then.",
        Source::Single(|sums| Some(Real(sums.start))),
    ),
    family(
        Counter,
        "steady_agent_datagrams",
        "Datagrams that arrived.",
        Source::Single(|sums| Some(Whole(sums.arrived.datagrams))),
    ),
    family(Counter, "steady_agent_faults", "What was wrong with datagrams and their lines.", Source::Faults),
    family(
        Counter,
        "steady_agent_lost_lines",
        "Lines that services say they have dropped.",
        Source::Single(|sums| Some(Whole(sums.arrived.lost))),
    ),
    family(
        Counter,
        "steady_agent_folded_requests",
        "Requests that are in no rows of their own, for want of room.",
        Source::Single(|sums| Some(Whole(sums.arrived.folded))),
    ),
    family(
        Counter,
        "steady_agent_given_up_requests",
        "Requests that could not be written to the store.",
        Source::Single(|sums| Some(Whole(sums.given_up))),
    ),
];

/// The agent's version.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

fn seconds(nanoseconds: f64) -> Value {
    Real(nanoseconds / 1e9)
}

fn observed(share: Share) -> Option<Value> {
    (share.observed > 0).then_some(Whole(share.observed))
}

fn share(share: Share) -> Option<Value> {
    (share.observed > 0).then_some(Real(share.sum))
}
