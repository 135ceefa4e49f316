//! The report on a load experiment: the answer, the work of each process, where the processes ran, and the machine.

mod charts;
mod facts;
mod rulers;
mod sentences;
mod table;
mod tables;

use steady_feature::{Record, Report};
use steady_model::{Ending, Facts, Reading};
use steady_render::Chart;
use steady_render::document::{Block, Document, Emphasis, Section, Sentence, Shown, origin};
use steady_render::json::pretty;
use steady_render::letters::one_line;

use crate::csv;
use crate::record::{CpuUse, LoadRecord, LoadWork, RUNS};
use charts::Rates;

use facts::summary;
use sentences::sentences;

/// Heading of the table of ruler readings.
const RULERS: &str = "Slowdown of each resource during the rows (1: the 5 % quantile of all readings of this host)";

impl Report for LoadRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv::load(self)
    }

    /// Writes each run on its own line.
    fn json(&self, samples: bool) -> String {
        pretty::indented_but(&self.value(samples), RUNS)
    }

    fn drawing(&self) -> Option<Chart> {
        Some(drawing(self))
    }
}

impl Record for LoadRecord {
    fn facts(&self) -> Facts {
        let work = match &self.plan.work {
            LoadWork::Hash { cpu_time, .. } => format!("hash: {} s of CPU", cpu_time.seconds()),
            LoadWork::Sum { work } => format!("sum: {work} numbers"),
            LoadWork::Command { command, .. } => command.name.clone(),
        };
        Facts {
            seed: Ok(self.seed),
            commands: vec![work],
            complete: self.ending != Ending::Interrupted && self.failure.is_none(),
            ..Facts::new(crate::record::KIND, self.started, &self.host, &self.revision, summary(self))
        }
    }

    fn sentences(&self) -> Vec<String> {
        sentences(self)
    }
}

fn document(record: &LoadRecord) -> Document {
    let mut sections = Vec::new();
    if !record.points().is_empty() {
        sections.push(Section::new(&facts::each_process(record), vec![Block::Table(tables::figures(record))]).whole());
        sections.extend(rates(record));
        let heading = "CPUs and waiting times of the processes";
        sections.push(Section::new(heading, vec![Block::Table(tables::cpus_and_waiting(record))]).as_detail().whole());
        sections.push(cpus(
            record,
            "How busy each logical CPU was",
            "Share of time in which a logical CPU was in use",
            |cpu| &cpu.busy_ratio,
        ));
        let ours = "Share of samples that found a process running on a logical CPU or waiting for it";
        sections.push(cpus(record, "Where the processes ran or waited", ours, |cpu| &cpu.ours_ratio));
        let rulers = tables::rulers(record);
        sections.extend(rulers.map(|table| Section::new(RULERS, vec![Block::Table(table)]).as_detail().whole()));
    }
    sections.push(Section::new("The machine", vec![Block::Facts(facts::facts(record))]).as_detail());
    sections.extend(origin(record.started, &record.host, &record.revision));
    sections.push(Section::paragraphs([plain(format!("Seed {}", record.seed))]));
    sections.push(repeat_section(record));
    Document {
        subject: "Steadyhand: the work of concurrent processes".to_owned(),
        answer: answer(record),
        sections,
        is_brief: false,
    }
}

/// Returns the chart of work by number of processes; without series if there are too few rows.
fn drawing(record: &LoadRecord) -> Chart {
    Rates::of(record).map_or_else(charts::none, |rates| rates.each())
}

/// Returns the answer: one paragraph for each topic, then the reason for missing rows.
fn answer(record: &LoadRecord) -> Vec<Sentence> {
    let paragraphs = sentences::paragraphs(record);
    let paragraphs_of_answer = paragraphs.iter().enumerate().map(|(at, paragraph)| {
        let emphasis = if at == 0 { Emphasis::Heading } else { Emphasis::Plain };
        vec![(emphasis, one_line(&paragraph.join(" ")))]
    });
    let missing_rows = facts::missing_rows(record).join(" ");
    let missing_rows = (!missing_rows.is_empty()).then(|| vec![(Emphasis::Open, missing_rows)]);
    paragraphs_of_answer.chain(missing_rows).collect()
}

/// Returns the charts of the rates. In text, only the first is shown.
fn rates(record: &LoadRecord) -> Vec<Section> {
    let Some(rates) = Rates::of(record) else {
        let why = plain("There is no chart: it needs at least two numbers of processes.".to_owned());
        return vec![Section::paragraphs([why]).shown(Shown::OnPages)];
    };
    let (what, per) = (rates.what(), rates.per);
    let law = record.scaling.as_ref().ok().and_then(|scaling| scaling.law.as_ref().ok());
    let together = Block::Chart(rates.together(law));
    vec![
        Section::new(&format!("{what} per CPU {per} and per wall {per}"), vec![Block::Chart(rates.each())]),
        Section::new(&format!("{what} per {per} of all processes together"), vec![together]).shown(Shown::OnPages),
    ]
}

/// Returns the chart of every CPU in every row.
fn cpus(record: &LoadRecord, heading: &str, what: &str, pick: fn(&CpuUse) -> &Reading<f64>) -> Section {
    let block = match charts::cpus(record, what, pick) {
        Ok(chart) => Block::Chart(chart),
        Err(why) => Block::Paragraph(plain(format!("Not measured: {why}."))),
    };
    Section::new(heading, vec![block]).shown(Shown::OnPages)
}

/// Returns the command line that repeats the measurement.
fn repeat_section(record: &LoadRecord) -> Section {
    match facts::repeat(&record.plan, record.seed) {
        Ok(line) => Section::new("To repeat this measurement", vec![Block::Command(line)]).shown(Shown::OffTerminal),
        Err(why) => Section::paragraphs([plain(format!("No command line can repeat this measurement: {why}."))])
            .shown(Shown::OffTerminal),
    }
}

fn plain(text: String) -> Sentence {
    vec![(Emphasis::Plain, text)]
}
