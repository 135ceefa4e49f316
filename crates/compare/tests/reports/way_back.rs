//! Writing records as JSON and reading them back: exact for valid records, an error for everything else.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use steady_compare::document;
use steady_compare::json::{json, json_text, read_record};
use steady_model::*;
use steady_render::json::ReadError;
use steady_render::{Style, terminal};

use crate::by_hand::comparisons;
use crate::values::{changed, command, count, garbled, host, nanos, odd_value, path, ratio, reading, without_a_field};

/// A report with only a record. Reading it back does not use the derived parts.
fn report(record: Record) -> Report {
    let load = Load { preempted_ratio: 0.0, run_delay_ratio: Ok(0.0) };
    Report {
        record,
        judgements: vec![],
        ranking: vec![],
        course: vec![],
        breakdowns: vec![],
        startups: vec![],
        load,
        warnings: vec![],
    }
}

prop_compose! {
    fn run(command: usize)(
        cpu in any::<Option<usize>>(),
        padding in any::<u32>(),
        times in [nanos(), nanos(), nanos(), nanos()],
        run_delay in reading(nanos()),
        peak_memory in reading(count().prop_map(Bytes)),
        counts in [count(), count(), count(), count()],
        left_behind in any::<u32>(),
        tasks_started in prop::option::of(count()),
        counted in prop::option::of([prop::option::of(count()), prop::option::of(count())]),
        outcome in prop_oneof![
            any::<i32>().prop_map(Outcome::Exited), any::<i32>().prop_map(Outcome::Signalled), Just(Outcome::TimedOut)
        ],
    ) -> Run {
        let [started, wall, user, system] = times;
        let [minor_faults, major_faults, voluntary_switches, involuntary_switches] = counts;
        Run {
            command, cpu, padding, started, wall, user, system, run_delay, peak_memory, minor_faults, major_faults,
            voluntary_switches, involuntary_switches, tasks_started, left_behind, outcome, energy_joules: Some(0.25), values: vec![],
            counters: counted.map(|[instructions, cycles]| Counters { instructions, cycles, ..Counters::default() }),
        }
    }
}

/// Blocks of this number of commands, in the order of their ends, which are after the starts of their runs.
fn blocks(commands: usize) -> impl Strategy<Value = Vec<Block>> {
    let runs = (0..commands).map(run).collect::<Vec<_>>().prop_shuffle();
    let block = (select(&Layout::ALL), runs, nanos());
    prop::collection::vec(block, 0..6).prop_map(|parts| {
        let mut at = Nanos::ZERO;
        let of = |(layout, runs, ended): (Layout, Vec<Run>, Nanos)| {
            at = runs.iter().map(|run| run.started).fold(ended.max(at), Nanos::max);
            Block { layout, ended: at, runs, draw: None }
        };
        parts.into_iter().map(of).collect()
    })
}

prop_compose! {
    fn choices()(
        effort in prop_oneof![nanos().prop_map(Effort::Budget), any::<u64>().prop_map(Effort::Pairs)],
        seed in any::<u64>(),
        resolution in ratio(),
        confidence in 0.001..0.999f64,
        metric in prop::option::of(select(&Metric::USUAL)),
        layout in prop::option::of(select(&Layout::ALL)),
        warmup in any::<Option<u32>>(),
        input in prop::option::of(path()),
        output in prop::collection::vec(output(), 0..2),
        failures in prop_oneof![
            Just(FailureRule::Abort), Just(FailureRule::IgnoreAll), any::<Vec<i32>>().prop_map(FailureRule::IgnoreCodes)
        ],
        timeout in prop::option::of(prop_oneof![nanos(), Just(Nanos(31_536_000_000_000_000))]),
        cpus in any::<Option<Vec<usize>>>(),
        fail_if in prop::option::of((select(&[Verdict::Slower, Verdict::Faster]), ratio())),
        (require_verdict, warm, pairs_min, pairs_max) in any::<(bool, bool, Option<u64>, Option<u64>)>(),
        candidate in any::<Option<u64>>(),
    ) -> Plan {
        let comparison = CandidateComparison::Second;
        let candidate = candidate.map(|number| Candidate { number, comparison });
        let fail_if = fail_if.map(|(verdict, beyond)| FailIf { verdict, beyond });
        Plan {
            commands: vec![], seed: Seed(seed), effort, pairs_min, pairs_min_within: None, pairs_max, resolution, confidence, metric, layout, warmup, input,
            further_metrics: vec![Metric::Faults], metrics: vec![], metric_input: MetricInput::Stdout,
            setup: PerCommand::NONE, prepare: PerCommand::NONE, conclude: PerCommand::NONE, cleanup: PerCommand::NONE,
            relink: PerCommand::NONE,
            output: PerCommand(output), failures, timeout, cpus, fail_if, require_verdict, warm, candidate,
        }
    }
}

