//! What joined comparisons look like, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test` rewrites them.

use steady_report::{ReadError, Style, joined_json_text, joined_text, read_record};

use crate::by_hand::joins;
use crate::goldens;

#[test]
fn joined_comparisons_look_as_recorded() {
    goldens::hold(joins::all().into_iter().flat_map(|(name, joined)| {
        let text = |width| (format!("{name}.{width}.txt"), joined_text(&joined, Style { width, color: false }));
        [text(80), text(60), (format!("{name}.json"), joined_json_text(&joined))]
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, joined) in joins::all() {
        goldens::lines_fit(name, |width| joined_text(&joined, Style { width, color: false }));
    }
}

#[test]
fn the_json_says_what_it_is_and_cannot_be_taken_for_a_comparison() {
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
