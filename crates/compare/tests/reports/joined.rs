//! Compares joined reports with the golden files in `testdata/reports`. `STEADY_BLESS=1 cargo test` rewrites them.

use steady_compare::json::{JOINED_SCHEMA, JoinedComparisons, joined_json_text, read_record};
use steady_compare::{joined_csv, joined_document};
use steady_model::{FailIf, Joined, Verdict};
use steady_render::json::{ReadError, description};
use steady_render::{Style, html, markdown, terminal};

use crate::by_hand::joins;
use crate::goldens;

fn text(joined: &Joined, width: usize) -> String {
    terminal::text(&joined_document(joined), Style { width, color: false })
}

#[test]
fn the_schema_of_the_join_is_as_recorded() {
    goldens::check_schema(&JOINED_SCHEMA, description::<JoinedComparisons<'static>>(&JOINED_SCHEMA));
}

#[test]
fn joined_comparisons_look_as_recorded() {
    goldens::check(joins::all().into_iter().flat_map(|(name, joined)| {
        let document = joined_document(&joined);
        let exports = [
            ("json", joined_json_text(&joined)),
            ("csv", joined_csv(&joined)),
            ("md", markdown::text(&document)),
            ("html", html::text(&document)),
        ];
        goldens::forms(name, |width| text(&joined, width), exports)
    }));
}

/// A join has no budget of its own, and its sources are not to be measured longer one by one.
#[test]
fn an_open_condition_needs_a_new_set_of_sources() {
    for (name, mut joined) in joins::all() {
        let Some(interval) = joined.primary().find_map(|judgement| judgement.interval.clone().ok()) else { continue };
        let beyond = 0.25 * interval.low + 0.75 * interval.high;
        let Some(first) = joined.sources.first_mut().filter(|_| beyond > 0.0) else { continue };
        first.report.record.plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond });
        let text = text(&joined, 1000);
        let open = text.lines().find(|line| line.contains("is open: ")).unwrap_or_else(|| panic!("{name}: {text}"));
        assert!(open.contains("A new set ") && open.contains("decide it") && !open.contains("--budget "), "{open}");
    }
}

/// If one source does not test the change, the condition is open, in any order of the sources.
#[test]
fn a_source_without_its_revisions_leaves_the_condition_open() {
    for (name, mut joined) in joins::all() {
        for source in &mut joined.sources {
            source.report.record.plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond: 0.9 });
        }
        let is_said =
            |line: &str| line.contains("is open") && line.ends_with(": no run opened a file of its revision.");
        let says_open = |joined: &Joined| text(joined, 1000).lines().any(is_said);
        assert!(!says_open(&joined), "{name}");
        joined.sources.last_mut().unwrap().report.record.unused_revisions = true;
        assert!(says_open(&joined), "{name}: {}", text(&joined, 1000));
        joined.sources.reverse();
        assert!(says_open(&joined), "{name}: {}", text(&joined, 1000));
    }
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, joined) in joins::all() {
        goldens::lines_fit(name, |width| text(&joined, width));
    }
}

#[test]
fn the_json_has_its_own_schema_and_is_refused_as_a_comparison() {
    for (name, joined) in joins::all() {
        let json = joined_json_text(&joined);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["schema"], "steady.judge/1", "{name}");
        assert_eq!(value["sources"].as_array().unwrap().len(), joined.sources.len());
        assert_eq!(value["verdicts"].as_array().unwrap().len(), joined.judgements.len());
        assert_eq!(value["agreement"]["commands"].as_array().unwrap().len(), joined.agreements.len());
        assert!(matches!(read_record(&json), Err(ReadError::OtherSchema { .. })), "{name}");
    }
}
