//! The names of the agents' metrics (docs/metrics.md), and the queries for their sums.

use steady_model::Assignment;

use crate::Matchers;

/// The start time of an agent. Its scrapes are those of all metrics of the agent.
pub(crate) const START: &str = "steady_agent_start_time_seconds";

/// The labels of requests by which they are summed, in addition to the host.
pub(crate) const REQUEST_LABELS: [&str; 4] = ["version", "route", "class", "assigned"];

/// The metrics of requests, in the order that `sums::requests` expects.
pub(crate) const REQUESTS: [&str; 15] = [
    "steady_requests_total",
    "steady_requests_warming_total",
    "steady_requests_failed_total",
    "steady_requests_cpu_seconds_total",
    "steady_requests_cpu_seconds_squared_total",
    "steady_requests_cpu_log_total",
    "steady_requests_cpu_log_squared_total",
    "steady_requests_before_log_total",
    "steady_requests_before_log_squared_total",
    "steady_requests_before_product_total",
    "steady_requests_wall_seconds_total",
    "steady_requests_watched_total",
    "steady_requests_watched_cpu_seconds_total",
    "steady_requests_watched_wall_seconds_total",
    "steady_requests_watched_waiting_seconds_total",
];

/// The sums in levels of the same requests, in the order that `sums::levels` expects. Names without `_total` are
/// gauges.
pub(crate) const LEVELS: [&str; 13] = [
    "steady_requests_exceeding_total",
    "steady_requests_excess_cpu_seconds_total",
    "steady_requests_excess_cpu_seconds_squared_total",
    "steady_requests_excess_product_total",
    "steady_requests_recent_seconds",
    "steady_requests_recent_seconds_squared_total",
    "steady_requests_recent_product",
    "steady_requests_recent_excess_product",
    "steady_requests_ruler_seconds",
    "steady_requests_ruler_seconds_squared_total",
    "steady_requests_ruler_product",
    "steady_requests_ruler_excess_product",
    "steady_requests_recent_ruler_product",
];

/// CPU time of a service's processes and of their requests, in the order that `sums::process_cpu` expects.
pub(crate) const PROCESSES: [&str; 2] =
    ["steady_process_cpu_seconds_total", "steady_process_requests_cpu_seconds_total"];

/// Readings of rulers before requests, in the order that `sums::readings` expects.
pub(crate) const RULERS: [&str; 3] =
    ["steady_ruler_readings_total", "steady_ruler_log_total", "steady_ruler_log_squared_total"];

/// Readings of the agent's own rulers, in the same order.
pub(crate) const AGENT_RULERS: [&str; 3] =
    ["steady_agent_ruler_readings_total", "steady_agent_ruler_log_total", "steady_agent_ruler_log_squared_total"];

/// The load of a host, in the order that `sums::host` expects, and the number of CPUs.
pub(crate) const HOST: [&str; 7] = [
    "steady_host_busy_seconds_total",
    "steady_host_busy_observed_seconds_total",
    "steady_host_steal_seconds_total",
    "steady_host_steal_observed_seconds_total",
    "steady_host_pressure_seconds_total",
    "steady_host_pressure_observed_seconds_total",
    "steady_host_cpus",
];

/// A service's lost lines, and its requests beyond a limit.
pub(crate) const LOST: [&str; 2] = ["steady_requests_lost_total", "steady_requests_folded_total"];

/// The header `Server` of agents.
pub(crate) const AGENT_SERVER: &str = "steady-agent";

/// The constant that agents add to each deviation, so that the sum does not decrease.
pub(crate) const OFFSET: f64 = 16.0;

/// Parses the label `assigned`: how a version was decided, or `Some(None)` if requests were counted from outside.
pub(crate) fn assigned(label: &str) -> Option<Option<Assignment>> {
    match label {
        "outside" => Some(None),
        label => Assignment::ALL.into_iter().find(|one| one.name() == label).map(Some),
    }
}

/// Returns whether a metric is a counter, which never decreases while its agent runs.
pub(crate) fn is_counter(name: &str) -> bool {
    name.ends_with("_total")
}

/// Returns a query for the sums of several metrics by some labels.
pub(crate) fn sums(names: &[&str], by: &[&str], matchers: &Matchers) -> String {
    format!("sum by (__name__,{}) ({})", by.join(","), matchers.and_one_of("__name__", names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_query_has_several_metrics() {
        let matchers = Matchers::default().and("service", "shop");
        assert_eq!(
            sums(&["a", "b"], &["instance", "version"], &matchers),
            r#"sum by (__name__,instance,version) ({service="shop",__name__=~"a|b"})"#
        );
    }

    #[test]
    fn labels_of_assignments_are_parsed() {
        assert_eq!(assigned("random"), Some(Some(Assignment::Random)));
        assert_eq!([assigned("outside"), assigned("moon")], [Some(None), None]);
    }
}
