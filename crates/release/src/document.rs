//! Builds the document of a release report: sentences, tables, and charts for HTML pages.

mod charts;
mod design;
mod facts;
mod hosts;
mod sentences;
mod table;
mod wall;
mod warnings;

use steady_feature::{Record, Report};
use steady_model::{Absent, Facts, Interval, Metric, Timestamp};
use steady_render::document::{Block, Document, Emphasis, Section, Sentence};
use steady_render::effect::plus;
use steady_render::letters::{cut, one_line};
use steady_render::units::{TIE, decimals_of, fixed, setting, thousands};
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

    /// Ignores `samples`: the rows stay in the agent's store.
    fn json(&self, _samples: bool) -> String {
        self.json_text()
    }
}

/// Reason why the history has neither host nor kernel of a comparison.
const NO_HOST: &str = "the record of a release describes the requests, not the hosts that served them";

impl Record for ReleaseReport {
    /// Returns the facts for the history. The start is the time of the comparison, not of its window.
    fn facts(&self) -> Facts {
        let none = |why: &str| Err(Absent::because(why));
        let question = &self.question;
        Facts {
            kind: crate::record::KIND,
            started: question.asked.unwrap_or(Timestamp(question.to)),
            hostname: none(NO_HOST),
            kernel: none(NO_HOST),
            revision: none("the service reports names of versions, not revisions"),
            seed: Err(Absent::because("a comparison of releases makes no random choices")),
            commands: [&question.old, &question.new].map(|version| format!("{} {version}", question.service)).to_vec(),
            pairs: Err(Absent::because("a comparison of releases has no pairs")),
            complete: true,
            primary: Ok(Metric::Cpu),
            verdict: summary(self),
        }
    }

    fn status(&self) -> u8 {
        status(self)
    }
}

fn document(report: &ReleaseReport) -> Document {
    let mut sections = charts::course(report);
    sections.extend(charts::looks(report));
    sections.extend(charts::routes(report));
    sections.push(table::section(report));
    sections.extend(charts::hosts(report));
    sections.extend(hosts::section(report));
    sections.extend(charts::wall(report));
    sections.push(wall::section(report));
    sections.push(Section::new("What was compared", vec![Block::Facts(facts::facts(report))]));
    let [old, new] = versions(report);
    let service = named(&report.question.service);
    Document {
        subject: format!("Steadyhand: CPU time per request of {service}, {new} compared with {old}"),
        answer: answer(report),
        sections,
        is_brief: false,
    }
}

/// Formats only the answer, without tables, as text for a terminal.
pub(crate) fn answer_text(report: &ReleaseReport, style: Style) -> String {
    terminal::text(&Document { answer: answer(report), ..Document::default() }, style)
}

/// Returns the sentences of the answer, followed by the warnings.
fn answer(report: &ReleaseReport) -> Vec<Sentence> {
    let warning = |text: String| vec![(Emphasis::Open, "Warning:".to_owned()), (Emphasis::Plain, format!(" {text}"))];
    sentences(report).into_iter().chain(warnings(report).into_iter().map(warning)).collect()
}

fn plain(text: String) -> Sentence {
    vec![(Emphasis::Plain, text)]
}

/// Longest name of a version in a sentence, in columns. Longer names are cut.
const VERSION: usize = 32;

/// Makes a name from outside fit for a sentence: on one line, without control characters, and cut if it is long.
pub(crate) fn named(text: &str) -> String {
    cut(&one_line(text), VERSION)
}

/// Puts the reason for a missing value on one line, without control characters.
fn named_reason(reason: &str) -> String {
    one_line(reason)
}

/// Returns the names of OLD and NEW for sentences.
fn versions(report: &ReleaseReport) -> [String; 2] {
    [named(&report.question.old), named(&report.question.new)]
}

/// Formats an allowance with one decimal: it is 3 % divided by the root of the number of hosts.
fn allowed(allowance: f64) -> String {
    setting((allowance * 1e3).round() / 1e3)
}

/// Formats a change without an interval, with its sign: `+18 %`, `-0.4 %`.
fn moved(change: f64) -> String {
    let percent = change * 100.0;
    let text = fixed(percent, decimals_of(percent, 2).min(2));
    plus(format!("{text}{TIE}%"))
}

/// Returns the verb and the end of a sentence about a change with this interval. If the interval contains zero, the
/// sentence does not claim a change.
fn claim(interval: &Interval) -> [&'static str; 2] {
    match interval.holds(0.0) {
        true => ["differs", "; the true change may be zero"],
        false => ["changed", ""],
    }
}

/// Formats a count with separators between thousands.
fn number(count: u64) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_formatted_with_its_sign() {
        let text = |change: f64| moved(change).replace(TIE, " ");
        assert_eq!([text(0.1823), text(-0.004), text(0.0), text(1.5)], ["+18 %", "-0.40 %", "0 %", "+150 %"]);
        assert_eq!([text(1e-9), text(f64::NAN)], ["0.00 %", "? %"]);
    }
}
