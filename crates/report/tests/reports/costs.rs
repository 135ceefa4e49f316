//! What primitives cost in every form, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test` rewrites them.

use serde_json::Value;
use steady_model::*;
use steady_report::*;

use crate::by_hand::costs;
use crate::goldens;
use crate::made::HOSTILE;

#[test]
fn reports_look_as_recorded() {
    goldens::hold(costs::all().into_iter().flat_map(|(name, report)| {
        let text = |width| costs_text(&report, Style { width, color: false });
        let exports = [
            ("json", costs_json_text(&report, name == "costs-interrupted")),
            ("csv", costs_csv(&report)),
            ("md", costs_markdown(&report)),
            ("html", costs_html(&report)),
        ];
        goldens::forms(name, text, exports)
    }));
}

#[test]
fn histograms_look_as_recorded() {
    let drawn = |name: &str, report: &CostsReport, at: usize| {
        (format!("{name}.svg"), costs_histogram_svg(report.costs[at].1.as_ref().unwrap()))
    };
    goldens::hold([drawn("costs-two-modes", &costs::few(), 1), drawn("costs-one-mode", &costs::few(), 0)]);
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in costs::all() {
        goldens::lines_fit(name, |width| costs_text(&report, Style { width, color: false }));
        goldens::lines_fit(name, |width| clocks_text(&report, Style { width, color: false }));
    }
}

#[test]
fn plain_letters_take_the_same_columns() {
    let text = costs_text(&costs::few(), Style::default());
    let plain = ascii(&text);
    assert!(plain.is_ascii(), "{plain}");
    let columns = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
    assert_eq!(columns(&plain), columns(&text));
}

#[test]
fn json_keeps_the_contract() {
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
    for (name, report) in costs::all() {
        let value = costs_json(&report, true);
        assert_eq!(value["schema"], "steady.costs/1", "{name}");
        for probe in value["probes"].as_array().unwrap() {
            let keys: Vec<&str> = probe.as_object().unwrap().keys().map(String::as_str).collect();
            let present: Vec<&str> = keys.into_iter().filter(|key| contract.contains(key)).collect();
            assert_eq!(present, contract, "{name}");
        }
        nulls_have_reasons(&value, name);
    }
}

fn nulls_have_reasons(value: &Value, path: &str) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let reason = fields.contains_key(&format!("{key}_absent"));
                // "There is none": no reading.
                let none = ["cpu_quota", "hypervisor"].contains(&key.as_str());
                assert!(!field.is_null() || reason || none, "{path}.{key}");
                assert!(field.is_null() || !reason, "{path}.{key} is there and absent");
                nulls_have_reasons(field, &format!("{path}.{key}"));
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| nulls_have_reasons(element, path)),
        _ => {}
    }
}

#[test]
fn csv_has_a_line_for_each_probe_and_a_field_for_each_column() {
    for (name, report) in costs::all() {
        let csv = costs_csv(&report);
        let mut lines = csv.lines();
        let columns = lines.next().unwrap().split(',').count();
        assert_eq!(lines.clone().count(), report.costs.len(), "{name}");
        // What stands between quotes may hold commas.
        let bare = |line: &str| line.split('"').step_by(2).collect::<String>();
        assert!(lines.all(|line| bare(line).split(',').count() == columns), "{name}: {csv}");
    }
}

#[test]
fn what_cannot_be_told_from_nothing_is_said_and_not_zero() {
    let report = costs::usual();
    for text in [costs_text(&report, Style::default()), costs_markdown(&report), costs_html(&report)] {
        let line = text.replace('\u{a0}', " ");
        assert!(line.contains("below resolution (0.03 ns)"), "{line}");
    }
    let json = costs_json(&report, false);
    let call = json["probes"].as_array().unwrap().iter().find(|probe| probe["name"] == "function_call").unwrap();
    assert_eq!(call["below_resolution"], true);
    assert!((call["median_seconds"].as_f64().unwrap() - 2.1e-11).abs() < 1e-15, "{call}");
}

#[test]
fn two_modes_are_named_as_two() {
    let text = costs_text(&costs::usual(), Style::default());
    assert!(text.contains("two modes: 2.71 µs (71 %) and 2.88 µs (29 %)"), "{text}");
    assert_eq!(text.matches("two modes").count(), 1);
}

#[test]
fn reports_are_summed_up() {
    let summaries: Vec<String> = costs::all().iter().map(|(_, report)| costs_summary(report)).collect();
    assert_eq!(summaries[0], "system call 61.7 ns; process switch 1.52 µs");
    assert_eq!(summaries[2], "clock realtime 21.3 ns");
    assert_eq!(summaries[5], "nothing measured");
    assert!(summaries.iter().all(|text| !text.contains('\u{a0}')), "{summaries:?}");
}

#[test]
fn the_history_tells_costs_from_other_runs() {
    let facts = Facts::of_costs(&costs::sweep(), costs_summary(&costs::sweep()));
    assert_eq!(facts.kind, RunKind::Costs);
    assert_eq!(facts.commands, ["function_call, process_switch, by length of the loop"]);
    assert!(facts.pairs.is_err() && facts.complete && facts.seed.is_ok());
    assert!(!Facts::of_costs(&costs::interrupted(), String::new()).complete);
}

#[test]
fn texts_of_others_break_nothing() {
    let mut report = costs::usual();
    report.record.host.hostname = Ok(HOSTILE.to_owned());
    report.record.clocks[0].name = HOSTILE.to_owned();
    report.record.plan.cpus.1 = Err(Absent::because(HOSTILE));
    for (_, cost) in &mut report.costs {
        match cost {
            Ok(cost) => cost.notes.push(HOSTILE.to_owned()),
            Err(absent) => *absent = Absent::because(HOSTILE),
        }
    }
    let html = costs_html(&report);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    assert!(!costs_markdown(&report).contains("<script>"));
    assert!(!costs_text(&report, Style::default()).contains('\u{202e}'));
    for line in costs_markdown(&report).lines().filter(|line| line.starts_with("| ")) {
        assert_eq!(line.replace("\\|", "").matches('|').count(), 6, "{line}");
    }
}

#[test]
fn any_numbers_can_be_shown() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1e-9, 1e300, -1e300, 5e-324] {
        for (name, mut report) in costs::all() {
            for cost in report.costs.iter_mut().filter_map(|(_, cost)| cost.as_mut().ok()) {
                (cost.median, cost.spread, cost.resolution) = (odd, odd, odd);
                cost.interval = Interval { low: odd, high: odd };
                (cost.histogram.low, cost.histogram.width, cost.histogram.outside) = (odd, odd, (u32::MAX, u32::MAX));
                cost.modes = vec![Mode { median: odd, share: odd }; 2];
            }
            let texts = [
                costs_text(&report, Style::default()),
                costs_markdown(&report),
                costs_html(&report),
                costs_csv(&report),
            ];
            assert!(texts.iter().all(|text| !text.contains("NaN") && !text.contains("inf ")), "{name} {odd}");
            assert!(serde_json::from_str::<Value>(&costs_json_text(&report, true)).is_ok(), "{name} {odd}");
            report.costs.iter().filter_map(|(_, cost)| cost.as_ref().ok()).for_each(|cost| {
                assert!(!costs_histogram_svg(cost).contains("NaN"), "{name} {odd}");
            });
        }
    }
}
