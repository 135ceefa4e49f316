//! A release report as comma-separated values.

use steady_model::{Nanos, Reading};
use steady_render::csv::{Column, seconds, table};

use crate::record::{ChangeEstimate, ReleaseChange, ReleaseReport};

/// A line of the output: the whole service, a route or a host.
struct Line<'a> {
    report: &'a ReleaseReport,
    /// Name of the route; empty for the whole service and for hosts.
    route: &'a str,
    /// Name of the host, and whether it is an outlier.
    host: Option<(&'a str, bool)>,
    change: &'a ReleaseChange,
    usual: Option<&'a ChangeEstimate>,
    cpu_ratio: Option<f64>,
    /// Median wall time of OLD and NEW.
    medians: [Option<Nanos>; 2],
}

/// Columns in their order. A name ends with the unit if there is one. A field without a reading is empty; the column
/// `absent` has the reason if there is no change.
fn columns<'a>() -> [Column<Line<'a>>; 24] {
    [
        ("service", |line| line.report.question.service.clone()),
        ("old", |line| line.report.question.old.clone()),
        ("new", |line| line.report.question.new.clone()),
        ("design", |line| line.report.design.name().to_owned()),
        ("route", |line| line.route.to_owned()),
        ("verdict", |line| line.change.verdict.name().to_owned()),
        ("within_resolution", |line| line.change.within_resolution.to_string()),
        ("change", |line| reading(&line.change.change)),
        ("low", |line| number(line.change.interval().ok().map(|interval| interval.low))),
        ("high", |line| number(line.change.interval().ok().map(|interval| interval.high))),
        ("raw_change", |line| reading(&line.change.raw_change)),
        ("load_shift", |line| reading(&line.change.load_shift)),
        ("old_requests", |line| line.change.requests[0].to_string()),
        ("new_requests", |line| line.change.requests[1].to_string()),
        ("cpu_ratio", |line| number(line.cpu_ratio)),
        ("old_wall_median_seconds", |line| line.medians[0].map_or_else(String::new, seconds)),
        ("new_wall_median_seconds", |line| line.medians[1].map_or_else(String::new, seconds)),
        ("absent", |line| line.change.change.as_ref().err().map_or_else(String::new, |absent| absent.0.clone())),
        ("host", |line| line.host.map_or_else(String::new, |host| host.0.to_owned())),
        ("outlying", |line| line.host.map_or_else(String::new, |host| host.1.to_string())),
        ("usual_change", |line| line.usual.map_or_else(String::new, |usual| reading(&usual.change))),
        ("usual_low", |line| number(line.usual.and_then(|usual| usual.interval().ok()).map(|interval| interval.low))),
        ("usual_high", |line| number(line.usual.and_then(|usual| usual.interval().ok()).map(|interval| interval.high))),
        ("refused", |line| (!line.report.refused.is_empty()).to_string()),
    ]
}

/// Formats a header, a line for the whole service (`route` and `host` are empty), a line for each route and a line for
/// each host.
pub(crate) fn csv(report: &ReleaseReport) -> String {
    let median = report.wall.as_ref().ok().and_then(|wall| wall.quantiles.iter().find(|one| one.ratio == 0.5));
    let whole = Line {
        report,
        route: "",
        host: None,
        change: &report.total,
        usual: Some(&report.usual),
        cpu_ratio: None,
        medians: median.map_or([None; 2], |median| median.times.map(Some)),
    };
    let routes = report.routes.iter().map(|route| Line {
        route: &route.route,
        change: &route.change,
        usual: Some(&route.usual),
        cpu_ratio: Some(route.cpu_ratio),
        medians: [&route.old_wall_median, &route.new_wall_median].map(|median| median.as_ref().ok().copied()),
        ..whole
    });
    let hosts = report.hosts.iter().map(|host| Line {
        host: Some((&host.host, host.outlying)),
        change: &host.change,
        usual: None,
        cpu_ratio: Some(host.cpu_ratio),
        medians: [None; 2],
        ..whole
    });
    let (routes, hosts): (Vec<_>, Vec<_>) = (routes.collect(), hosts.collect());
    table(&columns(), &std::iter::once(whole).chain(routes).chain(hosts).collect::<Vec<_>>())
}

fn reading(reading: &Reading<f64>) -> String {
    number(reading.as_ref().ok().copied())
}

/// Formats a number with all its digits. Returns an empty string if it is missing or not finite.
fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}
