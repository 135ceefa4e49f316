//! The table of metrics: name, help text and source of each. docs/metrics.md lists them.

use steady_model::{LevelSums, RequestSums, RulerSums};

use super::sums::{ProcessCpu, PublishedSums, Service, Share};
use super::text::{Head, Kind, Value};
use Kind::{Counter, Gauge, Histogram, Info};
use Value::{Real, Whole};

/// The source of the samples of a family.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Sums of requests, by service, version, route, class and how the version was decided.
    Requests(fn(&RequestSums) -> Value),
    /// The same sums, except of requests that were counted from outside, for which they are not known.
    Inside(fn(&RequestSums) -> Value),
    /// Sums in levels, by the same labels; only if they are known for all requests of the series.
    Levels(fn(&LevelSums) -> Value),
    /// CPU time of processes in nanoseconds, by service and version.
    Processes(fn(&ProcessCpu) -> f64),
    /// Wall times, by service and version.
    Walls,
    /// Counts of a service, by service.
    Services(fn(&Service) -> u64),
    /// Readings of rulers, by service, version and ruler.
    Rulers(fn(&RulerSums) -> Value),
    /// Readings of the agent's own rulers, by ruler.
    OwnRulers(fn(&RulerSums) -> Value),
    /// One sample without labels, or none if the value is not known.
    Single(fn(&PublishedSums) -> Option<Value>),
    /// Faults of datagrams and lines, by kind.
    Faults,
    /// One sample with the version of the agent as a label.
    Version,
}

/// A family of metrics with one name.
pub(super) struct Family {
    pub(super) head: Head,
    pub(super) source: Source,
}

const fn family(kind: Kind, name: &'static str, help: &'static str, source: Source) -> Family {
    Family { head: Head { name, kind, help }, source }
}

