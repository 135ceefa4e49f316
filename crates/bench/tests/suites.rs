//! Suites with known costs, on a simulated machine.

mod common;

use common::{LOADED, SLOW, SimulatedSuite, record, with};
use steady_bench::{ErrorRate, Side, SuiteRecord, Unmeasured, judged, logged};
use steady_feature::{Failure, Record, Report};
use steady_model::{Ending, GateState, Nanos, Verdict};
use steady_process::simulated::Conditions;

fn measured(suite: &mut SimulatedSuite, record: &SuiteRecord) -> SuiteRecord {
    suite.measured(record).unwrap()
}

#[test]
fn a_slower_and_a_faster_benchmark_are_found_and_the_others_are_the_same() {
    let mut suite = SimulatedSuite::new(12, Conditions::QUIET, 1);
    suite.factors[3] = 1.03;
    suite.factors[7] = 0.94;
    let record = measured(&mut suite, &record(12, 120.0, 1));
    assert_eq!(with(&record, Verdict::Slower), ["benchmark 3"]);
    assert_eq!(with(&record, Verdict::Faster), ["benchmark 7"]);
    assert_eq!(with(&record, Verdict::Same).len(), 10);
    assert_eq!(record.ending, Ending::Decided);
    assert!(record.elapsed_seconds < Nanos::from_seconds(60.0), "{:?}", record.elapsed_seconds);
    let change = record.benchmarks[3].change.clone().unwrap();
    assert!((change - 0.03).abs() < 0.01, "{change}");
}

#[test]
fn too_few_pairs_say_how_many_are_needed() {
    let mut found = measured(&mut SimulatedSuite::new(4, Conditions::QUIET, 1), &record(4, 60.0, 1));
    let one = &mut found.benchmarks[0];
    let samples = one.samples.as_mut().unwrap();
    samples.new_first.truncate(5);
    for runs in [&mut samples.old, &mut samples.new] {
        runs.values.iter_mut().for_each(|values| values.truncate(5));
        runs.wall_seconds.truncate(5);
        runs.cpu_seconds.truncate(5);
    }
    one.looks.clear();
    let why = judged(found).benchmarks[0].interval.clone().unwrap_err().to_string();
    // With four benchmarks the level is 1.25 %, and 2^-7 is the first probability below it in one direction.
    assert_eq!(why.replace('\u{a0}', " "), "5 pairs are too few; at least 8 are needed");
}

#[test]
fn with_draws_the_positions_of_functions_are_not_a_difference() {
    let suite = |draws: bool| {
        let mut suite = SimulatedSuite::new(6, Conditions::QUIET, 1);
        suite.layout_effect = 0.05;
        let record = measured(&mut suite, &SuiteRecord { draws, ..record(6, 60.0, 1) });
        (suite.draws, record)
    };
    let (draws, without) = suite(false);
    assert_eq!(draws, 0);
    assert!(with(&without, Verdict::Slower).len() + with(&without, Verdict::Faster).len() >= 4);
    let (draws, record) = suite(true);
    assert_eq!(with(&record, Verdict::Slower).len() + with(&record, Verdict::Faster).len(), 0);
    // Every benchmark has one pair in each draw.
    let pairs: Vec<usize> = record.benchmarks.iter().map(|one| one.pairs).collect();
    assert!(pairs.iter().all(|&pairs| pairs + 1 >= draws as usize && pairs <= draws as usize), "{pairs:?} in {draws}");
    assert!(draws > 20 && record.elapsed_seconds <= record.budget_seconds, "{draws}");
}

#[test]
fn what_was_measured_is_kept_if_a_later_draw_fails() {
    let mut suite = SimulatedSuite::new(3, Conditions::QUIET, 1);
    suite.draws_max = Some(9);
    let record = measured(&mut suite, &SuiteRecord { draws: true, ..record(3, 60.0, 1) });
    assert!(record.benchmarks.iter().all(|one| one.pairs == 9), "{record:?}");
    assert_eq!(record.ending, Ending::Interrupted);
    assert!(suite.lost.is_some_and(|failure| failure.to_string().contains("no space left")));
    let mut suite = SimulatedSuite::new(3, Conditions::QUIET, 1);
    suite.draws_max = Some(0);
    let failed = suite.measured(&SuiteRecord { draws: true, ..common::record(3, 60.0, 1) });
    assert!(matches!(failed, Err(Failure::Own(_))));
}

