//! A rollout while the load moves: the share of NEW changes within the window, and identical code must not seem to differ.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use steady_model::ReleaseRows;
use steady_release::ReleaseReport;

use super::unequal::{Asked, Way, report, rows};

/// Rows of so many seconds in which NEW has the one share of the requests, then the other.
fn rollout(shares: [f64; 2], seed: u64, serve: impl Fn(Asked, &mut ChaCha8Rng) -> f64) -> ReleaseRows {
    let way = Way::Rollout(shares);
    rows(way, 120, seed, |asked, coin| (0, 0, serve(asked, coin)))
}

fn reports(shares: [f64; 2], serve: impl Fn(Asked, &mut ChaCha8Rng) -> f64 + Copy) -> Vec<ReleaseReport> {
    (0..40).map(|seed| report(&rollout(shares, seed, serve), 120)).collect()
}

const SHARES: [[f64; 2]; 3] = [[0.1, 0.9], [0.5, 0.05], [0.0, 0.5]];

#[test]
fn the_usual_request_and_the_total_are_those_of_one_load() {
    for shares in SHARES {
        let told = reports(shares, |asked, _| if asked.second < 60 { 1e6 } else { 1.6e6 });
        let holds = |of: fn(&ReleaseReport) -> bool| told.iter().filter(|report| of(report)).count();
        let usual = holds(|report| report.usual.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
        let total = holds(|report| report.total.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
        assert!(usual >= 33 && total >= 33, "{shares:?}: {usual} and {total} of 40; {:?}", told[0].usual);
        let near = holds(|report| report.usual.change.as_ref().is_ok_and(|change| change.abs() < 0.03));
        assert!(near >= 38, "{shares:?}: {near} of 40");
    }
}

/// Expensive requests become more, or dearer, in the second half: for both versions.
#[test]
fn no_requests_are_said_to_have_changed() {
    for shares in SHARES {
        let more = |asked: Asked, coin: &mut ChaCha8Rng| {
            let often = if asked.second < 60 { 0.02 } else { 0.2 };
            if coin.random::<f64>() < often { 20e6 } else { 1e6 }
        };
        let dearer = |asked: Asked, coin: &mut ChaCha8Rng| {
            let load = if asked.second < 60 { 1.0 } else { 1.6 };
            load * if coin.random::<f64>() < 0.1 { 20e6 } else { 1e6 }
        };
        for told in [reports(shares, more), reports(shares, dearer)] {
            let wrong = |of: &dyn Fn(&ReleaseReport) -> bool| told.iter().filter(|report| of(report)).count();
            let tails = wrong(&|report| !report.tails.is_empty());
            let total = wrong(&|report| !report.total.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
            assert!(tails <= 3 && total <= 7, "{shares:?}: {tails} with tails, {total} missed, of 40");
        }
    }
}

/// Expensive requests need 60 % more in NEW: both sides of the split hold that, whatever the load did.
#[test]
fn what_did_change_is_told_at_one_load() {
    let serve = |asked: Asked, coin: &mut ChaCha8Rng| {
        let load = if asked.second < 60 { 1.0 } else { 1.6 };
        let rare = if asked.is_new { 32e6 } else { 20e6 };
        load * if coin.random::<f64>() < 0.1 { rare } else { 1e6 }
    };
    let told = reports([0.1, 0.9], serve);
    let (mut above, mut below, mut count) = (0, 0, 0);
    for tail in told.iter().flat_map(|report| &report.tails) {
        count += 1;
        above += usize::from(tail.above.interval().as_ref().is_ok_and(|interval| interval.holds(0.6)));
        below += usize::from(tail.below.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
    }
    assert!(count >= 10 && 10 * above >= 8 * count && 10 * below >= 8 * count, "{above} and {below} of {count}");
}
