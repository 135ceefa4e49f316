//! What the rulers read, as text for a terminal.

use steady_model::{Absent, Reading, Resource, RulerReading, RulerRecord, RulerRow};

use super::Style;
use super::absent::Footnotes;
use super::grid::{Column, Grid};
use super::{Page, Paint};
use crate::units::{duration, memory, percent, time};
use crate::words::one_line;
use crate::words::rulers::{early, factor, label, neighbours, sentences};

/// The headings of the tables by number of neighbours.
pub(crate) const SLOWDOWN: &str = "Slowdown by number of neighbours (1: the best that this host has shown)";
pub(crate) const SPREAD: &str = "How far the rounds of each row lay apart (interquartile range over median)";

/// What the rulers read: in words, then a table of the row with the fewest neighbours, then slowdown and spread by number
/// of neighbours.
pub fn rulers_text(record: &RulerRecord, style: Style) -> String {
    let mut page = Page::new(style);
    sentences(record).into_iter().for_each(|sentence| page.paragraph(0, 2, &[(Paint::Plain, sentence)]));
    if let Some(text) = early(record) {
        page.blank();
        page.paragraph(0, 2, &[(Paint::Open, text)]);
    }
    for (heading, (grid, notes)) in tables(record) {
        page.heading(&heading);
        grid.write(&mut page);
        notes.write(&mut page);
    }
    page.blank();
    let facts = facts(record);
    let labels = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    facts.iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text.clone())]));
    page.blank();
    page.paragraph(0, 0, &[(Paint::Plain, format!("Seed {}", record.seed))]);
    page.finish()
}

/// The tables and their headings, the same in every form.
pub(crate) fn tables(record: &RulerRecord) -> Vec<(String, (Grid, Footnotes))> {
    let Some(first) = record.rows.iter().min_by_key(|row| row.neighbours) else { return vec![] };
    let when = match first.neighbours {
        0 => "Each resource right now".to_owned(),
        number => format!("Each resource beside {}", neighbours(record.neighbour, number)),
    };
    let mut tables = vec![(when, one_row(first))];
    if record.rows.len() > 1 {
        let mut slowdowns = by_neighbours(record, factor);
        meanwhile(record, &mut slowdowns);
        tables.push((SLOWDOWN.to_owned(), slowdowns));
        tables.push((SPREAD.to_owned(), by_neighbours(record, |reading| percent(reading.spread_ratio))));
    }
    tables
}

/// One row in full: a line per resource.
fn one_row(row: &RulerRow) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let names = row.readings.iter().map(|(resource, _)| label(*resource).to_owned()).collect();
    let mut columns = vec![Column { head: "resource".to_owned(), cells: names }];
    let mut column = |head: &str, cell: &dyn Fn(&RulerReading) -> String| {
        let cells = row.readings.iter().map(|(_, reading)| shown(reading, cell, &mut notes)).collect();
        columns.push(Column { head: head.to_owned(), cells });
    };
    column("working set", &|reading| {
        reading.working_set.map_or_else(|| "–".to_owned(), |bytes| memory(bytes.0 as f64))
    });
    column("time per unit", &|reading| time(reading.seconds_per_unit));
    column("slowdown", &factor);
    column("spread", &|reading| percent(reading.spread_ratio));
    column("CPU time of a reading", &|reading| time(reading.cost.seconds()));
    (Grid(columns), notes)
}

/// One figure of every reading: a line per number of neighbours.
fn by_neighbours(record: &RulerRecord, cell: impl Fn(&RulerReading) -> String) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let rows = &record.rows;
    let numbers = rows.iter().map(|row| row.neighbours.to_string()).collect();
    let mut columns = vec![Column { head: "neighbours".to_owned(), cells: numbers }];
    for resource in Resource::ALL {
        let cells = rows.iter().map(|row| shown(&reading(row, resource), &cell, &mut notes)).collect();
        columns.push(Column { head: label(resource).to_owned(), cells });
    }
    (Grid(columns), notes)
}

/// A share of the machine's time in a row.
type Share = fn(&RulerRow) -> &Reading<f64>;

/// Adds what the machine did in each row; what no row tells has no column.
fn meanwhile(record: &RulerRecord, (grid, notes): &mut (Grid, Footnotes)) {
    let shares: [(&str, Share); 2] =
        [("CPUs busy", |row| &row.activity.busy_ratio), ("steal", |row| &row.activity.steal_ratio)];
    for (head, pick) in shares {
        if record.rows.iter().all(|row| pick(row).is_err()) {
            continue;
        }
        let cell = |row: &RulerRow| match pick(row) {
            Ok(ratio) => percent(*ratio),
            Err(absent) => mark(absent, notes),
        };
        let cells = record.rows.iter().map(cell).collect();
        grid.0.push(Column { head: head.to_owned(), cells });
    }
}

/// What the machine could not tell in any row, and how long it took.
pub(crate) fn facts(record: &RulerRecord) -> Vec<(&'static str, String)> {
    let of_rows = |pick: Share| {
        let all: Option<Vec<&Absent>> = record.rows.iter().map(|row| pick(row).as_ref().err()).collect();
        all.and_then(|reasons| reasons.first().map(|absent| format!("absent: {}", one_line(&absent.0))))
    };
    let busy = of_rows(|row| &row.activity.busy_ratio).map(|text| ("CPUs busy", text));
    let steal = of_rows(|row| &row.activity.steal_ratio).map(|text| ("steal", text));
    busy.into_iter().chain(steal).chain([("took", duration(record.elapsed))]).collect()
}

fn reading(row: &RulerRow, resource: Resource) -> Reading<RulerReading> {
    let found = row.readings.iter().find(|(of, _)| *of == resource);
    found.map_or_else(|| Err(Absent::because("it was not read")), |(_, reading)| reading.clone())
}

/// A figure of a reading, or the mark of the reason why there is none.
fn shown(reading: &Reading<RulerReading>, cell: impl Fn(&RulerReading) -> String, notes: &mut Footnotes) -> String {
    match reading {
        Ok(reading) => cell(reading),
        Err(absent) => mark(absent, notes),
    }
}

/// The mark of a reason, which may hold what others wrote.
fn mark(absent: &Absent, notes: &mut Footnotes) -> String {
    notes.mark(&format!("absent: {}", one_line(&absent.0)))
}