prop_compose! {
    /// Custom metrics with different names, and what they are read from.
    fn metrics()(
        names in prop::collection::btree_set("x[a-z0-9_.-]{0,31}", 0..4),
        unit in "[a-zµ/%]{0,8}",
        more_is_better in any::<bool>(),
        patterns in [Just(Pattern::Line).boxed(), ".*".prop_map(Pattern::Regex).boxed(), ".*".prop_map(Pattern::Json).boxed()],
        input in prop_oneof![
            Just(MetricInput::Stdout), Just(MetricInput::Stderr), path().prop_map(MetricInput::File)
        ],
    ) -> (Vec<MetricSource>, MetricInput) {
        let source = |(name, pattern): (String, Pattern)| MetricSource { name, unit: unit.clone(), more_is_better, pattern };
        (names.into_iter().zip(patterns).map(source).collect(), input)
    }
}

fn output() -> impl Strategy<Value = Output> {
    prop_oneof![select(&[Output::Null, Output::Stderr, Output::Pipe, Output::Inherit]), path().prop_map(Output::File)]
}

fn plan(commands: usize) -> impl Strategy<Value = Plan> {
    let scripts = move || {
        let number = prop_oneof![Just(0), Just(1), Just(commands)];
        number.prop_flat_map(|n| prop::collection::vec(".*", n)).prop_map(PerCommand)
    };
    (choices(), prop::collection::vec(command(), commands), [scripts(), scripts(), scripts(), scripts(), scripts()])
        .prop_map(|(plan, commands, [setup, prepare, conclude, cleanup, relink])| Plan {
            commands,
            setup,
            prepare,
            conclude,
            cleanup,
            relink: if plan.warm { PerCommand::NONE } else { relink },
            ..plan
        })
}

fn moment() -> impl Strategy<Value = Moment> {
    (nanos(), [prop::option::of(ratio()), prop::option::of(ratio()), prop::option::of(ratio())])
        .prop_map(|(at, [busy_ratio, steal_ratio, pressure])| Moment { at, busy_ratio, steal_ratio, pressure })
}

