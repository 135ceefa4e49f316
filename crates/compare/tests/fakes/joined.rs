//! Joins of several comparisons on simulated machines.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use steady_compare::{JoinError, join, judge};
use steady_model::{
    Absent, DecidedBy, Effort, Ending, FailIf, Layout, Look, Metric, Outcome, Plan, Record, Undecided, Verdict,
};
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{measure, plan};

const NOISY: Conditions = Conditions { noise: 0.03, hit_per_mille: 30, ..Conditions::QUIET };

/// One comparison on its own simulated machine.
fn record(plan: &Plan, seconds: &[f64]) -> Record {
    measure(plan, &mut SimulatedMachine::new(seconds, NOISY, plan.seed.0 ^ 0x5eed)).unwrap()
}

/// `count` comparisons of `budget` seconds each. The second command costs `effect` more, as a share.
fn parts(count: u64, budget: f64, effect: f64) -> Vec<(String, Record)> {
    let seconds = [0.005, 0.005 * (1.0 + effect)];
    (0..count).map(|part| (format!("part-{part}.json"), record(&plan(2, budget, 800 + part), &seconds))).collect()
}

#[test]
fn a_join_finds_an_effect_that_its_sources_do_not_find() {
    let joined = join(parts(10, 0.5, 0.01)).unwrap();
    let alone = joined.sources.iter().filter(|source| {
        let verdict = source.report.primary().next().unwrap().verdict;
        verdict == Verdict::Slower
    });
    assert!(alone.count() <= 3, "the effect is too easy to see");
    let judgement = joined.primary().next().unwrap();
    assert_eq!(judgement.verdict, Verdict::Slower, "{judgement:?}");
    let blocks: usize = joined.sources.iter().map(|source| source.report.record.blocks.len()).sum();
    assert_eq!((joined.blocks(), judgement.pairs), (blocks, blocks));
    assert!(joined.agreements[0].homogeneity.as_ref().unwrap().agrees, "{:?}", joined.agreements);
    let metrics: Vec<Metric> = joined.judgements.iter().map(|judgement| judgement.metric).collect();
    assert_eq!(metrics, [Metric::Cpu, Metric::Elapsed, Metric::Wall, Metric::Memory]);
}

#[test]
fn a_join_is_repeatable_and_hardly_depends_on_the_order_of_sources() {
    let joined = join(parts(3, 0.5, 0.02)).unwrap();
    assert_eq!(joined, join(parts(3, 0.5, 0.02)).unwrap());
    let mut turned = parts(3, 0.5, 0.02);
    turned.rotate_left(1);
    let turned = join(turned).unwrap();
    let low = |joined: &steady_model::Joined| joined.judgements[0].verdict_interval.as_ref().unwrap().low;
    assert!((low(&joined) - low(&turned)).abs() < 1e-4, "{} {}", low(&joined), low(&turned));
}

#[test]
fn each_source_has_its_own_report() {
    let parts = parts(2, 0.5, 0.02);
    let joined = join(parts.clone()).unwrap();
    for ((name, record), source) in parts.into_iter().zip(&joined.sources) {
        assert_eq!((&name, judge(record)), (&source.name, source.report.clone()));
    }
}

#[test]
fn sources_that_differ_are_named() {
    let mut parts = parts(4, 1.0, 0.02);
    let fixed = Plan { effort: Effort::Pairs(40), ..plan(2, 1.0, 77) };
    parts.push(("odd.json".to_owned(), record(&fixed, &[0.005, 0.006])));
    let joined = join(parts).unwrap();
    let found = joined.agreements[0].homogeneity.as_ref().unwrap();
    assert!(!found.agrees && found.p_value < 1e-3 && found.i_squared > 0.5, "{found:?}");
    assert!(found.outlying.contains(&4), "{found:?}");
    assert_eq!(joined.sources.len(), 5);
}