#[test]
fn the_budget_holds_and_what_does_not_fit_is_listed() {
    for (benchmarks, seconds) in [(5, 3.0), (40, 10.0), (400, 10.0)] {
        let mut suite = SimulatedSuite::new(benchmarks, LOADED, 3);
        let record = measured(&mut suite, &record(benchmarks, seconds, 3));
        assert!(record.elapsed_seconds <= Nanos::from_seconds(seconds * 1.01), "{:?}", record.elapsed_seconds);
        assert_eq!(record.benchmarks.len() + record.unmeasured.len(), benchmarks);
        assert!(!record.benchmarks.is_empty());
        let other = record.unmeasured.iter().find(|one| !one.reason.contains("needs about --budget"));
        assert_eq!(other, None);
        // However many they are, they are listed with their reason once.
        let report = steady_render::markdown::text(&record.document());
        assert!(report.matches("needs about").count() <= 1, "{report}");
    }
}

#[test]
fn a_budget_that_is_too_small_for_any_benchmark_is_used_for_one() {
    let mut suite = SimulatedSuite::new(3, LOADED, 13);
    let found = measured(&mut suite, &record(3, 0.5, 13));
    let pairs: Vec<usize> = found.benchmarks.iter().map(|one| one.pairs).collect();
    assert!(pairs.len() == 1 && (2..12).contains(&pairs[0]), "{pairs:?}");
    assert_eq!(with(&found, Verdict::Undecided).len(), 1);
    assert!(found.unmeasured.iter().all(|one| one.reason.contains("needs about --budget")), "{:?}", found.unmeasured);
}

#[test]
fn time_that_others_do_not_need_goes_to_what_was_left_out() {
    for seed in 0..12 {
        let mut suite = SimulatedSuite::new(3, Conditions::QUIET, seed);
        // The budget suffices for two of the three, but the first one soon fails.
        suite.fails = Some((0, 8));
        let found = measured(&mut suite, &record(3, 2.2, seed));
        let measured: Vec<&str> =
            found.benchmarks.iter().filter(|one| one.failed.is_none()).map(|one| one.name.as_str()).collect();
        assert_eq!(measured, ["benchmark 1", "benchmark 2"], "seed {seed}: {:?}", found.unmeasured);
    }
}

#[test]
fn a_benchmark_that_fails_early_leaves_the_others_their_time() {
    for seed in 0..8 {
        let mut suite = SimulatedSuite::new(16, Conditions::QUIET, seed);
        // The budget suffices for about half of the suite, and one benchmark fails in its first pair.
        suite.fails = Some((0, 4));
        let found = measured(&mut suite, &record(16, 9.0, seed));
        let few: Vec<_> = found.benchmarks.iter().filter(|one| one.failed.is_none() && one.pairs < 12).collect();
        assert!(few.is_empty(), "seed {seed}: {few:?}");
        assert!(found.benchmarks.len() >= 5, "seed {seed}: {}", found.benchmarks.len());
    }
}

#[test]
fn a_record_of_a_part_of_the_benchmarks_leaves_the_condition_open() {
    let mut suite = SimulatedSuite::new(4, Conditions::QUIET, 7);
    let fail_if = Some("slower>20%".parse().unwrap());
    let mut found = measured(&mut suite, &SuiteRecord { fail_if, ..record(4, 30.0, 7) });
    assert_eq!(found.condition, Some(GateState::DoesNotHold));
    // As after a run that was killed, whose log has no benchmarks without pairs.
    found.benchmarks.truncate(2);
    assert_eq!(judged(found).condition, Some(GateState::Open));
}

