//! Reports on ruler readings in every format, compared with golden files in `testdata/reports`, and reading them back
//! from JSON. `STEADY_BLESS=1 cargo test` rewrites the golden files.

use proptest::prelude::*;
use serde_json::Value;
use steady_feature::Record;
use steady_feature::flags::Form;
use steady_load::{RULERS_SCHEMA, RulerRecord};
use steady_model::*;
use steady_render::json::description;
use steady_rulers::{Neighbour, RulerReading, RulerRow};
use steady_testing::goldens::{self, shown, text};
use steady_testing::made::{self as shared, HOSTILE};

/// Returns a row with these slowdowns, from the core outwards. Unless `all`, the shared cache and memory cannot be
/// read.
fn row(neighbours: u32, slowdowns: [f64; 7], all: bool) -> RulerRow {
    const BEST: [(f64, Option<u64>); 7] = [
        (4.7e-9, None),
        (1.67e-9, Some(24 << 10)),
        (6.9e-9, Some(1 << 20)),
        (48.0e-9, Some(4 << 20)),
        (121.0e-9, None),
        (12.9e-9, Some(65_000)),
        (102.0e-9, None),
    ];
    let reading = |place: usize| RulerReading {
        resource: Resource::ALL[place],
        working_set: BEST[place].1.map(Bytes),
        seconds_per_unit: BEST[place].0 * slowdowns[place],
        spread_ratio: 0.003 * (place + 1) as f64,
        slowdown_ratio: slowdowns[place],
        cost: Nanos(260_000 + 400_000 * u64::from(place == 3)),
    };
    let missing = |place: usize| !all && [3, 4].contains(&place);
    let reason =
        |place: usize| Absent::because(["no level of cache is shared between cores", "no method is known"][place - 3]);
    let readings = (0..7)
        .map(|place| (Resource::ALL[place], if missing(place) { Err(reason(place)) } else { Ok(reading(place)) }));
    let activity = Activity {
        busy_ratio: Ok((0.02 + 0.5 * f64::from(neighbours)).min(1.0)),
        steal_ratio: Err(Absent::because("the hypervisor has reported no stolen time since boot")),
        pressure: Ok(0.1),
        throttled_ratio: Ok(0.0),
    };
    RulerRow { neighbours, readings: readings.collect(), activity }
}

fn record(neighbour: Option<Neighbour>, rows: Vec<RulerRow>) -> RulerRecord {
    RulerRecord {
        started: Timestamp(1_795_171_242),
        host: shared::host("KVM"),
        machine: shared::machine(),
        revision: Ok("0123456789ab".into()),
        neighbour,
        earlier_readings: true,
        seed: Seed(1_314_300_071_535_409_598),
        rows,
        elapsed: Nanos(3_412_000_000),
        ending: Ending::Spent,
        failure: None,
    }
}

fn all() -> Vec<(&'static str, RulerRecord)> {
    let quiet = [1.0, 1.0, 1.01, 1.02, 1.0, 1.0, 1.0];
    let rows = vec![
        row(0, quiet, true),
        row(1, [1.0, 1.0, 1.19, 2.31, 1.2, 1.02, 1.01], true),
        row(4, [1.01, 1.07, 1.4, 3.05, 1.66, 1.2, 1.04], true),
    ];
    let mut interrupted = record(Some(Neighbour::Spin), vec![row(2, [1.0; 7], true)]);
    interrupted.ending = Ending::Interrupted;
    let mut failed = record(Some(Neighbour::Hash), vec![row(0, quiet, false), row(1, [1.2; 7], false)]);
    failed.failure = Some("neighbour 3 of 4 cannot be started: Resource temporarily unavailable".into());
    let first = RulerRecord { earlier_readings: false, ..record(None, vec![row(0, [1.0; 7], true)]) };
    vec![
        ("rulers-alone", record(None, vec![row(0, quiet, true)])),
        ("rulers-stream", record(Some(Neighbour::Stream), rows)),
        ("rulers-interrupted", interrupted),
        ("rulers-failed", failed),
        ("rulers-none", record(None, vec![])),
        ("rulers-first", first),
    ]
}

#[test]
fn reports_match_the_golden_files() {
    goldens::check(all().into_iter().flat_map(|(name, record)| {
        let exports = [
            ("json", shown(&record, Form::Json)),
            ("csv", shown(&record, Form::Csv)),
            ("md", shown(&record, Form::Markdown)),
        ];
        // One page is enough, because most of a page is the style sheet.
        let page = (name == "rulers-stream").then(|| (format!("{name}.html"), shown(&record, Form::Html)));
        goldens::forms(name, |width| text(&record, width), exports).into_iter().chain(page).collect::<Vec<_>>()
    }));
}

