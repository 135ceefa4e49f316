//! Simulated services with known effects, in all designs.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRows, Verdict};
use steady_release::{Refusal, ReleaseDesign, ReleaseWarning, RepeatedComparison, judge};

use crate::support::fleet::{Design, Fleet, Played, scraped};
use crate::support::made;
use crate::support::simulated::{BEGIN, Service};
use crate::support::trials::{Count, Source, Way, repeated};

/// Evaluates `count` simulated services under random labels.
fn services(service: &Service, count: u64, way: Way, effect: f64) -> Count {
    let mut counted = Count::default();
    for seed in 0..count {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(service, &mut coin);
        let (from, to) = (BEGIN, BEGIN + service.seconds);
        let rows = source.window(from, to, way, effect, &mut coin);
        counted.add(&judge(&made::question(from, to), &rows).unwrap(), effect);
    }
    counted
}

fn holds(count: &Count, what: &str) {
    assert!(count.share(count.wrong) <= count.most(0.05), "{what}: {} wrong of {}", count.wrong, count.judged());
    assert!(count.share(count.missed) <= count.most(0.06), "{what}: {} missed of {}", count.missed, count.judged());
}

#[test]
fn coins_keep_the_error_rate_under_steps_of_load_and_heavy_tails() {
    let service = Service { step: Some((20, 0.6)), load_spread: 0.3, ..Service::small(40) };
    holds(&services(&service, 200, Way::Coin(0.5), 0.0), "random");
    holds(&services(&service, 100, Way::Coin(0.2), 0.3), "random, 30 %");
    holds(&services(&service, 150, Way::Slots(1), 0.0), "switchback");
    let found = services(&Service::small(60), 60, Way::Slots(1), 0.05);
    holds(&found, "switchback, 5 %");
    assert!(found.decided > 50, "{found:?}");
}

/// Two hosts have eight processes each. Processes of one code differ by 1.5 %, hosts by 5 %.
#[test]
fn processes_are_the_unit_of_canaries() {
    let service = Service { hosts: 2, processes: 8, rate: 15.0, process_spread: 0.015, ..Service::small(60) };
    let none = services(&service, 150, Way::Processes, 0.0);
    holds(&none, "canary");
    // The interval includes 2.1 % for what the processes of a version on each of the hosts may have in common.
    let seven = services(&service, 40, Way::Processes, 0.07);
    holds(&seven, "canary, 7 %");
    assert!(seven.decided - seven.wrong >= 36, "{seven:?}");
    let few = Service { hosts: 1, processes: 4, ..service };
    let none = services(&few, 150, Way::Processes, 0.0);
    holds(&none, "two processes per version");
    assert_eq!(none.warned, none.windows, "each report has a warning about few processes");
}

#[test]
fn one_after_the_other_is_accepted_if_loads_overlap() {
    // The load before and after differs only by chance.
    let quiet = Service { load_spread: 0.03, ..Service::small(300) };
    let none = services(&quiet, 40, Way::After, 0.0);
    holds(&none, "balanced");
    assert!(none.judged() >= 24, "{} of {} accepted", none.judged(), none.windows);
    let five = services(&quiet, 30, Way::After, 0.05);
    holds(&five, "balanced, 5 %");
    assert!(five.share(five.decided - five.wrong) >= 0.7, "{five:?}");
    let wandering = Service { load_spread: 0.2, ..Service::small(300) };
    holds(&services(&wandering, 40, Way::After, 0.0), "wandering");
}

#[test]
fn a_step_of_load_at_the_switch_is_refused() {
    for size in [0.15, 0.3, 0.6] {
        let service = Service { step: Some((60, size)), load_spread: 0.05, ..Service::small(120) };
        for seed in 0..8 {
            let mut coin = ChaCha8Rng::seed_from_u64(seed);
            let source = Source::simulated(&service, &mut coin);
            let mut rows = source.window(BEGIN, BEGIN + 120, Way::After, 0.0, &mut coin);
            // Without utilisation, the rulers alone must detect the step.
            rows.seconds.clear();
            let report = judge(&made::question(BEGIN, BEGIN + 120), &rows).unwrap();
            let apart = |why: &Refusal| matches!(why, Refusal::LoadsDoNotOverlap { .. });
            assert!(report.refused.iter().any(apart), "{size}: {:?}", report.refused);
        }
    }
}

