//! Compares joined reports with the golden files in `testdata/reports`. `STEADY_BLESS=1 cargo test` rewrites them.

use steady_compare::joined_document;
use steady_compare::json::{JOINED_SCHEMA, JoinedComparisons, joined_json_text, read_record};
use steady_model::Joined;
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
        let exports =
            [("json", joined_json_text(&joined)), ("md", markdown::text(&document)), ("html", html::text(&document))];
        goldens::forms(name, |width| text(&joined, width), exports)
    }));
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
