//! Compares reports in every form with the files in `testdata/reports`; `STEADY_BLESS=1 cargo test` rewrites them.

mod back;
mod made;

use serde_json::Value;
use steady_costs::*;
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_model::*;
use steady_render::json::description;
use steady_render::{ascii, svg};
use steady_testing::goldens::{shown, text};
use steady_testing::made::HOSTILE;
use steady_testing::{goldens, made as shared, values};

fn summary(record: &CostsRecord) -> String {
    record.facts().verdict
}

#[test]
fn reports_match_the_golden_files() {
    goldens::check(
        made::all()
            .into_iter()
            .flat_map(|(name, report)| goldens::of_report(name, &report, name == "costs-interrupted")),
    );
}

#[test]
fn the_schema_matches_the_recorded_file() {
    goldens::check_schema(&SCHEMA, description::<CostsRecord>(&SCHEMA));
}

fn drawing(record: &CostsRecord, at: usize) -> String {
    svg::text(&plots(record)[at].1)
}

#[test]
fn histograms_match_the_golden_files() {
    let drawn = |name: &str, record: &CostsRecord, at: usize| (format!("{name}.svg"), drawing(record, at));
    goldens::check([drawn("costs-two-modes", &made::few(), 1), drawn("costs-one-mode", &made::few(), 0)]);
}

#[test]
fn no_line_exceeds_the_width() {
    for (name, report) in made::all() {
        goldens::lines_fit(name, |width| text(&report, width));
    }
}

#[test]
fn ascii_text_has_the_same_columns() {
    let text = text(&made::few(), 80);
    let plain = ascii(&text);
    assert!(plain.is_ascii(), "{plain}");
    let columns = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
    assert_eq!(columns(&plain), columns(&text));
}

#[test]
fn json_has_the_documented_fields() {
    let contract = [
        "name",
        "unit",
        "loops",
        "median_seconds",
        "low_seconds",
        "high_seconds",
        "spread_seconds",
        "resolution_seconds",
        "below_resolution",
        "modes",
        "repetitions",
        "set_apart",
        "expected_events",
        "counted_events",
        "histogram",
        "notes",
    ];
    for (name, report) in made::all() {
        let value = report.value(true);
        assert_eq!(value["schema"], "steady.costs/1", "{name}");
        for probe in value["probes"].as_array().unwrap() {
            let keys: Vec<&str> = probe.as_object().unwrap().keys().map(String::as_str).collect();
            let present: Vec<&str> = keys.into_iter().filter(|key| contract.contains(key)).collect();
            assert_eq!(present, contract, "{name}");
        }
    }
}

#[test]
fn csv_has_a_line_for_each_probe_and_a_field_for_each_column() {
    for (name, report) in made::all() {
        let csv = report.csv();
        let mut lines = csv.lines();
        let columns = lines.next().unwrap().split(',').count();
        assert_eq!(lines.clone().count(), report.probes.len(), "{name}");
        // Quoted fields may contain commas.
        let bare = |line: &str| line.split('"').step_by(2).collect::<String>();
        assert!(lines.all(|line| bare(line).split(',').count() == columns), "{name}: {csv}");
    }
}

#[test]
fn a_cost_below_the_resolution_is_not_shown_as_zero() {
    let report = made::usual();
    for form in [Form::Text, Form::Markdown, Form::Html] {
        let line = shown(&report, form).replace('\u{a0}', " ").replace("&lt;", "<").replace("\\<", "<");
        assert!(line.contains("<0.03 ns") && line.contains("<: the cost is below the resolution"), "{line}");
    }
    let json = report.value(false);
    let call = json["probes"].as_array().unwrap().iter().find(|probe| probe["name"] == "function_call").unwrap();
    assert_eq!(call["below_resolution"], true);
    assert!((call["median_seconds"].as_f64().unwrap() - 2.1e-11).abs() < 1e-15, "{call}");
}

#[test]
fn both_modes_are_in_the_report() {
    let text = text(&made::usual(), 80);
    assert!(text.contains("two modes: 2.71 µs (71 %) and 2.88 µs (29 %)"), "{text}");
    assert_eq!(text.matches("two modes").count(), 1);
}

#[test]
fn summaries_for_lists_are_short() {
    let summaries: Vec<String> = made::all().iter().map(|(_, report)| summary(report)).collect();
    assert_eq!(summaries[0], "system call 61.7 ns; process switch 1.52 µs");
    assert_eq!(summaries[2], "clock realtime 21.3 ns");
    assert_eq!(summaries[5], "nothing measured");
    assert!(summaries.iter().all(|text| !text.contains('\u{a0}')), "{summaries:?}");
}

#[test]
fn the_history_has_the_kind_and_the_probes() {
    let facts = made::sweep().facts();
    assert_eq!(facts.kind.name(), "costs");
    assert_eq!(facts.commands, ["function_call, process_switch, by length of the loop"]);
    assert!(facts.pairs.is_err() && facts.complete && facts.seed.is_ok());
    assert!(!made::interrupted().facts().complete);
}

#[test]
fn hostile_texts_are_escaped_in_every_form() {
    let mut report = made::usual();
    report.host.hostname = Ok(HOSTILE.to_owned());
    report.clocks[0].name = HOSTILE.to_owned();
    report.affinity.other_cpu = Err(Absent::because(HOSTILE));
    for probe in &mut report.probes {
        match &mut probe.cost {
            Ok(cost) => cost.notes.push(HOSTILE.to_owned()),
            Err(absent) => *absent = Absent::because(HOSTILE),
        }
    }
    let html = shown(&report, Form::Html);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    assert!(!shown(&report, Form::Markdown).contains("<script>"));
    assert!(!text(&report, 80).contains('\u{202e}'));
    for line in shown(&report, Form::Markdown).lines().filter(|line| line.starts_with("| ")) {
        assert_eq!(line.replace("\\|", "").matches('|').count(), 6, "{line}");
    }
}

#[test]
fn any_numbers_can_be_rendered() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1e-9, 1e300, -1e300, 5e-324] {
        for (name, mut report) in made::all() {
            for cost in report.probes.iter_mut().filter_map(|probe| probe.cost.as_mut().ok()) {
                (cost.median_seconds, cost.spread_seconds, cost.resolution_seconds) = (odd, odd, odd);
                (cost.low_seconds, cost.high_seconds) = (odd, odd);
                let histogram = &mut cost.histogram;
                (histogram.low_seconds, histogram.width_seconds) = (odd, odd);
                (histogram.below, histogram.above) = (u32::MAX, u32::MAX);
                cost.modes = vec![Mode { median_seconds: odd, share_ratio: odd }; 2];
            }
            let texts = [Form::Text, Form::Markdown, Form::Html, Form::Csv].map(|form| shown(&report, form));
            assert!(texts.iter().all(|text| !text.contains("NaN") && !text.contains("inf ")), "{name} {odd}");
            assert!(serde_json::from_str::<Value>(&report.json(true)).is_ok(), "{name} {odd}");
            assert!(plots(&report).iter().all(|(_, chart)| !svg::text(chart).contains("NaN")), "{name} {odd}");
        }
    }
}
