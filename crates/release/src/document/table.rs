//! The table of changes of the service and its routes, and sentences about the usual request and about requests that
//! changed differently.

use steady_model::{Interval, Verdict};
use steady_render::document::{Block, Section};
use steady_render::effect::{Effect, signed};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{TIE, percent, setting};

use super::{moved, named, plain, versions};
use crate::record::{ChangeEstimate, ReleaseChange, ReleaseReport, ReleaseTail};

/// A row of the table: the whole service, a route or a host.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) change: ReleaseChange,
    /// Share of the service's CPU time.
    pub(super) cpu_ratio: f64,
}

/// The name of the row of the whole service.
pub(super) const ALL: &str = "all routes";

/// Returns the name of a route for the first column. A route that has the name of the total is in quotes.
pub(super) fn name_of_row(route: &str) -> String {
    if route == ALL { format!("'{route}'") } else { route.to_owned() }
}

/// Returns the table of the whole service and its routes, and a note that explains the columns.
pub(super) fn section(report: &ReleaseReport) -> Section {
    let whole = Row { name: ALL.to_owned(), change: report.total.clone(), cpu_ratio: 1.0 };
    let route = |route: &crate::record::ReleaseRoute| Row {
        name: name_of_row(&route.route),
        change: route.change.clone(),
        cpu_ratio: route.cpu_ratio,
    };
    let rows: Vec<Row> = std::iter::once(whole).chain(report.routes.iter().map(route)).collect();
    let mut table = table("Changes of CPU time per request", ("route", "routes"), &rows);
    table.columns.push(Column::words("verdict", &rows, |row| {
        if row.change.change.is_ok() { word(row.change.verdict) } else { "" }
    }));
    Section::new("CPU time per request", vec![Block::Table(table), Block::Paragraph(plain(notes(report)))])
}

/// Creates a table of changes. Callers append a column of their own.
pub(super) fn table(label: &str, what: (&'static str, &'static str), rows: &[Row]) -> Table {
    let interval = |row: &Row| match (&row.change.change, &row.change.interval()) {
        (Ok(change), Ok(interval)) => signed(*change, *interval).1.trim_end_matches(&format!("{TIE}%")).into(),
        (_, Err(absent)) | (Err(absent), _) => Cell::Absent(absent.0.clone()),
    };
    let size = |row: &Row| match row.change.interval() {
        Ok(interval) => Cell::reading(&row.change.change, |change| signed(*change, interval).0),
        Err(_) => Cell::reading(&row.change.change, |change| moved(*change)),
    };
    let share = |row: &Row| if row.cpu_ratio.is_finite() { percent(row.cpu_ratio).into() } else { Cell::Nothing };
    Table {
        label: label.to_owned(),
        rows: what,
        columns: vec![
            Column::words(what.0, rows, |row| row.name.clone()),
            Column::numbers("change", rows, size),
            Column::numbers("interval, %", rows, interval),
            Column::numbers("raw", rows, |row| Cell::reading(&row.change.raw_change, |change| moved(*change))),
            Column::numbers("load", rows, |row| Cell::reading(&row.change.load_shift, |shift| moved(*shift))),
            Column::numbers("CPU", rows, share),
        ],
    }
}

/// Returns the verdict as the word in the last column of its row.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "less",
        Verdict::Slower => "more",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

/// Explains the columns of the table.
fn notes(report: &ReleaseReport) -> String {
    let level = setting(report.question.confidence);
    let together = if report.routes.is_empty() { "" } else { " (for all routes together)" };
    let mix = if report.from_outside { "" } else { " and mix of routes" };
    format!(
        "interval: {level}{together}; raw: change of the unadjusted means; load: part of raw that load{mix} caused; \
         CPU: share of the service's CPU time"
    )
}

/// Most routes and classes that the sentence names.
const NAMED: usize = 3;
/// If the shares of expensive requests of OLD and NEW differ by at most this factor, the sentence has only their mean.
const ALIKE: f64 = 1.15;

/// The change of the usual request: `The usual request (robust geometric mean) changed by -2.9 % (-3.4 to -2.4 %, 95
/// %).`
pub(super) fn line(report: &ReleaseReport) -> Option<String> {
    let (change, interval) = (report.usual.change.as_ref().ok()?, report.usual.interval().ok()?);
    let (size, range) = signed(*change, interval);
    let level = setting(report.question.confidence);
    let [verb, rest] = super::claim(&interval);
    Some(format!("The usual request (robust geometric mean) {verb} by {size} ({range}, {level}){rest}."))
}

