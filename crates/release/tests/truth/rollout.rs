//! A rollout under changing load: the share of NEW changes within the window, and identical code must not seem to
//! differ.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use steady_model::ReleaseRows;
use steady_release::ReleaseReport;

use super::unequal::{Request, Way, report, rows};

/// Simulates a window in which NEW has the first share of the requests, then the second.
fn rollout(shares: [f64; 2], seed: u64, serve: impl Fn(Request, &mut ChaCha8Rng) -> f64) -> ReleaseRows {
    let way = Way::Rollout(shares);
    rows(way, 120, seed, |request, coin| (0, 0, serve(request, coin)))
}

fn reports(shares: [f64; 2], serve: impl Fn(Request, &mut ChaCha8Rng) -> f64 + Copy) -> Vec<ReleaseReport> {
    (0..40).map(|seed| report(&rollout(shares, seed, serve), 120)).collect()
}

const SHARES: [[f64; 2]; 3] = [[0.1, 0.9], [0.5, 0.05], [0.0, 0.5]];

#[test]
fn a_change_of_the_load_is_not_attributed_to_the_version() {
    for shares in SHARES {
        let reports = reports(shares, |request, _| if request.second < 60 { 1e6 } else { 1.6e6 });
        let holds = |of: fn(&ReleaseReport) -> bool| reports.iter().filter(|report| of(report)).count();
        let usual = holds(|report| report.usual.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
        let total = holds(|report| report.total.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
        assert!(usual >= 33 && total >= 33, "{shares:?}: {usual} and {total} of 40; {:?}", reports[0].usual);
        let near = holds(|report| report.usual.change.as_ref().is_ok_and(|change| change.abs() < 0.03));
        assert!(near >= 38, "{shares:?}: {near} of 40");
    }
}

/// In the second half, both versions have more expensive requests, or all requests are more expensive.
#[test]
fn changes_of_both_versions_are_not_reported_as_changed_requests() {
    for shares in SHARES {
        let more = |request: Request, coin: &mut ChaCha8Rng| {
            let often = if request.second < 60 { 0.02 } else { 0.2 };
            if coin.random::<f64>() < often { 20e6 } else { 1e6 }
        };
        let loaded = |request: Request, coin: &mut ChaCha8Rng| {
            let load = if request.second < 60 { 1.0 } else { 1.6 };
            load * if coin.random::<f64>() < 0.1 { 20e6 } else { 1e6 }
        };
        for reports in [reports(shares, more), reports(shares, loaded)] {
            let wrong = |of: &dyn Fn(&ReleaseReport) -> bool| reports.iter().filter(|report| of(report)).count();
            let tails = wrong(&|report| !report.tails.is_empty());
            let total = wrong(&|report| !report.total.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
            assert!(tails <= 3 && total <= 7, "{shares:?}: {tails} with tails, {total} missed, of 40");
        }
    }
}

/// Expensive requests need 60 % more with NEW. The intervals of both sides of the split contain that under changing
/// load.
#[test]
fn changed_requests_are_compared_at_equal_load() {
    let serve = |request: Request, coin: &mut ChaCha8Rng| {
        let load = if request.second < 60 { 1.0 } else { 1.6 };
        let rare = if request.is_new { 32e6 } else { 20e6 };
        load * if coin.random::<f64>() < 0.1 { rare } else { 1e6 }
    };
    let reports = reports([0.1, 0.9], serve);
    let (mut above, mut below, mut count) = (0, 0, 0);
    for tail in reports.iter().flat_map(|report| &report.tails) {
        count += 1;
        above += usize::from(tail.above.interval().as_ref().is_ok_and(|interval| interval.holds(0.6)));
        below += usize::from(tail.below.interval().as_ref().is_ok_and(|interval| interval.holds(0.0)));
    }
    assert!(count >= 10 && 10 * above >= 8 * count && 10 * below >= 8 * count, "{above} and {below} of {count}");
}
