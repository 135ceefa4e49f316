//! Reads records back from JSON: exactly if they are valid, with an error otherwise.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use steady_costs::*;
use steady_feature::Report;
use steady_model::*;
use steady_render::json::ReadError;

use crate::made;
use crate::values::{changed, count, garbled, host, machine, nanos, odd_value, ratio, reading, without_a_field};

fn probe() -> impl Strategy<Value = Probe> {
    select(Probe::all().collect::<Vec<_>>())
}

fn timed() -> impl Strategy<Value = Timed> {
    ([nanos(), nanos()], [count(), count(), count(), count(), count()]).prop_map(
        |([wall, cpu], [loops, events, minor_faults, voluntary_switches, involuntary_switches])| Timed {
            loops,
            events,
            wall,
            cpu,
            minor_faults,
            voluntary_switches,
            involuntary_switches,
        },
    )
}

prop_compose! {
    fn measured()(
        probe in probe(),
        is_there in any::<bool>(),
        loops in count(),
        events_per_loop in ratio(),
        subtracted in ".*",
        [calls_per_loop, expected_calls_per_loop, alu_seconds] in [reading(ratio()), reading(ratio()), reading(ratio())],
        repetitions in prop::collection::vec((nanos(), timed(), timed(), any::<bool>()), 0..8),
    ) -> ProbeCost {
        let of = |(started_seconds, probe, empty, empty_first)| Repetition { started_seconds, empty_first, probe, empty };
        let absent = ProbeCost::absent(probe, &Absent::because("not available"));
        if !is_there {
            return absent;
        }
        ProbeCost {
            loops: Ok(loops),
            events_per_loop: Ok(events_per_loop),
            subtracted: Ok(subtracted),
            calls_per_loop,
            expected_calls_per_loop,
            alu_seconds,
            samples: Ok(repetitions.into_iter().map(of).collect()),
            ..absent
        }
    }
}

fn clock() -> impl Strategy<Value = ClockFacts> {
    (probe(), ".*", nanos(), reading(nanos())).prop_map(|facts| ClockFacts {
        probe: facts.0,
        name: facts.1,
        stated_resolution_seconds: facts.2,
        smallest_step_seconds: facts.3,
        words: None,
    })
}

prop_compose! {
    fn record()(
        probes in prop::collection::vec(probe(), 0..4),
        measured in prop::collection::vec(measured(), 0..4),
        (repetitions, sweep, as_published, seed) in any::<(u32, bool, bool, u64)>(),
        cpus in (any::<usize>(), reading(any::<usize>())),
        (started, host, machine) in (0..253_402_300_800u64, host(), machine()),
        revision in reading(".*"),
        clocks in prop::collection::vec(clock(), 0..3),
        [budget_seconds, elapsed_seconds] in [nanos(), nanos()],
        ending in select(&[Ending::Decided, Ending::Spent, Ending::Interrupted]),
    ) -> CostsRecord {
        let (cpu, other_cpu) = cpus;
        judged(CostsRecord {
            seed: Seed(seed),
            started: Timestamp(started),
            elapsed_seconds,
            host,
            machine,
            revision,
            affinity: Affinity { cpu, other_cpu },
            probes: measured,
            clocks,
            ending,
            plan: CostsPlan { probes, repetitions, budget_seconds, sweep, as_published },
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn records_are_read_back_exactly(record in record()) {
        prop_assert_eq!(CostsRecord::read(&record.json(true)), Ok(record.clone()));
        prop_assert_eq!(CostsRecord::read(&record.value(true).to_string()), Ok(record));
    }

    #[test]
    fn changed_exports_never_panic(record in record(), changes in prop::collection::vec((any::<Index>(), odd_value()), 1..4)) {
        let value = changed(record.value(true), changes);
        if let Ok(record) = CostsRecord::read(&value.to_string()) {
            // An accepted record can be written again.
            prop_assert_eq!(CostsRecord::read(&record.json(true)), Ok(record));
        }
    }

    #[test]
    fn missing_fields_have_no_made_up_values(record in record(), place in any::<Index>()) {
        let (key, without) = without_a_field(record.value(true), &place);
        let may_be_missing = key.ends_with("_absent") || key == "as_published";
        if let Ok(found) = CostsRecord::read(&without.to_string()) && !may_be_missing {
            prop_assert_eq!(found, record);
        }
    }

    #[test]
    fn cut_and_garbled_text_never_panics(record in record(), cut in any::<Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = garbled(record.json(true), &cut, garbage);
        let _ = CostsRecord::read(&garbled);
        prop_assert!(CostsRecord::read(&cut).is_err());
    }
}

#[test]
fn the_golden_records_are_read_back() {
    for (name, record) in made::all() {
        // Records made by hand have no computed fields.
        let record = judged(record);
        assert_eq!(CostsRecord::read(&record.json(true)), Ok(record.clone()), "{name}");
        assert_eq!(CostsRecord::read(&record.json(false)), Err(ReadError::WithoutSamples), "{name}");
    }
}

/// The error of an export after a change.
fn error_after(change: impl FnOnce(&mut Value)) -> String {
    let mut value = made::interrupted().value(true);
    change(&mut value);
    CostsRecord::read(&value.to_string()).expect_err("the export should be rejected").to_string()
}

#[test]
fn errors_name_the_problem_and_the_field() {
    assert_eq!(
        error_after(|value| value["schema"] = json!("steady.load/1")),
        "not an export of costs of primitives: its schema is \"steady.load/1\", not \"steady.costs/1\""
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["name"] = json!("page_fault_2")),
        "probes[0].name: there is no probe 'page_fault_2'"
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["samples"][2]["probe"]["cpu_seconds"] = json!(-1.5)),
        "probes[0].samples[2].probe.cpu_seconds: -1.5 s is not a valid time span"
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["loops"] = json!(null)),
        "probes[0].loops: null, without a reason in loops_absent"
    );
    assert_eq!(
        error_after(|value| {
            value["probes"][0]["loops"] = json!(null);
            value["probes"][0]["loops_absent"] = json!("not counted");
        }),
        "probes[0].loops: null, although there are samples"
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["samples"][0]["empty"]["loops"] = json!(u64::MAX)),
        "inconsistent: probes[0].samples[0].empty.loops: too large"
    );
    assert_eq!(
        error_after(|value| value["affinity"]["other_cpu"] = json!(null)),
        "affinity.other_cpu: null, without a reason in other_cpu_absent"
    );
}
