//! Routes of which the version decides which requests are on them: the total is that of all requests.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRows, Verdict};
use steady_release::{ReleaseDesign, ReleaseQuestion, ReleaseReport, ReleaseWarning, judge};

use crate::kept::made::{self, Label};
use crate::kept::mixtures::{Mixture, Outcome, Tail};
use crate::kept::recording::Recorded;
use crate::kept::simulated::{BEGIN, normal};
use crate::kept::trials::Source;

const PAGE: u32 = 0;
const CACHE: u32 = 1;
const MIXED: u32 = 2;

/// Who chooses the version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Coin(f64),
    /// With one share of NEW in the first half of the window, and another in the second.
    Rollout([f64; 2]),
    Slots,
    Processes,
    After,
}

/// A request as the service sees it: the second since the beginning, and whether NEW serves it.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) second: u64,
    pub(crate) is_new: bool,
}

/// Requests of a service of four processes, 60 a second. `serve` tells route, class and cost in nanoseconds.
pub(crate) fn rows(
    way: Way,
    seconds: u64,
    seed: u64,
    serve: impl Fn(Asked, &mut ChaCha8Rng) -> (u32, u32, f64),
) -> ReleaseRows {
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    let (mut requests, mut classes) = (Vec::new(), Vec::new());
    let mut at = 0.0;
    for number in 0.. {
        at += -(1.0 - coin.random::<f64>()).ln() / 60.0;
        let second = at as u64;
        if second >= seconds {
            break;
        }
        let process = coin.random_range(0..4);
        let first: bool = ChaCha8Rng::seed_from_u64((seed << 32) | ((BEGIN + second) / 2)).random();
        let is_new = match way {
            Way::Coin(share) => coin.random::<f64>() < share,
            Way::Rollout(shares) => coin.random::<f64>() < shares[usize::from(2 * second >= seconds)],
            Way::Slots => first ^ ((BEGIN + second) % 2 == 1),
            Way::Processes => process % 2 == 1,
            Way::After => 2 * second >= seconds,
        };
        let (route, class, cost) = serve(Asked { second, is_new }, &mut coin);
        let cpu = (cost * (0.15 * normal(&mut coin)).exp()) as u64;
        let end = BEGIN * 1_000_000_000 + (at * 1e9) as u64;
        let version = u32::from(is_new);
        requests.push(Recorded {
            end,
            host: 0,
            process,
            number: 151 + number,
            version,
            route,
            cpu,
            wall: 1,
            ruler: None,
        });
        classes.push(class);
    }
    let mut classes = classes.into_iter();
    made::rows(&requests, &[], |request| Label {
        version: request.version,
        assignment: match way {
            Way::Coin(_) | Way::Rollout(_) => Assignment::Random,
            Way::Slots => Assignment::Slot,
            Way::Processes | Way::After => Assignment::None,
        },
        slot_seconds: u32::from(way == Way::Slots),
        factor: 1.0,
        class: classes.next().unwrap(),
    })
}

pub(crate) fn report(rows: &ReleaseRows, seconds: u64) -> ReleaseReport {
    let question = ReleaseQuestion { by_route: true, ..made::question(BEGIN, BEGIN + seconds) };
    judge(&question, rows).unwrap()
}

/// How often the interval holds the truth, in so many windows.
fn held(
    count: u64,
    truth: f64,
    way: Way,
    serve: impl Fn(Asked, &mut ChaCha8Rng) -> (u32, u32, f64) + Copy,
) -> (u64, Vec<ReleaseReport>) {
    let reports: Vec<ReleaseReport> = (0..count).map(|seed| report(&rows(way, 120, seed, serve), 120)).collect();
    let holds = |report: &&ReleaseReport| report.total.interval().as_ref().is_ok_and(|interval| interval.holds(truth));
    (reports.iter().filter(holds).count() as u64, reports)
}

fn unequal(report: &ReleaseReport) -> Vec<String> {
    let named = |warning: &ReleaseWarning| match warning {
        ReleaseWarning::UnequalRoutes { named, .. } => Some(named.clone()),
        _ => None,
    };
    let mut named = report.warnings.iter().find_map(named).unwrap_or_default();
    named.sort_unstable();
    named
}

const COINS: [Way; 3] = [Way::Coin(0.5), Way::Coin(0.2), Way::Slots];

/// NEW answers 30 % of the requests on a route of its own, at five times the cost.
fn new_route(asked: Asked, coin: &mut ChaCha8Rng) -> (u32, u32, f64) {
    match asked.is_new && coin.random::<f64>() < 0.3 {
        true => (CACHE, 0, 5e6),
        false => (PAGE, 0, 1e6),
    }
}