/// Names the requests that changed, if the total and the usual request disagree.
pub(super) fn tails(report: &ReleaseReport) -> Option<String> {
    if report.tails.is_empty() {
        return unattributed(report);
    }
    let changed = report.tails.iter().filter(|tail| tail.has_changed());
    let named = changed.take(NAMED).map(|tail| of_tail(report, tail)).collect::<Vec<_>>();
    let more = report.tails.len() - named.len();
    let more = if more > 0 { format!(" The JSON export has {more} more.") } else { String::new() };
    Some(format!(
        "The total and the usual request differ because requests changed unequally: {}.{more}",
        named.join("; ")
    ))
}

/// Advice if the usual request changed and the total may not have, and no requests are known to differ. If the
/// total includes CPU time that requests do not explain, that is the difference.
fn unattributed(report: &ReleaseReport) -> Option<String> {
    // If more of the same traffic is known to help, the difference may be chance.
    if report.includes_unexplained() || report.settle.is_ok() {
        return None;
    }
    let (total, usual) = (report.total.interval().ok()?, report.usual.interval().ok()?);
    let changed = |interval: Interval| interval.low > 0.0 || interval.high < 0.0;
    let agree = report.usual.change.as_ref().is_ok_and(|usual| total.holds(*usual));
    let [why, can_name] = match agree {
        true => ["the total is less precise, and its interval contains the change of the usual request", ""],
        false => [
            "other requests may have changed in the opposite direction, and it is not known which",
            "the report can name them, and ",
        ],
    };
    (report.refused.is_empty() && !report.has_classes && changed(usual) && !changed(total)).then(|| {
        format!(
            "The usual request changed, but the total may not have: {why}. If the application names classes of \
             requests (classify), {can_name}the interval of the total becomes narrower."
        )
    })
}

/// `requests above 3 times the usual cost (10 % of requests, 64 % of CPU time) need 28 % more, the others need 4.0 %
/// less`; for a route without such requests, `requests need 4.0 % less`.
fn of_tail(report: &ReleaseReport, tail: &ReleaseTail) -> String {
    if !tail.has_above() {
        return format!("{}requests {}", place(report, tail), relative(&tail.below));
    }
    let [old, new] = tail.above_ratio;
    let alike = old.max(new) <= ALIKE * old.min(new);
    let share = match alike {
        true => format!("{} of requests", percent((old + new) / 2.0)),
        false => {
            let [old_name, new_name] = versions(report);
            format!("{} of requests of {old_name}, {} of {new_name}", percent(old), percent(new))
        }
    };
    format!(
        "{}requests above 3 times the usual cost ({share}, {} of CPU time) {}, the others {}",
        place(report, tail),
        percent(tail.above_cpu_ratio),
        relative(&tail.above),
        relative(&tail.below)
    )
}

/// A route with at least this share of the CPU time counts as the only one, and is not named.
const WHOLE: f64 = 0.99;

/// Names the route and class, unless there is only one: `on /item/<id> (class large), `.
fn place(report: &ReleaseReport, tail: &ReleaseTail) -> String {
    let others = report.tails.iter().any(|other| other.route == tail.route && !other.class.is_empty());
    let class = match tail.class.as_str() {
        "" if others => " (without a class)".to_owned(),
        "" => String::new(),
        class => format!(" (class {})", named(class)),
    };
    match report.tails.len() {
        1 if tail.class.is_empty() && tail.cpu_ratio > WHOLE => String::new(),
        _ => format!("on {}{class}, ", named(&tail.route)),
    }
}

/// Says how requests changed relative to OLD: `need 28 % more (20 to 36 %)`, or `differ by -2 % (-7 to 2 %)` if the
/// interval contains zero.
fn relative(estimate: &ChangeEstimate) -> String {
    match (&estimate.change, &estimate.interval()) {
        (Ok(change), Ok(interval)) if interval.holds(0.0) => {
            let (size, range) = signed(*change, *interval);
            format!("differ by {size} ({range})")
        }
        (Ok(change), Ok(interval)) => {
            let effect = Effect::of(*change, *interval);
            format!("need {} ({})", effect.relative(), effect.range)
        }
        (Ok(change), Err(_)) => format!("differ by {}", moved(*change)),
        (Err(absent), _) => format!("need an unknown amount more or less ({})", super::named_reason(&absent.0)),
    }
}