prop_compose! {
    fn record()(commands in 1..5usize)(
        plan in plan(commands),
        host in host(),
        (started, revision) in (0..253_402_300_800u64, reading(".*")),
        counters in reading(select(&[CounterScope::User, CounterScope::UserAndKernel])),
        moments in prop::collection::vec(moment(), 0..3),
        primary in select(&[Metric::Cpu, Metric::Wall, Metric::Faults, Metric::Switches]),
        (metrics, metric_input) in metrics(),
        values in [0.0..1e300f64, 0.0..10.0, 0.0..1.0],
        left_out in prop::collection::vec((select(&Layout::ALL), ".*"), 0..2),
        (blocks, usual) in (blocks(commands), blocks(commands)),
        cold in prop::option::of((prop::option::of(0..commands), ".*")),
        fractions in prop::collection::vec(ratio(), 0..4),
        activity in [reading(ratio()), reading(ratio()), reading(ratio()), reading(ratio())],
        [elapsed, tick] in [nanos(), nanos()],
        ending in select(&[Ending::Decided, Ending::Spent, Ending::Interrupted]),
    ) -> Record {
        let [busy_ratio, steal_ratio, pressure, throttled_ratio] = activity;
        let plan = Plan { metrics, metric_input, ..plan };
        let primary = plan.custom_metrics().last().unwrap_or(primary);
        let cold = cold.filter(|_| plan.warm).map(|(command, reason)| Cold { command, reason });
        let warm = plan.warm && cold.is_none();
        let (mut blocks, mut usual) = (blocks, if warm { usual } else { vec![] });
        for (draw, block) in blocks.iter_mut().enumerate().chain(usual.iter_mut().enumerate()) {
            block.draw = (warm || !plan.relink.is_empty()).then_some(draw as u64 / 2);
        }
        for run in blocks.iter_mut().chain(&mut usual).flat_map(|block| &mut block.runs) {
            run.counters = run.counters.filter(|_| counters.is_ok()).or(counters.is_ok().then(Counters::default));
            run.values = values[..plan.metrics.len()].to_vec();
        }
        let looks = fractions.iter().enumerate().map(|(index, &fraction)| Look {
            blocks: blocks.len() * (index + 1) / fractions.len(), fraction, last: index + 1 == fractions.len(),
        });
        Record {
            looks: looks.collect(),
            left_out: left_out.into_iter().map(|(layout, reason)| LeftOut { layout, reason }).collect(),
            activity: Activity { busy_ratio, steal_ratio, pressure, throttled_ratio },
            started: Timestamp(started),
            host, revision, counters, tick: Ok(tick.max(Nanos(1))), primary, blocks, usual, cold, moments, elapsed, ending,
            unfinished: (fractions.len() == 3).then_some(plan.commands.len() - 1),
            unused_revisions: fractions.len() == 2,
            plan,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn records_are_read_back_exactly(record in record()) {
        let text = json_text(&report(record.clone()), true);
        prop_assert_eq!(read_record(&text), Ok(record.clone()));
        let compact = json(&report(record.clone()), true).to_string();
        prop_assert_eq!(read_record(&compact), Ok(record));
    }

    #[test]
    fn changed_exports_never_panic(record in record(), changes in prop::collection::vec((any::<Index>(), odd_value()), 1..4)) {
        let value = changed(json(&report(record), true), changes);
        if let Ok(record) = read_record(&value.to_string()) {
            // An accepted record can be summed and written again.
            let report = report(record.clone());
            let _ = Layout::ALL.map(|layout| report.time_in(layout));
            let _ = record.blocks.iter().flat_map(|block| &block.runs).map(|run| run.wall + run.cpu_time()).sum::<Nanos>();
            prop_assert_eq!(read_record(&json_text(&report, true)), Ok(record));
        }
    }

    #[test]
    fn a_missing_field_is_never_invented(record in record(), place in any::<Index>()) {
        let (key, without) = without_a_field(json(&report(record.clone()), true), &place);
        // Derived fields may be missing. A missing reason changes the meaning of some nulls, so these are not compared.
        // Nor are limits of pairs, custom metrics and scripts that link again, which files of earlier versions do not
        // have. Nor is the note that no file of a revision was opened.
        let is_newer = [
            "pairs_min",
            "pairs_max",
            "further_metrics",
            "metrics",
            "metric_input",
            "values",
            "energy_joules",
            "unfinished_command",
            "unused_revisions",
            "tick_seconds",
            "tasks_started",
            "relink",
            "candidate",
            "interpreter",
        ]
        .contains(&key.as_str());
        let is_compared = !key.ends_with("_absent") && !is_newer;
        if let Ok(found) = read_record(&without.to_string()) && is_compared {
            prop_assert_eq!(found, record);
        }
    }

    #[test]
    fn cut_and_garbled_text_never_panics(record in record(), cut in any::<Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = garbled(json_text(&report(record), true), &cut, garbage);
        let _ = read_record(&garbled);
        prop_assert!(read_record(&cut).is_err());
    }

    #[test]
    fn texts_of_any_numbers_never_panic(
        which in any::<Index>(), change in any::<f64>(), low in any::<f64>(), high in any::<f64>(), width in 0..200usize,
    ) {
        let (_, mut report) = which.get(&comparisons::all()).clone();
        for judgement in &mut report.judgements {
            judgement.change = Ok(change);
            judgement.interval = Ok(Interval { low, high });
            judgement.effort_to_settle = Ok(high);
            judgement.widening = Ok(low);
        }
        for breakdown in &mut report.breakdowns {
            breakdown.cpu.mean = change;
            breakdown.wall.interval = Interval { low, high };
            breakdown.minor_faults = high;
        }
        report.load.preempted_ratio = low;
        report.record.activity.busy_ratio = Ok(change);
        let text = terminal::text(&document(&report), Style { width, color: true });
        prop_assert!(!text.contains("NaN"), "{}", text);
        let json = json_text(&report, false);
        prop_assert!(serde_json::from_str::<Value>(&json).is_ok());
    }
}

/// The error of reading an export after a change.
fn error_after(change: impl FnOnce(&mut Value)) -> ReadError {
    let mut value = json(&comparisons::slower(), true);
    change(&mut value);
    read_record(&value.to_string()).expect_err("it should be refused")
}

#[test]
fn the_reports_built_by_hand_are_read_back() {
    for (name, report) in comparisons::all() {
        assert_eq!(read_record(&json_text(&report, true)), Ok(report.record.clone()), "{name}");
        assert_eq!(read_record(&json_text(&report, false)), Err(ReadError::WithoutSamples), "{name}");
    }
}

#[test]
fn errors_name_the_problem_and_the_field() {
    let says = |error: ReadError, expected: &str| assert_eq!(error.to_string(), expected);
    assert!(matches!(read_record("{"), Err(ReadError::NotJson(_))));
    assert!(matches!(read_record(""), Err(ReadError::NotJson(_))));
    assert!(matches!(read_record(&"[".repeat(1 << 20)), Err(ReadError::NotJson(_))));
    assert_eq!(
        read_record("[]"),
        Err(ReadError::OtherSchema { what: "a comparison", known: "steady.compare/1", found: "missing".into() })
    );
    says(
        error_after(|value| value["schema"] = json!("steady.load/1")),
        "not an export of a comparison: its schema is \"steady.load/1\", not \"steady.compare/1\"",
    );
    says(
        error_after(|value| value["schema"] = json!("steady.compare/2")),
        "written by a newer version: its schema is \"steady.compare/2\", and \"steady.compare/1\" is the newest known \
         here; upgrade steady",
    );
    says(
        error_after(|value| value["samples"] = json!(null)),
        "the export has no samples, which judge needs: export the run again with `steady history report RUN --samples --export-json FILE`, or measure with --samples",
    );
    says(
        error_after(|value| value["samples"]["blocks"][3]["runs"][1]["wall_seconds"] = json!("1 s")),
        "samples.blocks[3].runs[1].wall_seconds: invalid type: string \"1 s\", expected f64",
    );
    says(
        error_after(|value| value["samples"]["blocks"][3]["runs"][1]["wall_seconds"] = json!(-1.5)),
        "samples.blocks[3].runs[1].wall_seconds: -1.5 s is not a valid time span",
    );
    says(
        error_after(|value| value["samples"]["blocks"][3]["runs"][1]["run_delay_seconds"] = json!(null)),
        "samples.blocks[3].runs[1].run_delay_seconds: null, without a reason in run_delay_seconds_absent",
    );
    says(
        error_after(|value| _ = value["plan"].as_object_mut().unwrap().shift_remove("warmup")),
        "plan: missing field `warmup`",
    );
    says(
        error_after(|value| value["samples"]["blocks"][0]["runs"][0]["command"] = json!(2)),
        "inconsistent: samples.blocks[0].runs[0].command: 2 is not a command of the plan, which has 2",
    );
    says(
        error_after(|value| value["samples"]["blocks"][0]["runs"][0]["wall_seconds"] = json!(1e9)),
        "inconsistent: samples.blocks[0].runs[0].wall_seconds: it is longer than 97 days",
    );
    says(
        error_after(|value| value["samples"]["looks"][1]["blocks"] = json!(65)),
        "inconsistent: samples.looks[1]: it has more blocks than there are",
    );
}
