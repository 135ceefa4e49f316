//! What a release changed, as a document: sentences, tables, and charts for pages.

mod charts;
mod design;
mod facts;
mod hosts;
mod sentences;
mod table;
mod wall;
mod warnings;

use steady_feature::{Record, Report};
use steady_model::{Absent, Facts, Interval, Metric, RunKind, Timestamp};
use steady_render::document::{Block, Document, Emphasis, Section, Sentence};
use steady_render::effect::signed;
use steady_render::letters::{cut, one_line};
use steady_render::units::{TIE, decimals_of, fixed, thousands};
use steady_render::{Style, terminal};

use crate::csv::csv;
use crate::record::ReleaseReport;
use crate::run::status;
use sentences::summary;
pub(crate) use sentences::{sentences, sight};
pub(crate) use warnings::warnings;

impl Report for ReleaseReport {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// It has no samples: what it rests on stays in the store.
    fn json(&self, _samples: bool) -> String {
        self.json_text()
    }
}

impl Record for ReleaseReport {
    /// It began when it was asked, however long ago its window was, and is of the hosts that served it.
    fn facts(&self) -> Facts {
        let none = |why: &str| Err(Absent::because(why));
        let hosts = self.sides.iter().map(|side| side.hosts).max().unwrap_or(0);
        let hosts = format!("its requests were served by {hosts} {}", if hosts == 1 { "host" } else { "hosts" });
        let question = &self.question;
        Facts {
            kind: RunKind::Release,
            started: question.asked.unwrap_or(Timestamp(question.to)),
            hostname: none(&hosts),
            kernel: none("it is not told of the hosts that served it"),
            revision: none("its versions are what the service calls them"),
            seed: Err(Absent::because("release runs have no coins of their own")),
            commands: [&question.old, &question.new].map(|version| format!("{} {version}", question.service)).to_vec(),
            pairs: Err(Absent::because("release runs have no pairs")),
            complete: true,
            primary: Ok(Metric::Cpu),
            verdict: summary(self),
        }
    }

    fn status(&self) -> u8 {
        status(self, false)
    }
}

/// The report.
fn document(report: &ReleaseReport) -> Document {
    let mut sections = charts::course(report);
    sections.extend(charts::looks(report));
    sections.extend(charts::routes(report));
    sections.push(table::section(report));
    sections.extend(charts::hosts(report));
    sections.extend(hosts::section(report));
    sections.extend(charts::wall(report));
    sections.push(wall::section(report));
    sections.push(Section::new("What was looked at", vec![Block::Facts(facts::facts(report))]));
    let [old, new] = versions(report);
    let service = named(&report.question.service);
    Document {
        subject: format!("Steadyhand: what a release changed ({service}, {old} and {new})"),
        answer: answer(report),
        sections,
        is_brief: false,
    }
}

/// The answer alone as text for a terminal.
pub(crate) fn answer_text(report: &ReleaseReport, style: Style) -> String {
    terminal::text(&Document { answer: answer(report), ..Document::default() }, style)
}

/// The sentences, and what to beware of.
fn answer(report: &ReleaseReport) -> Vec<Sentence> {
    let warning = |text: String| vec![(Emphasis::Open, "Warning:".to_owned()), (Emphasis::Plain, format!(" {text}"))];
    sentences(report).into_iter().chain(warnings(report).into_iter().map(warning)).collect()
}

fn plain(text: String) -> Sentence {
    vec![(Emphasis::Plain, text)]
}

/// How much of a version's name fits into a sentence.
const VERSION: usize = 32;

/// A text of others on one line that is no longer than a sentence can bear.
fn named(text: &str) -> String {
    cut(&one_line(text), VERSION)
}

/// Why something is absent, on one line.
fn named_reason(reason: &str) -> String {
    one_line(reason)
}

/// Both versions.
fn versions(report: &ReleaseReport) -> [String; 2] {
    [named(&report.question.old), named(&report.question.new)]
}

/// A change without an interval, with its sign: `+18 %`, `-0.4 %`.
fn moved(change: f64) -> String {
    let percent = change * 100.0;
    let text = fixed(percent, decimals_of(percent, 2).min(2));
    plus(change, format!("{text}{TIE}%"))
}

/// A change with its sign, and its interval: (`+5.1 %`, `3.3 to 7.0 %`).
fn sized(change: f64, interval: Interval) -> (String, String) {
    let (size, range) = signed(change, interval);
    (plus(change, size), range)
}

/// What is above nothing says so.
fn plus(change: f64, text: String) -> String {
    if change > 0.0 && text.bytes().any(|byte| matches!(byte, b'1'..=b'9')) { format!("+{text}") } else { text }
}

/// So many, thousands apart.
fn number(count: u64) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

/// So many of what there is one or more of.
fn numbered(count: u64, one: &str, many: &str) -> String {
    format!("{}{TIE}{}", number(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_carry_their_sign() {
        let told = |change: f64| moved(change).replace(TIE, " ");
        assert_eq!([told(0.1823), told(-0.004), told(0.0), told(1.5)], ["+18 %", "-0.40 %", "0 %", "+150 %"]);
        assert_eq!([told(1e-9), told(f64::NAN)], ["0.00 %", "? %"]);
    }
}