#[test]
fn a_record_of_some_benchmarks_of_a_part_leaves_the_condition_open() {
    let mut suite = SimulatedSuite::new(4, Conditions::QUIET, 7);
    let fail_if = Some("slower>20%".parse().unwrap());
    // Of 15 benchmarks, the second of four parts has those with the numbers 2, 6, 10 and 14, and the fourth has three.
    let part = |shard: &str| Some(shard.to_owned());
    let found = measured(&mut suite, &SuiteRecord { fail_if, suite: 15, shard: part("2/4"), ..record(4, 30.0, 7) });
    assert_eq!(found.condition, Some(GateState::DoesNotHold));
    let fourth = SuiteRecord { shard: part("4/4"), ..found.clone() };
    assert_eq!(judged(fourth).condition, Some(GateState::DoesNotHold));
    for shard in ["2/4, 4/4", "2/0", "?"] {
        let more = SuiteRecord { shard: part(shard), ..found.clone() };
        assert_eq!(judged(more).condition, Some(GateState::Open), "{shard}");
    }
    let mut found = found;
    found.benchmarks.truncate(2);
    let killed = judged(found);
    assert_eq!(killed.condition, Some(GateState::Open));
    let text = Record::sentences(&killed).join(" ");
    assert!(text.contains("2 were not measured") && text.contains("2 benchmarks of both builds were not"), "{text}");
}

#[test]
fn a_value_that_is_zero_in_one_build_has_a_verdict_and_no_ratio() {
    let found = |old: f64, new: f64, condition: &str| {
        let mut found = measured(&mut SimulatedSuite::new(1, Conditions::QUIET, 1), &record(1, 30.0, 1));
        let samples = found.benchmarks[0].samples.as_mut().unwrap();
        samples.old.values[0].fill(old);
        samples.new.values[0].fill(new);
        found.metrics = vec!["allocations".parse().unwrap()];
        found.fail_if = Some(condition.parse().unwrap());
        judged(found)
    };
    for (old, new, condition, verdict, state) in [
        (0.0, 3.0, "slower>5000%", Verdict::Slower, GateState::Holds),
        (0.0, 3.0, "faster>5%", Verdict::Slower, GateState::DoesNotHold),
        (3.0, 0.0, "faster>99%", Verdict::Faster, GateState::Holds),
        (3.0, 0.0, "slower>5%", Verdict::Faster, GateState::DoesNotHold),
    ] {
        let found = found(old, new, condition);
        let one = &found.benchmarks[0];
        assert_eq!((one.verdict, one.condition, found.condition), (verdict, Some(state), Some(state)), "{one:?}");
        let (which, both) = if old == 0.0 { ("old", "0 → 3.00") } else { ("new", "3.00 → 0") };
        let why = format!("the {which} build reports 0 in most runs, so there is no ratio");
        assert_eq!(one.change.clone().unwrap_err().to_string(), why);
        assert_eq!(one.interval.clone().unwrap_err().to_string(), why);
        let report = steady_render::markdown::text(&found.document());
        assert!(report.contains(both) && report.contains(&why), "{report}");
        assert_eq!(SuiteRecord::read(&found.json(true)).unwrap(), found);
    }
    let both = found(0.0, 0.0, "slower>5%");
    assert_eq!((both.benchmarks[0].verdict, both.condition), (Verdict::Same, Some(GateState::DoesNotHold)));
    // Most runs of both builds have a ratio.
    let mut some = found(3.0, 6.0, "slower>5%");
    some.benchmarks[0].samples.as_mut().unwrap().new.values[0][3] = 0.0;
    assert!((judged(some).benchmarks[0].change.clone().unwrap() - 1.0).abs() < 1e-6);
}