/// Evaluates `count` simulated fleets. Also returns how many reports say that hosts differ.
fn fleets(played: &Played, count: u64, fleet: Fleet) -> (Count, usize) {
    let (mut counted, mut differ) = (Count::default(), 0);
    for seed in 0..count {
        let rows = played.rows(&fleet, &mut ChaCha8Rng::seed_from_u64(seed));
        let (from, to) = fleet.ends();
        let report = judge(&made::question(from, to), &rows).unwrap();
        differ += usize::from(report.warnings.iter().any(|one| matches!(one, ReleaseWarning::HostsDiffer { .. })));
        assert_eq!(report.hosts.len(), fleet.hosts as usize);
        counted.add(&report, fleet.effect);
    }
    (counted, differ)
}

#[test]
fn fleets_keep_the_error_rate_and_find_small_effects() {
    let played = Played::new(&Source::recorded(), &mut ChaCha8Rng::seed_from_u64(1));
    for (design, hosts) in [(Design::Coin, 3), (Design::Coin, 10), (Design::Slots, 3), (Design::Slots, 10)] {
        let alike = Fleet { effect_spread: 0.0, ..Fleet::of(hosts, design, 0.0) };
        let (none, differ) = fleets(&played, 300, alike);
        holds(&none, "hosts that do not differ");
        assert!(differ <= 4, "{differ} of 300 reports ({design:?}, {hosts} hosts) say that hosts differ");
    }
    holds(&fleets(&played, 300, Fleet::of(10, Design::Hosts, 0.0)).0, "a version each");
    let (half, _) = fleets(&played, 100, Fleet::of(10, Design::Coin, 0.005));
    holds(&half, "half a per cent");
    assert!(half.share(half.decided - half.wrong) >= 0.9, "{half:?}");
}

/// If the change itself differs between hosts, the interval must include that, however many requests there are.
#[test]
fn the_interval_includes_differences_between_hosts() {
    let played = Played::new(&Source::recorded(), &mut ChaCha8Rng::seed_from_u64(1));
    for design in [Design::Coin, Design::Slots] {
        let (none, differ) = fleets(&played, 300, Fleet { effect_spread: 0.02, ..Fleet::of(10, design, 0.0) });
        holds(&none, "hosts that differ by 2 %");
        assert!(differ >= 200, "{differ} of 300 {design:?}");
    }
}

#[test]
fn an_outlier_among_the_hosts_is_named() {
    let played = Played::new(&Source::recorded(), &mut ChaCha8Rng::seed_from_u64(1));
    for (design, shift) in [(Design::Coin, 0.03), (Design::Slots, 0.1), (Design::Hosts, 0.5)] {
        let (mut found, mut others) = (0, 0);
        for seed in 0..50 {
            let fleet = Fleet { effect_spread: 0.0, ..Fleet::of(20, design, 0.0) };
            let mut rows = played.rows(&fleet, &mut ChaCha8Rng::seed_from_u64(seed));
            let host = rows.requests.iter().find(|row| row.version == 1).map(|row| row.host).unwrap();
            for row in rows.requests.iter_mut().filter(|row| (row.host, row.version) == (host, 1)) {
                row.sums.log_squared += (2.0 * row.sums.log + shift * row.sums.requests as f64) * shift;
                row.sums.before_log += shift * row.sums.before;
                row.sums.log += shift * row.sums.requests as f64;
                row.sums.cpu *= shift.exp();
                row.sums.cpu_squared *= (2.0 * shift).exp();
            }
            let (from, to) = fleet.ends();
            let report = judge(&made::question(from, to), &rows).unwrap();
            let outliers: Vec<&str> =
                report.hosts.iter().filter(|one| one.outlying).map(|one| one.host.as_str()).collect();
            found += usize::from(outliers.first() == Some(&rows.hosts[host as usize].as_str()));
            others += usize::from(outliers.len() > 1);
        }
        assert!(found >= 45 && others <= 8, "{design:?}: {found} found, {others} with others, of 50");
    }
}

