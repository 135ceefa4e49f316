//! Signatures and what an allocator's lock costs in every form, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test`
//! rewrites them.

use serde_json::{Value, json};
use steady_report::*;

use crate::by_hand::signature;
use crate::goldens;

#[test]
fn signatures_look_as_recorded() {
    let all = [("signature-files", signature::files()), ("signature-one", signature::one())];
    goldens::hold(all.into_iter().flat_map(|(name, report)| {
        [
            (format!("{name}.txt"), signature_text(&report)),
            (format!("{name}.json"), signature_json_text(&report)),
            (format!("{name}.csv"), signature_csv(&report)),
            (format!("{name}.md"), signature_markdown(&report)),
            (format!("{name}.html"), signature_html(&report)),
        ]
    }));
}

#[test]
fn benches_look_as_recorded() {
    let all = [("signature-bench", signature::bench()), ("signature-bench-interrupted", signature::interrupted())];
    goldens::hold(all.into_iter().flat_map(|(name, report)| {
        [
            (format!("{name}.80.txt"), signature_bench_text(&report, Style { width: 80, color: false })),
            (format!("{name}.json"), signature_bench_json_text(&report, name.ends_with("interrupted"))),
            (format!("{name}.csv"), signature_bench_csv(&report)),
            (format!("{name}.md"), signature_bench_markdown(&report)),
            (format!("{name}.html"), signature_bench_html(&report)),
            (format!("{name}.svg"), signature_bench_svg(&report)),
        ]
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for report in [signature::bench(), signature::interrupted()] {
        goldens::lines_fit("signature-bench", |width| signature_bench_text(&report, Style { width, color: false }));
    }
}

#[test]
fn a_name_stays_on_its_line() {
    let text = signature_text(&signature::files());
    let signatures = text.lines().filter(|line| !line.starts_with(' ')).count();
    assert_eq!(signatures, 2, "{text}");
}

#[test]
fn nulls_have_reasons() {
    fn walk(value: &Value) {
        match value {
            // The host is shown as everywhere.
            Value::Object(fields) => fields.iter().filter(|(name, _)| *name != "host").for_each(|(name, value)| {
                let has_reason = fields.get(&format!("{name}_absent")).is_some_and(Value::is_string);
                assert!(!value.is_null() || has_reason, "{name}");
                walk(value);
            }),
            Value::Array(values) => values.iter().for_each(walk),
            _ => {}
        }
    }
    for value in [
        signature_json(&signature::files()),
        signature_json(&signature::one()),
        signature_bench_json(&signature::bench(), true),
        signature_bench_json(&signature::interrupted(), true),
    ] {
        assert_eq!(value["schema"], json!("steady.signature/1"));
        walk(&value);
    }
}