/// The log has all of the record of a run that ends; without its last line, as after a kill, it has the failures.
#[test]
fn a_log_has_the_failures_and_the_end_of_a_run() {
    for (runs, fails_in) in [(0, None), (0, Some(Side::New)), (8, None), (8, Some(Side::New))] {
        let mut suite = SimulatedSuite::new(4, LOADED, 5);
        (suite.fails, suite.fails_in) = (Some((2, runs)), fails_in);
        let found = measured(&mut suite, &record(4, 20.0, 5));
        assert_eq!(logged(&suite.log.join("\n")), Some(found.clone()));
        let (_, without_end) = suite.log.split_last().unwrap();
        let killed = logged(&without_end.join("\n")).unwrap();
        let failures = |record: &SuiteRecord| {
            let measured =
                record.benchmarks.iter().map(|one| (one.name.clone(), one.failed.clone(), one.failed_only_in));
            let others =
                record.unmeasured.iter().map(|one| (one.name.clone(), Some(one.reason.clone()), one.failed_only_in));
            measured.chain(others).filter(|(_, failed, _)| failed.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(failures(&killed), failures(&found));
        assert_eq!(failures(&found).len(), 1, "{found:?}");
        assert_eq!((killed.status(), killed.ending), (found.status(), Ending::Interrupted));
        // A pair is missing.
        let at = suite.log.iter().position(|line| line.starts_with("{\"pair\"")).unwrap();
        suite.log.remove(at);
        assert_eq!(logged(&suite.log.join("\n")).unwrap().ending, Ending::Interrupted);
    }
}

#[test]
fn a_part_without_benchmarks_is_complete() {
    let empty = |shard: Option<&str>, suite| {
        let fail_if = Some("slower>3%".parse().unwrap());
        let shard = shard.map(str::to_owned);
        judged(SuiteRecord {
            fail_if,
            require_verdict: true,
            shard,
            suite,
            ending: Ending::Decided,
            ..record(0, 9.0, 1)
        })
    };
    let part = empty(Some("3/3"), 2);
    let csv = |record: &SuiteRecord| {
        record.rendered(steady_feature::flags::Form::Csv, steady_render::Style::default(), false)
    };
    assert!(csv(&part).starts_with("benchmark,verdict,") && csv(&part).lines().count() == 1, "{}", csv(&part));
    assert_eq!((part.status(), part.condition), (0, Some(GateState::DoesNotHold)));
    assert_eq!(empty(None, 0).status(), 4, "nothing was compared");
    assert_eq!(empty(Some("1/2, 2/2"), 0).status(), 4, "nothing was compared");
}

#[test]
fn benchmarks_that_share_processes_are_all_measured() {
    let measured = |is_shared, seconds, fails| {
        let mut suite = SimulatedSuite::new(9, LOADED, 9);
        (suite.is_shared, suite.fails, suite.factors[4]) = (is_shared, fails, 1.06);
        let found = suite.measured(&record(9, seconds, 9)).unwrap();
        (suite.processes, found)
    };
    let (_, alone) = measured(false, 20.0, None);
    let (processes, shared) = measured(true, 20.0, None);
    let pairs = |found: &SuiteRecord| found.benchmarks.iter().map(|one| one.pairs).sum::<usize>();
    // Several benchmarks in each process, in shares of time that are as equal as those of processes of their own.
    assert!(processes < pairs(&shared) as u64, "{processes} processes for {} pairs", pairs(&shared));
    assert_eq!(
        (with(&shared, Verdict::Slower), with(&alone, Verdict::Slower)),
        (vec!["benchmark 4"], vec!["benchmark 4"])
    );
    assert!(shared.benchmarks.iter().all(|one| one.pairs >= 12), "{shared:?}");
    assert!(shared.elapsed_seconds <= Nanos::from_seconds(20.2));
    let (_, failed) = measured(true, 20.0, Some((2, 6)));
    assert_eq!(failed.benchmarks[2].failed.as_deref(), Some("it exited with status 1; try again"));
    assert!(failed.benchmarks.iter().enumerate().all(|(at, one)| at == 2 || one.failed.is_none() && one.pairs >= 12));
}

/// Processes that take longer to start than pairs usually take are shared, too: leaving benchmarks out saves nothing, also
/// if the budget is too small for a verdict on any.
#[test]
fn processes_that_take_long_to_start_are_shared() {
    for (start_up, seconds, slower) in [(1.0, 60.0, 1), (4.6, 110.0, 0), (4.6, 180.0, 1), (7.3, 300.0, 1)] {
        let mut suite = SimulatedSuite::new(9, Conditions::QUIET, 13);
        (suite.is_shared, suite.start_up, suite.factors[4]) = (true, start_up, 1.06);
        let found = suite.measured(&record(9, seconds, 13)).unwrap();
        assert!(found.unmeasured.is_empty(), "{start_up}: {:?}", found.unmeasured);
        assert_eq!(with(&found, Verdict::Slower), ["benchmark 4"][..slower], "{start_up}");
        assert!(found.elapsed_seconds <= Nanos::from_seconds(seconds + 2.0 * start_up), "{:?}", found.elapsed_seconds);
    }
}

#[test]
fn a_benchmark_that_ends_the_processes_of_others_runs_alone() {
    let mut suite = SimulatedSuite::new(9, LOADED, 11);
    (suite.is_shared, suite.ends_others) = (true, Some(3));
    let found = measured(&mut suite, &record(9, 20.0, 11));
    let pairs: Vec<usize> = found.benchmarks.iter().map(|one| one.pairs).collect();
    assert!(pairs.len() == 9 && pairs.iter().all(|&pairs| pairs >= 12), "{pairs:?}");
    assert!(suite.processes < pairs.iter().sum::<usize>() as u64, "{} processes for {pairs:?}", suite.processes);
    assert!(found.elapsed_seconds <= Nanos::from_seconds(20.2));
    assert!(found.benchmarks[3].unshared && !found.benchmarks.iter().all(|one| one.unshared), "{:?}", found.benchmarks);
}

#[test]
fn the_start_of_a_shared_process_is_part_of_the_budget() {
    for seconds in [1.5, 3.0, 6.0] {
        let mut suite = SimulatedSuite::new(30, Conditions::QUIET, 12);
        suite.is_shared = true;
        let found = measured(&mut suite, &record(30, seconds, 12));
        assert!(found.elapsed_seconds <= Nanos::from_seconds(seconds * 1.02), "{:?}", found.elapsed_seconds);
        // Those that are measured have enough pairs for a verdict.
        let few = found.benchmarks.iter().filter(|one| one.pairs < 12).count();
        assert!(few <= 1 && !found.benchmarks.is_empty(), "{few} of {}", found.benchmarks.len());
    }
}

#[test]
fn a_benchmark_that_fails_affects_nothing_else() {
    let mut suite = SimulatedSuite::new(6, Conditions::QUIET, 3);
    suite.fails = Some((2, 6));
    let failed = measured(&mut suite, &record(6, 30.0, 3));
    assert_eq!(failed.benchmarks[2].failed.as_deref(), Some("it exited with status 1; try again"));
    assert_eq!(failed.benchmarks[2].failed_only_in, None);
    assert_eq!(with(&failed, Verdict::Same).len(), 5);
    let mut suite = SimulatedSuite::new(6, Conditions::QUIET, 3);
    suite.fails = Some((2, 0));
    let never = measured(&mut suite, &record(6, 30.0, 3));
    assert_eq!((never.benchmarks.len(), never.unmeasured.len()), (5, 1));
    assert_eq!(never.unmeasured[0].failed_only_in, None);
}

#[test]
fn a_benchmark_that_fails_in_one_build_only_is_reported_as_such() {
    for (side, name, other) in [(Side::Old, "v1", "v2"), (Side::New, "v2", "v1")] {
        for seed in 0..4 {
            // Before the first pair, and after some.
            for runs in [0, 9] {
                let mut suite = SimulatedSuite::new(6, Conditions::QUIET, seed);
                (suite.fails, suite.fails_in) = (Some((2, runs)), Some(side));
                let found = measured(&mut suite, &record(6, 30.0, seed));
                let measured = if runs == 0 { 5 } else { 6 };
                assert_eq!((found.benchmarks.len(), found.unmeasured.len()), (measured, 6 - measured));
                let only_in = match runs {
                    0 => found.unmeasured[0].failed_only_in,
                    _ => found.benchmarks[2].failed_only_in,
                };
                assert_eq!(only_in, Some(side));
                // What helps if both builds fail is not the remedy.
                assert!(!found.json(true).contains("try again"));
                let sentences = Record::sentences(&found);
                let status = if side == Side::New { " The exit status is therefore 3." } else { "" };
                let expected = format!("1\u{a0}benchmark failed in {name}, and not in {other}: benchmark 2.{status}");
                assert!(sentences.contains(&expected), "{sentences:?}");
                assert_eq!(found.status(), if side == Side::New { 3 } else { 0 });
            }
        }
    }
}

#[test]
fn a_failure_in_the_new_build_only_gives_a_status_of_its_own() {
    let status = |fails_in, factor, condition: Option<&str>, require_verdict| {
        let mut suite = SimulatedSuite::new(4, Conditions::QUIET, 7);
        (suite.fails, suite.fails_in, suite.factors[0]) = (Some((2, 0)), fails_in, factor);
        let fail_if = condition.map(|condition| condition.parse().unwrap());
        let found = measured(&mut suite, &SuiteRecord { fail_if, require_verdict, ..record(4, 30.0, 7) });
        let sentences = Record::sentences(&found).join(" ");
        assert_eq!(sentences.contains("therefore 3"), found.status() == 3, "{sentences}");
        assert_eq!(SuiteRecord::read(&found.json(true)).unwrap(), found);
        found.status()
    };
    let slower = Some("slower>3%");
    assert_eq!(status(Some(Side::New), 1.0, None, false), 3);
    assert_eq!(status(Some(Side::New), 1.0, slower, true), 3);
    assert_eq!(status(Some(Side::New), 1.08, slower, true), 1, "a condition that holds comes first");
    for fails_in in [None, Some(Side::Old)] {
        assert_eq!(status(fails_in, 1.0, slower, false), 0);
        assert_eq!(status(fails_in, 1.0, slower, true), 4);
    }
}

#[test]
fn an_interruption_keeps_the_pairs_so_far() {
    let mut suite = SimulatedSuite::new(4, LOADED, 4);
    suite.interrupted = Some(60);
    let record = measured(&mut suite, &record(4, 60.0, 4));
    assert_eq!(record.ending, Ending::Interrupted);
    assert!(record.benchmarks.iter().map(|one| one.pairs).sum::<usize>() > 20);
    // The displayed intervals may have been the reason, so the rest of the error rate is not spent.
    let mut looks = record.benchmarks.iter().map(|one| (one.pairs, *one.looks.last().unwrap()));
    assert!(looks.all(|(pairs, look)| look.pairs == pairs && !look.last && look.fraction_ratio < 0.5));
    let mut suite = SimulatedSuite::new(400, LOADED, 4);
    suite.interrupted = Some(480);
    let record = measured(&mut suite, &common::record(400, 10.0, 4));
    let reasons: Vec<&str> = record.unmeasured.iter().map(|one| one.reason.as_str()).collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|why| *why == "the measuring was interrupted before"),
        "{reasons:?}"
    );
    let mut suite = SimulatedSuite::new(4, LOADED, 4);
    suite.interrupted = Some(3);
    assert!(matches!(suite.measured(&common::record(4, 60.0, 4)), Err(Failure::Interrupted(_))));
}

