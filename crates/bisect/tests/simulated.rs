//! Searches in simulated histories with a known truth.

mod common;

use common::History;
use steady_bisect::{BisectOutcome, BisectRecord, Comparison, Purpose, bisect};
use steady_feature::Failure;
use steady_model::{Nanos, Verdict};
use steady_process::simulated::Conditions;

#[test]
fn the_commit_is_found_under_load() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..20 {
        let at = 1 + (seed as usize * 29) % 64;
        let record = History::new(64, 0.03, at, seed).searched(180.0);
        if record.outcome == BisectOutcome::Found {
            let is_right = record.candidates == [at];
            right += usize::from(is_right);
            wrong += usize::from(!is_right);
        }
    }
    // Expected are 19 and 0. With 17 of 20 as the true rate, fewer than 13 have a probability of 0.6 %; with one wrong
    // in 20, more than 4 have one of 0.3 %.
    assert!(right >= 13 && wrong <= 4, "{right} right, {wrong} wrong");
}

#[test]
fn a_metric_without_noise_is_evidence() {
    let mut history = History::new(64, 0.03, 40, 1);
    history.conditions = Conditions { noise: 0.0, ..Conditions::QUIET };
    let record = history.searched(180.0);
    assert_eq!((record.outcome, record.candidates.as_slice()), (BisectOutcome::Found, &[40][..]));
}

#[test]
fn equal_commits_have_no_result() {
    for seed in 0..10 {
        let record = History::new(16, 0.0, 1, 100 + seed).searched(60.0);
        assert_ne!(record.outcome, BisectOutcome::Found, "{seed}: {:?}", record.candidates);
    }
}

#[test]
fn an_improvement_is_found_too() {
    let record = History::new(30, -0.06, 11, 5).searched(180.0);
    assert_eq!((record.outcome, record.candidates.as_slice()), (BisectOutcome::Found, &[11][..]));
    assert_eq!(record.comparisons[0].verdict, Verdict::Faster);
}

#[test]
fn few_commits_are_built() {
    let mut history = History::new(1000, 0.10, 700, 3);
    let record = history.searched(180.0);
    assert_eq!(record.candidates, [700]);
    assert!(history.built.len() <= 16, "{:?}", history.built);
    assert_eq!(history.built[..2], [0, 1000]);
    let long = History::new(200_000, 0.10, 123_456, 3).searched(240.0);
    assert_eq!(long.candidates, [123_456]);
}

#[test]
fn commits_that_cannot_be_built_are_skipped() {
    let mut history = History::new(16, 0.10, 8, 7);
    history.broken = vec![6, 7, 8];
    let record = history.searched(180.0);
    assert_eq!((record.outcome, record.candidates.as_slice()), (BisectOutcome::Found, &[6, 7, 8, 9][..]));
    let skipped: Vec<usize> = (0..=16).filter(|at| record.commits[*at].skipped.is_some()).collect();
    assert!(!skipped.is_empty() && skipped.iter().all(|at| history.broken.contains(at)), "{skipped:?}");
}

#[test]
fn an_end_that_cannot_be_built_is_an_error() {
    for broken in [0, 16] {
        let mut history = History::new(16, 0.10, 8, 7);
        history.broken = vec![broken];
        let mut record = history.record(60.0);
        let failure = bisect(&mut record, &mut history);
        assert_eq!(failure, Err(Failure::Usage("the build failed".to_owned())));
    }
}

#[test]
fn undecided_ends_are_compared_again() {
    // A small effect, of which the first comparison of a small budget says nothing.
    let mut history = History::new(4, 0.02, 3, 21);
    let record = history.searched(6.0);
    assert_eq!(record.outcome, BisectOutcome::Open);
    assert!(record.comparisons.iter().all(|one| one.purpose == Purpose::Ends), "{:?}", record.comparisons);
    // A run that continues has a budget of its own.
    let spent = record.measured();
    let continued = BisectRecord { earlier_seconds: spent, ..record.clone() };
    let mut shorter = BisectRecord { budget_seconds: Nanos::from_seconds(4.0), ..continued.clone() };
    bisect(&mut shorter, &mut history).unwrap();
    let took = shorter.measured() - spent;
    assert!(Nanos::from_seconds(2.0) < took && took < Nanos::from_seconds(4.4), "{took:?}");
    let mut record = BisectRecord { budget_seconds: Nanos::from_seconds(900.0), ..continued };
    bisect(&mut record, &mut history).unwrap();
    assert_eq!((record.outcome, record.candidates.as_slice()), (BisectOutcome::Found, &[3][..]));
}

#[test]
fn an_interrupted_search_continues_with_what_it_knows() {
    let mut history = History::new(32, 0.10, 20, 9);
    history.interrupt_after = Some(3);
    let mut record = history.record(180.0);
    assert_eq!(bisect(&mut record, &mut history), Err(Failure::Interrupted(2)));
    assert_eq!((record.comparisons.len(), history.saved), (3, 3));
    history.interrupt_after = None;
    let before = record.comparisons.clone();
    bisect(&mut record, &mut history).unwrap();
    assert_eq!(record.comparisons[..3], before);
    assert_eq!((record.outcome, record.candidates.as_slice()), (BisectOutcome::Found, &[20][..]));
}

#[test]
fn time_spent_waiting_for_a_cpu_is_recorded() {
    let mut history = History::new(1, 0.10, 1, 11);
    assert!(history.searched(60.0).comparisons.iter().all(|one| one.waiting_ratio.is_none()));
    history.waiting = Some(0.7);
    assert!(history.searched(60.0).comparisons.iter().all(|one| one.waiting_ratio == Some(0.7)));
}

#[test]
fn two_commits_need_one_confirmation() {
    let record = History::new(1, 0.10, 1, 11).searched(60.0);
    assert_eq!((record.comparisons.len(), record.candidates.as_slice()), (2, &[1][..]));
}

#[test]
fn a_change_in_two_steps_names_one_of_them() {
    let mut history = History::new(40, 0.10, 10, 13);
    history.seconds[30..].iter_mut().for_each(|seconds| *seconds *= 1.04);
    let record = history.searched(180.0);
    assert_eq!((record.outcome, record.candidates.as_slice()), (BisectOutcome::Found, &[10][..]));
}

/// Half of the change has happened at the step of 1 %, which is confirmed first. The search for the rest goes on.
#[test]
fn a_small_step_between_larger_ones_is_not_the_result() {
    let mut history = History::new(40, 0.06, 10, 50);
    history.seconds[20..].iter_mut().for_each(|seconds| *seconds *= 1.01);
    history.seconds[30..].iter_mut().for_each(|seconds| *seconds *= 1.06);
    let record = history.searched(600.0);
    let is_confirmed = |one: &&Comparison| one.purpose == Purpose::Confirmation && one.verdict == Verdict::Slower;
    let confirmed: Vec<usize> = record.comparisons.iter().filter(is_confirmed).map(|one| one.to).collect();
    assert!(confirmed[0] == 20 && confirmed.len() > 1, "{confirmed:?}");
    assert!([[10], [30]].iter().any(|large| record.candidates == large), "{:?}", record.candidates);
}

#[test]
fn the_budget_holds() {
    for (effect, budget) in [(0.01, 20.0), (0.03, 30.0), (0.10, 10.0)] {
        let record = History::new(64, effect, 33, 17).searched(budget);
        assert!(record.measured() <= Nanos::from_seconds(budget * 1.1), "{:?}", record.measured());
    }
}