/// The interval of the mean over all pairs assumes that the effect is the same in all sources.
#[test]
fn the_mean_does_not_decide_between_sources_that_differ() {
    let part = |seed: u64, new: f64, conditions| {
        let plan = Plan { effort: Effort::Pairs(100), ..plan(2, 1.0, seed) };
        let machine = &mut SimulatedMachine::new(&[0.005, new], conditions, seed);
        (format!("{seed}"), measure(&plan, machine).unwrap())
    };
    let parts = vec![part(91, 0.005, Conditions::QUIET), part(92, 0.006, NOISY)];
    let joined = join(parts).unwrap();
    assert!(!joined.agreements[0].homogeneity.as_ref().unwrap().agrees, "{:?}", joined.agreements);
    let judgement = joined.primary().next().unwrap();
    assert_eq!(judgement.decided_by, DecidedBy::UsualRun, "{judgement:?}");
}

#[test]
fn every_contender_has_a_joint_verdict() {
    let part = |part: u64| (format!("{part}"), record(&plan(3, 1.0, 40 + part), &[0.005, 0.005, 0.0056]));
    let joined = join((0..3).map(part).collect()).unwrap();
    let verdicts: Vec<(usize, Verdict)> = joined.primary().map(|one| (one.command, one.verdict)).collect();
    assert_eq!(verdicts[1], (2, Verdict::Slower), "{verdicts:?}");
    assert_eq!((verdicts[0].0, joined.agreements.len()), (1, 2));
    assert_ne!(verdicts[0].1, Verdict::Slower);
}