#[test]
fn evaluating_an_export_again_gives_the_same_digits() {
    for error in [ErrorRate::Family, ErrorRate::Discovery] {
        let mut suite = SimulatedSuite::new(8, LOADED, 5);
        suite.factors[1] = 1.2;
        let record = measured(&mut suite, &SuiteRecord { error, ..record(8, 20.0, 5) });
        let again = SuiteRecord::read(&record.json(true)).unwrap();
        assert_eq!(again, record);
        assert_eq!(again.json(true), record.json(true));
        assert!(SuiteRecord::read(&record.json(false)).is_err());
    }
}

#[test]
fn exchanging_the_builds_exchanges_the_verdicts_and_nothing_else() {
    let mut suite = SimulatedSuite::new(5, LOADED, 6);
    suite.factors[2] = 1.1;
    let one = measured(&mut suite, &record(5, 20.0, 6));
    let mut swapped = one.clone();
    for samples in swapped.benchmarks.iter_mut().filter_map(|one| one.samples.as_mut()) {
        std::mem::swap(&mut samples.old, &mut samples.new);
        samples.new_first.iter_mut().for_each(|first| *first = !*first);
    }
    let other = steady_bench::judged(swapped);
    for (one, other) in one.benchmarks.iter().zip(&other.benchmarks) {
        let (one, other) = (one.interval.clone().unwrap(), other.interval.clone().unwrap());
        assert!((one.low.ln_1p() + other.high.ln_1p()).abs() < 1e-5, "{one:?} {other:?}");
    }
    assert_eq!(with(&one, Verdict::Slower), with(&other, Verdict::Faster));
}

