//! Reading load experiments back from their JSON: measurements are exact, and invalid JSON is an error.

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};
use steady_feature::Report;
use steady_load::run::LoadContext;
use steady_load::{CpuUse, LoadPlan, LoadRecord, LoadRow, LoadRun, LoadWork, judged};
use steady_model::*;
use steady_render::json::ReadError;
use steady_rulers::RulerReading;

use crate::made;
use crate::values::{
    changed, command, count, garbled, host, machine, nanos, odd_value, ratio, reading, without_a_field,
};

fn json_of(record: &LoadRecord) -> Value {
    serde_json::from_str(&record.json(true)).unwrap()
}

fn work() -> impl Strategy<Value = LoadWork> {
    prop_oneof![
        (nanos(), prop::option::of(nanos())).prop_map(|(cpu_time, poll)| LoadWork::Hash { cpu_time, poll }),
        any::<u64>().prop_map(|work| LoadWork::Sum { work }),
        (command(), nanos()).prop_map(|(command, window)| LoadWork::Command { command, window }),
    ]
}

prop_compose! {
    fn run()(
        times in [nanos(), nanos(), nanos()],
        run_delay in reading(nanos()),
        work in count(),
        overshoot in reading(nanos()),
        outcome in prop_oneof![
            any::<i32>().prop_map(Outcome::Exited), any::<i32>().prop_map(Outcome::Signalled), Just(Outcome::TimedOut)
        ],
        left_behind in 0..3u32,
    ) -> LoadRun {
        let [user, system, wall] = times;
        LoadRun { user, system, wall, run_delay, work, overshoot, outcome, left_behind }
    }
}

prop_compose! {
    fn ruler()(
        resource in select(&Resource::ALL),
        working_set in prop::option::of(any::<u64>().prop_map(Bytes)),
        [seconds_per_unit, spread_ratio, slowdown_ratio] in [ratio(), ratio(), ratio()],
        cost in nanos(),
    ) -> RulerReading {
        RulerReading { resource, working_set, seconds_per_unit, spread_ratio, slowdown_ratio, cost }
    }
}

fn activity() -> impl Strategy<Value = Activity> {
    [reading(ratio()), reading(ratio()), reading(ratio()), reading(ratio())].prop_map(
        |[busy_ratio, steal_ratio, pressure, throttled_ratio]| Activity {
            busy_ratio,
            steal_ratio,
            pressure,
            throttled_ratio,
        },
    )
}

fn cpu_use() -> impl Strategy<Value = CpuUse> {
    (any::<usize>(), reading(ratio()), reading(ratio())).prop_map(|(cpu, busy_ratio, ours_ratio)| CpuUse {
        cpu,
        busy_ratio,
        ours_ratio,
    })
}

prop_compose! {
    fn row(procs: u32)(
        [started, elapsed] in [nanos(), nanos()],
        runs in prop::collection::vec(run(), 0..3),
        cpus in prop::collection::vec(cpu_use(), 0..3),
        [others_cpu, own_cpu] in [reading(nanos()), reading(nanos())],
        activity in activity(),
        rulers in prop::collection::vec(ruler(), 0..2),
    ) -> LoadRow {
        LoadRow { runs, cpus, others_cpu, own_cpu, rulers, ..LoadRow::new(procs, started, elapsed, activity) }
    }
}

/// Generates rows of some of these numbers of processes, measured in any order.
fn rows(procs: Vec<u32>) -> impl Strategy<Value = Vec<LoadRow>> {
    let some = subsequence(procs.clone(), 0..=procs.len()).prop_shuffle();
    some.prop_flat_map(|some| some.into_iter().map(row).collect::<Vec<_>>())
}