/// Each host has processes of both versions, which scrapes do not distinguish. One host does not show how much
/// processes differ.
#[test]
fn canaries_within_hosts_need_several_hosts() {
    let many = Service { hosts: 8, processes: 4, rate: 8.0, process_spread: 0.025, ..Service::small(60) };
    let mut none = Count::default();
    for seed in 0..60 {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(&many, &mut coin);
        let rows = scraped(&source.window(BEGIN, BEGIN + 60, Way::Processes, 0.0, &mut coin), 15);
        let report = judge(&made::question(BEGIN, BEGIN + 60), &rows).unwrap();
        assert_eq!((report.design, report.hosts.len()), (ReleaseDesign::Canary, 8));
        assert!(report.sides.iter().all(|side| side.processes.is_err() && side.seconds == 60));
        none.add(&report, 0.0);
    }
    holds(&none, "canaries within hosts");
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    let source = Source::simulated(&Service { hosts: 1, ..many }, &mut coin);
    let rows = scraped(&source.window(BEGIN, BEGIN + 60, Way::Processes, 0.0, &mut coin), 15);
    let why = judge(&made::question(BEGIN, BEGIN + 60), &rows).unwrap().total.change.unwrap_err();
    assert!(why.0.contains("one host does not show"), "{why:?}");
}

/// Hosts switch to NEW one by one, with scrapes every 15 s. Each host is compared with itself, before and after.
#[test]
fn hosts_that_switch_one_by_one_are_compared_with_themselves() {
    let quiet = Service { hosts: 3, load_spread: 0.03, ..Service::small(300) };
    let (mut counted, trials) = (Count::default(), 20);
    for seed in 0..trials {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(&quiet, &mut coin);
        let effect = if seed % 2 == 0 { 0.0 } else { 0.05 };
        let rows = made::rows(&source.requests, &source.agent, |request| {
            let is_new = made::second(request.end) >= BEGIN + 90 + 60 * u64::from(request.host);
            let factor = if is_new { 1.0 + effect } else { 1.0 };
            made::Label { version: u32::from(is_new), assignment: Assignment::None, slot_seconds: 0, factor, class: 0 }
        });
        let report = judge(&made::question(BEGIN, BEGIN + 300), &scraped(&rows, 15)).unwrap();
        assert_eq!(report.design, ReleaseDesign::OneAfterTheOther);
        let few = |why: &Refusal| matches!(why, Refusal::TooFewRows { .. } | Refusal::TooFewReadings { .. });
        assert!(!report.refused.iter().any(few), "{:?}", report.refused);
        counted.add(&report, effect);
    }
    holds(&counted, "one by one");
    assert!(counted.judged() >= 10, "{counted:?}");
}

/// A step of load in the middle of the window gives wall time two modes. Of 7,200 requests of each version, too few are
/// above the highest quantile.
#[test]
fn intervals_of_the_quantiles_of_wall_time_hold_under_a_step_of_load() {
    let service = Service { step: Some((60, 0.4)), load_spread: 0.05, ..Service::small(120) };
    let (mut missed, services) = ([0; 4], 60);
    for seed in 0..services {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(&service, &mut coin);
        let rows = source.window(BEGIN, BEGIN + 120, Way::Coin(0.5), 0.0, &mut coin);
        let wall = judge(&made::question(BEGIN, BEGIN + 120), &rows).unwrap().wall.unwrap();
        assert_eq!(wall.median_interval(), wall.quantiles[0].interval());
        for (missed, quantile) in missed.iter_mut().zip(&wall.quantiles) {
            *missed += u32::from(!quantile.interval().unwrap().holds(0.0));
        }
        assert!(wall.quantiles[4].interval().is_err());
    }
    assert!(missed.iter().all(|missed| *missed <= 9), "{missed:?} of {services}");
}

