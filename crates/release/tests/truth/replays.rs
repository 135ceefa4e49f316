//! Recorded requests of one code under random labels: the rates of false verdicts and of intervals that miss the truth
//! hold, and effects are found in time.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_release::{Refusal, ReleaseDesign, RestsOn, judge};

use crate::support::made;
use crate::support::trials::{Count, Source, Way, judged, repeated};

fn holds(count: &Count, what: &str) {
    assert!(count.share(count.wrong) <= count.most(0.05), "{what}: {} wrong of {}", count.wrong, count.judged());
    assert!(count.share(count.missed) <= count.most(0.06), "{what}: {} missed of {}", count.missed, count.judged());
}

fn finds(count: &Count, least: f64, what: &str) {
    let found = count.share(count.decided - count.wrong);
    assert!(found >= least, "{what}: {found} found of {}", count.judged());
}

#[test]
fn a_coin_for_each_request() {
    let source = Source::stretch("one");
    let coin = Way::Coin(0.5);
    holds(&judged(&source, repeated(150), 15, coin, 0.0, 1), "15 s");
    holds(&judged(&source, repeated(30), 120, coin, 0.0, 2), "120 s");
    holds(&judged(&source, repeated(75), 40, Way::Coin(0.05), 0.0, 3), "one in twenty");
    let five = judged(&source, 200, 15, coin, 0.05, 4);
    holds(&five, "5 % in 15 s");
    finds(&five, 0.9, "5 % in 15 s");
    let one = judged(&source, 60, 120, coin, 0.01, 5);
    holds(&one, "1 % in 120 s");
    finds(&one, 0.9, "1 % in 120 s");
    let large = judged(&source, 150, 40, coin, 0.2, 6);
    holds(&large, "20 %");
    let (shrunk, _) = large.spread();
    assert!(shrunk.abs() < 0.002, "the estimate of a large effect is biased: {shrunk}");
}

#[test]
fn a_coin_for_each_pair_of_slots() {
    let source = Source::stretch("one");
    for (slot, seed) in [(1, 1), (2, 2)] {
        holds(&judged(&source, 100, 120, Way::Slots(slot), 0.0, seed), "switchback");
        let five = judged(&source, 40, 120, Way::Slots(slot), 0.05, 10 + seed);
        holds(&five, "switchback, 5 %");
        finds(&five, 0.9, "switchback, 5 %");
    }
}

#[test]
fn a_canary_with_one_process_per_version() {
    let source = Source::recorded();
    let none = judged(&source, 120, 120, Way::Processes, 0.0, 1);
    holds(&none, "canary");
    assert_eq!(none.warned, none.windows, "each report has a warning about one process per version");
    assert!(
        none.half_widths > 0.03 * none.judged() as f64,
        "the interval includes what processes of the same code differ by"
    );
    finds(&judged(&source, 40, 300, Way::Processes, 0.08, 2), 0.8, "canary, 8 %");
}

/// Processes that run the same code differ by 2 to 3 %. Such a difference between single processes, or between all
/// processes of the versions because one process forked them, is no change.
#[test]
fn a_difference_as_between_processes_is_no_verdict() {
    let source = Source::recorded();
    for cost in [-0.02, 0.02] {
        let differing = judged(&source, 60, 300, Way::Processes, cost, 3);
        assert!(differing.decided <= 3, "{cost}: {} called a change of {}", differing.decided, differing.windows);
        let pools = judged(&Source::stretch("canary"), 60, 300, Way::Drawn, cost, 3);
        assert!(pools.decided <= 3, "{cost}: pools: {} called a change of {}", pools.decided, pools.windows);
    }
    let one = Source::stretch("one");
    for cost in [-0.03, 0.03] {
        let restarts = judged(&one, 60, 300, Way::Restart, cost, 3);
        assert!(restarts.decided <= 3, "{cost}: {} called a change of {}", restarts.decided, restarts.judged());
    }
}

#[test]
fn a_canary_with_eight_processes_per_version() {
    let source = Source::stretch("canary");
    let none = judged(&source, 60, 300, Way::Drawn, 0.0, 1);
    holds(&none, "canary");
    assert_eq!(none.warned, none.windows, "one process may have forked those of a version");
    let (medians, missed) = none.medians;
    assert_eq!(medians, none.windows, "the median of wall time has an interval");
    assert!(missed <= 7, "{missed} medians of wall time missed of {medians}");
    finds(&judged(&source, 20, 300, Way::Drawn, 0.05, 2), 0.9, "canary, 5 %");
}