#[test]
fn a_route_of_one_version_is_part_of_the_total() {
    for way in COINS {
        let (held, reports) = held(30, 1.2, way, new_route);
        assert!(held >= 25, "{way:?}: {held} of 30; {:?}", reports[0].total);
        for report in &reports {
            assert_eq!(report.total.verdict, Verdict::Slower, "{way:?}: {:?}", report.total);
            assert_eq!(unequal(report), ["cache", "page"], "{way:?}");
            assert!(report.routes.iter().all(|route| route.change.change.is_err()), "{way:?}: {:?}", report.routes);
            assert!(report.routes.len() == 2, "{way:?}");
            assert!(report.saving.as_ref().unwrap().cpus_saved < -0.04, "{way:?}: {:?}", report.saving);
            assert!(report.total.load_shift.as_ref().unwrap().abs() < 0.05, "{way:?}: {:?}", report.total);
        }
    }
}

/// The other way round, with a route that both serve alike beside it: that one is compared by itself.
#[test]
fn a_route_that_is_gone_is_part_of_the_total_and_others_stay_by_themselves() {
    let serve = |asked: Asked, coin: &mut ChaCha8Rng| match coin.random::<f64>() {
        one if one < 0.5 => (MIXED, 0, 2e6),
        _ if !asked.is_new && coin.random::<f64>() < 0.3 => (CACHE, 0, 5e6),
        _ => (PAGE, 0, 1e6),
    };
    let truth = (0.5 * 2.0 + 0.5) / (0.5 * 2.0 + 0.5 * 2.2) - 1.0;
    for way in COINS {
        let (held, reports) = held(30, truth, way, serve);
        assert!(held >= 25, "{way:?}: {held} of 30; {:?}", reports[0].total);
        assert!(reports.iter().all(|report| report.total.verdict == Verdict::Faster), "{way:?}");
        let compared = |report: &&ReleaseReport| {
            let known: Vec<&str> =
                report.routes.iter().filter(|route| route.change.change.is_ok()).map(|route| &*route.route).collect();
            known == ["mixed"] && unequal(report) == ["cache", "page"]
        };
        assert!(reports.iter().filter(compared).count() >= 25, "{way:?}");
    }
}

/// Half of the traffic has a template with another name in NEW, and costs 30 % more; then all of it.
#[test]
fn renamed_templates_are_compared_with_each_other() {
    let half = |asked: Asked, coin: &mut ChaCha8Rng| match (coin.random::<bool>(), asked.is_new) {
        (true, _) => (PAGE, 0, 1e6),
        (_, false) => (CACHE, 0, 1e6),
        (_, true) => (MIXED, 0, 1.3e6),
    };
    let all = |asked: Asked, _: &mut ChaCha8Rng| if asked.is_new { (MIXED, 0, 1.3e6) } else { (CACHE, 0, 1e6) };
    for way in COINS {
        let (of_half, reports) = held(30, 0.15, way, half);
        assert!(of_half >= 25, "{way:?}: {of_half} of 30; {:?}", reports[0].total);
        assert!(reports.iter().all(|report| report.total.verdict == Verdict::Slower), "{way:?}");
        let (of_all, reports) = held(30, 0.3, way, all);
        assert!(of_all >= 25, "{way:?}: {of_all} of 30; {:?}", reports[0].total);
        assert!(reports.iter().all(|report| report.total.verdict == Verdict::Slower), "{way:?}");
        let usual = |report: &ReleaseReport| report.usual.change.clone().unwrap();
        assert!(reports.iter().all(|report| (usual(report) - 0.3).abs() < 0.05), "{way:?}");
    }
}

/// A class is told before the request runs, but it is the version that tells it.
#[test]
fn a_class_of_one_version_is_part_of_the_total() {
    let serve = |asked: Asked, coin: &mut ChaCha8Rng| match new_route(asked, coin) {
        (CACHE, _, cost) => (PAGE, 1, cost),
        other => other,
    };
    for way in COINS {
        let (held, reports) = held(20, 1.2, way, serve);
        assert!(held >= 16, "{way:?}: {held} of 20; {:?}", reports[0].total);
    }
}

