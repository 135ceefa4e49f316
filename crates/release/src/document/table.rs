//! The change of the service and of its routes, a row each.

use steady_model::Verdict;
use steady_render::document::{Block, Section};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{TIE, percent, setting};

use super::{moved, plain, sized};
use crate::record::{ReleaseChange, ReleaseReport};

/// A row: the service, a route or a host.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) change: ReleaseChange,
    /// Its share of the service's CPU time.
    pub(super) cpu_ratio: f64,
}

/// The whole, then its routes, and what the columns mean.
pub(super) fn section(report: &ReleaseReport) -> Section {
    let whole = Row { name: "all routes".to_owned(), change: report.total.clone(), cpu_ratio: 1.0 };
    let route = |route: &crate::record::ReleaseRoute| Row {
        name: route.route.clone(),
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

/// The changes of rows, without what is to be said of each.
pub(super) fn table(label: &str, what: (&'static str, &'static str), rows: &[Row]) -> Table {
    let interval = |row: &Row| match (&row.change.change, &row.change.interval()) {
        (Ok(change), Ok(interval)) => sized(*change, *interval).1.trim_end_matches(&format!("{TIE}%")).into(),
        (_, Err(absent)) | (Err(absent), _) => Cell::Absent(absent.0.clone()),
    };
    let size = |row: &Row| match row.change.interval() {
        Ok(interval) => Cell::reading(&row.change.change, |change| sized(*change, interval).0),
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

/// The verdict beside its row.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "less",
        Verdict::Slower => "more",
        Verdict::Same => "same",
        Verdict::Undecided => "open",
    }
}

/// What the columns mean.
fn notes(report: &ReleaseReport) -> String {
    let level = setting(report.question.confidence);
    let together = if report.routes.is_empty() { "" } else { " (those of the routes for all of them together)" };
    format!(
        "interval: {level}{together}; raw: change of the plain means; load: how much of raw was load and mix of \
         routes; CPU: share of the service's CPU time; open: undecided"
    )
}
