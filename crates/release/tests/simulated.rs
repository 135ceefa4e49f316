//! Simulated services whose truth is known, in every design.

mod kept;

use kept::made;
use kept::simulated::{BEGIN, Service};
use kept::trials::{Count, Source, Way};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_model::Refusal;
use steady_release::judge;

/// So many services, each simulated anew, under labels of their own.
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
fn coins_hold_under_steps_and_tails() {
    let service = Service { step: Some((20, 0.6)), load_spread: 0.3, ..Service::small(40) };
    holds(&services(&service, 200, Way::Coin(0.5), 0.0), "random");
    holds(&services(&service, 100, Way::Coin(0.2), 0.3), "random, 30 %");
    holds(&services(&service, 150, Way::Slots(1), 0.0), "switchback");
    let found = services(&Service::small(60), 60, Way::Slots(1), 0.05);
    holds(&found, "switchback, 5 %");
    assert!(found.decided > 50, "{found:?}");
}

/// Eight workers a side on two hosts; processes of one code differ by 1.5 %, hosts by 5 %.
#[test]
fn processes_are_the_unit_of_canaries() {
    let service = Service { hosts: 2, processes: 8, rate: 15.0, process_spread: 0.015, ..Service::small(60) };
    let none = services(&service, 150, Way::Processes, 0.0);
    holds(&none, "canary");
    let five = services(&service, 40, Way::Processes, 0.05);
    holds(&five, "canary, 5 %");
    assert!(five.decided - five.wrong >= 36, "{five:?}");
    let few = Service { hosts: 1, processes: 4, ..service };
    let none = services(&few, 150, Way::Processes, 0.0);
    holds(&none, "two processes a side");
    assert_eq!(none.warned, none.windows, "few processes are told");
}

#[test]
fn one_after_the_other_is_accepted_where_loads_overlap() {
    // The same load before and after, but for chance.
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
fn a_step_that_coincides_is_refused() {
    for size in [0.15, 0.3, 0.6] {
        let service = Service { step: Some((60, size)), load_spread: 0.05, ..Service::small(120) };
        for seed in 0..8 {
            let mut coin = ChaCha8Rng::seed_from_u64(seed);
            let source = Source::simulated(&service, &mut coin);
            let mut rows = source.window(BEGIN, BEGIN + 120, Way::After, 0.0, &mut coin);
            // Rulers alone must see it: utilisation may be blind.
            rows.seconds.clear();
            let report = judge(&made::question(BEGIN, BEGIN + 120), &rows).unwrap();
            let apart = |why: &Refusal| matches!(why, Refusal::LoadsDoNotOverlap { .. });
            assert!(report.refused.iter().any(apart), "{size}: {:?}", report.refused);
        }
    }
}

/// The median of wall time, where a step of load half-way gives it two modes.
#[test]
fn medians_hold_under_a_step() {
    let service = Service { step: Some((60, 0.4)), load_spread: 0.05, ..Service::small(120) };
    let (mut missed, services) = (0, 60);
    for seed in 0..services {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(&service, &mut coin);
        let rows = source.window(BEGIN, BEGIN + 120, Way::Coin(0.5), 0.0, &mut coin);
        let wall = judge(&made::question(BEGIN, BEGIN + 120), &rows).unwrap().wall.unwrap();
        missed += u32::from(!wall.median_interval.unwrap().holds(0.0));
    }
    assert!(missed <= 9, "{missed} of {services}");
}
