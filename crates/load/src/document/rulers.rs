//! The report on ruler readings: sentences, then tables.

use steady_feature::{Record, Report};
use steady_model::{Absent, Ending, Facts, Reading, Resource};
use steady_render::document::{ActivityShare, Block, CPUS_BUSY, Document, Emphasis, Fact, STEAL, Section, origin};
use steady_render::letters::{count, one_line};
use steady_render::units::{TIE, duration, memory, percent, setting, time};
use steady_render::{Cell, Column, Table, json};
use steady_rulers::{Neighbour, RulerReading, RulerRow};

use crate::csv;
use crate::record::{RULERS_SCHEMA, RulerRecord};

/// Minimum slowdown that is reported. Readings of an undisturbed machine vary by a few per cent.
const NOTICEABLE: f64 = 1.05;

/// Readings with a larger spread (interquartile range over median) are not steady: their median is no statement about
/// the resource.
const UNSTEADY: f64 = 0.25;

/// Returns the name of a resource in the report.
fn label(resource: Resource) -> &'static str {
    match resource {
        Resource::Alu => "ALU",
        Resource::L1 => "L1 cache",
        Resource::L2 => "L2 cache",
        Resource::Shared => "shared cache",
        Resource::Memory => "memory",
        Resource::Fetch => "fetch",
        Resource::SystemCall => "system call",
    }
}

/// Formats the number and the kind of the neighbours: `2 neighbours that stream through memory`.
fn neighbours(kind: Option<Neighbour>, number: u32) -> String {
    let one = number == 1;
    let doing = match kind {
        None => "",
        Some(Neighbour::Spin) if one => " that spins",
        Some(Neighbour::Spin) => " that spin",
        Some(Neighbour::Stream) if one => " that streams through memory",
        Some(Neighbour::Stream) => " that stream through memory",
        Some(Neighbour::Hash) if one => " that hashes",
        Some(Neighbour::Hash) => " that hash",
    };
    format!("{}{doing}", count(number as usize, "neighbour", "neighbours"))
}

/// Returns a sentence on the readings without neighbours, and one on those with the most neighbours.
fn sentences(record: &RulerRecord) -> Vec<String> {
    let best = best(record);
    let alone = record.rows.iter().find(|row| row.neighbours == 0).map(|row| described("Right now", row, best));
    let most = record.rows.iter().max_by_key(|row| row.neighbours).filter(|row| row.neighbours > 0);
    let next_to = |row: &RulerRow| format!("Next to {}", neighbours(record.neighbour, row.neighbours));
    let loaded = most.map(|row| described(&next_to(row), row, best));
    let first = "There are no earlier readings of this host: how slow it is now compared with its best is not known. Later \
                 runs compare with the readings of this one.";
    let first = (!record.earlier_readings).then(|| first.to_owned());
    alone.into_iter().chain(loaded).chain(first).collect()
}

/// Names the readings that a slowdown of 1 stands for.
fn best(record: &RulerRecord) -> &'static str {
    if record.earlier_readings { "its best so far on this host" } else { "its best in this run" }
}

/// Describes a row: the resources that are slower than `best`, the slowest first.
fn described(when: &str, row: &RulerRow, best: &str) -> String {
    let (unsteady, steady): (Vec<&RulerReading>, Vec<&RulerReading>) =
        read(row).partition(|reading| reading.spread_ratio > UNSTEADY);
    let unsteady = varied(&unsteady);
    let readings = steady.len();
    let mut slower: Vec<&RulerReading> =
        steady.into_iter().filter(|reading| reading.slowdown_ratio >= NOTICEABLE).collect();
    slower.sort_by(|one, two| two.slowdown_ratio.total_cmp(&one.slowdown_ratio));
    let within = setting(NOTICEABLE - 1.0);
    match (readings, unsteady.is_empty()) {
        (0, true) => return format!("{when}, no ruler could be read."),
        (0, false) => return format!("{when}, no ruler was steady.{unsteady}"),
        _ if slower.is_empty() => {
            let all = if unsteady.is_empty() { "every resource" } else { "every other resource" };
            return format!("{when}, {all} is within {within} of {best}.{unsteady}");
        }
        _ => {}
    }
    let one = |reading: &&RulerReading| format!("{}{TIE}{}", label(reading.resource), factor(reading));
    let each: Vec<String> = slower.iter().map(one).collect();
    let rest =
        if slower.len() < readings { format!("; the rest is within {within} of its best") } else { String::new() };
    format!("{when}, CPU time per unit of work, relative to {best}: {}{rest}.{unsteady}", each.join(", "))
}

