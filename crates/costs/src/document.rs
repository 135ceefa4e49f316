//! The report about the cost of primitives: sentences, tables, histograms, and the cost by length of the loop.

mod charts;
mod figures;
mod notes;
pub(crate) mod published;
mod sentences;
mod sweep;
mod tables;

use steady_feature::{Record, Report};
use steady_model::{Ending, Facts, Probe};
use steady_render::Chart;
use steady_render::document::{Block, Document, Emphasis, Section, Sentence, Shown, origin};
use steady_render::json::pretty;

use crate::csv::csv;
use crate::record::{CostsRecord, ProbeCost, SAMPLES};
use figures::Group;

use sentences::summary;

/// Up to this many probes have a histogram of several lines each on a terminal.
const FEW: usize = 3;

impl Report for CostsRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// Each repetition is on one line.
    fn json(&self, samples: bool) -> String {
        pretty::indented_but(&self.value(samples), SAMPLES)
    }
}

impl Record for CostsRecord {
    fn facts(&self) -> Facts {
        let names: Vec<&str> = self.plan.probes.iter().map(|probe| probe.name()).collect();
        let is_usual = self.plan.probes == Probe::USUAL;
        let which = if is_usual { "the usual probes".to_owned() } else { names.join(", ") };
        let work = match &self.plan {
            plan if plan.sweep => format!("{which}, by length of the loop"),
            plan if plan.as_published => "four primitives, as published and correctly".to_owned(),
            _ => which,
        };
        Facts {
            seed: Ok(self.seed),
            commands: vec![work],
            complete: self.ending != Ending::Interrupted,
            ..Facts::new(crate::record::KIND, self.started, &self.host, &self.revision, summary(self))
        }
    }
}

fn document(record: &CostsRecord) -> Document {
    let emphasis = |at: usize| if at == 0 { Emphasis::Heading } else { Emphasis::Plain };
    let sentences = sentences::sentences(record).into_iter().enumerate();
    let mut answer: Vec<Sentence> = sentences.map(|(at, text)| vec![(emphasis(at), text)]).collect();
    answer.extend(notes::early(record).map(|text| vec![(Emphasis::Open, text)]));
    let are_clocks = only_clocks(record);
    let mut sections = Vec::new();
    if are_clocks && !record.clocks.is_empty() {
        sections.push(tables::clocks(record));
    }
    if record.plan.sweep {
        sections.extend(sweep::sections(record));
    } else {
        sections.extend(match record.plan.as_published {
            true => Some(published::table(record)),
            false => tables::costs(record),
        });
        let shown = if record.costs().count() <= FEW { Shown::Everywhere } else { Shown::OnPages };
        sections.extend(charts::histograms(record).into_iter().map(|section| section.shown(shown)));
    }
    let descriptions = tables::descriptions(record);
    if are_clocks {
        sections.extend(descriptions);
    } else if !record.plan.sweep && record.plan.probes.iter().any(|probe| Group::of(*probe) == Group::Clocks) {
        let clocks = std::iter::once(tables::clocks(record)).chain(descriptions);
        sections.extend(clocks.map(|section| section.shown(Shown::OnPages)));
    }
    let notes = notes::notes(record).into_iter().map(plain);
    sections.extend(Some(Section::paragraphs(notes)).filter(|section| !section.blocks.is_empty()));
    sections.push(Section::new("How it was measured", vec![Block::Facts(notes::facts(record))]).as_detail());
    let again = vec![Block::Command(notes::repeat(record))];
    sections.push(Section::new("Command to measure the same again", again).shown(Shown::OffTerminal));
    sections.extend(origin(record.started, &record.host, &record.revision));
    Document { subject: "Steadyhand: costs of primitives".to_owned(), answer, sections, is_brief: false }
}

/// The charts of a record, each with the name of its probe: the histograms or, in a sweep, the costs by length.
pub fn plots(record: &CostsRecord) -> Vec<(&'static str, Chart)> {
    if record.plan.sweep { sweep::plots(record) } else { charts::plots(record) }
}

fn plain(text: String) -> Sentence {
    vec![(Emphasis::Plain, text)]
}

/// Whether only clocks were measured. The report is then about clocks.
fn only_clocks(record: &CostsRecord) -> bool {
    let probes = &record.plan.probes;
    !probes.is_empty() && !record.plan.sweep && probes.iter().all(|probe| Group::of(*probe) == Group::Clocks)
}

/// The probes of a record without duplicates.
fn each_once(record: &CostsRecord) -> Vec<Probe> {
    let mut probes: Vec<Probe> = Vec::new();
    for ProbeCost { probe, .. } in &record.probes {
        if !probes.contains(probe) {
            probes.push(*probe);
        }
    }
    probes
}