/// Few requests on a new route, of which it is not seen where they would have been: all routes are compared as one.
#[test]
fn a_small_route_of_one_version_is_not_left_out() {
    let serve = |asked: Asked, coin: &mut ChaCha8Rng| match (coin.random::<bool>(), coin.random::<f64>()) {
        (true, _) => (MIXED, 0, 1e6),
        (_, lot) if asked.is_new && lot < 0.02 => (CACHE, 0, 50e6),
        _ => (PAGE, 0, 1e6),
    };
    for way in [Way::Coin(0.5), Way::Slots] {
        let (held, reports) = held(30, 0.49, way, serve);
        assert!(held >= 25, "{way:?}: {held} of 30; {:?}", reports[0].total);
        assert!(reports.iter().all(|report| report.total.verdict != Verdict::Same), "{way:?}");
    }
}

/// Rare routes miss one version by chance: nothing is said of them, and routes stay by themselves.
#[test]
fn rare_routes_are_no_reason_to_compare_routes_as_one() {
    let serve = |_: Asked, coin: &mut ChaCha8Rng| match coin.random::<f64>() {
        lot if lot < 0.0005 => (CACHE, 0, 2e6),
        lot if lot < 0.5 => (MIXED, 0, 9e6),
        _ => (PAGE, 0, 1e6),
    };
    for way in COINS {
        let (held, reports) = held(40, 0.0, way, serve);
        assert!(held >= 34, "{way:?}: {held} of 40");
        let said = reports.iter().filter(|report| !unequal(report).is_empty()).count();
        assert!(said <= 1, "{way:?}: {said} of 40");
    }
}

/// The share of NEW and the mix of routes both change in the middle of the window: that is no work of the version.
#[test]
fn a_share_that_changes_with_the_mix_is_the_coins() {
    let serve = |asked: Asked, coin: &mut ChaCha8Rng| {
        let often = if asked.second < 60 { 0.2 } else { 0.7 };
        if coin.random::<f64>() < often { (MIXED, 0, 3e6) } else { (PAGE, 0, 1e6) }
    };
    for seed in 0..20 {
        let report = report(&rows(Way::Rollout([0.1, 0.9]), 120, seed, serve), 120);
        assert!(unequal(&report).is_empty(), "{:?}", report.warnings);
        assert!(report.total.change.as_ref().unwrap().abs() < 0.05, "{:?}", report.total);
    }
}

/// Where no coin chose, what one version alone served cannot be told apart from what the load did: there is no total.
#[test]
fn without_coins_a_route_of_one_version_leaves_the_total_open() {
    for (way, design) in [(Way::Processes, ReleaseDesign::Canary), (Way::After, ReleaseDesign::OneAfterTheOther)] {
        let stray = |asked: Asked, coin: &mut ChaCha8Rng| match new_route(asked, coin) {
            (PAGE, ..) if coin.random::<f64>() < 0.0006 => (CACHE, 0, 5e6),
            other => other,
        };
        for rows in [rows(way, 120, 1, new_route), rows(way, 120, 1, stray)] {
            let report = report(&rows, 120);
            assert_eq!(report.design, design);
            let told = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::RoutesOfOneVersion { cpu_ratio, .. } if *cpu_ratio > 0.3);
            assert!(report.warnings.iter().any(told), "{way:?}: {:?}", report.warnings);
            assert_eq!(report.total.verdict, Verdict::Undecided, "{way:?}");
            assert!(report.total.interval().is_err() && report.total.load_shift.is_err() && report.saving.is_err());
        }
    }
}

/// Whatever is named as changed is why the total and the usual request differ; a class of one version is not split by itself.
#[test]
fn what_is_named_is_most_of_the_difference() {
    let of_one = |asked: Asked, coin: &mut ChaCha8Rng| match new_route(asked, coin) {
        (CACHE, _, cost) => (PAGE, 1, cost),
        other => other,
    };
    let (_, reports) = held(10, 1.2, Way::Coin(0.5), of_one);
    assert!(reports.iter().all(|report| report.tails.is_empty()), "{:?}", reports[0].tails);
    // A class of both, of which a part became twenty times as dear in NEW: the others are named beside it.
    let of_both = |asked: Asked, coin: &mut ChaCha8Rng| match coin.random::<f64>() {
        lot if lot < 0.3 => (PAGE, 1, if asked.is_new && lot < 0.05 { 60e6 } else { 3e6 }),
        _ => (PAGE, 0, 1e6),
    };
    let (_, reports) = held(10, 1.78, Way::Coin(0.5), of_both);
    for report in &reports {
        assert!(report.has_classes);
        let dearest = report.tails.iter().find(|tail| tail.class == "a").unwrap();
        assert!(dearest.above_ratio[1] > 0.1 && dearest.above_ratio[0] < 0.01, "{dearest:?}");
    }
}

