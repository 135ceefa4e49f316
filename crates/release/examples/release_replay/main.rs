//! Recorded and simulated requests under labels drawn anew: false verdicts, coverage, power, and how fast a million rows are
//! judged. See bench/release_replay.py.
#![allow(clippy::print_stdout, reason = "it is a program that prints tables")]

#[path = "../../tests/kept/mod.rs"]
mod kept;
mod speed;

use kept::made;
use kept::simulated::{BEGIN, Service};
use kept::trials::{Count, Source, Way, judged};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_release::judge;

/// Windows of each line, unless the first argument says otherwise.
const WINDOWS: usize = 400;

fn main() {
    let windows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(WINDOWS);
    // Designs whose name holds this.
    let only = std::env::args().nth(2).unwrap_or_default();
    let recording = Source::recorded();
    println!("{}", header());
    let coin = Way::Coin(0.5);
    for (name, way, seconds, effect) in [
        ("random per request", coin, 15, 0.0),
        ("random per request", coin, 40, 0.0),
        ("random per request", coin, 120, 0.0),
        ("random per request", coin, 15, 0.05),
        ("random per request", coin, 40, 0.2),
        ("random per request", coin, 120, 0.01),
        ("random, NEW 5 %", Way::Coin(0.05), 40, 0.0),
        ("random, NEW 5 %", Way::Coin(0.05), 40, 0.1),
        ("switchback, 1 s", Way::Slots(1), 120, 0.0),
        ("switchback, 1 s", Way::Slots(1), 120, 0.05),
        ("switchback, 2 s", Way::Slots(2), 120, 0.0),
        ("switchback, 2 s", Way::Slots(2), 120, 0.05),
        ("switchback, 5 s", Way::Slots(5), 300, 0.05),
        ("canary, 1 a side", Way::Processes, 120, 0.0),
        ("canary, 1 a side", Way::Processes, 300, 0.05),
        ("one after the other", Way::After, 120, 0.0),
        ("one after the other", Way::After, 300, 0.0),
        ("one after the other", Way::After, 300, 0.05),
        ("the same, agent's rulers", Way::AfterByAgent, 120, 0.0),
        ("the same, agent's rulers", Way::AfterByAgent, 300, 0.0),
    ] {
        if !name.contains(&only) {
            continue;
        }
        println!("{}", line(name, seconds, effect, &judged(&recording, windows, seconds, way, effect, 1)));
    }
    let eight = Service { hosts: 2, processes: 8, rate: 15.0, process_spread: 0.015, ..Service::small(300) };
    for (name, service, way, effect) in [
        ("simulated canary, 8 a side", eight, Way::Processes, 0.0),
        ("simulated canary, 8 a side", eight, Way::Processes, 0.05),
        ("simulated, load wanders", Service { load_spread: 0.2, ..Service::small(300) }, Way::After, 0.0),
        ("simulated, load balanced", Service { load_spread: 0.03, ..Service::small(300) }, Way::After, 0.0),
        ("simulated, load balanced", Service { load_spread: 0.03, ..Service::small(300) }, Way::After, 0.05),
        ("simulated, step of a third", Service { step: Some((150, 0.3)), ..Service::small(300) }, Way::After, 0.0),
    ] {
        if !name.contains(&only) {
            continue;
        }
        println!("{}", line(name, service.seconds, effect, &simulated(&service, windows.min(200), way, effect)));
    }
    if only.is_empty() {
        speed::print();
    }
}

/// So many services, each simulated anew.
fn simulated(service: &Service, windows: usize, way: Way, effect: f64) -> Count {
    let mut count = Count::default();
    for seed in 0..windows as u64 {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(service, &mut coin);
        let (from, to) = (BEGIN, BEGIN + service.seconds);
        let rows = source.window(from, to, way, effect, &mut coin);
        count.add(&judge(&made::question(from, to), &rows).expect("both versions served"), effect);
    }
    count
}

fn header() -> String {
    "| design | seconds | true change | windows | refused | found | false or wrong | missed by the interval | mean error | spread | half-width | warned |\n\
     |---|---|---|---|---|---|---|---|---|---|---|---|"
        .into()
}

fn line(name: &str, seconds: u64, effect: f64, count: &Count) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let fine = |share: f64| format!("{:.2} %", 100.0 * share);
    let (mean, spread) = count.spread();
    format!(
        "| {name} | {seconds} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        percent(effect),
        count.windows,
        count.refused,
        percent(count.share(count.decided - count.wrong)),
        percent(count.share(count.wrong)),
        percent(count.share(count.missed)),
        fine(mean),
        fine(spread),
        fine(count.share(1) * count.half_widths),
        percent(count.share(count.warned)),
    )
}