/// All families, in the order of a page.
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
        "Requests of the warm-up of their process, which no other metric of requests includes.",
        Source::Inside(|sums| Whole(sums.first_requests)),
    ),
    family(
        Counter,
        "steady_requests_failed",
        "Requests answered with a status of 500 or above, or not answered.",
        Source::Inside(|sums| Whole(sums.failed)),
    ),
    family(Counter, "steady_requests_cpu_seconds", "CPU time of requests.", Source::Requests(|sums| seconds(sums.cpu))),
    family(
        Counter,
        "steady_requests_cpu_seconds_squared",
        "Squares of the CPU time of each request, in square seconds.",
        Source::Inside(|sums| squared_seconds(sums.cpu_squared)),
    ),
    family(
        Counter,
        "steady_requests_cpu_log",
        "Natural logarithms of the CPU time of each request in nanoseconds, with outliers limited.",
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
        "16 plus the deviation of earlier requests of the process from their usual cost, as logarithms.",
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
        "Requests for which the time that they waited for a CPU is known.",
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
    family(
        Counter,
        "steady_requests_exceeding",
        "Requests whose CPU time exceeded the bound, a multiple of the usual CPU time of their route and class.",
        Source::Levels(|sums| Whole(sums.exceeding)),
    ),
    family(
        Counter,
        "steady_requests_excess_cpu_seconds",
        "CPU time above the bound.",
        Source::Levels(|sums| seconds(sums.excess)),
    ),
    family(
        Counter,
        "steady_requests_excess_cpu_seconds_squared",
        "Squares of the CPU time of each request above the bound, in square seconds.",
        Source::Levels(|sums| squared_seconds(sums.excess_squared)),
    ),
    family(
        Counter,
        "steady_requests_excess_product",
        "Products of the CPU time of each request up to the bound and above it, in square seconds.",
        Source::Levels(|sums| squared_seconds(sums.base_excess)),
    ),
    family(
        Gauge,
        "steady_requests_recent_seconds",
        "Running sum of the covariate from earlier requests of the process; may decrease.",
        Source::Levels(|sums| seconds(sums.recent)),
    ),
    family(
        Counter,
        "steady_requests_recent_seconds_squared",
        "Squares of the covariate from earlier requests, in square seconds.",
        Source::Levels(|sums| squared_seconds(sums.recent_squared)),
    ),
    family(
        Gauge,
        "steady_requests_recent_product",
        "Running sum of its products with CPU time up to the bound, in square seconds; may decrease.",
        Source::Levels(|sums| squared_seconds(sums.recent_base)),
    ),
    family(
        Gauge,
        "steady_requests_recent_excess_product",
        "Running sum of its products with CPU time above the bound, in square seconds; may decrease.",
        Source::Levels(|sums| squared_seconds(sums.recent_excess)),
    ),
    family(
        Gauge,
        "steady_requests_ruler_seconds",
        "Running sum of the covariate from the ruler before the request; may decrease.",
        Source::Levels(|sums| seconds(sums.ruler)),
    ),
    family(
        Counter,
        "steady_requests_ruler_seconds_squared",
        "Squares of the covariate from the ruler, in square seconds.",
        Source::Levels(|sums| squared_seconds(sums.ruler_squared)),
    ),
    family(
        Gauge,
        "steady_requests_ruler_product",
        "Running sum of its products with CPU time up to the bound, in square seconds; may decrease.",
        Source::Levels(|sums| squared_seconds(sums.ruler_base)),
    ),
    family(
        Gauge,
        "steady_requests_ruler_excess_product",
        "Running sum of its products with CPU time above the bound, in square seconds; may decrease.",
        Source::Levels(|sums| squared_seconds(sums.ruler_excess)),
    ),
    family(
        Gauge,
        "steady_requests_recent_ruler_product",
        "Running sum of the products of both covariates, in square seconds; may decrease.",
        Source::Levels(|sums| squared_seconds(sums.recent_ruler)),
    ),
    family(
        Counter,
        "steady_process_cpu_seconds",
        "CPU time of the processes of a service, all threads together.",
        Source::Processes(|sums| sums.cpu),
    ),
    family(
        Counter,
        "steady_process_requests_cpu_seconds",
        "The part of steady_process_cpu_seconds that requests used.",
        Source::Processes(|sums| sums.requests_cpu),
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
        "Requests beyond a limit: counted under the route or class (other), or left out.",
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
        "Natural logarithms of the nanoseconds of each reading of the agent's own rulers.",
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
        "Seconds in which the busy share of the CPUs was read.",
        Source::Single(|sums| observed(sums.host.busy)),
    ),
    family(
        Counter,
        "steady_host_busy_seconds",
        "Sum of the busy share of all CPUs over these seconds.",
        Source::Single(|sums| share(sums.host.busy)),
    ),
    family(
        Counter,
        "steady_host_steal_observed_seconds",
        "Seconds in which the share of CPU time that a hypervisor took was read.",
        Source::Single(|sums| observed(sums.host.steal)),
    ),
    family(
        Counter,
        "steady_host_steal_seconds",
        "Sum of the share of all CPUs that a hypervisor took over these seconds.",
        Source::Single(|sums| share(sums.host.steal)),
    ),
    family(
        Counter,
        "steady_host_pressure_observed_seconds",
        "Seconds in which the CPU pressure (PSI some) was read.",
        Source::Single(|sums| observed(sums.host.pressure)),
    ),
    family(
        Counter,
        "steady_host_pressure_seconds",
        "Sum over these seconds of the share of time in which a task waited for a CPU.",
        Source::Single(|sums| share(sums.host.pressure)),
    ),
    family(Info, "steady_agent", "The agent's own version.", Source::Version),
    family(
        Gauge,
        "steady_agent_start_time_seconds",
        "Start time of the agent since 1970; counters are 0 at that time.",
        Source::Single(|sums| Some(Real(sums.start))),
    ),
    family(
        Counter,
        "steady_agent_datagrams",
        "Datagrams that arrived.",
        Source::Single(|sums| Some(Whole(sums.arrived.datagrams))),
    ),
    family(Counter, "steady_agent_faults", "Faults of datagrams and their lines.", Source::Faults),
    family(
        Counter,
        "steady_agent_lost_lines",
        "Lines that services report as dropped.",
        Source::Single(|sums| Some(Whole(sums.arrived.lost))),
    ),
    family(
        Counter,
        "steady_agent_folded_requests",
        "Requests beyond a limit of services, versions, routes or classes.",
        Source::Single(|sums| Some(Whole(sums.arrived.folded))),
    ),
    family(
        Counter,
        "steady_agent_given_up_requests",
        "Requests that could not be written to the store.",
        Source::Single(|sums| Some(Whole(sums.given_up))),
    ),
];

/// The version of the agent.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

fn seconds(nanoseconds: f64) -> Value {
    Real(nanoseconds / 1e9)
}

fn squared_seconds(squared_nanoseconds: f64) -> Value {
    Real(squared_nanoseconds / 1e18)
}

fn observed(share: Share) -> Option<Value> {
    (share.observed > 0).then_some(Whole(share.observed))
}

fn share(share: Share) -> Option<Value> {
    (share.observed > 0).then_some(Real(share.sum))
}