#[test]
fn at_most_a_few_suites_of_equal_builds_report_a_difference() {
    // Bernoulli trials with probability 0.05: more than 9 of 60 have a probability below 0.001.
    let wrong = (0..60).filter(|&seed| {
        let mut suite = SimulatedSuite::new(10, LOADED, seed);
        let record = measured(&mut suite, &record(10, 20.0, seed));
        record.benchmarks.iter().any(|one| one.verdict.is_difference())
    });
    let wrong = wrong.count();
    assert!(wrong <= 9, "{wrong} of 60");
}

#[test]
fn benchmarks_with_a_long_preparation_do_not_take_forever() {
    let mut suite = SimulatedSuite::new(2, Conditions::QUIET, 8);
    suite.untimed[0] = 0.01;
    let record = measured(&mut suite, &record(2, 60.0, 8));
    let wall = record.benchmarks[0].samples.as_ref().unwrap().old.wall_seconds[0];
    assert!(wall < Nanos::from_seconds(2.0), "{wall:?}");
    assert!(record.benchmarks[0].pairs >= 12);
    // The first calibration run takes 0.75 s. With a hundred times as many iterations, the next one would take 75 s.
    suite = SimulatedSuite::new(2, Conditions::QUIET, 8);
    suite.untimed[0] = 0.25;
    let record = measured(&mut suite, &common::record(2, 60.0, 8));
    assert!(record.elapsed_seconds <= record.budget_seconds, "{:?}", record.elapsed_seconds);
    assert!(record.benchmarks.iter().all(|one| one.pairs >= 12), "{record:?}");
}

