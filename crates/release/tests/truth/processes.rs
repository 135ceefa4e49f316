//! CPU time of processes that requests do not explain.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{ProcessRow, ReleaseRows, Verdict};
use steady_release::{ReleaseDesign, ReleaseReport, ReleaseWarning, judge};

use crate::support::simulated::{Service, normal};
use crate::support::trials::{Count, Source, Way, repeated};
use crate::support::{fleet, made};

const SECONDS: (u64, u64) = (300, 420);

/// Returns rows of requests without an effect. The processes of OLD and of NEW use `factors` times the CPU time of
/// their requests.
fn rows(way: Way, factors: [f64; 2]) -> ReleaseRows {
    let (from, to) = SECONDS;
    let source = if way == Way::Drawn { Source::stretch("canary") } else { Source::recorded() };
    let mut rows = source.window(from, to, way, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
    let shared = matches!(way, Way::Coin(_));
    let process = |row: &steady_model::ReleaseRow| ProcessRow {
        second: row.second,
        slot_seconds: row.slot_seconds,
        host: row.host,
        process: row.process,
        version: (!shared).then_some(row.version),
        cpu: row.sums.cpu * factors[row.version as usize],
        requests_cpu: row.sums.cpu,
    };
    rows.processes = rows.requests.iter().map(process).collect();
    rows
}

fn report(rows: &ReleaseRows) -> ReleaseReport {
    judge(&made::question(SECONDS.0, SECONDS.1), rows).unwrap()
}

/// Processes use a third more CPU time with NEW. This is found if versions have slots or processes of their own.
#[test]
fn cpu_time_outside_of_requests_is_included_by_slot_and_process() {
    for (way, design) in [
        (Way::Slots(2), ReleaseDesign::Switchback),
        (Way::Drawn, ReleaseDesign::Canary),
        (Way::Processes, ReleaseDesign::Canary),
    ] {
        let plain = report(&rows(way, [1.0, 1.0]));
        let counted = report(&rows(way, [1.3, 1.3 * 4.0 / 3.0]));
        assert_eq!((plain.design, counted.design), (design, design));
        let [one, other] = [&plain, &counted].map(|report| report.total.change.clone().unwrap().ln_1p());
        let apart = other - one;
        assert!((apart - (4.0_f64 / 3.0).ln()).abs() < 1e-6, "{way:?}: {apart}");
        assert_eq!(counted.total.verdict, Verdict::Slower, "{way:?}");
        let says_so = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::ProcessCpuCounted { .. });
        assert!(counted.warnings.iter().any(says_so) && !plain.warnings.iter().any(says_so), "{way:?}");
        // The CPUs are those of the processes, too.
        let [of_requests, of_processes] = [&plain, &counted].map(|report| report.saving.as_ref().unwrap().cpus_used);
        assert!((1.3..1.3 * 4.0 / 3.0).contains(&(of_processes / of_requests)), "{of_requests} {of_processes}");
        // The difference between the CPU time of requests and of processes is not load.
        assert!(counted.total.load_shift.is_err() && plain.total.load_shift.is_ok(), "{way:?}");
        assert!(counted.unexplained.unwrap().sides().is_some(), "{way:?}");
    }
}

/// A metrics store does not distinguish slots, but it has the CPU time of processes by version and time block.
#[test]
fn cpu_time_outside_of_requests_is_included_by_time_block() {
    let [plain, counted] = [[1.0, 1.0], [1.3, 1.3 * 4.0 / 3.0]].map(|factors| rows(Way::Slots(1), factors));
    let [plain, counted] = [plain, counted].map(|rows| report(&fleet::scraped(&rows, 10)));
    assert_eq!((plain.design, counted.design), (ReleaseDesign::Switchback, ReleaseDesign::Switchback));
    let apart = counted.total.change.unwrap().ln_1p() - plain.total.change.unwrap().ln_1p();
    assert!((apart - (4.0_f64 / 3.0).ln()).abs() < 1e-6, "{apart}");
    let says_so = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::ProcessCpuCounted { .. });
    assert!(counted.warnings.iter().any(says_so), "{:?}", counted.warnings);
}

/// Simulates a switchback in a metrics store with time blocks of `block` seconds. Processes use CPU time outside of
/// requests: a share of the requests' that differs between processes and drifts, and a constant rate. All of it costs
/// `1 + effect` times as much with NEW.
fn scraped_switchback(service: &Service, slot: u32, block: u32, effect: f64, coin: &mut ChaCha8Rng) -> ReleaseReport {
    const SPREAD: f64 = 0.3;
    const DRIFT: f64 = 0.95;
    let source = Source::simulated(service, coin);
    let (from, to) = source.ends();
    let mut rows = source.window(from, to, Way::Slots(slot), effect, coin);
    let mut slots: BTreeMap<(u32, u64, u64), (u32, f64)> = BTreeMap::new();
    for row in &rows.requests {
        slots.entry((row.host, row.process, row.second)).or_insert((row.version, 0.0)).1 += row.sums.cpu;
    }
    let mut shares: BTreeMap<(u32, u64), (f64, f64)> = BTreeMap::new();
    for ((host, process, second), (version, requests_cpu)) in slots {
        let (share, drift) =
            shares.entry((host, process)).or_insert_with(|| (coin.random_range(0.2..1.5), SPREAD * normal(coin)));
        *drift = DRIFT * *drift + SPREAD * (1.0 - DRIFT * DRIFT).sqrt() * normal(coin);
        let constant = 0.1e9 * f64::from(slot) * if version == 1 { 1.0 + effect } else { 1.0 };
        rows.processes.push(ProcessRow {
            // The reading arrives with the first request of the next slot.
            second: second + u64::from(slot),
            slot_seconds: slot,
            host,
            process,
            version: Some(version),
            cpu: requests_cpu * (1.0 + *share * drift.exp()) + constant,
            requests_cpu,
        });
    }
    judge(&made::question(from, to), &fleet::scraped(&rows, block)).unwrap()
}