/// Names the rulers whose readings vary too much for a statement: ` Not steady: memory (1.40, spread 55 %).`
fn varied(unsteady: &[&RulerReading]) -> String {
    let one = |reading: &&RulerReading| {
        format!("{} ({}, spread{TIE}{})", label(reading.resource), factor(reading), percent(reading.spread_ratio))
    };
    let all: Vec<String> = unsteady.iter().map(one).collect();
    if all.is_empty() { String::new() } else { format!(" Not steady: {}.", all.join(", ")) }
}

/// Formats a slowdown with two decimals; `?` if it is not finite.
fn factor(reading: &RulerReading) -> String {
    if reading.slowdown_ratio.is_finite() { format!("{:.2}", reading.slowdown_ratio) } else { "?".to_owned() }
}

fn read(row: &RulerRow) -> impl Iterator<Item = &RulerReading> {
    row.readings.iter().filter_map(|(_, reading)| reading.as_ref().ok()).filter(|one| one.slowdown_ratio.is_finite())
}

/// Says why the measurement ended early, if it did.
fn early(record: &RulerRecord) -> Option<String> {
    match &record.failure {
        Some(failure) => Some(format!("The measurement ended early: {}.", one_line(failure))),
        None => (record.ending == Ending::Interrupted).then(|| "The measurement was interrupted.".to_owned()),
    }
}

impl Report for RulerRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv::rulers(self)
    }

    /// Writes each reading on its own line. The samples are the readings, so `_samples` is ignored.
    fn json(&self, _samples: bool) -> String {
        json::text_by_lines(&RULERS_SCHEMA, self, "readings")
    }
}

impl Record for RulerRecord {
    fn facts(&self) -> Facts {
        let load = self.neighbour.map_or(String::new(), |one| format!(" next to {}", one.name()));
        Facts {
            seed: Ok(self.seed),
            commands: vec![format!("rulers{load}")],
            complete: self.ending != Ending::Interrupted && self.failure.is_none(),
            ..Facts::new(crate::record::RULERS_KIND, self.started, &self.host, &self.revision, summary(self))
        }
    }
}

/// The worst slowdown in a few words, for a list: `memory 2.31x next to 4 neighbours`.
fn summary(record: &RulerRecord) -> String {
    let worst = |row: &RulerRow| {
        let steady = read(row).filter(|reading| reading.spread_ratio <= UNSTEADY);
        steady.max_by(|one, two| one.slowdown_ratio.total_cmp(&two.slowdown_ratio)).cloned()
    };
    let Some(row) = record.rows.iter().max_by_key(|row| row.neighbours) else { return "nothing measured".to_owned() };
    let Some(reading) = worst(row) else {
        let why = if read(row).next().is_some() { "no ruler was steady" } else { "no ruler could be read" };
        return why.to_owned();
    };
    let load = match row.neighbours {
        0 => String::new(),
        number => format!(" next to {}", neighbours(None, number).replace(TIE, " ")),
    };
    format!("{} {}x{load}", label(reading.resource), factor(&reading))
}

fn document(record: &RulerRecord) -> Document {
    let early = early(record).map(|text| vec![(Emphasis::Open, text)]);
    let sentences = sentences(record).into_iter().enumerate().map(|(at, text)| {
        let emphasis = if at == 0 { Emphasis::Heading } else { Emphasis::Plain };
        vec![(emphasis, text)]
    });
    let mut sections: Vec<Section> = tables(record)
        .into_iter()
        .map(|(heading, table)| Section::new(&heading, vec![Block::Table(table)]).whole())
        .collect();
    sections.push(Section { heading: None, ..Section::new("", vec![Block::Facts(facts(record))]) });
    sections.extend(origin(record.started, &record.host, &record.revision));
    sections.push(Section::paragraphs([vec![(Emphasis::Plain, format!("Seed {}", record.seed))]]));
    Document {
        subject: "Steadyhand: how slow each resource is".to_owned(),
        answer: sentences.chain(early).collect(),
        sections,
        is_brief: false,
    }
}

