//! Reports of all kinds, as they were exported.

use std::str;

use steady_compare::Compared;
use steady_costs::CostsRecord;
use steady_explain::{ExplainPairRecord, ExplainRecord};
use steady_feature::Report as Rendered;
use steady_feature::flags::Form;
use steady_limit::LimitRecord;
use steady_load::{LoadRecord, RulerRecord};
use steady_locks::LocksRecord;
use steady_release::ReleaseReport;
use steady_render::{Style, svg};
use steady_warm::BenchRecord;

/// A report's JSON, of whatever kind: what can be read is judged again, is shown in every form, and is written so that the
/// same is read again.
pub fn reports(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(report) = Compared::read(text) {
        compared(&report);
    }
    if let Ok(report) = LoadRecord::read(text) {
        loaded(&report);
    }
    if let Ok(record) = RulerRecord::read(text) {
        rendered(&record);
        assert_eq!(RulerRecord::read(&record.json(false)).ok(), Some(record));
    }
    if let Ok(record) = LimitRecord::read(text) {
        rendered(&record);
        assert_eq!(LimitRecord::read(&record.json(false)).ok(), Some(record));
    }
    if let Ok(record) = ExplainRecord::read(text) {
        rendered(&record);
        // Prices of any size may lead to what is no number, which does not equal itself.
        let json = record.json(false);
        assert_eq!(ExplainRecord::read(&json).map(|again| again.json(false)), Ok(json));
    }
    if let Ok(record) = ExplainPairRecord::read(text) {
        rendered(&record);
        let json = record.json(true);
        assert_eq!(ExplainPairRecord::read(&json).map(|again| again.json(true)), Ok(json));
    }
    if let Ok(record) = CostsRecord::read(text) {
        rendered(&record);
        assert_eq!(CostsRecord::read(&record.json(true)).ok(), Some(record));
    }
    if let Ok(record) = LocksRecord::read(text) {
        rendered(&record);
        assert_eq!(LocksRecord::read(&record.json(false)).ok(), Some(record));
    }
    if let Ok(report) = ReleaseReport::read(text) {
        rendered(&report);
        assert_eq!(ReleaseReport::read(&report.json(false)).ok(), Some(report));
    }
    if let Ok(record) = BenchRecord::read(text) {
        rendered(&record);
        assert_eq!(BenchRecord::read(&record.json(true)).ok(), Some(record));
    }
}

/// A comparison in every form. A log that makes no sense may give a record that is refused when it is read again.
pub(crate) fn compared(report: &Compared) {
    harmless(&report.json(true), false);
    rendered(report);
    if let Ok(again) = Compared::read(&report.json(true)) {
        assert_eq!(&again, report, "what was written is not what is read");
    }
}

/// A load experiment in every form, its drawing too. A log that makes no sense may give a record that is refused when it is read
/// again.
pub(crate) fn loaded(report: &LoadRecord) {
    harmless(&report.json(true), false);
    rendered(report);
    report.drawing().iter().for_each(|chart| harmless(&svg::text(chart), true));
    if let Ok(again) = LoadRecord::read(&report.json(true)) {
        assert_eq!(&again, report, "what was written is not what is read");
    }
}

/// A record in every form.
pub(crate) fn rendered(record: &dyn Rendered) {
    harmless(&record.json(false), false);
    shown([Form::Text, Form::Html, Form::Csv, Form::Markdown].map(|form| record.rendered(form, narrow(), false)));
}

fn narrow() -> Style {
    Style { width: 40, color: true }
}

fn shown<const FORMS: usize>(forms: [String; FORMS]) {
    for form in forms {
        assert!(!form.is_empty(), "nothing is shown");
        harmless(&form, true);
    }
}

/// Nothing in what is shown moves the cursor, changes the terminal or turns the direction of the text, but lines, tabs and
/// the colours of `steady`'s own.
fn harmless(form: &str, colours: bool) {
    let mut rest = form.to_owned();
    if colours {
        for code in ["0", "1", "1;31", "1;32", "1;33", "1;36"] {
            rest = rest.replace(&format!("\u{1b}[{code}m"), "");
        }
    }
    let turns = |letter| matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let misleads = |letter: &char| letter.is_control() && !matches!(letter, '\n' | '\t') || turns(*letter);
    if let Some(letter) = rest.chars().find(misleads) {
        let at = rest.find(letter).unwrap_or_default();
        let before: String = rest[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{letter:?} stands in what is shown after {before:?}");
    }
}