/// A hole in the rows counts with its length, wherever it lies.
#[test]
fn gaps_are_counted_as_they_are() {
    let whole = rows(Way::Coin(0.5), 120, 1, |_, _| (PAGE, 0, 1e6));
    for (from, to, told) in [(41, 59, Some(18)), (45, 54, None), (100, 120, Some(20)), (0, 30, None)] {
        let mut rows = whole.clone();
        rows.requests.retain(|row| !(BEGIN + from..BEGIN + to).contains(&row.second));
        let gap = |warning: &ReleaseWarning| match warning {
            ReleaseWarning::Gaps { seconds } => Some(*seconds),
            _ => None,
        };
        assert_eq!(report(&rows, 120).warnings.iter().find_map(gap), told, "{from} to {to}");
    }
}

/// Few requests of which it is known how long they waited say nothing about all of them.
#[test]
fn parts_of_wall_time_rest_on_many_requests() {
    let mut rows = rows(Way::Coin(0.5), 120, 1, |_, _| (PAGE, 0, 1e6));
    for (every, known) in [(1, true), (51, false)] {
        for (at, row) in rows.requests.iter_mut().enumerate() {
            row.sums.watched = if at % every == 0 { row.sums.requests } else { 0 };
            row.sums.watched_cpu = row.sums.watched as f64 * 1e6;
            row.sums.watched_wall = row.sums.watched as f64 * 2e6;
        }
        let wall = report(&rows, 120).wall.unwrap();
        assert_eq!(wall.parts.is_ok(), known, "{wall:?}");
        assert!(wall.watched.iter().all(|n| *n > 0 && known == (*n >= 1_000)), "{wall:?}");
        if let Err(why) = wall.parts {
            assert!(why.0.contains(&wall.watched[0].to_string()), "{why:?}");
        }
    }
}

fn holds(outcome: &Outcome, mixture: &Mixture) {
    let wrong = if mixture.truth() == 0.0 { 0.05 } else { 0.025 };
    assert!(outcome.share(outcome.wrong) <= outcome.most(wrong), "{mixture:?}: {} wrong", outcome.wrong);
    assert!(outcome.share(outcome.missed) <= outcome.most(0.06), "{mixture:?}: {} missed", outcome.missed);
}

#[test]
fn signs_are_those_of_the_total() {
    let source = Source::recorded();
    for mixture in [
        Mixture::of(0.1, 16.0, 0.0, 0.0),
        Mixture::of(0.1, 16.0, 0.28, -0.04),
        Mixture::of(0.01, 50.0, 0.3, -0.02),
        Mixture::of(0.5, 2.0, 0.1, -0.12),
        Mixture::of(0.3, 3.0, 0.15, -0.06),
        Mixture { tail: Tail::LogNormal(1.0), ..Mixture::even(0.0) },
        Mixture { tail: Tail::Pareto(2.5), ..Mixture::even(0.05) },
    ] {
        for (seconds, windows) in [(10, 80), (40, 60)] {
            holds(&Outcome::of(&source, windows, seconds, &mixture, 1), &mixture);
        }
    }
}

/// Every tenth request costs 16 times as much. Those need 28 % more and the others 4 % less, which is 17 % more in all.
#[test]
fn requests_that_changed_otherwise_are_named() {
    let mixture = Mixture::of(0.1, 16.0, 0.28, -0.04);
    let outcome = Outcome::of(&Source::recorded(), 30, 120, &mixture, 2);
    holds(&outcome, &mixture);
    assert!(outcome.found >= 27 && outcome.named >= 28, "{outcome:?}");
    assert!(outcome.usual_wrong >= 28, "the usual request says the opposite: {outcome:?}");
}

#[test]
fn a_class_that_is_known_before_makes_it_precise() {
    let mixture = Mixture { known: true, ..Mixture::of(0.1, 16.0, 0.28, -0.04) };
    let outcome = Outcome::of(&Source::recorded(), 80, 40, &mixture, 3);
    holds(&outcome, &mixture);
    assert!(outcome.spread().1 < 0.02, "{:?}", outcome.spread());
    let unknown = Outcome::of(&Source::recorded(), 80, 40, &Mixture { known: false, ..mixture }, 3);
    assert!(unknown.spread().1 > 2.0 * outcome.spread().1, "{:?}", unknown.spread());
}

#[test]
fn where_all_requests_are_alike_little_is_lost() {
    let mixture = Mixture::even(0.0);
    let outcome = Outcome::of(&Source::recorded(), 40, 120, &mixture, 4);
    holds(&outcome, &mixture);
    let wider = outcome.half_widths / outcome.usual_half_widths;
    assert!(wider < 1.6, "{wider} times as wide as the usual request's");
    assert_eq!(outcome.named, 0);
}
