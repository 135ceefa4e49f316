//! Charts of changes with their intervals: of the service and its routes, and of hosts.

use steady_model::Interval;
use steady_render::chart::{Axis, Chart, Height, Look, Marks, Series, Whisker};
use steady_render::document::Section;
use steady_render::effect::signed;
use steady_render::letters::{count, cut, one_line};
use steady_render::scale::{Kind, Scale};
use steady_render::units::setting;

use super::{on_pages, series};
use crate::document::table::{ALL, name_of_row};
use crate::record::{ReleaseChange, ReleaseReport};

/// Most rows of a chart that are labelled with their names.
const NAMED: usize = 12;
/// Longest label of a row, in columns.
const LABEL: usize = 22;
/// Most hosts in a chart.
const DRAWN: usize = 1_000;

/// A change and its interval, as logarithms.
struct Known {
    name: String,
    change: f64,
    interval: Interval,
    is_outlier: bool,
}

impl Known {
    /// Converts a change to logarithms. Returns `None` if it has no finite interval.
    fn new(name: &str, change: &ReleaseChange, is_outlier: bool) -> Option<Self> {
        let interval = log_interval(change.interval().ok()?)?;
        let change = change.change.as_ref().ok()?.ln_1p();
        let name = cut(&one_line(name), LABEL);
        change.is_finite().then_some(Known { name, change, interval, is_outlier })
    }

    /// Describes the change for readers of the label: `web-7: 8.2 to 10.0 %`.
    fn words(&self) -> String {
        let interval = Interval { low: self.interval.low.exp_m1(), high: self.interval.high.exp_m1() };
        format!("{}: {}", self.name, signed(self.change.exp_m1(), interval).1)
    }
}

/// Converts an interval of changes to logarithms. Returns `None` if an end is infinite.
pub(super) fn log_interval(interval: Interval) -> Option<Interval> {
    let logs = Interval { low: interval.low.ln_1p(), high: interval.high.ln_1p() };
    (logs.low.is_finite() && logs.high.is_finite()).then_some(logs)
}

/// Returns the legend of the lines at plus and minus the resolution.
pub(super) fn resolution_label(resolution: f64) -> String {
    format!("±{}, the resolution", setting(resolution))
}

/// Charts the changes of the service and its routes. Returns `None` if there are no routes.
pub(in crate::document) fn routes(report: &ReleaseReport) -> Option<Section> {
    let all = std::iter::once((ALL.to_owned(), &report.total))
        .chain(report.routes.iter().map(|route| (name_of_row(&route.route), &route.change)));
    let known: Vec<Known> = all.take(NAMED + 1).filter_map(|(name, change)| Known::new(&name, change, false)).collect();
    if report.routes.is_empty() || known.is_empty() {
        return None;
    }
    let left_out = report.routes.len().saturating_sub(NAMED);
    let note = (left_out > 0).then(|| format!("{} not drawn.", count(left_out, "further route", "further routes")));
    let chart = Chart { note, ..in_rows("Changes of routes", &known, report) };
    Some(on_pages("Changes of the routes with their intervals", [chart]))
}

/// Charts the changes of hosts, the largest first. Returns `None` if no host has an interval.
pub(in crate::document) fn hosts(report: &ReleaseReport) -> Option<Section> {
    let hosts = report.hosts.iter().take(DRAWN);
    let mut known: Vec<Known> = hosts.filter_map(|host| Known::new(&host.host, &host.change, host.outlying)).collect();
    if known.is_empty() {
        return None;
    }
    known.sort_by(|one, other| other.change.total_cmp(&one.change));
    let left_out = report.hosts.len() - known.len();
    let mut note = "Hosts are in descending order of their change.".to_owned();
    if left_out > 0 {
        note += &format!(" {} not drawn.", count(left_out, "host", "hosts"));
    }
    let label = "Changes of hosts in descending order";
    let chart = if known.len() <= NAMED { in_rows(label, &known, report) } else { in_columns(label, &known, report) };
    Some(on_pages("Changes of the hosts with their intervals", [Chart { note: Some(note), ..chart }]))
}

