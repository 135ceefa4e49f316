//! Hosts that differ in speed and do not have equal shares of the versions.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use steady_model::{Absent, Assignment, ProcessRow, ReleaseRows, Verdict};
use steady_release::{ReleaseDesign, ReleaseReport, ReleaseWarning, judge};

use crate::support::made::{self, Label};
use crate::support::recording::Recorded;
use crate::support::simulated::{BEGIN, Service};
use crate::support::trials::{Count, Source, Way};

const ONE_HOST_EACH: &str = "one host per version does not show how much hosts differ";

/// Returns the rows of a simulated service whose requests have the version of `is_new`, which also gets the second of the
/// request since the beginning. Requests of NEW cost `factor` times as much. A `None` leaves a request out.
fn rows(
    service: &Service,
    seed: u64,
    factor: f64,
    is_new: impl Fn(&Recorded, u64) -> Option<bool>,
) -> (ReleaseRows, Source) {
    let mut source = Source::simulated(service, &mut ChaCha8Rng::seed_from_u64(seed));
    let since = |request: &Recorded| made::second(request.end) - BEGIN;
    source.requests.retain(|request| is_new(request, since(request)).is_some());
    let rows = made::rows(&source.requests, &source.agent, |request| {
        let is_new = is_new(request, since(request)) == Some(true);
        let factor = if is_new { factor } else { 1.0 };
        Label { version: u32::from(is_new), assignment: Assignment::None, slot_seconds: 0, factor, class: 0 }
    });
    (rows, source)
}

fn report(rows: &ReleaseRows, seconds: u64) -> ReleaseReport {
    judge(&made::question(BEGIN, BEGIN + seconds), rows).unwrap()
}

fn left_out(report: &ReleaseReport) -> Option<usize> {
    report.warnings.iter().find_map(|warning| match warning {
        ReleaseWarning::HostsOfOneVersion { hosts, .. } => Some(*hosts),
        _ => None,
    })
}

/// Costs of the requests of a host, in proportion.
fn slow_down(rows: &mut ReleaseRows, host: u32, factor: f64) {
    for row in rows.requests.iter_mut().filter(|row| row.host == host) {
        row.sums.cpu *= factor;
        row.sums.cpu_squared *= factor * factor;
        row.sums.log += row.sums.requests as f64 * factor.ln();
    }
}

/// One host has a process of each version; the other one is slow and has only OLD.
#[test]
fn hosts_with_one_version_are_not_compared_with_others() {
    let service = Service { hosts: 2, processes: 2, ..Service::small(120) };
    let canary = |request: &Recorded, _: u64| Some(request.host == 0 && request.process == 1);
    let (mut rows, _) = rows(&service, 1, 1.0, canary);
    slow_down(&mut rows, 1, 1.3);
    let judged = report(&rows, 120);
    assert_eq!((judged.design, left_out(&judged)), (ReleaseDesign::Canary, Some(1)));
    let change = judged.total.change.clone().unwrap();
    assert!(change.abs() < 0.04, "{change}");
    rows.requests.retain(|row| row.host == 0);
    assert_eq!(report(&rows, 120).total, judged.total);
}

/// Each host has a process of each version: the first one nearly all requests of OLD, the slow one those of NEW.
#[test]
fn single_processes_are_compared_on_one_host() {
    let service = Service { hosts: 2, processes: 2, rate: 100.0, ..Service::small(240) };
    let (mut rows, _) = rows(&service, 6, 1.0, |request: &Recorded, _| {
        let is_new = request.process == 1;
        let is_rare = is_new != (request.host == 1);
        (!is_rare || (request.end / 1_000).is_multiple_of(20)).then_some(is_new)
    });
    slow_down(&mut rows, 1, 1.3);
    let report = report(&rows, 240);
    assert_eq!((report.design, left_out(&report)), (ReleaseDesign::Canary, None));
    let change = report.total.change.clone().unwrap();
    assert!(change.abs() < 0.1 && report.total.verdict == Verdict::Undecided, "{:?}", report.total);
}

/// NEW has one process of eight on the first host, and seven of eight on the second one, which is more expensive.
#[test]
fn unequal_shares_of_hosts_do_not_hide_a_change() {
    let service = Service { hosts: 2, processes: 8, rate: 15.0, process_spread: 0.015, ..Service::small(60) };
    let share = |request: &Recorded, _: u64| Some((request.process == 0) != (request.host == 1));
    let (mut counted, mut sum) = (Count::default(), 0.0);
    let trials = 40;
    for seed in 0..trials {
        let (mut rows, _) = rows(&service, seed, 1.3, share);
        slow_down(&mut rows, 1, 1.2);
        let report = report(&rows, 60);
        assert_eq!(report.design, ReleaseDesign::Canary);
        counted.add(&report, 0.3);
        sum += report.total.change.clone().unwrap().ln_1p();
    }
    let mean = (sum / trials as f64).exp_m1();
    assert!((mean - 0.3).abs() < 0.02, "{mean}");
    assert!(counted.share(counted.missed) <= counted.most(0.05), "{counted:?}");
    assert!(counted.decided - counted.wrong >= trials as usize * 9 / 10, "{counted:?}");
}

