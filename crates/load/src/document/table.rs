//! The report on a table that was measured elsewhere: the answer, the rows, and the charts.

use steady_feature::Report;
use steady_model::Reading;
use steady_render::csv::{Column as Field, table as csv_table};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Shown};
use steady_render::json;
use steady_render::letters::one_line;
use steady_render::units::{decimals_of, fixed};
use steady_render::{Cell, Chart, Column, Table};

use super::charts::{self, Rates};
use super::sentences::table::paragraphs;
use crate::table::{LoadTable, TABLE_SCHEMA, TableRow};

impl Report for LoadTable {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        let fields: [Field<TableRow>; 7] = [
            ("procs", |row| row.procs.to_string()),
            ("cpu_seconds", |row| number(&row.cpu_seconds)),
            ("wall_seconds", |row| number(&row.wall_seconds)),
            ("work", |row| number(&row.work)),
            ("work_per_cpu_second", |row| row.work_per_cpu_second.to_string()),
            ("work_per_wall_second", |row| row.work_per_wall_second.to_string()),
            ("throughput_per_second", |row| row.throughput_per_second.to_string()),
        ];
        csv_table(&fields, &self.rows)
    }

    /// A table has no samples.
    fn json(&self, _: bool) -> String {
        json::text(&TABLE_SCHEMA, self)
    }

    fn drawing(&self) -> Option<Chart> {
        Some(Rates::of_table(self).map_or_else(charts::none, |rates| rates.each()))
    }
}

/// A number for CSV; empty if it is not available.
fn number(value: &Reading<f64>) -> String {
    value.as_ref().map_or_else(|_| String::new(), f64::to_string)
}

fn document(table: &LoadTable) -> Document {
    let answer = paragraphs(table).into_iter().enumerate().map(|(at, paragraph)| {
        let emphasis = if at == 0 { Emphasis::Heading } else { Emphasis::Plain };
        vec![(emphasis, one_line(&paragraph.join(" ")))]
    });
    let mut sections = Vec::new();
    if let Some(rates) = Rates::of_table(table) {
        let (what, per) = (rates.what(), rates.per);
        let law = table.scaling.as_ref().ok().and_then(|scaling| scaling.law.as_ref().ok());
        sections
            .push(Section::new(&format!("{what} per CPU {per} and per wall {per}"), vec![Block::Chart(rates.each())]));
        let together = Block::Chart(rates.together(law));
        let heading = format!("{what} per {per} of all processes together");
        sections.push(Section::new(&heading, vec![together]).shown(Shown::OnPages));
    }
    sections.push(Section::new("The rows", vec![Block::Table(rows(table))]).whole());
    let stated = |label: &str, number: &Reading<u32>| Fact::reading(label, number, u32::to_string);
    let facts = vec![
        Fact::new("table", one_line(&table.source)),
        Fact::new("work", format!("in {}", one_line(&table.unit))),
        stated("cores", &table.cores),
        stated("logical CPUs", &table.logical_cpus),
    ];
    sections.push(Section::new("The table", vec![Block::Facts(facts)]).as_detail());
    let subject = format!("Steadyhand: the work of concurrent processes in {}", one_line(&table.source));
    Document { subject, answer: answer.collect(), sections, is_brief: false }
}

/// The rows with times in milliseconds.
fn rows(table: &LoadTable) -> Table {
    let numbers = |head: &str, scale: f64, pick: fn(&TableRow) -> Reading<f64>| {
        let values: Vec<Reading<f64>> = table.rows.iter().map(|row| pick(row).map(|value| value * scale)).collect();
        let least = values.iter().flatten().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let decimals = decimals_of(least, 4).min(3);
        Column::numbers(head, &values, |value| Cell::reading(value, |value| fixed(*value, decimals)))
    };
    let unit = &table.unit;
    let columns = vec![
        Column::numbers("procs", &table.rows, |row| row.procs.to_string()),
        numbers("CPU time (ms)", 1e3, |row| row.cpu_seconds.clone()),
        numbers("wall time (ms)", 1e3, |row| row.wall_seconds.clone()),
        numbers(&format!("{unit} per CPU s"), 1.0, |row| Ok(row.work_per_cpu_second)),
        numbers(&format!("{unit} per wall s"), 1.0, |row| Ok(row.work_per_wall_second)),
    ];
    Table { label: "Table of work and times".to_owned(), rows: ("row", "rows"), columns }
}