#[test]
fn the_schema_matches_the_golden_file() {
    goldens::check_schema(&RULERS_SCHEMA, description::<RulerRecord>(&RULERS_SCHEMA));
}

#[test]
fn lines_fit_every_width() {
    for (name, record) in all() {
        goldens::lines_fit(name, |width| text(&record, width));
    }
}

#[test]
fn readings_are_read_back_unchanged() {
    for (name, record) in all() {
        assert_eq!(RulerRecord::read(&shown(&record, Form::Json)).as_ref(), Ok(&record), "{name}");
    }
}

#[test]
fn the_best_is_that_of_the_host_only_with_earlier_readings() {
    let records = all();
    let (alone, first) = (text(&records[0].1, 80), text(&records[5].1, 80));
    assert!(alone.contains("on this host") && !alone.contains("earlier"), "{alone}");
    assert!(!first.contains("on this host") && first.contains("in this run"), "{first}");
    let json = shown(&records[0].1, Form::Json);
    let field = "  \"earlier_readings\": true,\n";
    assert!(json.contains(field), "{json}");
    assert_eq!(RulerRecord::read(&json.replace(field, "")).unwrap(), records[0].1, "a record without the field");
}

/// A median whose rounds vary by half says nothing about the resource.
#[test]
fn unsteady_readings_are_not_part_of_the_claim() {
    let mut record = all().swap_remove(1).1;
    for row in &mut record.rows {
        let shared = row.readings[3].1.as_mut().unwrap();
        shared.spread_ratio = 0.55;
    }
    let shown = text(&record, 1000);
    assert!(
        shown.contains("every other resource is within 5 % of its best so far on this host. Not steady: shared cache"),
        "{shown}"
    );
    assert!(!shown.contains("shared cache 3.05"), "{shown}");
    assert!(shown.contains("Not steady: shared cache (3.05, spread 55 %)."), "{shown}");
    assert_eq!(record.facts().verdict, "memory 1.66x next to 4 neighbours");
}

#[test]
fn the_summary_is_the_worst_slowdown() {
    let summaries: Vec<String> = all().iter().map(|(_, record)| record.facts().verdict).collect();
    let expected =
        ["shared cache 1.02x", "shared cache 3.05x next to 4 neighbours", "system call 1.00x next to 2 neighbours"];
    assert_eq!(summaries[..3], expected);
    assert_eq!(summaries[4], "nothing measured");
}

#[test]
fn hostile_texts_do_not_break_reports() {
    let mut record = all().swap_remove(3).1;
    record.failure = Some(HOSTILE.to_owned());
    record.rows[0].readings[3].1 = Err(Absent::because(HOSTILE));
    let html = shown(&record, Form::Html);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    assert!(!shown(&record, Form::Markdown).contains("<script>"));
    let fields = shown(&record, Form::Csv).lines().next().unwrap().split(',').count();
    assert_eq!(fields, 10);
    assert_eq!(RulerRecord::read(&shown(&record, Form::Json)).unwrap(), record);
    assert!(!text(&record, 80).contains('\u{202e}'));
}

#[test]
fn other_exports_are_rejected() {
    let json = shown(&all()[0].1, Form::Json);
    for (old, new) in
        [("steady.rulers/1", "steady.rulers/2"), ("steady.rulers/1", "steady.load/1"), ("\"rows\"", "\"row\"")]
    {
        assert!(RulerRecord::read(&json.replace(old, new)).is_err(), "{new}");
    }
    assert!(RulerRecord::read("{").is_err() && RulerRecord::read("").is_err());
}

proptest! {
    #[test]
    fn no_change_of_the_json_causes_a_panic(
        which in 0..6_usize, at in any::<prop::sample::Index>(), put in "[0-9\\[\\]{}\",:a-z.-]{0,4}"
    ) {
        let json = shown(&all()[which].1, Form::Json);
        let cut = at.index(json.len());
        // The text is ASCII, so any index is a character boundary.
        let changed = format!("{}{put}{}", &json[..cut], &json[(cut + 1).min(json.len())..]);
        if let Ok(record) = RulerRecord::read(&changed) {
            let _: Value = serde_json::from_str(&shown(&record, Form::Json)).unwrap();
            text(&record, 80);
        }
    }
}
