//! Evaluates simulated fleets with known effects: which change they find in five minutes, how often verdicts are wrong,
//! and how long an evaluation takes. See bench/fleet.py.
#![allow(clippy::print_stdout, reason = "the program prints tables")]

#[path = "../../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRows};
use steady_release::judge;
use support::fleet::{Design, Fleet, PROCESSES, Played, by_requests};
use support::made;
use support::trials::{Count, Source};

/// Number of fleets per line, unless the first argument is given.
const TRIALS: u64 = 200;
/// Effect in standard deviations that a test at 5 % finds in nine of ten trials.
const NINE_OF_TEN: f64 = 1.96 + 1.282;
/// Smallest change that Meta's FBDetect finds on hundreds of thousands of servers, as published.
const MARK: f64 = 0.000_05;

fn main() {
    let trials = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(TRIALS);
    // Only designs whose name contains this.
    let only = std::env::args().nth(2).unwrap_or_default();
    let process = interaction(&Source::recorded());
    let source = Source::stretch("one");
    let host = process / PROCESSES.sqrt();
    println!(
        "The effect differs between hosts of {PROCESSES} such processes by at most {:.3} %. All fleets below have this \
         spread unless a line gives another.\n",
        100.0 * host
    );
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    let played = Played::new(&source, &mut coin);
    println!("{HEADER}");
    let mut thousand = f64::NAN;
    for (name, design, hosts, effect, spread) in [
        ("random per request", Design::Coin, 10, 0.0, host),
        ("random per request", Design::Coin, 10, 0.005, host),
        ("random per request", Design::Coin, 100, 0.0, host),
        ("random per request", Design::Coin, 100, 0.0015, host),
        ("random per request", Design::Coin, 1_000, 0.0, host),
        ("random per request", Design::Coin, 1_000, 0.0005, host),
        ("random, hosts differ by 0.5 %", Design::Coin, 10, 0.0, 0.005),
        ("random, hosts differ by 0.5 %", Design::Coin, 1_000, 0.0, 0.005),
        ("random, hosts differ by 0.5 %", Design::Coin, 1_000, 0.0005, 0.005),
        ("switchback, 1 s", Design::Slots, 10, 0.0, host),
        ("switchback, 1 s", Design::Slots, 10, 0.005, host),
        ("switchback, 1 s", Design::Slots, 1_000, 0.0, host),
        ("switchback, 1 s", Design::Slots, 1_000, 0.0005, host),
        ("canary, a version each", Design::Hosts, 10, 0.0, host),
        ("canary, a version each", Design::Hosts, 30, 0.0, host),
        ("canary, a version each", Design::Hosts, 100, 0.0, host),
        ("canary, a version each", Design::Hosts, 300, 0.0, host),
        ("canary, a version each", Design::Hosts, 1_000, 0.0, host),
    ] {
        if !name.contains(&only) {
            continue;
        }
        let fleet = Fleet { effect_spread: spread, ..Fleet::of(hosts, design, effect) };
        let (count, seconds) = judged(trials, &fleet, |fleet, coin| played.rows(fleet, coin));
        if (name, hosts) == ("random per request", 1_000) {
            thousand = NINE_OF_TEN * count.spread().1;
        }
        println!("{}", line(name, &fleet, &count, seconds));
    }
    if !only.is_empty() {
        return;
    }
    println!(
        "\nFBDetect finds a change of {:.3} %, as published. By these figures that needs {:.0} hosts with this \
         traffic.\n",
        100.0 * MARK,
        1_000.0 * (thousand / MARK).powi(2)
    );
    println!("Ten hosts without load, simulated by intervals and request by request:\n\n{HEADER}");
    let plain = Fleet { effect_spread: 0.0, level_spread: 0.0, ..Fleet::of(10, Design::Coin, 0.0) };
    let still = played.unloaded();
    let (drawn, seconds) = judged(trials, &plain, |fleet, coin| still.rows(fleet, coin));
    println!("{}", line("by intervals", &plain, &drawn, seconds));
    let (replayed, seconds) = judged(trials, &plain, |fleet, coin| by_requests(&source, fleet, coin));
    println!("{}", line("request by request", &plain, &replayed, seconds));
}

