//! The change of the service and of its routes, a line each.

use steady_model::{ReleaseChange, ReleaseReport, Verdict};

use super::{moved, sized};
use crate::text::tree::{Branch, Tree};
use crate::units::{TIE, percent};
use crate::words::{count, cut, one_line};

/// The heads of the columns.
pub(crate) const HEADS: [&str; 5] = ["change", "interval, %", "raw", "load", "CPU"];
/// Where there is nothing.
const NOTHING: &str = "–";

/// The table: the whole, then at most so many routes, none of whose names takes more than `room`.
pub(crate) fn changes(report: &ReleaseReport, most: usize, room: usize) -> Tree {
    let whole = branch(0, "all routes".to_owned(), &report.total, 1.0);
    let routes = report.routes.iter().take(most);
    let routes = routes.map(|route| branch(1, cut(&one_line(&route.route), room), &route.change, route.cpu_ratio));
    Tree { heads: HEADS.map(str::to_owned).to_vec(), branches: std::iter::once(whole).chain(routes).collect() }
}

/// How many routes the table leaves out.
pub(crate) fn left_out(report: &ReleaseReport, most: usize) -> Option<String> {
    let more = report.routes.len().saturating_sub(most);
    (more > 0).then(|| format!("and {}; --export-csv has them all", count(more, "further route", "further routes")))
}

/// A line of changes.
pub(super) fn branch(depth: usize, label: String, change: &ReleaseChange, share: f64) -> Branch {
    let (size, range) = match (&change.change, &change.interval) {
        (Ok(size), Ok(interval)) => sized(*size, *interval),
        (Ok(size), Err(_)) => (moved(*size), NOTHING.to_owned()),
        (Err(_), _) => (NOTHING.to_owned(), NOTHING.to_owned()),
    };
    let told = |reading: &steady_model::Reading<f64>| reading.as_ref().map_or(NOTHING.to_owned(), |one| moved(*one));
    let share = if share.is_finite() { percent(share) } else { NOTHING.to_owned() };
    let range = range.trim_end_matches(&format!("{TIE}%")).to_owned();
    let cells = vec![size, range, told(&change.raw_change), told(&change.load_shift), share];
    let remark = if change.change.is_ok() { word(change.verdict) } else { "" };
    Branch { depth, label, cells, remark: remark.to_owned() }
}

/// The verdict beside its line.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "less",
        Verdict::Slower => "more",
        Verdict::Same => "same",
        Verdict::Undecided => "open",
    }
}

/// What the columns mean.
pub(crate) fn notes(report: &ReleaseReport) -> String {
    let level = crate::units::setting(report.question.confidence);
    let together = if report.routes.is_empty() { "" } else { " (those of the routes for all of them together)" };
    format!(
        "interval: {level}{together}; raw: change of the plain means; load: how much of raw was load and mix of \
         routes; CPU: share of the service's CPU time; open: undecided"
    )
}