#[test]
fn different_comparisons_are_refused() {
    type Change = fn(&mut Record);
    let cases: [(Change, &str); 8] = [
        (|record| record.plan.resolution = 0.02, "--resolution is 1% in 'part-0.json' and 2% in 'part-1.json'"),
        (|record| record.plan.confidence = 0.99, "--confidence is 95%"),
        (|record| record.primary = Metric::Wall, "the primary metric is cpu in 'part-0.json' and wall"),
        (|record| record.plan.commands.truncate(1), "the number of commands is 2"),
        (|record| record.plan.require_verdict = true, "--require-verdict is false"),
        (
            |record| record.plan.fail_if = Some("slower>2%".parse::<FailIf>().unwrap()),
            "--fail-if is not given in 'part-0.json' and slower>2%",
        ),
        (
            |record| {
                record.plan.commands[1].name = "other".to_owned();
                record.plan.commands[1].argv = vec!["other".to_owned()];
            },
            "command 2 is 'command 1' in 'part-0.json' and 'other'",
        ),
        (
            |record| {
                record.plan.commands[1].name = "command 1 (A=2)".to_owned();
                record.plan.commands[1].environment = vec![("A".to_owned(), "2".to_owned())];
            },
            "command 2 is 'command 1' in 'part-0.json' and 'command 1 (A=2)'",
        ),
    ];
    for (change, message) in cases {
        let mut parts = parts(2, 0.3, 0.0);
        change(&mut parts[1].1);
        let error = join(parts).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let mut renamed = parts(2, 0.3, 0.0);
    renamed[1].1.plan.commands[1].name = "another name for the same words".to_owned();
    assert!(join(renamed).is_ok());
    let mut elsewhere = parts(2, 0.3, 0.0);
    elsewhere[1].1.plan.commands[1].environment = vec![("LIBRARY".to_owned(), "/job-1/x.so".to_owned())];
    assert!(join(elsewhere).is_ok(), "jobs may build in different directories");
}

#[test]
fn a_run_that_is_given_twice_is_refused() {
    let mut twice = parts(2, 0.3, 0.0);
    twice.push(("copy.json".to_owned(), twice[0].1.clone()));
    let error = join(twice).unwrap_err();
    assert!(matches!(&error, JoinError::Twice { first, other, .. } if first == "part-0.json" && other == "copy.json"));
    let mut elsewhere = parts(1, 0.3, 0.0);
    elsewhere.push(elsewhere[0].clone());
    elsewhere[1].1.host.hostname = Ok("another".to_owned());
    assert!(join(elsewhere).is_ok(), "the same seed on another host is another run");
    let alone = |part| (format!("{part}"), record(&plan(1, 0.3, part), &[0.005]));
    assert!(matches!(join(vec![alone(1), alone(2)]), Err(JoinError::Alone(_))));
}

/// The user may interrupt a comparison because of its results. The planned effort counts, not the effort until then.
#[test]
fn an_interruption_does_not_count_as_the_end_of_the_plan() {
    let whole = parts(2, 1.0, 0.02);
    let mut broken = whole.clone();
    for (_, record) in &mut broken {
        let half = record.blocks.len() / 2;
        record.blocks.truncate(half);
        record.looks.retain(|look| look.blocks < half);
        record.looks.push(Look { blocks: half, fraction: 1.0, last: true });
        record.elapsed = record.blocks[half - 1].ended;
    }
    let width = |parts: Vec<(String, Record)>| {
        join(parts).unwrap().judgements[0].verdict_interval.as_ref().unwrap().half_width()
    };
    let ended = width(broken.clone());
    broken.iter_mut().for_each(|(_, record)| record.ending = Ending::Interrupted);
    assert!(width(broken.clone()) > 1.03 * ended, "{} {ended}", width(broken));
    assert!(width(whole) < ended);
}

#[test]
fn unequal_failures_in_one_source_make_the_join_undecided() {
    let mut parts = parts(2, 0.5, 0.0);
    for block in &mut parts[1].1.blocks {
        block.runs.iter_mut().filter(|run| run.command == 1).for_each(|run| run.outcome = Outcome::Exited(1));
    }
    let joined = join(parts).unwrap();
    let judgement = joined.primary().next().unwrap();
    assert_eq!((judgement.verdict, &judgement.undecided), (Verdict::Undecided, &Ok(Undecided::UnequalFailures)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(60) })]

    /// Records with few pairs or none, costs of zero, missing readings, looks without blocks.
    #[test]
    fn unusual_records_can_be_joined(
        sources in prop::collection::vec((0..20_usize, 0..6_u8, any::<bool>(), prop::collection::vec((0..25_usize, 0.0..=1.0_f64), 0..4)), 1..5),
        pairs in prop::option::of(0..30_u64),
    ) {
        let records: Vec<(String, Record)> = sources.into_iter().enumerate().map(|(index, (blocks, kind, interrupted, looks))| {
            let mut record = record(&plan(2, 0.3, index as u64), &[0.005, 0.005]);
            record.blocks.truncate(blocks);
            for (place, block) in record.blocks.iter_mut().enumerate() {
                for run in &mut block.runs {
                    match kind {
                        0 => run.user = steady_model::Nanos(0),
                        1 if place % 2 == 0 => run.outcome = Outcome::TimedOut,
                        2 => run.peak_memory = Err(Absent::because("none")),
                        3 => block.layout = Layout::Turns,
                        4 => run.user = steady_model::Nanos(u64::MAX >> 12),
                        _ => {}
                    }
                }
            }
            let mut looks: Vec<Look> =
                looks.into_iter().map(|(at, fraction)| Look { blocks: at.min(blocks), fraction, last: false }).collect();
            looks.sort_by_key(|look| look.blocks);
            record.looks = looks;
            if interrupted {
                record.ending = Ending::Interrupted;
            }
            if let Some(pairs) = pairs {
                record.plan.effort = Effort::Pairs(pairs);
            }
            (format!("{index}"), record)
        }).collect();
        let joined = join(records).unwrap();
        for judgement in &joined.judgements {
            if let (Ok(change), Ok(interval)) = (&judgement.change, &judgement.interval) {
                prop_assert!(interval.holds(*change), "{judgement:?}");
            }
        }
    }
}
