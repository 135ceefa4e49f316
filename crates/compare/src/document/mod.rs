//! A comparison as a document: the verdicts, the parts of the runs' time, the pairs, and the load of the machine.

mod charts;
mod commands;
mod headline;
mod joined;
mod machine;
mod pairs;
mod ranking;
mod repeat;
mod secondary;
mod sentence;
mod times;
mod verdicts;

use steady_model::{Judgement, Report, Undecided, Verdict, Warning};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, origin};

use crate::judge::untested;
use crate::units::TIE;
use crate::words::message;

pub(crate) use headline::sentences as headline;
pub use headline::summary;
pub use joined::joined_document;
pub(crate) use sentence::sentence;

/// A comparison as a document.
pub fn document(report: &Report) -> Document {
    let record = &report.record;
    let has_several = record.plan.commands.len() > 1;
    let answer = headline::sentences(report).into_iter().chain(warnings(report));
    let mut sections = Vec::new();
    if has_several {
        sections.extend(ranking::sections(report));
        sections.extend(secondary::section(report).map(|section| section.shown(Shown::OnTerminal)));
        sections.push(verdicts::section(report));
    }
    sections.push(commands::section(&record.plan));
    sections.extend(charts::sections(report));
    sections.extend(times::sections(report));
    if has_several {
        sections.push(Section::new("Pairs", vec![Block::Facts(pairs::facts(report))]).as_detail());
    }
    let machine = Block::Facts(machine::facts(report));
    sections.push(Section::new("Load of the machine during the runs", vec![machine]).as_detail());
    sections.extend(origin(record.started, &record.host, &record.revision));
    sections.push(commands::choices(report));
    sections.push(Section::paragraphs([plain(format!("Seed {}", record.plan.seed))]));
    sections.push(repeat::section(&record.plan));
    Document { subject: subject(report), answer: answer.collect(), sections, is_brief: false }
}

/// The reasons of the exit status as lines of plain text: the verdict and the condition of `--fail-if` for each command
/// after the first, if a condition was given; or what `--require-verdict` does not accept: verdicts, and a comparison
/// that tests no change.
pub(crate) fn about_status(report: &Report) -> Vec<String> {
    let text = |spans: Sentence| spans.into_iter().map(|(_, text)| text).collect::<String>().replace(TIE, " ");
    let plan = &report.record.plan;
    let verdict = |judgement: &Judgement| text(sentence::spans(report, judgement));
    if plan.fail_if.is_none() {
        let is_required = |judgement: &&Judgement| plan.require_verdict && judgement.verdict == Verdict::Undecided;
        let untested = untested(&report.record).filter(|_| plan.require_verdict);
        let untested = untested.map(|warning| message(report, &warning).replace(TIE, " "));
        return report.primary().filter(is_required).map(verdict).chain(untested).collect();
    }
    let conditions = headline::conditions(report).into_iter().map(text);
    report.primary().map(verdict).zip(conditions).map(|(why, state)| format!("{why} {state}")).collect()
}

/// The title of the report.
fn subject(report: &Report) -> String {
    match report.record.plan.commands.len() {
        1 => "Steadyhand: the cost of a command".to_owned(),
        2 => "Steadyhand: two commands compared".to_owned(),
        many => format!("Steadyhand: {many} commands compared"),
    }
}

/// The warnings, without those that the first sentences contain already.
fn warnings(report: &Report) -> Vec<Sentence> {
    let is_reported = |reason| report.primary().any(|judgement| judgement.undecided == Ok(reason));
    let others = report.warnings.iter().filter(|warning| match warning {
        Warning::TooFewPairs { .. } => !is_reported(Undecided::TooFewPairs),
        Warning::BelowGrain { .. } => !is_reported(Undecided::BelowGrain),
        _ => true,
    });
    others.map(|one| warning(&message(report, one))).collect()
}

fn warning(text: &str) -> Sentence {
    vec![(Emphasis::Open, "Warning:".to_owned()), (Emphasis::Plain, format!(" {text}"))]
}

fn plain(text: String) -> Sentence {
    vec![(Emphasis::Plain, text)]
}

/// Facts from pairs of a label and a text.
fn facts(lines: Vec<(&'static str, String)>) -> Vec<Fact> {
    lines.into_iter().map(|(label, text)| Fact::new(label, text)).collect()
}