prop_compose! {
    fn record()(procs in prop::collection::btree_set(1..u32::MAX, 1..5))(
        rows in rows(procs.iter().copied().collect()),
        procs in Just(procs.into_iter().collect::<Vec<_>>()),
        work in work(),
        cpus in any::<Option<Vec<usize>>>(),
        seed in any::<u64>(),
        (started, host, machine) in (0..253_402_300_800u64, host().boxed(), machine().boxed()),
        (revision, poll_cost) in (reading(".*"), reading(ratio())),
        elapsed in nanos(),
        ending in select(&[Ending::Decided, Ending::Spent, Ending::Interrupted]),
        failure in prop::option::of(".*"),
    ) -> LoadRecord {
        let context = LoadContext { host, machine, started: Timestamp(started), revision };
        let begun = LoadRecord::begun(LoadPlan { work, procs, cpus }, Seed(seed), context, poll_cost);
        let mut rows: Vec<LoadRow> = rows.into_iter().zip(0..).map(|(row, order)| LoadRow { order, ..row }).collect();
        rows.sort_by_key(|row| row.procs);
        judged(LoadRecord { rows, elapsed, ending, failure, ..begun })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn records_are_read_back_unchanged(record in record()) {
        prop_assert_eq!(LoadRecord::read(&record.json(true)), Ok(record.clone()));
        prop_assert_eq!(LoadRecord::read(&json_of(&record).to_string()), Ok(record));
    }

    #[test]
    fn changed_exports_cause_no_panic(
        record in record(),
        changes in prop::collection::vec((any::<Index>(), odd_value()), 1..4),
    ) {
        let value = changed(json_of(&record), changes);
        if let Ok(record) = LoadRecord::read(&value.to_string()) {
            // An accepted record can be written again.
            prop_assert_eq!(LoadRecord::read(&record.json(true)), Ok(record));
        }
    }

    #[test]
    fn a_missing_field_is_an_error_or_derived(record in record(), place in any::<Index>()) {
        let (key, without) = without_a_field(json_of(&record), &place);
        // Only scripts have an interpreter, and runs of earlier versions do not say what they left behind.
        let is_optional = ["interpreter", "left_behind"].contains(&key.as_str()) || key.ends_with("_absent");
        if let Ok(found) = LoadRecord::read(&without.to_string()) && !is_optional {
            prop_assert_eq!(found, record);
        }
    }

    #[test]
    fn truncated_and_garbled_text_causes_no_panic(record in record(), cut in any::<Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = garbled(record.json(true), &cut, garbage);
        let _ = LoadRecord::read(&garbled);
        prop_assert!(LoadRecord::read(&cut).is_err());
    }
}

/// Returns the error of reading a changed export.
fn error_after(change: impl FnOnce(&mut Value)) -> String {
    let mut value = json_of(&made::command());
    change(&mut value);
    LoadRecord::read(&value.to_string()).expect_err("the export should be rejected").to_string()
}

#[test]
fn made_up_experiments_are_read_back() {
    for (name, report) in made::all() {
        let read = LoadRecord::read(&report.json(true));
        // Figures of the made-up records are computed again.
        assert_eq!(read, Ok(judged(report.clone())), "{name}");
        let without = LoadRecord::read(&report.json(false));
        assert_eq!(without == Err(ReadError::WithoutSamples), !report.rows.is_empty(), "{name}");
    }
}

#[test]
fn errors_name_the_problem_and_the_field() {
    assert_eq!(
        error_after(|value| value["schema"] = json!("steady.compare/1")),
        "not an export of a load experiment: its schema is \"steady.compare/1\", not \"steady.load/1\""
    );
    assert_eq!(
        error_after(|value| value["schema"] = json!("steady.load/2")),
        "written by a newer version: its schema is \"steady.load/2\", and \"steady.load/1\" is the newest known here; upgrade \
         steady"
    );
    assert_eq!(
        error_after(|value| value["rows"][1]["runs"][0]["wall_seconds"] = json!(-1.5)),
        "rows[1].runs[0].wall_seconds: -1.5 s is not a valid time span"
    );
    assert_eq!(
        error_after(|value| value["rows"][1]["runs"][0]["run_delay_seconds"] = json!(null)),
        "rows[1].runs[0].run_delay_seconds: null, without a reason in run_delay_seconds_absent"
    );
    assert_eq!(
        error_after(|value| value["rows"][1]["order"] = json!(0)),
        "inconsistent: rows[1].order: 0 is the position of another row, or of none"
    );
    assert_eq!(
        error_after(|value| value["rows"][1]["procs"] = json!(1)),
        "inconsistent: the row of N = 1: there are two rows with this number of processes"
    );
    assert_eq!(
        error_after(|value| value["rows"][0]["runs"][0]["work"] = json!(u64::MAX)),
        "inconsistent: the row of N = 1: runs[0].work: larger than the largest exact count"
    );
}