/// OLD ran on some hosts, then NEW on others. The code is the same, and hosts differ by 5 %.
#[test]
fn versions_on_different_hosts_are_compared_with_the_host_as_the_unit() {
    let seconds = 300;
    let of = |hosts: u32| Service { hosts: 2 * hosts, load_spread: 0.03, rate: 20.0, ..Service::small(seconds) };
    let moved = |hosts: u32| {
        move |request: &Recorded, second: u64| {
            let is_new = second >= seconds / 2;
            (is_new == (request.host >= hosts)).then_some(is_new)
        }
    };
    let mut counted = Count::default();
    for seed in 0..20 {
        let (rows, _) = rows(&of(4), seed, 1.0, moved(4));
        let report = report(&rows, seconds);
        assert_eq!((report.design, left_out(&report)), (ReleaseDesign::OneAfterTheOther, None));
        assert!(report.hosts.iter().all(|host| host.change.change.is_err()), "{:?}", report.hosts);
        counted.add(&report, 0.0);
    }
    assert!(counted.judged() >= 10, "{counted:?}");
    assert!(counted.share(counted.missed) <= counted.most(0.05), "{counted:?}");
    // One host of each version does not show how much hosts differ.
    let alone = (0..5).map(|seed| report(&rows(&of(1), seed, 1.0, moved(1)).0, seconds));
    let alone: Vec<ReleaseReport> = alone.filter(|report| report.refused.is_empty()).collect();
    assert!(!alone.is_empty());
    for report in alone {
        assert_eq!(report.total.change, Err(Absent::because(ONE_HOST_EACH)));
        assert_eq!(report.total.verdict, Verdict::Undecided);
        let warned = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::OneProcessASide { allowance: None });
        assert!(report.warnings.iter().any(warned), "{:?}", report.warnings);
    }
}

/// The same two hosts at the same time, each with one version.
#[test]
fn one_host_per_version_is_not_compared() {
    let service = Service { hosts: 2, processes: 2, ..Service::small(120) };
    let (rows, _) = rows(&service, 3, 1.0, |request: &Recorded, _| Some(request.host == 1));
    let report = report(&rows, 120);
    assert_eq!((report.design, report.total.verdict), (ReleaseDesign::Canary, Verdict::Undecided));
    assert_eq!(report.total.change, Err(Absent::because(ONE_HOST_EACH)));
}

/// Coins on two hosts: NEW has most requests of the fast one and few of the slow one.
#[test]
fn quantiles_of_wall_time_are_compared_within_hosts() {
    let service = Service { hosts: 2, processes: 2, ..Service::small(240) };
    let mut rows = rows(&service, 2, 1.0, |request: &Recorded, _| {
        let one_of_ten = (request.end / 1_000).is_multiple_of(10);
        Some(one_of_ten == (request.host == 1))
    })
    .0;
    rows.requests.iter_mut().for_each(|row| row.assignment = Assignment::Random);
    // Sixteen buckets are a factor of two.
    for row in rows.walls.iter_mut().filter(|row| row.host == 1) {
        row.counts.iter_mut().for_each(|(bucket, _)| *bucket += 16);
    }
    let wall = report(&rows, 240).wall.unwrap();
    let change = wall.median_change.clone().unwrap();
    assert!(change.abs() < 0.05, "{change} {:?}", wall.median_interval());
}

/// Returns rows of processes that use a quarter more than their requests, by second, and `beyond` CPU time in addition.
fn processes(rows: &ReleaseRows, beyond: impl Fn(&ProcessRow) -> f64) -> Vec<ProcessRow> {
    let process = |row: &steady_model::ReleaseRow| {
        let of_requests = ProcessRow {
            second: row.second,
            slot_seconds: 0,
            host: row.host,
            process: row.process,
            version: Some(row.version),
            cpu: 1.25 * row.sums.cpu,
            requests_cpu: row.sums.cpu,
        };
        ProcessRow { cpu: of_requests.cpu + beyond(&of_requests), ..of_requests }
    };
    rows.requests.iter().map(process).collect()
}

fn counts_processes(report: &ReleaseReport) -> bool {
    report.warnings.iter().any(|warning| matches!(warning, ReleaseWarning::ProcessCpuCounted { .. }))
}

/// A background task uses the same CPU time in every process. With a tenth of the traffic, it would look like a change of
/// the cost of requests.
#[test]
fn processes_with_unequal_traffic_are_not_compared() {
    let service = Service { hosts: 1, processes: 8, rate: 30.0, process_spread: 0.0, ..Service::small(60) };
    for (every, counts) in [(1, true), (10, false)] {
        let (mut rows, _) = rows(&service, 4, 1.0, |request: &Recorded, _| {
            let is_new = request.process % 2 == 1;
            (!is_new || (request.end / 1_000).is_multiple_of(every)).then_some(is_new)
        });
        rows.processes = processes(&rows, |_| 5e6);
        let report = report(&rows, 60);
        assert_eq!((report.design, counts_processes(&report)), (ReleaseDesign::Canary, counts));
        assert!(report.total.interval().unwrap().holds(0.0), "{every}: {:?}", report.total);
    }
}

/// One process per version; NEW's does some work once in the window.
#[test]
fn cpu_time_that_processes_use_rarely_widens_the_interval() {
    let source = Source::simulated(&Service::small(180), &mut ChaCha8Rng::seed_from_u64(5));
    for way in [Way::Processes, Way::After] {
        let mut rows = source.window(BEGIN, BEGIN + 180, way, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
        let half_width = |rows: &ReleaseRows| {
            let report = report(rows, 180);
            assert!(counts_processes(&report), "{way:?} {:?}", report.warnings);
            let interval = report.total.interval().unwrap();
            assert!(interval.holds(0.0), "{way:?} {interval:?}");
            interval.half_width()
        };
        rows.processes = processes(&rows, |_| 0.0);
        let usual = half_width(&rows);
        let work = |row: &ProcessRow| {
            if row.version == Some(1) && row.second / 10 == (BEGIN + 120) / 10 { 0.2e9 } else { 0.0 }
        };
        rows.processes = processes(&rows, work);
        let wider = half_width(&rows);
        assert!(wider > 1.2 * usual, "{way:?}: {usual} {wider}");
    }
}
