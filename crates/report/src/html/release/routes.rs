//! The change of the service and of its dearest routes, an interval each.

use maud::{Markup, html};
use steady_model::ReleaseReport;

use super::intervals::{self, Bar};
use crate::words::count;

/// More rows than this have no room for their labels.
const ROWS: usize = 12;

/// The intervals below one another, the whole at the top; nothing where no route has one.
pub(super) fn draw(report: &ReleaseReport) -> Markup {
    let all = std::iter::once(("all routes".to_owned(), &report.total))
        .chain(report.routes.iter().map(|route| (route.route.clone(), &route.change)));
    let known: Vec<Bar> = all.take(ROWS + 1).filter_map(|(name, change)| Bar::new(name, change)).collect();
    if report.routes.is_empty() || known.is_empty() {
        return html! {};
    }
    let told = known.iter().map(Bar::told).collect::<Vec<_>>();
    let label = format!("Changes of routes. {}.", told.join("; "));
    let left_out = report.routes.len().saturating_sub(ROWS);
    html! {
        figure {
            (intervals::draw(&known, report.question.resolution, &label))
            p.key { (intervals::key(report.question.resolution)) }
            @if left_out > 0 { p.note { (count(left_out, "further route", "further routes")) " not drawn." } }
        }
    }
}
