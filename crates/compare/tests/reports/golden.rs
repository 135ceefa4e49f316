//! What reports look like, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test` rewrites them.

use steady_compare::json::{Comparison, SCHEMA, json_text};
use steady_compare::{csv, document};
use steady_model::Report;
use steady_render::json::description;
use steady_render::{Style, html, markdown, terminal};

use crate::by_hand::comparisons;
use crate::goldens;

fn text(report: &Report, style: Style) -> String {
    terminal::text(&document(report), style)
}

/// The reports that are kept in their other forms too: one for each thing that those tell in their own way.
const EXPORTED: [&str; 9] =
    ["slower", "same", "undecided", "three", "one", "absent", "failures-ignored", "too-few", "from-snapshots"];

#[test]
fn the_schema_is_as_recorded() {
    goldens::hold_schema(&SCHEMA, description::<Comparison<'static>>(&SCHEMA));
}

#[test]
fn reports_look_as_recorded() {
    let files = comparisons::all().into_iter().flat_map(|(name, report)| {
        let texts = [80, 60].map(|width| (format!("{name}.{width}.txt"), text(&report, Style { width, color: false })));
        let json = (format!("{name}.json"), json_text(&report, report.record.blocks.len() < 10));
        let exports = [
            (format!("{name}.md"), markdown::text(&document(&report))),
            (format!("{name}.csv"), csv(&report)),
            (format!("{name}.html"), html::text(&document(&report))),
        ];
        let exports = exports.into_iter().filter(|_| EXPORTED.contains(&name));
        texts.into_iter().chain([json]).chain(exports).collect::<Vec<_>>()
    });
    goldens::hold(files);
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in comparisons::all() {
        goldens::lines_fit(name, |width| text(&report, Style { width, color: false }));
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for (name, report) in comparisons::all() {
        let plain = text(&report, Style::default());
        let mut coloured = text(&report, Style { color: true, ..Style::default() });
        assert!(coloured.contains("\x1b[1m"), "{name}");
        while let Some(start) = coloured.find('\x1b') {
            let end = coloured[start..].find('m').unwrap();
            coloured.replace_range(start..=start + end, "");
        }
        let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(trimmed(&coloured), trimmed(&plain), "{name}");
    }
}

#[test]
fn json_keeps_the_contract() {
    for (name, report) in comparisons::all() {
        let json = json_text(&report, false);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let first =
            ["schema", "seed", "budget_seconds", "elapsed_seconds", "commands", "host", "layouts", "pairs", "runs"];
        let present: Vec<&str> = keys.iter().copied().filter(|key| first.contains(key)).collect();
        assert_eq!(present, first, "{name}");
        nulls_have_reasons(&value, name);
    }
}

/// Choices that were not made, and "there is none": null without a reason.
const NO_READINGS: [&str; 12] = [
    "undecided",
    "cpu_quota",
    "hypervisor",
    "metric",
    "layout",
    "warmup",
    "input",
    "directory",
    "revision",
    "timeout_seconds",
    "cpus",
    "fail_if",
];

fn nulls_have_reasons(value: &serde_json::Value, path: &str) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, field) in fields {
                let reason = fields.contains_key(&format!("{key}_absent"));
                assert!(!field.is_null() || reason || NO_READINGS.contains(&key.as_str()), "{path}.{key}");
                assert!(field.is_null() || !reason, "{path}.{key} is there and absent");
                nulls_have_reasons(field, &format!("{path}.{key}"));
            }
        }
        serde_json::Value::Array(elements) => elements.iter().for_each(|element| nulls_have_reasons(element, path)),
        _ => {}
    }
}