/// Returns the tables: the row with the fewest neighbours in full, then slowdown and spread by number of neighbours.
fn tables(record: &RulerRecord) -> Vec<(String, Table)> {
    let Some(first) = record.rows.iter().min_by_key(|row| row.neighbours) else { return vec![] };
    let when = match first.neighbours {
        0 => "Each resource right now".to_owned(),
        number => format!("Each resource next to {}", neighbours(record.neighbour, number)),
    };
    let mut tables = vec![(when, one_row(first))];
    if record.rows.len() > 1 {
        let mut slowdowns = by_neighbours(record, factor);
        slowdowns.columns.extend(activity_columns(record));
        tables.push((format!("Slowdown by number of neighbours (1: {})", best(record)), slowdowns));
        let heading = "Spread over the rounds of each row (interquartile range over median)";
        tables.push((heading.to_owned(), by_neighbours(record, |reading| percent(reading.spread_ratio))));
    }
    tables
}

/// Table of one row: a line for each resource.
fn one_row(row: &RulerRow) -> Table {
    let number = |head: &str, cell: &dyn Fn(&RulerReading) -> Cell| {
        Column::numbers(head, &row.readings, |(_, reading)| match reading {
            Ok(reading) => cell(reading),
            Err(absent) => Cell::Absent(absent.0.clone()),
        })
    };
    let memory = |reading: &RulerReading| reading.working_set.map_or(Cell::Nothing, |set| memory(set.0 as f64).into());
    let columns = vec![
        Column::words("resource", &row.readings, |(resource, _)| label(*resource)),
        number("working set", &memory),
        number("time per unit", &|reading| time(reading.seconds_per_unit).into()),
        number("slowdown", &|reading| factor(reading).into()),
        number("spread", &|reading| percent(reading.spread_ratio).into()),
        number("CPU time of a reading", &|reading| time(reading.cost.seconds()).into()),
    ];
    Table { label: "Resources".to_owned(), rows: ("resource", "resources"), columns }
}

/// Table of one figure of all readings: a line for each number of neighbours.
fn by_neighbours(record: &RulerRecord, words: impl Fn(&RulerReading) -> String) -> Table {
    let mut columns = vec![Column::numbers("neighbours", &record.rows, |row| row.neighbours.to_string())];
    for resource in Resource::ALL {
        let cell = |row: &RulerRow| Cell::reading(&reading(row, resource), &words);
        columns.push(Column::numbers(label(resource), &record.rows, cell));
    }
    Table { label: "Rows by number of neighbours".to_owned(), rows: ("row", "rows"), columns }
}

/// The shares of the machine's time that have columns.
const SHARES: [ActivityShare; 2] = [CPUS_BUSY, STEAL];

/// Columns with the activity of the machine in each row; a share that is known in no row has no column.
fn activity_columns(record: &RulerRecord) -> Vec<Column> {
    let known = SHARES.into_iter().filter(|share| record.rows.iter().any(|row| (share.pick)(&row.activity).is_ok()));
    let column = |share: ActivityShare| {
        let cell = |row: &RulerRow| Cell::reading((share.pick)(&row.activity), |ratio| percent(*ratio));
        Column::numbers(share.label, &record.rows, cell)
    };
    known.map(column).collect()
}

/// Returns the shares that were measured in no row, with the reason, and how long the measurement took.
fn facts(record: &RulerRecord) -> Vec<Fact> {
    let absent = SHARES.into_iter().filter_map(|share| {
        let reasons = record.rows.iter().map(|row| (share.pick)(&row.activity).as_ref().err());
        let all: Option<Vec<&Absent>> = reasons.collect();
        Some(Fact::new(share.label, format!("not measured: {}", one_line(&all?.first()?.0))))
    });
    absent.chain([Fact::new("took", duration(record.elapsed))]).collect()
}

fn reading(row: &RulerRow, resource: Resource) -> Reading<RulerReading> {
    let found = row.readings.iter().find(|(of, _)| *of == resource);
    found.map_or_else(|| Err(Absent::because("the ruler was not read")), |(_, reading)| reading.clone())
}
