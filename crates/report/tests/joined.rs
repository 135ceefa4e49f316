//! What joined comparisons look like, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test` rewrites them.

#[path = "reports/joins.rs"]
mod joins;
#[allow(dead_code, reason = "shared with the tests of single reports")]
mod reports;

use std::fs;
use std::path::Path;

use steady_report::{ReadError, Style, joined_json_text, joined_text, read_record};

#[test]
fn joined_comparisons_look_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reports");
    let bless = std::env::var_os("STEADY_BLESS").is_some_and(|value| value == "1");
    let mut differing = Vec::new();
    for (name, joined) in joins::all() {
        let text = |width| (format!("{name}.{width}.txt"), joined_text(&joined, Style { width, color: false }));
        for (file, found) in [text(80), text(60), (format!("{name}.json"), joined_json_text(&joined))] {
            let path = folder.join(&file);
            if bless {
                fs::write(&path, &found).unwrap();
            } else if fs::read_to_string(&path).unwrap_or_default() != found {
                differing.push(format!("-- {file} is now --\n{found}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}\nif they read well: STEADY_BLESS=1", differing.join("\n"));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, joined) in joins::all() {
        for width in [40, 50, 60, 72, 80, 100, 132] {
            for line in joined_text(&joined, Style { width, color: false }).lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width, "{name} at {width}: {columns} columns: {line}");
                assert_eq!(line, line.trim_end(), "{name} at {width}");
            }
        }
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
        assert!(matches!(read_record(&json), Err(ReadError::OtherSchema(_))), "{name}");
    }
}