/// Returns the rows before a second.
fn until(rows: &ReleaseRows, second: u64) -> ReleaseRows {
    let mut rows = rows.clone();
    rows.requests.retain(|row| row.second < second);
    rows.rulers.retain(|row| row.second < second);
    rows.walls.retain(|row| row.second < second);
    rows.seconds.retain(|row| row.second < second);
    rows
}

/// Follows a random window with a look every 3 s. Returns the second of the first look that found a difference, and
/// whether any interval missed the truth.
fn followed(source: &Source, seconds: u64, way: Way, effect: f64, coin: &mut ChaCha8Rng) -> (Option<u64>, bool) {
    let (first, last) = source.ends();
    let from = coin.random_range(first..last - seconds);
    let rows = source.window(from, from + seconds, way, effect, coin);
    let mut watch = RepeatedComparison::new(made::question(from, from + seconds));
    let (mut seen, mut missed) = (None, false);
    for over in (3..=seconds).step_by(3) {
        let Ok(report) = watch.look(&until(&rows, from + over), from + over, over as f64 / seconds as f64) else {
            continue;
        };
        if matches!(report.total.verdict, Verdict::Faster | Verdict::Slower) {
            seen = seen.or(Some(over));
        }
        missed |= report.total.interval().is_ok_and(|interval| !interval.holds(effect));
        assert!(watch.spent() <= 0.05 + 1e-12);
        assert_eq!(report.looks.last().map(|look| look.requests), Some(report.total.requests));
    }
    (seen, missed)
}

#[test]
fn all_looks_together_keep_the_error_rate() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    for (way, seconds, windows) in [(Way::Coin(0.5), 60, repeated(60) as u32), (Way::Slots(1), 60, 60)] {
        let runs: Vec<(Option<u64>, bool)> =
            (0..windows).map(|_| followed(&source, seconds, way, 0.0, &mut coin)).collect();
        let wrong = runs.iter().filter(|(seen, _)| seen.is_some()).count() as f64;
        let n = f64::from(windows);
        assert!(wrong <= 0.05 * n + 3.1 * (0.0475 * n).sqrt(), "{way:?}: {wrong} of {n}");
    }
}

#[test]
fn large_effects_are_found_early() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let runs: Vec<(Option<u64>, bool)> =
        (0..40).map(|_| followed(&source, 120, Way::Coin(0.5), 0.05, &mut coin)).collect();
    let early = runs.iter().filter(|(seen, _)| seen.is_some_and(|second| second <= 45)).count();
    assert!(early >= 36, "{early} of 40 within 45 s of 120");
    assert!(runs.iter().filter(|(_, missed)| *missed).count() <= 7);
}

#[test]
fn looks_that_come_too_soon_spend_nothing() {
    let source = Source::recorded();
    let mut coin = ChaCha8Rng::seed_from_u64(3);
    let rows = source.window(400, 520, Way::Coin(0.5), 0.05, &mut coin);
    let mut watch = RepeatedComparison::new(made::question(400, 520));
    let first = watch.look(&until(&rows, 430), 430, 0.25).unwrap();
    let spent = watch.spent();
    let second = watch.look(&until(&rows, 433), 433, 0.27).unwrap();
    assert_eq!(watch.spent(), spent);
    assert_eq!(first.total.interval(), second.total.interval());
    assert_eq!(second.looks.len(), 2);
    let last = watch.look(&rows, 520, 1.0).unwrap();
    assert!((watch.spent() - 0.05).abs() < 1e-12);
    let wide = last.total.interval().unwrap().half_width();
    let once = judge(&made::question(400, 520), &rows).unwrap().total.interval().unwrap().half_width();
    assert!(wide >= once && wide < 1.3 * once, "{wide} {once}");
}
