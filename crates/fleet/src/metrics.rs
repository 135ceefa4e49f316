//! The names of what agents show (docs/metrics.md), and how sums of it are asked for.

use steady_model::Assignment;

use crate::Matchers;

/// When an agent began: its scrapes are those of everything that it shows.
pub(crate) const START: &str = "steady_agent_start_time_seconds";

/// The labels that requests are told apart by, next to the host.
pub(crate) const REQUEST_LABELS: [&str; 4] = ["version", "route", "class", "assigned"];

/// Requests by service, version, route, class and how the version was decided, in the order of `sums::row`.
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

/// Sums of CPU time in levels of the same requests, in the order of `sums::levels`. Those without `_total` are gauges.
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

/// CPU time of a service's processes and of their requests.
pub(crate) const PROCESSES: [&str; 2] =
    ["steady_process_cpu_seconds_total", "steady_process_requests_cpu_seconds_total"];

/// Readings of rulers before requests, in the order of `sums::reading`.
pub(crate) const RULERS: [&str; 3] =
    ["steady_ruler_readings_total", "steady_ruler_log_total", "steady_ruler_log_squared_total"];

/// Those of the agent's own rulers.
pub(crate) const AGENT_RULERS: [&str; 3] =
    ["steady_agent_ruler_readings_total", "steady_agent_ruler_log_total", "steady_agent_ruler_log_squared_total"];

/// What a host was doing, in the order of `sums::host`.
pub(crate) const HOST: [&str; 7] = [
    "steady_host_busy_seconds_total",
    "steady_host_busy_observed_seconds_total",
    "steady_host_steal_seconds_total",
    "steady_host_steal_observed_seconds_total",
    "steady_host_pressure_seconds_total",
    "steady_host_pressure_observed_seconds_total",
    "steady_host_cpus",
];

/// What was lost of a service's requests, and what was folded into others.
pub(crate) const LOST: [&str; 2] = ["steady_requests_lost_total", "steady_requests_folded_total"];

/// What is added to each deviation, so that its sum only grows.
pub(crate) const ADDED: f64 = 16.0;

/// How a version was decided, by its label; `Some(None)` where requests were counted from outside.
pub(crate) fn assigned(label: &str) -> Option<Option<Assignment>> {
    match label {
        "outside" => Some(None),
        label => Assignment::ALL.into_iter().find(|one| one.name() == label).map(Some),
    }
}

/// Whether a metric is a counter, which never goes back while its agent runs.
pub(crate) fn is_counter(name: &str) -> bool {
    name.ends_with("_total")
}

/// Sums of several metrics, told apart by some labels.
pub(crate) fn sums(names: &[&str], by: &[&str], matchers: &Matchers) -> String {
    format!("sum by (__name__,{}) ({})", by.join(","), matchers.and_one_of("__name__", names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_metrics_are_asked_for_at_once() {
        let matchers = Matchers::default().and("service", "shop");
        assert_eq!(
            sums(&["a", "b"], &["instance", "version"], &matchers),
            r#"sum by (__name__,instance,version) ({service="shop",__name__=~"a|b"})"#
        );
    }

    #[test]
    fn all_ways_to_decide_have_their_label() {
        assert_eq!(assigned("random"), Some(Some(Assignment::Random)));
        assert_eq!([assigned("outside"), assigned("moon")], [Some(None), None]);
    }
}
