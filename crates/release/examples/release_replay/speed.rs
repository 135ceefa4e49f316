//! Measures how long it takes to sum requests and to evaluate rows.

use std::hint::black_box;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRow, ReleaseRows, RequestSums};
use steady_release::judge;
use steady_stats::release::{Accumulator, RequestCost};

use super::support::made;

const REQUESTS: u64 = 4_000_000;
const SECONDS: u64 = 300;

/// Returns the time of `work` in seconds, the shortest of three runs.
#[allow(clippy::disallowed_methods, reason = "the time is only printed")]
fn seconds(mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

/// Prints the throughput of summing, and a table of the times of evaluations.
pub(crate) fn print() {
    let summing = seconds(|| {
        black_box(fold());
    });
    println!("\n{:.1} million requests per second are accumulated.\n", REQUESTS as f64 / summing / 1e6);
    println!("| rows | random | switchback | canary | one after the other |\n|---|---|---|---|---|");
    for rows in [250_000, 500_000, 1_000_000] {
        let of = |assignment, after| {
            let made = service(rows, assignment, after);
            let question = made::question(0, SECONDS);
            let time = seconds(|| {
                black_box(judge(&question, &made).expect("two versions"));
            });
            format!("{time:.2} s")
        };
        let (random, slot) = (of(Assignment::Random, false), of(Assignment::Slot, false));
        let (canary, after) = (of(Assignment::Canary, false), of(Assignment::None, true));
        println!("| {rows} | {random} | {slot} | {canary} | {after} |");
    }
}

fn fold() -> RequestSums {
    let (mut fold, mut sums) = (Accumulator::new(), RequestSums::default());
    for number in 0..REQUESTS {
        let request = RequestCost {
            route: (number % 200) as u32,
            class: 0,
            version: (number / 200 % 2) as u32,
            process: number % 64,
            number: 1_000 + number,
            failed: false,
            cpu: 2_000_000 + number * 7_919 % 400_000,
            wall: 3_000_000 + number * 104_729 % 900_000,
            delay: None,
            ruler: None,
        };
        fold.add(&request, &mut sums);
    }
    sums
}

/// Builds rows of twenty hosts with ten routes.
fn service(count: u64, assignment: Assignment, after: bool) -> ReleaseRows {
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    let processes = count / SECONDS / 10 / if assignment == Assignment::Random { 2 } else { 1 };
    let mut rows = Vec::new();
    for second in 0..SECONDS {
        for process in 0..processes {
            let versions: &[u32] = match assignment {
                Assignment::Random => &[0, 1],
                Assignment::Slot => [&[0], &[1]][(second % 2) as usize],
                _ if after => [&[0], &[1]][usize::from(second >= SECONDS / 2)],
                _ => [&[0], &[1]][(process % 2) as usize],
            };
            for &version in versions {
                rows.extend((0..10).map(|route| row(second, process, version, route, assignment, &mut coin)));
            }
        }
    }
    ReleaseRows {
        service: "shop".into(),
        hosts: (0..20).map(|host| host.to_string()).collect(),
        versions: vec!["v1".into(), "v2".into()],
        routes: (0..10).map(|route| route.to_string()).collect(),
        requests: rows,
        ..ReleaseRows::default()
    }
}

fn row(
    second: u64,
    process: u64,
    version: u32,
    route: u32,
    assignment: Assignment,
    coin: &mut ChaCha8Rng,
) -> ReleaseRow {
    let requests = coin.random_range(1..20_u64);
    let n = requests as f64;
    let log: f64 = 14.0 + coin.random_range(-0.1..0.1);
    let sums = RequestSums {
        requests,
        cpu: n * log.exp(),
        cpu_squared: n * (2.0 * log).exp() * 1.02,
        log: n * log,
        log_squared: n * (log * log + 0.02),
        with_before: requests,
        before_squared: 0.01 * n,
        wall: 2.0 * n * log.exp(),
        ..RequestSums::default()
    };
    let slot_seconds = u32::from(assignment == Assignment::Slot);
    ReleaseRow {
        second,
        host: (process % 20) as u32,
        process: process + 1,
        version,
        route,
        class: 0,
        assignment,
        span_seconds: 1,
        slot_seconds,
        second_of_pair: slot_seconds > 0 && second % 2 == 1,
        sums,
    }
}
