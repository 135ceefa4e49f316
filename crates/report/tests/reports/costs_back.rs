//! The way from what primitives cost through JSON and back: exact for what was measured, an error for everything else.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use steady_model::*;
use steady_report::{ReadError, costs_json, costs_json_text, read_costs_record};

use crate::by_hand::costs;
use crate::values::{changed, count, garbled, host, machine, nanos, odd_value, ratio, reading, without_a_field};

/// A report of nothing but a record: what is derived from it does not matter on the way back.
fn report(record: CostsRecord) -> CostsReport {
    CostsReport { record, costs: vec![], reasons: vec![] }
}

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
    fn measured(probe: Probe)(
        loops in count(),
        events_per_loop in ratio(),
        subtracted in ".*",
        calls_per_loop in reading((ratio(), ratio())),
        alu_seconds in reading(ratio()),
        repetitions in prop::collection::vec((nanos(), timed(), timed(), any::<bool>()), 0..4),
    ) -> Measured {
        let of = |(started, probe, empty, empty_first)| Repetition { started, probe, empty, empty_first };
        Measured {
            probe, loops, events_per_loop, subtracted, calls_per_loop, alu_seconds,
            repetitions: repetitions.into_iter().map(of).collect(),
        }
    }
}

fn clock() -> impl Strategy<Value = ClockFacts> {
    (probe(), ".*", nanos(), reading(nanos())).prop_map(|(probe, name, stated_resolution, smallest_step)| ClockFacts {
        probe,
        name,
        stated_resolution,
        smallest_step,
    })
}

prop_compose! {
    fn record()(
        probes in prop::collection::vec(probe(), 0..4),
        measured in prop::collection::vec(
            probe().prop_flat_map(|probe| (Just(probe), reading(measured(probe)))), 0..4
        ),
        (repetitions, sweep, seed) in any::<(u32, bool, u64)>(),
        cpus in (any::<usize>(), reading(any::<usize>())),
        (started, host, machine) in (0..253_402_300_800u64, host(), machine()),
        revision in reading(".*"),
        clocks in prop::collection::vec(clock(), 0..3),
        [budget, elapsed] in [nanos(), nanos()],
        ending in select(&[Ending::Decided, Ending::Spent, Ending::Interrupted]),
    ) -> CostsRecord {
        let plan = CostsPlan { probes, repetitions, budget, cpus, sweep, seed: Seed(seed) };
        CostsRecord {
            plan, started: Timestamp(started), host, machine, revision, clocks, measured, elapsed, ending,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn records_come_back_as_they_were(record in record()) {
        let text = costs_json_text(&report(record.clone()), true);
        prop_assert_eq!(read_costs_record(&text), Ok(record.clone()));
        let compact = costs_json(&report(record.clone()), true).to_string();
        prop_assert_eq!(read_costs_record(&compact), Ok(record));
    }

    #[test]
    fn changed_exports_never_panic(record in record(), changes in prop::collection::vec((any::<Index>(), odd_value()), 1..4)) {
        let value = changed(costs_json(&report(record), true), changes);
        if let Ok(record) = read_costs_record(&value.to_string()) {
            // What is accepted can be written again.
            prop_assert_eq!(read_costs_record(&costs_json_text(&report(record.clone()), true)), Ok(record));
        }
    }

    #[test]
    fn a_missing_field_is_never_made_up(record in record(), place in any::<Index>()) {
        let (key, without) = without_a_field(costs_json(&report(record.clone()), true), &place);
        if let Ok(found) = read_costs_record(&without.to_string()) && !key.ends_with("_absent") {
            prop_assert_eq!(found, record);
        }
    }

    #[test]
    fn cut_and_garbled_text_never_panics(record in record(), cut in any::<Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = garbled(costs_json_text(&report(record), true), &cut, garbage);
        let _ = read_costs_record(&garbled);
        prop_assert!(read_costs_record(&cut).is_err());
    }
}

#[test]
fn the_reports_come_back() {
    for (name, report) in costs::all() {
        assert_eq!(read_costs_record(&costs_json_text(&report, true)), Ok(report.record.clone()), "{name}");
        assert_eq!(read_costs_record(&costs_json_text(&report, false)), Err(ReadError::WithoutSamples), "{name}");
    }
}

/// The error of an export after a change.
fn error_after(change: impl FnOnce(&mut Value)) -> String {
    let mut value = costs_json(&costs::interrupted(), true);
    change(&mut value);
    read_costs_record(&value.to_string()).expect_err("it should be refused").to_string()
}

#[test]
fn errors_say_what_and_where() {
    assert_eq!(
        error_after(|value| value["schema"] = json!("steady.load/1")),
        "not an export of what primitives cost: its schema is \"steady.load/1\", not \"steady.costs/1\""
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["name"] = json!("page_fault_2")),
        "probes[0].name: there is no probe 'page_fault_2'"
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["samples"][2]["probe"]["cpu_seconds"] = json!(-1.5)),
        "probes[0].samples[2].probe.cpu_seconds: -1.5 s is no time span that can be"
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["loops"] = json!(null)),
        "probes[0].loops: null, and yet there are samples"
    );
    assert_eq!(
        error_after(|value| value["probes"][0]["samples"][0]["empty"]["loops"] = json!(u64::MAX)),
        "inconsistent: probes[0].samples[0].empty.loops: more than there can be"
    );
    assert_eq!(
        error_after(|value| value["affinity"]["other_cpu"] = json!(null)),
        "affinity.other_cpu: neither a value nor a reason in other_cpu_absent"
    );
}
