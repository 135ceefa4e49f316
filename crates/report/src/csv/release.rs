//! What a release changed, as comma-separated values.

use steady_model::{Nanos, Reading, ReleaseChange, ReleaseHost, ReleaseReport, ReleaseRoute};

use super::{field, number, quoted, seconds};

/// The columns, in their order; those with a unit end with it.
const COLUMNS: [&str; 23] = [
    "service",
    "old",
    "new",
    "design",
    "route",
    "verdict",
    "within_resolution",
    "change",
    "low",
    "high",
    "raw_change",
    "load_shift",
    "old_requests",
    "new_requests",
    "cpu_ratio",
    "old_wall_median_seconds",
    "new_wall_median_seconds",
    "absent",
    "host",
    "outlying",
    "usual_change",
    "usual_low",
    "usual_high",
];

/// One line for the whole, whose `route` and `host` are empty, one per route and one per host, below a line of names; a
/// field is empty where there is no such reading, and `absent` says why there is no change.
pub fn release_csv(report: &ReleaseReport) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    let median = report
        .wall
        .as_ref()
        .ok()
        .and_then(|wall| wall.quantiles.iter().find(|(share, _)| *share == 0.5).map(|(_, times)| *times));
    out.push_str(&line(report, (Of::All, &report.total), (None, median)));
    for route in &report.routes {
        let median = route.wall_median.as_ref().ok().copied();
        out.push_str(&line(report, (Of::Route(route), &route.change), (Some(route.cpu_ratio), median)));
    }
    for host in &report.hosts {
        out.push_str(&line(report, (Of::Host(host), &host.change), (Some(host.cpu_ratio), None)));
    }
    out
}

/// What a line is of.
enum Of<'a> {
    All,
    Route(&'a ReleaseRoute),
    Host(&'a ReleaseHost),
}

fn line(
    report: &ReleaseReport,
    (of, change): (Of<'_>, &ReleaseChange),
    (share, median): (Option<f64>, Option<[Nanos; 2]>),
) -> String {
    let interval = change.interval.as_ref().ok();
    let (route, host, outlying) = match of {
        Of::All => ("", "", String::new()),
        Of::Route(route) => (route.route.as_str(), "", String::new()),
        Of::Host(host) => ("", host.host.as_str(), host.outlying.to_string()),
    };
    let usual = match of {
        Of::All => Some(&report.usual),
        Of::Route(route) => Some(&route.usual),
        Of::Host(_) => None,
    };
    let usual_interval = usual.and_then(|usual| usual.interval.as_ref().ok());
    let refused = !report.refused.is_empty();
    let fields: [String; COLUMNS.len()] = [
        quoted(&report.question.service),
        quoted(&report.question.old),
        quoted(&report.question.new),
        report.design.name().to_owned(),
        quoted(route),
        if refused { "refused" } else { change.verdict.name() }.to_owned(),
        change.within_resolution.to_string(),
        told(&change.change),
        field(interval.map(|interval| number(interval.low))),
        field(interval.map(|interval| number(interval.high))),
        told(&change.raw_change),
        told(&change.load_shift),
        change.requests[0].to_string(),
        change.requests[1].to_string(),
        field(share),
        field(median.map(|times| seconds(times[0]))),
        field(median.map(|times| seconds(times[1]))),
        change.change.as_ref().err().map_or_else(String::new, |absent| quoted(&absent.0)),
        quoted(host),
        outlying,
        field(usual.and_then(|usual| usual.change.as_ref().ok()).map(|change| number(*change))),
        field(usual_interval.map(|interval| number(interval.low))),
        field(usual_interval.map(|interval| number(interval.high))),
    ];
    fields.join(",") + "\n"
}

fn told(reading: &Reading<f64>) -> String {
    reading.as_ref().map_or_else(|_| String::new(), |value| number(*value))
}