#[test]
fn conditions_decide_the_exit_status() {
    let status = |condition: &str, seconds: f64, require_verdict| {
        let mut suite = SimulatedSuite::new(4, Conditions::QUIET, 7);
        suite.factors[0] = 1.08;
        let fail_if = Some(condition.parse().unwrap());
        let found = measured(&mut suite, &SuiteRecord { fail_if, require_verdict, ..record(4, seconds, 7) });
        (found.condition.unwrap(), found.status())
    };
    assert_eq!(status("slower>3%", 30.0, false), (GateState::Holds, 1));
    assert_eq!(status("slower>20%", 30.0, false), (GateState::DoesNotHold, 0));
    assert_eq!(status("faster>3%", 30.0, true), (GateState::DoesNotHold, 0));
    // The budget is too small for all of them.
    assert_eq!(status("faster>3%", 3.0, true), (GateState::Open, 4));
    assert_eq!(status("faster>3%", 3.0, false), (GateState::Open, 0));
}

#[test]
fn the_advice_with_a_condition_is_about_the_condition() {
    let found = |condition: &str, resolution: f64, factor: f64| {
        let mut suite = SimulatedSuite::new(3, LOADED, 7);
        suite.factors[1] = factor;
        let fail_if = Some(condition.parse().unwrap());
        let found = measured(&mut suite, &SuiteRecord { fail_if, resolution_ratio: resolution, ..record(3, 3.0, 7) });
        (found.condition.unwrap(), Record::sentences(&found).join(" "))
    };
    // The verdicts are decided at this resolution, but one change is near the limit.
    let (condition, text) = found("slower>5%", 0.5, 1.06);
    assert_eq!(condition, GateState::Open, "{text}");
    assert!(!text.contains("limit"), "another limit is no remedy: {text}");
    assert!(text.contains("To decide the condition, use about --budget ") && !text.contains("resolution"), "{text}");
    let (_, text) = found("slower>5%", 0.5, 1.0499);
    assert!(text.contains("The estimate is so close to the limit that it is not known how much time"), "{text}");
    // One that was left out needs more than the others. No budget decides one that fails.
    let with = |needed: Option<u64>| {
        let mut suite = SimulatedSuite::new(3, LOADED, 7);
        suite.factors[1] = 1.06;
        let settings = SuiteRecord { resolution_ratio: 0.5, ..record(3, 3.0, 7) };
        let mut found = measured(&mut suite, &SuiteRecord { fail_if: Some("slower>5%".parse().unwrap()), ..settings });
        found.unmeasured.push(Unmeasured {
            name: "other".to_owned(),
            reason: "-".to_owned(),
            is_of_one_build: false,
            failed_only_in: None,
            needed_budget_seconds: needed.map(|seconds| Nanos(seconds * 1_000_000_000)),
        });
        Record::sentences(&judged(found)).join(" ")
    };
    let text = with(Some(50));
    assert!(text.contains("; 1 benchmark of both builds was not measured. To decide the condition, "), "{text}");
    assert!(text.contains(" use about --budget 50s."), "{text}");
    let text = with(None);
    assert!(text.contains("To decide the condition for the measured benchmarks, use about --budget"), "{text}");
    // A condition that is decided needs no advice, however fine the resolution.
    let (condition, text) = found("slower>40%", 0.001, 1.0);
    assert_eq!(condition, GateState::DoesNotHold, "{text}");
    assert!(text.contains("are undecided") && !text.contains("To decide"), "{text}");
}