/// Returns an axis with all intervals and the resolution.
fn values(known: &[Known], resolution: f64) -> Scale {
    let low = known.iter().map(|one| one.interval.low).fold((-resolution).ln_1p(), f64::min);
    let high = known.iter().map(|one| one.interval.high).fold(resolution.ln_1p(), f64::max);
    Scale::new(Kind::Change, low, high).padded()
}

/// Returns the estimates as dots, outliers as a series of their own. `place` maps an index and a change to coordinates.
fn estimates(known: &[Known], place: impl Fn(usize, f64) -> (f64, f64)) -> Vec<Series> {
    let dots = |is_outlier: bool| -> Vec<(f64, f64)> {
        let those = known.iter().enumerate().filter(|(_, one)| one.is_outlier == is_outlier);
        those.map(|(at, one)| place(at, one.change)).collect()
    };
    let (usual, outliers) = (dots(false), dots(true));
    let kinds = [("estimate", Look::First, usual), ("outlier", Look::Second, outliers)].into_iter();
    kinds.filter(|kind| !kind.2.is_empty()).map(|kind| series(kind.0, kind.1, Marks::Dots(kind.2))).collect()
}

/// Creates a chart with a labelled row for each change, the first at the top.
fn in_rows(label: &str, known: &[Known], report: &ReleaseReport) -> Chart {
    let resolution = report.question.resolution.min(0.999);
    let line = |(at, one): (usize, &Known)| Series {
        name: (at == 0).then(|| "interval".to_owned()),
        look: Look::First,
        marks: Marks::Line(vec![(one.interval.low, at as f64), (one.interval.high, at as f64)]),
    };
    let mut all: Vec<Series> = known.iter().enumerate().map(line).collect();
    all.extend(estimates(known, |at, change| (change, at as f64)));
    all.push(series(&resolution_label(resolution), Look::Rest, Marks::Down((-resolution).ln_1p())));
    all.push(Series { name: None, look: Look::Rest, marks: Marks::Down(resolution.ln_1p()) });
    let words: Vec<String> = known.iter().map(Known::words).collect();
    Chart {
        label: format!("{label}. {}.", words.join("; ")),
        height: Height::Low,
        x: Axis::Scale(values(known, resolution)),
        y: Axis::Names(known.iter().map(|one| one.name.clone()).collect()),
        series: all,
        note: None,
    }
}

/// Creates a chart with a column for each change, without labels.
fn in_columns(label: &str, known: &[Known], report: &ReleaseReport) -> Chart {
    let resolution = report.question.resolution.min(0.999);
    let whisker =
        |(at, one): (usize, &Known)| Whisker { x: at as f64 + 1.0, low: one.interval.low, high: one.interval.high };
    let line = |value: f64, name: Option<String>, look| Series { name, look, marks: Marks::Across(value) };
    let mut all = vec![
        series("interval", Look::First, Marks::Intervals(known.iter().enumerate().map(whisker).collect())),
        line(0.0, Some("no difference".to_owned()), Look::Rest),
        line((-resolution).ln_1p(), Some(resolution_label(resolution)), Look::Third),
        line(resolution.ln_1p(), None, Look::Third),
    ];
    all.extend(estimates(known, |at, change| (at as f64 + 1.0, change)));
    let outliers: Vec<String> = known.iter().filter(|one| one.is_outlier).map(Known::words).collect();
    let outliers =
        if outliers.is_empty() { "No outliers".to_owned() } else { format!("Outliers: {}", outliers.join("; ")) };
    Chart {
        label: format!("{label}. {outliers}."),
        height: Height::Tall,
        x: Axis::Scale(Scale::new(Kind::Count, 0.0, known.len() as f64 + 1.0)),
        y: Axis::Scale(values(known, resolution)),
        series: all,
        note: None,
    }
}
