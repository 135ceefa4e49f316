//! What keeping programs warm gains in every form, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test`
//! rewrites them. And the way back from JSON: exact for what was measured, an error for everything else.

use serde_json::{Value, json};
use steady_model::*;
use steady_report::*;

use crate::by_hand::warm_bench;
use crate::goldens;
use crate::made::HOSTILE;

#[test]
fn reports_look_as_recorded() {
    goldens::hold(warm_bench::all().into_iter().flat_map(|(name, report)| {
        let text = |width| warm_bench_text(&report, Style { width, color: false });
        let exports = [
            ("json", warm_bench_json_text(&report, name == "warm-bench-interrupted")),
            ("csv", warm_bench_csv(&report)),
            ("md", warm_bench_markdown(&report)),
            ("html", warm_bench_html(&report)),
        ];
        let few = name != "warm-bench-many";
        let all = goldens::forms(name, text, exports).into_iter();
        all.filter(|(file, _)| few || file.ends_with(".80.txt")).collect::<Vec<_>>()
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in warm_bench::all() {
        goldens::lines_fit(name, |width| warm_bench_text(&report, Style { width, color: false }));
    }
}

#[test]
fn what_was_measured_comes_back_exactly() {
    for (name, report) in warm_bench::all() {
        let text = warm_bench_json_text(&report, true);
        assert_eq!(read_warm_bench_record(&text), Ok(report.record), "{name}");
    }
}

#[test]
fn nulls_have_reasons_and_names_their_units() {
    for (name, report) in warm_bench::all() {
        let value = warm_bench_json(&report, true);
        assert_eq!((&value["schema"], &value["kind"]), (&json!("steady.warm/1"), &json!("bench")), "{name}");
        let Ok(program) = &report.programs[0] else { continue };
        let mode = &value["programs"][0]["modes"][2];
        let keys: Vec<&String> = mode.as_object().unwrap().keys().collect();
        let wanted = ["wall_seconds", "cpu_seconds", "all_cpu_seconds", "switches", "migrations", "faults", "cycles"];
        assert!(wanted.iter().all(|key| keys.iter().any(|one| one == key)), "{keys:?}");
        assert_eq!(mode["cycles"], Value::Null);
        assert!(mode["cycles_absent"].is_string());
        assert_eq!(mode["launch_wall_seconds"].as_array().unwrap().len(), program.modes[2].course.len());
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let whole = warm_bench_json(&warm_bench::usual(), true);
    let changed = |pointer: &str, value: Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        read_warm_bench_record(&changed.to_string()).map_err(|error| error.to_string())
    };
    for (pointer, value, place) in [
        ("/kind", json!("status"), "kind"),
        ("/elapsed_seconds", json!(1e12), "elapsed_seconds"),
        ("/programs/0/samples/runs", json!([3, 300]), "runs"),
        ("/programs/1/samples/sessions/0/warm", json!(99), "warm"),
        ("/programs/0/samples/sessions/2/launches_seconds", json!([]), "launches_seconds"),
        ("/programs/0/samples/sessions/2/launches_seconds", json!([[1e9, 0]]), "launches_seconds"),
        ("/programs/0/samples/sessions/2/mode", json!("hot"), "sessions"),
        ("/plan/count", json!(-1), "count"),
    ] {
        let error = changed(pointer, value).unwrap_err();
        assert!(error.contains(place), "{pointer}: {error}");
    }
    let without = warm_bench_json(&warm_bench::usual(), false).to_string();
    assert_eq!(read_warm_bench_record(&without), Err(ReadError::WithoutSamples));
    assert!(read_warm_bench_record("{\"schema\":\"steady.warm/1\"}").is_err());
}

#[test]
fn csv_has_a_line_for_each_mode_and_a_field_for_each_column() {
    for (name, report) in warm_bench::all() {
        let csv = warm_bench_csv(&report);
        let columns = csv.lines().next().unwrap().split(',').count();
        let bare = |line: &str| line.split('"').step_by(2).collect::<String>();
        assert!(csv.lines().all(|line| bare(line).split(',').count() == columns), "{name}: {csv}");
        let rows: usize = report.programs.iter().map(|program| program.as_ref().map_or(1, |one| one.modes.len())).sum();
        assert_eq!(csv.lines().count(), 1 + rows, "{name}");
    }
}

#[test]
fn reports_are_summed_up() {
    let summaries: Vec<String> = warm_bench::all().iter().map(|(_, report)| warm_bench_summary(report)).collect();
    assert_eq!(summaries[0], "true -59.5 %, cat /dev/null -59.5 % wall on demand");
    assert_eq!(summaries[2], "nothing was measured whole");
    assert_eq!(summaries[3], "a -59.5 %, b -59.5 %, ... (10 programs) wall on demand");
    let facts = Facts::of_warm_bench(&warm_bench::interrupted(), summaries[2].clone());
    assert_eq!((facts.kind, facts.complete), (RunKind::Warm, false));
}

#[test]
fn texts_of_others_break_nothing() {
    let mut report = warm_bench::refused();
    report.record.host.hostname = Ok(HOSTILE.to_owned());
    report.record.plan.programs.iter_mut().for_each(|command| command.name = HOSTILE.to_owned());
    for program in &mut report.programs {
        match program {
            Ok(program) => {
                program.notes.push(HOSTILE.to_owned());
                program.modes[1].means[0].1 = Err(Absent::because(HOSTILE));
                program.modes[1].break_even = Err(Absent::because(HOSTILE));
            }
            Err(absent) => *absent = Absent::because(HOSTILE),
        }
    }
    let html = warm_bench_html(&report);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    assert!(!warm_bench_markdown(&report).contains("<script>"));
    assert!(!warm_bench_text(&report, Style::default()).contains('\u{202e}'));
}

#[test]
fn any_numbers_can_be_shown() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1e-9, 1e300, 5e-324] {
        for (name, mut report) in warm_bench::all() {
            for figures in report.programs.iter_mut().flatten().flat_map(|program| &mut program.modes) {
                figures
                    .means
                    .iter_mut()
                    .for_each(|(_, mean)| *mean = Ok(WarmMean { mean: odd, deviation: Some(odd), sessions: 1 }));
                for effect in &mut figures.effects {
                    (effect.change, effect.interval) = (Ok(odd), Ok(Interval { low: odd, high: odd }));
                }
                figures.course.iter_mut().for_each(|launch| *launch = [odd; 2]);
                figures.warm_ratio = Ok(odd);
            }
            let texts =
                [warm_bench_text(&report, Style::default()), warm_bench_markdown(&report), warm_bench_html(&report)];
            assert!(texts.iter().all(|text| !text.contains("NaN")), "{name} {odd}");
            assert!(serde_json::from_str::<Value>(&warm_bench_json_text(&report, true)).is_ok(), "{name} {odd}");
        }
    }
}
