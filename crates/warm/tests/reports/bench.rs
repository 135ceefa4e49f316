//! Compares the reports of `steady warm bench` with files in `testdata/reports`, which `STEADY_BLESS=1 cargo test`
//! rewrites. Reads records back from JSON: measurements are restored exactly, and invalid input is an error.

use serde_json::{Value, json};
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_model::*;
use steady_render::Style;
use steady_render::json::ReadError;
use steady_warm::bench::judged;
use steady_warm::*;

use crate::goldens;
use crate::made::{all, interrupted, refused, usual};
use crate::shared::{HOSTILE, absent};

fn text(record: &BenchRecord, width: usize) -> String {
    record.rendered(Form::Text, Style { width, color: false }, false)
}

fn shown(record: &BenchRecord, form: Form) -> String {
    record.rendered(form, Style::default(), false)
}

#[test]
fn reports_look_as_recorded() {
    goldens::check(all().into_iter().flat_map(|(name, record)| {
        let exports = [
            ("json", record.json(name == "warm-bench-interrupted")),
            ("csv", record.csv()),
            ("md", shown(&record, Form::Markdown)),
            ("html", shown(&record, Form::Html)),
        ];
        let few = name != "warm-bench-many";
        let all = goldens::forms(name, |width| text(&record, width), exports).into_iter();
        all.filter(|(file, _)| few || file.ends_with(".80.txt")).collect::<Vec<_>>()
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, record) in all() {
        goldens::lines_fit(name, |width| text(&record, width));
    }
}

#[test]
fn a_record_read_back_has_the_same_measurements() {
    for (name, record) in all() {
        assert_eq!(BenchRecord::read(&record.json(true)), Ok(judged(record)), "{name}");
    }
}

#[test]
fn names_have_units() {
    for (name, record) in all() {
        let value = record.value(true);
        assert_eq!((&value["schema"], &value["kind"]), (&json!("steady.warm/1"), &json!("bench")), "{name}");
        let Ok(modes) = &record.programs[0].modes else { continue };
        let mode = &value["programs"][0]["modes"][2];
        let keys: Vec<&String> = mode.as_object().unwrap().keys().collect();
        let wanted = ["wall_seconds", "cpu_seconds", "all_cpu_seconds", "switches", "migrations", "faults", "cycles"];
        assert!(wanted.iter().all(|key| keys.iter().any(|one| one == key)), "{keys:?}");
        assert_eq!(mode["launch_wall_seconds"].as_array().unwrap().len(), modes[2].launch_wall_seconds.len());
    }
}

#[test]
fn impossible_values_are_rejected_with_their_place() {
    let whole = usual().value(true);
    let changed = |pointer: &str, value: Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        BenchRecord::read(&changed.to_string()).map_err(|error| error.to_string())
    };
    for (pointer, value, place) in [
        ("/kind", json!("status"), "kind"),
        ("/elapsed_seconds", json!(1e12), "elapsed_seconds"),
        ("/programs/0/samples/runs", json!([3, 300]), "runs"),
        ("/programs/0/samples/runs", json!([u64::MAX, 2]), "runs"),
        ("/programs/1/samples/sessions/0/warm", json!(99), "programs[1].samples.sessions[0].warm"),
        ("/programs/0/samples/sessions/2/launches_seconds", json!([]), "launches_seconds"),
        ("/programs/0/samples/sessions/2/launches_seconds", json!([[1e9, 0]]), "launches_seconds"),
        ("/programs/0/samples/sessions/2/mode", json!("hot"), "sessions"),
        ("/plan/count", json!(-1), "count"),
    ] {
        let error = changed(pointer, value).unwrap_err();
        assert!(error.contains(place), "{pointer}: {error}");
    }
    assert_eq!(BenchRecord::read(&usual().json(false)), Err(ReadError::WithoutSamples));
    assert!(BenchRecord::read("{\"schema\":\"steady.warm/1\"}").is_err());
}

#[test]
fn csv_has_a_line_for_each_mode_and_a_field_for_each_column() {
    for (name, record) in all() {
        let csv = record.csv();
        let columns = csv.lines().next().unwrap().split(',').count();
        let bare = |line: &str| line.split('"').step_by(2).collect::<String>();
        assert!(csv.lines().all(|line| bare(line).split(',').count() == columns), "{name}: {csv}");
        let rows: usize = record.programs.iter().map(|program| program.modes.as_ref().map_or(1, Vec::len)).sum();
        assert_eq!(csv.lines().count(), 1 + rows, "{name}");
    }
}

#[test]
fn reports_have_a_summary() {
    let facts: Vec<Facts> = all().iter().map(|(_, record)| record.facts()).collect();
    assert_eq!(facts[0].verdict, "59.5 % less on demand; 59.5 % less on demand");
    assert_eq!(facts[1].verdict, "undecided on demand; not measured");
    assert_eq!(facts[2].verdict, "undecided on demand");
    assert!(facts.iter().all(|facts| facts.primary == Ok(Metric::Wall)));
    let facts = interrupted().facts();
    assert_eq!((facts.kind.name(), facts.complete), ("warm", false));
}

/// The figures of a mode that is extrapolated: 61 launches, of which 50 were measured.
#[test]
fn a_break_even_beyond_the_measured_launches_is_no_fact() {
    let with_launches = |launches: Reading<u64>| {
        let mut record = usual();
        record.programs.truncate(1);
        let on_demand = &mut record.programs[0].modes.as_mut().unwrap()[2];
        let cpu = &mut on_demand.break_even.as_mut().unwrap().cpu;
        (cpu.extrapolated, cpu.launches) = (launches.is_ok(), launches);
        (text(&record, 1_000).replace('\u{a0}', " "), record.csv())
    };
    let (certain, csv) = with_launches(Ok(61));
    assert!(csv.lines().nth(3).unwrap().contains(",61,true,,"), "{csv}");
    let expected = "In wall time, it pays for itself after 4 launches. In CPU time, it does not pay for itself within the \
                    measured 50 launches; it does after about 61 if later ones save as much.";
    assert!(certain.contains(expected), "{certain}");
    assert!(certain.contains("not within 50 launches (estimate: 61)"), "{certain}");
    let (open, csv) = with_launches(absent("a gain is not certain"));
    assert!(csv.lines().nth(3).unwrap().contains(",,false,a gain is not certain,"), "{csv}");
    let expected = "In CPU time, it does not pay for itself within the measured 50 launches, and a gain per launch is not \
                    certain.";
    assert!(open.contains(expected) && !open.contains("about 61"), "{open}");
}

#[test]
fn few_launches_from_a_snapshot_give_no_claim_about_time() {
    let with_share = |share: Reading<f64>| {
        let mut record = usual();
        record.programs.truncate(1);
        record.programs[0].modes.as_mut().unwrap()[2].warm_ratio = share;
        let answer = text(&record, 1_000).lines().next().unwrap().replace('\u{a0}', " ");
        (answer, record.facts().verdict)
    };
    let (answer, verdict) = with_share(Ok(0.084));
    assert!(
        answer.starts_with(
            "true: on demand, only 8.4 % of the launches were from a snapshot: too few for a claim about time. \
             Prewarmed (100 % of the launches from a snapshot), a launch takes 63.7 % less wall time"
        ),
        "{answer}"
    );
    assert!(!answer.contains("pays for itself"), "{answer}");
    assert!(answer.contains("On demand, with the start of steady warm and the capture, the 50 launches"), "{answer}");
    assert_eq!(verdict, "63.7 % less prewarmed");
    let (answer, _) = with_share(Ok(0.0));
    assert!(answer.starts_with("true: on demand, no launch was from a snapshot. Prewarmed"), "{answer}");
    let (answer, verdict) = with_share(Ok(0.5));
    assert!(answer.starts_with("true: on demand (50 % of the launches from a snapshot), a launch takes"), "{answer}");
    assert_eq!(verdict, "59.5 % less on demand");
    let (answer, _) = with_share(absent("its store has no counts"));
    assert!(answer.starts_with("true: on demand (unknown share of launches from a snapshot), a launch"), "{answer}");
}

#[test]
fn a_difference_of_cpu_time_is_named_if_wall_time_does_not_show_it() {
    let mut record = usual();
    record.programs.truncate(1);
    let wall = &mut record.programs[0].modes.as_mut().unwrap()[2].effects[0];
    (wall.verdict, wall.low, wall.high) = (Verdict::Undecided, Ok(-0.86), Ok(0.33));
    let answer = text(&record, 1_000).lines().next().unwrap().replace('\u{a0}', " ");
    let expected = "a launch does not differ detectably from a normal launch in wall time (-86 to 33 %), but takes 62.9 % \
                    less CPU time (62.4 to 63.5 %). Prewarmed";
    assert!(answer.contains(expected), "{answer}");
}

#[test]
fn hostile_texts_break_no_form() {
    let mut record = refused();
    record.host.hostname = Ok(HOSTILE.to_owned());
    for program in &mut record.programs {
        program.command.name = HOSTILE.to_owned();
        match &mut program.modes {
            Ok(modes) => {
                modes[1].means.0[0].1 = absent(HOSTILE);
                modes[1].break_even = absent(HOSTILE);
            }
            Err(reason) => *reason = Absent::because(HOSTILE),
        }
        program.notes.iter_mut().for_each(|notes| notes.push(HOSTILE.to_owned()));
    }
    let html = shown(&record, Form::Html);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    assert!(!shown(&record, Form::Markdown).contains("<script>"));
    assert!(!text(&record, 80).contains('\u{202e}'));
}

#[test]
fn any_numbers_can_be_shown() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1e-9, 1e300, 5e-324] {
        for (name, mut record) in all() {
            for figures in record.programs.iter_mut().flat_map(|program| &mut program.modes).flatten() {
                figures
                    .means
                    .0
                    .iter_mut()
                    .for_each(|(_, mean)| *mean = Ok(Mean { mean: odd, deviation: Some(odd), sessions: 1 }));
                for effect in &mut figures.effects {
                    (effect.change, effect.low, effect.high) = (Ok(odd), Ok(odd), Ok(odd));
                }
                figures.launch_wall_seconds.iter_mut().for_each(|launch| *launch = odd);
                figures.launch_cpu_seconds.iter_mut().for_each(|launch| *launch = odd);
                figures.warm_ratio = Ok(odd);
            }
            let texts = [Form::Text, Form::Markdown, Form::Html].map(|form| shown(&record, form));
            assert!(texts.iter().all(|text| !text.contains("NaN")), "{name} {odd}");
            assert!(serde_json::from_str::<Value>(&record.json(true)).is_ok(), "{name} {odd}");
        }
    }
}