#[test]
fn what_the_measuring_decided_stays_decided() {
    let mut ended = 0;
    for seed in 0..60 {
        let mut suite = SimulatedSuite::new(8, LOADED, seed);
        (suite.factors[1], suite.factors[4]) = (1.05, 0.96);
        let found = measured(&mut suite, &record(8, 120.0, seed));
        if found.ending == Ending::Decided {
            ended += 1;
            let open = found.benchmarks.iter().find(|one| one.verdict == Verdict::Undecided);
            assert!(open.is_none(), "seed {seed}: {open:?}");
        }
    }
    assert!(ended > 10, "{ended}");
}

/// A clear difference is reported even if it is below the resolution; the first sentence says so.
#[test]
fn the_first_sentence_names_differences_below_the_resolution() {
    let first = |factors: &[f64]| {
        let mut suite = SimulatedSuite::new(factors.len(), Conditions::QUIET, 6);
        suite.factors = factors.to_vec();
        let record = SuiteRecord { resolution_ratio: 0.1, ..record(factors.len(), 60.0, 6) };
        measured(&mut suite, &record).sentences()[0].replace('\u{a0}', " ")
    };
    let text = first(&[1.3, 1.04, 1.0]);
    assert!(text.starts_with("Of 3 benchmarks, 2 got slower (1 by less than 10 %), 1 the same"), "{text}");
    let text = first(&[0.7, 1.3, 1.0]);
    assert!(text.starts_with("Of 3 benchmarks, 1 got slower, 1 faster, 1 the same"), "{text}");
    assert_eq!(first(&[0.96]), "benchmark 0 got faster in v2 relative to v1, by less than 10 %.");
}

/// A change alters how often the runs of a benchmark are slow. The usual run is the same, so the mean must decide.
#[test]
fn the_mean_decides_if_the_runs_have_two_modes() {
    let shares = [0.1, 0.2];
    let change = (1.0 + shares[1] * (SLOW - 1.0)) / (1.0 + shares[0] * (SLOW - 1.0)) - 1.0;
    let (mut slower, mut same) = (0, 0);
    for seed in 0..5 {
        let mut suite = SimulatedSuite::new(4, Conditions::QUIET, seed);
        suite.modes = vec![shares, shares, [0.1, 0.1], [0.0, 0.0]];
        let found = measured(&mut suite, &record(4, 240.0, seed));
        for one in &found.benchmarks[..2] {
            slower += u32::from(one.verdict == Verdict::Slower);
            same += u32::from(one.verdict == Verdict::Same);
            assert!(one.mean.as_ref().is_some_and(|mean| mean.decides), "{one:?}");
            assert!(one.interval.as_ref().unwrap().holds(change), "{one:?}");
        }
        assert!(!found.benchmarks[2].verdict.is_difference(), "{found:?}");
        let steady = &found.benchmarks[3];
        assert!(steady.verdict == Verdict::Same && steady.mean.is_none() && steady.pairs < 100, "{steady:?}");
        let text = Record::sentences(&found).join(" ");
        assert!(text.contains("The mean decides for benchmark 0, benchmark 1"), "{text}");
        assert_eq!(SuiteRecord::read(&found.json(true)).unwrap(), found);
    }
    assert!(slower >= 8 && same == 0, "{slower} of 10 slower, {same} the same");
}

/// The error rate holds for builds that are equal, with runs of two modes.
#[test]
fn suites_of_equal_builds_with_two_modes_rarely_report_a_difference() {
    let reports = |seed: u64| {
        let mut suite = SimulatedSuite::new(4, LOADED, seed);
        suite.modes = vec![[0.1, 0.1], [0.3, 0.3], [0.5, 0.5], [0.02, 0.02]];
        measured(&mut suite, &record(4, 60.0, seed)).benchmarks.iter().any(|one| one.verdict.is_difference())
    };
    // With an error rate of 5 %, more than 6 of 40 have a probability of 0.3 %.
    let wrong = (0..40).filter(|&seed| reports(seed)).count();
    assert!(wrong <= 6, "{wrong} of 40");
}