/// Evaluates `trials` fleets. Also returns the mean time of an evaluation in seconds.
#[allow(clippy::disallowed_methods, reason = "the time is only printed")]
fn judged(trials: u64, fleet: &Fleet, rows: impl Fn(&Fleet, &mut ChaCha8Rng) -> ReleaseRows) -> (Count, f64) {
    let (mut count, mut seconds) = (Count::default(), 0.0);
    for seed in 0..trials {
        let rows = rows(fleet, &mut ChaCha8Rng::seed_from_u64(seed));
        let (from, to) = fleet.ends();
        let start = Instant::now();
        let report = judge(&made::question(from, to), &rows).expect("both versions served");
        seconds += start.elapsed().as_secs_f64();
        count.add(&report, fleet.effect);
    }
    (count, seconds / trials as f64)
}

/// Bounds how much the effect differs between processes. Two copies of the same code were recorded in each process.
///
/// Prints their differences by process and route. Returns the largest standard deviation beyond their errors that is
/// not excluded with 95 % confidence.
fn interaction(source: &Source) -> f64 {
    println!("Two copies of the same code in one process, by process and route:\n");
    println!("| process | route | change | error |\n|---|---|---|---|");
    let mut found = Vec::new();
    for process in 0..2 {
        for route in 0..3 {
            let own = source.requests.iter().filter(|one| (one.process, one.route) == (process, route)).copied();
            let label = |request: &support::recording::Recorded| made::Label {
                version: request.version.min(1),
                assignment: Assignment::Random,
                slot_seconds: 0,
                class: 0,
                factor: if request.version == 2 { 0.0 } else { 1.0 },
            };
            let rows = made::rows(&own.collect::<Vec<_>>(), &[], label);
            let (from, to) = source.ends();
            let total = judge(&made::question(from, to), &rows).expect("both copies served").total;
            let (interval, change) = (total.interval().expect("an interval"), total.change.expect("a change"));
            let error = interval.half_width() / 1.96;
            println!("| {process} | {route} | {:+.3} % | {:.3} % |", 100.0 * change, 100.0 * error);
            found.push((change, error));
        }
    }
    // 5 % quantile of the chi-squared distribution with six degrees of freedom, for Cochran's Q.
    const LOW: f64 = 1.635;
    let q = |spread: f64| {
        found.iter().map(|(change, error)| change * change / (error * error + spread * spread)).sum::<f64>()
    };
    let steps = (0..10_000).map(|step| f64::from(step) * 1e-6);
    let most = steps.take_while(|spread| q(*spread) > LOW).last().unwrap_or(0.0);
    println!(
        "\nQ is {:.1} (expected: 6). With 95 % confidence the effect differs by at most {:.3} % (standard deviation).",
        q(0.0),
        100.0 * most
    );
    most
}

const HEADER: &str = "| design | hosts | true change | differ by | trials | found | wrong | missed by the interval | \
                      mean error | spread | half-width | found in 9 of 10 | evaluated in |\n\
                      |---|---|---|---|---|---|---|---|---|---|---|---|---|";

fn line(name: &str, fleet: &Fleet, count: &Count, seconds: f64) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let fine = |share: f64| format!("{:.3} %", 100.0 * share);
    let (mean, spread) = count.spread();
    let right = count.share(count.decided - count.wrong);
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} ms |",
        fleet.hosts,
        fine(fleet.effect),
        fine(fleet.effect_spread),
        count.windows,
        if fleet.effect == 0.0 { "–".to_owned() } else { percent(right) },
        percent(count.share(count.wrong)),
        percent(count.share(count.missed)),
        fine(mean),
        fine(spread),
        fine(count.share(1) * count.half_widths),
        fine(NINE_OF_TEN * spread),
        1_000.0 * seconds,
    )
}