#[test]
fn switchbacks_in_a_metrics_store_keep_the_error_rate_and_find_effects() {
    let small = Service::small(300);
    let wandering = Service { load_spread: 0.4, ..small };
    let several = Service { hosts: 3, processes: 4, rate: 20.0, process_spread: 0.03, ..small };
    for (service, slot, block, seed) in [(small, 1, 10, 1), (wandering, 2, 15, 2), (several, 1, 15, 3)] {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        let mut count = |windows: usize, effect: f64| {
            let mut count = Count::default();
            for _ in 0..windows {
                let report = scraped_switchback(&service, slot, block, effect, &mut coin);
                let counted = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::ProcessCpuCounted { .. });
                assert!(report.warnings.iter().any(counted), "{:?}", report.warnings);
                count.add(&report, effect);
            }
            assert!(count.share(count.missed) <= count.most(0.05), "{service:?}: {} missed of {windows}", count.missed);
            count
        };
        let none = count(repeated(60), 0.0);
        assert!(none.share(none.wrong) <= none.most(0.05), "{service:?}: {} wrong of {}", none.wrong, none.judged());
        let five = count(30, 0.05);
        assert!(five.share(five.decided - five.wrong) >= 0.9, "{service:?}: {} found", five.decided);
    }
}

/// Versions share processes, so the unexplained CPU time may belong to either.
#[test]
fn cpu_time_outside_of_requests_widens_the_interval_of_coins() {
    let coin = Way::Coin(0.5);
    let widened = report(&rows(coin, [1.3, 1.3]));
    let (interval, ratio) = (widened.total.interval().unwrap(), widened.unexplained.unwrap().ratio);
    assert!((ratio - 0.3 / 1.3).abs() < 1e-9, "{ratio}");
    // The extremes: all of it belongs to OLD, or all to NEW. With half of the requests each, that is a factor of 1.6.
    assert!(interval.low < -0.35 && interval.high > 0.55, "{interval:?}");
    assert_eq!((widened.total.verdict, widened.total.settle_seconds.is_ok()), (Verdict::Undecided, false));
    // If all of it belongs to OLD, running OLD alone would use it twice, and NEW none of it.
    let saving = widened.saving.unwrap();
    let [low, high] = [saving.interval.low, saving.interval.high].map(|saved| saved / saving.cpus_used / (2.0 * ratio));
    assert!((low + 1.0).abs() < 0.1 && (high - 1.0).abs() < 0.1, "{low} {high}");
    let of_requests = |warning: &ReleaseWarning| match warning {
        ReleaseWarning::UnexplainedCpu { interval, .. } => interval.half_width() < 0.02,
        _ => false,
    };
    assert!(widened.warnings.iter().any(of_requests), "{:?}", widened.warnings);
    // A few per cent for background threads are ignored.
    let plain = report(&rows(coin, [1.05, 1.05]));
    assert!(
        plain.warnings.is_empty() && plain.total.interval().as_ref().unwrap().half_width() < 0.02,
        "{:?}",
        plain.total
    );
}

#[test]
fn unexplained_cpu_time_is_not_available_if_few_processes_report() {
    let mut rows = rows(Way::Coin(0.5), [1.3, 1.3]);
    let all = rows.processes.len();
    rows.processes.truncate(all / 3);
    let few = report(&rows);
    assert!(
        few.unexplained.is_err() && few.total.interval().as_ref().unwrap().half_width() < 0.02,
        "{:?}",
        few.warnings
    );
}

/// In a short window, reasons name what is missing, and how long that takes.
#[test]
fn a_short_canary_says_how_much_time_it_needs() {
    let (from, to) = (SECONDS.0, SECONDS.0 + 20);
    let source = Source::recorded();
    let mut rows = source.window(from, to, Way::Processes, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
    // One process per version.
    let processes = [0, 1].map(|version| {
        let own = rows.requests.iter().filter(|row| row.version == version);
        own.map(|row| row.process).min().unwrap()
    });
    rows.requests.retain(|row| row.process == processes[row.version as usize]);
    rows.requests.iter_mut().for_each(|row| row.sums.watched = 1);
    let report = judge(&made::question(from, to), &rows).unwrap();
    let why = report.total.change.unwrap_err().0;
    assert!(why.starts_with("one process per version needs at least half a minute"), "{why}");
    let parts = report.wall.unwrap().parts.unwrap_err().0;
    assert!(parts.contains("1000 of each are needed, about ") && parts.ends_with("min at this rate"), "{parts}");
}