/// The server restarts with the other version, which is the same code or costs 10 % more.
#[test]
fn one_after_the_other_with_a_restart() {
    let source = Source::stretch("one");
    for (way, seed) in [(Way::Restart, 1), (Way::RestartByAgent, 2)] {
        let none = judged(&source, 60, 300, way, 0.0, seed);
        holds(&none, "one after the other");
        assert!(none.share(none.usual) <= none.most(0.06), "{way:?}: usual {} of {}", none.usual, none.judged());
        assert!(2 * none.judged() >= none.windows, "{way:?}: {} refused of {}", none.refused, none.windows);
        let ten = judged(&source, 40, 300, way, 0.1, 10 + seed);
        holds(&ten, "one after the other, 10 %");
        finds(&ten, 0.8, "one after the other, 10 %");
    }
}

/// A service with fewer requests has fewer readings of rulers. At the lowest accepted rate, the rate of false verdicts
/// holds; below it, the comparison is refused.
#[test]
fn one_after_the_other_with_few_readings_of_rulers() {
    let source = Source::stretch("one");
    let few = judged(&source, repeated(60), 300, Way::RestartThinned(0.3), 0.0, 1);
    holds(&few, "few readings");
    assert!(2 * few.judged() >= few.windows, "{} refused of {}", few.refused, few.windows);
    let fewer = judged(&source, 20, 300, Way::RestartThinned(0.1), 0.0, 2);
    assert_eq!(fewer.judged(), 0, "a tenth of the readings is not enough");
}

/// The version switches at a random time within running processes.
#[test]
fn one_after_the_other_without_a_restart() {
    holds(&judged(&Source::stretch("one"), repeated(30), 120, Way::After, 0.0, 1), "120 s");
    holds(&judged(&Source::recorded(), repeated(30), 120, Way::After, 0.0, 1), "120 s, the first recording");
    let canary = Source::stretch("canary");
    holds(&judged(&canary, 40, 300, Way::After, 0.0, 2), "300 s");
    holds(&judged(&canary, 40, 300, Way::AfterByAgent, 0.0, 3), "300 s by the agent's rulers");
}

/// The neighbours change in the same second as the version.
#[test]
fn a_simultaneous_step_of_load_is_refused_or_undecided() {
    for name in ["one", "canary"] {
        let source = Source::stretch(name);
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        let mut count = Count::default();
        for _ in 0..50 {
            let (from, to) = source.drawn(Way::Step, 100, &mut coin);
            let rows = source.window(from, to, Way::Step, 0.0, &mut coin);
            let report = judge(&made::question(from, to), &rows).unwrap();
            assert_eq!(report.design, ReleaseDesign::OneAfterTheOther);
            count.add(&report, 0.0);
            if !report.refused.is_empty() {
                assert!(report.total.change.is_err() && report.total.interval().is_err());
                let settle = report.settle.expect("a recommended design");
                assert_eq!(settle.design, ReleaseDesign::RandomPerRequest);
                assert!(settle.seconds > 6.0 && settle.seconds < 3_600.0, "{settle:?}");
            }
        }
        assert!(count.share(count.wrong) <= count.most(0.05), "{name}: {count:?}");
        assert!(count.refused > 0, "{name}: no window is refused");
    }
}

#[test]
fn the_report_names_the_rulers_that_it_uses() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(5);
    let mut rows = source.window(300, 600, Way::After, 0.0, &mut coin);
    let question = made::question(300, 600);
    assert_eq!(judge(&question, &rows).unwrap().rests_on, RestsOn::WorkerRulers);
    rows.rulers.retain(|row| row.process == 0);
    assert_eq!(judge(&question, &rows).unwrap().rests_on, RestsOn::AgentRulers);
    rows.rulers.clear();
    let blind = judge(&question, &rows).unwrap();
    assert!(blind.refused.iter().any(|why| matches!(why, Refusal::TooFewReadings { .. })), "{:?}", blind.refused);
}
