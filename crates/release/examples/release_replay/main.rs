//! Evaluates recorded and simulated requests under random labels: false verdicts, coverage, power, and the time to
//! evaluate a million rows. See bench/release_replay.py.
#![allow(clippy::print_stdout, reason = "the program prints tables")]

mod speed;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_release::judge;
use support::recording::releases;
use support::simulated::{BEGIN, Service};
use support::trials::{Count, Source, Way, judged};
use support::{made, means};

/// Number of windows per line, unless the first argument is given.
const WINDOWS: usize = 400;
/// Number of processes in the recording for canaries.
const CANARIES: usize = 16;

/// `release_replay WINDOWS NAME [FOLDER]...` evaluates designs whose name contains `NAME`, on the recordings in the
/// directories.
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let windows = words.first().and_then(|text| text.parse().ok()).unwrap_or(WINDOWS);
    let only = words.get(1).map_or("", String::as_str);
    let folders: Vec<PathBuf> = match words.get(2..) {
        Some(named @ [_, ..]) => named.iter().map(PathBuf::from).collect(),
        _ => ["one", "canary"].map(|name| releases().join(name)).into(),
    };
    let sources: Vec<Source> = folders.iter().map(|folder| Source::compact(folder)).collect();
    println!("{}", header());
    for (name, way, seconds, effect) in designs() {
        let fits: Vec<&Source> = sources.iter().filter(|source| fits(source, way, seconds)).collect();
        if name.contains(only) && !fits.is_empty() {
            println!("{}", line(name, seconds, effect, &judged_on(&fits, windows, seconds, way, effect)));
        }
    }
    for (name, service, way, effect) in services() {
        if name.contains(only) {
            println!("{}", line(name, service.seconds, effect, &simulated(&service, windows.min(200), way, effect)));
        }
    }
    if only.is_empty() {
        speed::print();
    }
}

fn designs() -> Vec<(&'static str, Way, u64, f64)> {
    let coin = Way::Coin(0.5);
    vec![
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
        ("canary, 8 a side", Way::Drawn, 300, 0.0),
        ("canary, 8 a side", Way::Drawn, 300, 0.05),
        ("after, restarted (200 to 300 s)", Way::Restart, 300, 0.0),
        ("after, restarted (200 to 300 s)", Way::Restart, 300, 0.05),
        ("after, restarted (200 to 300 s)", Way::Restart, 300, 0.1),
        ("restarted, agent's rulers", Way::RestartByAgent, 300, 0.0),
        ("restarted, agent's rulers", Way::RestartByAgent, 300, 0.05),
        ("restarted, 40 % of readings", Way::RestartThinned(0.4), 300, 0.0),
        ("restarted, 30 % of readings", Way::RestartThinned(0.3), 300, 0.0),
        ("restarted, 30 % of readings", Way::RestartThinned(0.3), 300, 0.05),
        ("restarted, 25 % of readings", Way::RestartThinned(0.25), 300, 0.0),
        ("restarted, 20 % of readings", Way::RestartThinned(0.2), 300, 0.0),
        ("after, going on", Way::After, 120, 0.0),
        ("after, going on", Way::After, 300, 0.0),
        ("after, going on", Way::After, 300, 0.05),
        ("going on, agent's rulers", Way::AfterByAgent, 300, 0.0),
        ("going on, agent's rulers", Way::AfterByAgent, 300, 0.05),
        ("after, with a step of load", Way::Step, 120, 0.0),
        ("after, with a step of load", Way::Step, 120, 0.05),
    ]
}

/// Returns whether a recording has windows for this way of choosing versions.
fn fits(source: &Source, way: Way, seconds: u64) -> bool {
    match way {
        Way::Drawn => source.restarts.len() == CANARIES,
        Way::Restart | Way::RestartByAgent | Way::RestartThinned(_) => source.has_restarts(),
        Way::After | Way::AfterByAgent | Way::Step => seconds <= 120 || !source.has_restarts(),
        Way::Coin(_) | Way::Slots(_) | Way::Processes => true,
    }
}

fn services() -> Vec<(&'static str, Service, Way, f64)> {
    let eight = Service { hosts: 2, processes: 8, rate: 15.0, process_spread: 0.015, ..Service::small(300) };
    let balanced = Service { load_spread: 0.03, ..Service::small(300) };
    vec![
        ("simulated canary, 8 a side", eight, Way::Processes, 0.0),
        ("simulated canary, 8 a side", eight, Way::Processes, 0.05),
        ("simulated, load wanders", Service { load_spread: 0.2, ..Service::small(300) }, Way::After, 0.0),
        ("simulated, load balanced", balanced, Way::After, 0.0),
        ("simulated, load balanced", balanced, Way::After, 0.05),
        ("simulated, step of a third", Service { step: Some((150, 0.3)), ..Service::small(300) }, Way::After, 0.0),
    ]
}

/// Evaluates `windows` windows, equally many of each recording.
fn judged_on(sources: &[&Source], windows: usize, seconds: u64, way: Way, effect: f64) -> Count {
    let mut count = Count::default();
    for (place, source) in sources.iter().enumerate() {
        let share = windows * (place + 1) / sources.len() - windows * place / sources.len();
        count.join(judged(source, share, seconds, way, effect, place as u64 + 1));
    }
    count
}

/// Evaluates `windows` simulated services.
fn simulated(service: &Service, windows: usize, way: Way, effect: f64) -> Count {
    let mut count = Count::default();
    for seed in 0..windows as u64 {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let source = Source::simulated(service, &mut coin);
        let (from, to) = (BEGIN, BEGIN + service.seconds);
        let rows = source.window(from, to, way, effect, &mut coin);
        count.add(&judge(&made::question(from, to), &rows).expect("both versions served"), effect);
        count.add_means(&rows);
    }
    count
}

fn header() -> String {
    "| design | seconds | true change | windows | refused | found | false or wrong | missed by the interval | mean error | spread | half-width | warned | median wall time missed | mean wall time: differs, change | mean CPU time |\n\
     |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
        .into()
}

fn line(name: &str, seconds: u64, effect: f64, count: &Count) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let fine = |share: f64| format!("{:.2} %", 100.0 * share);
    let (mean, spread) = count.spread();
    format!(
        "| {name} | {seconds} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
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
        of_medians(count.medians.0, count.medians.1, effect),
        of_means(&count.means[0]),
        of_means(&count.means[1]),
    )
}

/// Formats the share of intervals of the median wall time that miss the truth, which is known only without an effect.
fn of_medians(known: usize, missed: usize, effect: f64) -> String {
    if known == 0 || effect != 0.0 {
        return "-".into();
    }
    format!("{:.1} %", 100.0 * missed as f64 / known as f64)
}

/// Formats the share of windows in which Welch's test finds a change at 5 %, and the median of the absolute changes.
fn of_means(means: &[means::MeanChange]) -> String {
    let differs = means.iter().filter(|mean| mean.differs).count() as f64 / means.len() as f64;
    let mut changes: Vec<f64> = means.iter().map(|mean| mean.change.abs()).collect();
    changes.sort_unstable_by(f64::total_cmp);
    format!("{:.0} %, {:.1} %", 100.0 * differs, 100.0 * changes[changes.len() / 2])
}
