//! Exported reports of all features.

use std::str;

use steady_bench::SuiteRecord;
use steady_bisect::BisectRecord;
use steady_compare::Compared;
use steady_costs::CostsRecord;
use steady_explain::{ExplainPairRecord, ExplainRecord};
use steady_feature::Report as Rendered;
use steady_feature::flags::Form;
use steady_limit::LimitRecord;
use steady_load::{LoadRecord, LoadTable, RulerRecord};
use steady_locks::LocksRecord;
use steady_release::ReleaseReport;
use steady_render::{Style, svg};
use steady_signature::BenchRecord as SignatureBench;
use steady_warm::BenchRecord;

/// Reads the input as the JSON of each kind of report.
///
/// A report that can be read is judged again and rendered in every format. Its JSON can be read again and gives an
/// equal report.
pub fn reports(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(report) = Compared::read(text) {
        compared(&report);
    }
    if let Ok(report) = LoadRecord::read(text) {
        loaded(&report);
    }
    if let Ok(table) = LoadTable::read("table", text) {
        rendered(&table);
        table.drawing().iter().for_each(|chart| harmless(&svg::text(chart), true));
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
        // Very large prices may lead to NaN, which does not equal itself. Therefore the JSON is compared.
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
    if let Ok(record) = BisectRecord::read(text) {
        rendered(&record);
        let json = record.json(true);
        assert_eq!(BisectRecord::read(&json).map(|again| again.json(true)), Ok(json));
    }
    if let Ok(record) = SuiteRecord::read(text) {
        suite(&record);
    }
    if let Ok(record) = SignatureBench::read(text) {
        rendered(&record);
        assert_eq!(SignatureBench::read(&record.json(true)).ok(), Some(record));
    }
}

/// Renders a comparison of builds in every format and reads its JSON again. Reading may refuse an inconsistent log.
pub(crate) fn suite(record: &SuiteRecord) {
    rendered(record);
    let json = record.json(true);
    if let Ok(again) = SuiteRecord::read(&json) {
        assert_eq!(again.json(true), json);
    }
}

/// Renders a comparison in every format and reads its JSON again. Reading may refuse the record of an inconsistent log.
pub(crate) fn compared(report: &Compared) {
    harmless(&report.json(true), false);
    rendered(report);
    if let Ok(again) = Compared::read(&report.json(true)) {
        assert_eq!(&again, report, "the record read from its JSON differs");
    }
}

/// Renders a load experiment and its chart in every format, and reads its JSON again. Reading may refuse the record of
/// an inconsistent log.
pub(crate) fn loaded(report: &LoadRecord) {
    harmless(&report.json(true), false);
    rendered(report);
    report.drawing().iter().for_each(|chart| harmless(&svg::text(chart), true));
    if let Ok(again) = LoadRecord::read(&report.json(true)) {
        assert_eq!(&again, report, "the record read from its JSON differs");
    }
}

/// Renders a record in every format and checks the output.
pub(crate) fn rendered(record: &dyn Rendered) {
    harmless(&record.json(false), false);
    let narrow = Style { width: 40, color: true };
    for form in [Form::Text, Form::Html, Form::Csv, Form::Markdown] {
        let output = record.rendered(form, narrow, false);
        assert!(!output.is_empty(), "the output is empty");
        harmless(&output, true);
    }
}

/// Checks that the output contains no control characters except line feeds and tabs, and none that change the direction
/// of text. With `colours`, the colour sequences of `steady` are allowed too.
fn harmless(output: &str, colours: bool) {
    let mut rest = output.to_owned();
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
        panic!("the output contains {letter:?} after {before:?}");
    }
}
