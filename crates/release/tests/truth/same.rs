//! Invariance: exchanging the versions, the order of rows and splitting rows do not change the result. Also errors and
//! special cases.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, LevelSums, ReleaseRow, ReleaseRows, RequestSums, Verdict};
use steady_release::{JudgeError, ReleaseDesign, ReleaseQuestion, ReleaseReport, ReleaseWarning, judge};

use crate::support::fleet::{Design, Fleet, Played, scraped};
use crate::support::made;
use crate::support::trials::{Source, Way};

const WAYS: [Way; 4] = [Way::Coin(0.3), Way::Slots(1), Way::Processes, Way::After];

fn rows_of(way: Way, seed: u64) -> (ReleaseQuestion, ReleaseRows) {
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    let rows = Source::recorded().window(300, 420, way, 0.03, &mut coin);
    (ReleaseQuestion { by_route: true, ..made::question(300, 420) }, rows)
}

fn shuffle<T>(values: &mut [T], coin: &mut ChaCha8Rng) {
    (1..values.len()).rev().for_each(|at| values.swap(at, coin.random_range(0..=at)));
}

/// Returns small fleets of each design in the form of scrapes, and scraped windows of the recording.
fn fleets() -> Vec<(String, ReleaseQuestion, ReleaseRows)> {
    let mut coin = ChaCha8Rng::seed_from_u64(11);
    let played = Played::new(&Source::recorded(), &mut coin);
    let mut fleets = Vec::new();
    for design in [Design::Coin, Design::Slots, Design::Hosts] {
        for hosts in [2, 7] {
            let fleet = Fleet { effect_spread: 0.01, ..Fleet::of(hosts, design, 0.02) };
            let (from, to) = fleet.ends();
            fleets.push((format!("{design:?} {hosts}"), made::question(from, to), played.rows(&fleet, &mut coin)));
        }
    }
    // Each host has processes of both versions, which the rows do not distinguish.
    let (_, question, rows) = &fleets[1];
    let canaries = |row: &ReleaseRow| ReleaseRow { assignment: Assignment::Canary, ..*row };
    let requests = rows.requests.iter().map(canaries).collect();
    fleets.push(("canaries".into(), question.clone(), ReleaseRows { requests, ..rows.clone() }));
    for way in WAYS {
        let (question, rows) = rows_of(way, 12);
        fleets.push((format!("{way:?} scraped"), question, scraped(&rows, 10)));
    }
    fleets
}

#[test]
fn exchanging_the_versions_negates_all_effects() {
    let plain = WAYS.map(|way| {
        let (question, rows) = rows_of(way, 1);
        (format!("{way:?}"), question, rows)
    });
    for (way, question, rows) in plain.into_iter().chain(fleets()) {
        let swapped = ReleaseQuestion { old: question.new.clone(), new: question.old.clone(), ..question.clone() };
        let (one, other) = (judge(&question, &rows).unwrap(), judge(&swapped, &rows).unwrap());
        assert_eq!(one.design, other.design);
        assert_eq!(one.refused.len(), other.refused.len(), "{way}");
        let changes = |report: &ReleaseReport| {
            let routes = report.routes.iter().map(|route| route.change.clone());
            let hosts = report.hosts.iter().map(|host| host.change.clone());
            std::iter::once(report.total.clone()).chain(routes).chain(hosts).collect::<Vec<_>>()
        };
        let names = |report: &ReleaseReport| {
            report.hosts.iter().map(|host| (host.host.clone(), host.outlying)).collect::<Vec<_>>()
        };
        assert_eq!(names(&one), names(&other), "{way}");
        for (one, other) in changes(&one).into_iter().zip(changes(&other)) {
            assert_eq!(one.interval().is_err(), other.interval().is_err(), "{way}");
            let (Ok(change), Ok(interval)) = (&one.change, &one.interval()) else { continue };
            let (back_interval, back) = (other.interval().unwrap(), other.change.unwrap());
            assert!((change.ln_1p() + back.ln_1p()).abs() < 1e-12, "{way}: {change} {back}");
            assert!((interval.low.ln_1p() + back_interval.high.ln_1p()).abs() < 1e-12, "{way}");
            assert!((interval.high.ln_1p() + back_interval.low.ln_1p()).abs() < 1e-12, "{way}");
        }
    }
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let mut coin = ChaCha8Rng::seed_from_u64(9);
    let plain = WAYS.map(|way| {
        let (question, rows) = rows_of(way, 2);
        (format!("{way:?}"), question, rows)
    });
    for (way, question, mut rows) in plain.into_iter().chain(fleets()) {
        let first = judge(&question, &rows).unwrap();
        shuffle(&mut rows.requests, &mut coin);
        shuffle(&mut rows.rulers, &mut coin);
        shuffle(&mut rows.walls, &mut coin);
        shuffle(&mut rows.seconds, &mut coin);
        assert_eq!(first, judge(&question, &rows).unwrap(), "{way}");
    }
}

/// Returns one of two parts of the sums. The parts add up to the whole exactly.
fn half(sums: &RequestSums, first: bool) -> RequestSums {
    let part = |n: u64| if first { n / 2 } else { n - n / 2 };
    RequestSums {
        requests: part(sums.requests),
        first_requests: part(sums.first_requests),
        failed: part(sums.failed),
        cpu: sums.cpu / 2.0,
        cpu_squared: sums.cpu_squared / 2.0,
        log: sums.log / 2.0,
        log_squared: sums.log_squared / 2.0,
        with_before: part(sums.with_before),
        before: sums.before / 2.0,
        before_squared: sums.before_squared / 2.0,
        before_log: sums.before_log / 2.0,
        log_with_before: sums.log_with_before / 2.0,
        wall: sums.wall / 2.0,
        wall_log: sums.wall_log / 2.0,
        wall_log_squared: sums.wall_log_squared / 2.0,
        watched: part(sums.watched),
        watched_cpu: sums.watched_cpu / 2.0,
        watched_wall: sums.watched_wall / 2.0,
        watched_delay: sums.watched_delay / 2.0,
        levels: LevelSums::from_values(
            part(sums.levels.requests),
            part(sums.levels.exceeding),
            sums.levels.values().map(|value| value / 2.0),
        ),
    }
}

#[test]
fn splitting_rows_does_not_change_the_result() {
    for way in WAYS {
        let (question, mut rows) = rows_of(way, 3);
        let whole = judge(&question, &rows).unwrap();
        let parts = |first| {
            rows.requests.iter().map(move |row| {
                let mut row = *row;
                row.sums = match (row.sums.requests, first) {
                    (0 | 1, true) => row.sums,
                    (0 | 1, false) => RequestSums::default(),
                    _ => half(&row.sums, first),
                };
                row
            })
        };
        rows.requests = parts(true).chain(parts(false)).collect();
        let split = judge(&question, &rows).unwrap();
        assert_eq!(whole.total.requests, split.total.requests);
        match (&whole.total.interval(), &split.total.interval()) {
            (Ok(whole), Ok(split)) => {
                let apart = (whole.low - split.low).abs().max((whole.high - split.high).abs());
                // The ends of the interval by the coins' test are searched for with a tolerance of 0.1 % of their
                // distance.
                let close = if way == Way::Slots(1) { 2e-5 } else { 1e-9 };
                assert!(apart < close, "{way:?}: {whole:?} {split:?}");
            }
            (whole, split) => assert_eq!(whole.is_err(), split.is_err(), "{way:?}"),
        }
    }
}

#[test]
fn windows_that_cannot_be_compared_give_errors() {
    let (question, rows) = rows_of(Way::Coin(0.5), 4);
    let compare =
        |old: &str, new: &str| judge(&ReleaseQuestion { old: old.into(), new: new.into(), ..question.clone() }, &rows);
    assert_eq!(compare("v1", "v1"), Err(JudgeError::SameVersion("v1".into())));
    let there = vec!["v1".to_owned(), "v2".to_owned()];
    assert_eq!(compare("v1", "v3"), Err(JudgeError::NoSuchVersion { version: "v3".into(), there }));
    let later = ReleaseQuestion { from: 900, to: 960, ..question.clone() };
    assert_eq!(judge(&later, &rows), Err(JudgeError::NothingInWindow { service: "shop".into() }));
    let nothing = ReleaseRows::default();
    assert_eq!(judge(&question, &nothing), Err(JudgeError::NothingInWindow { service: "shop".into() }));
    let mut only_first = rows.clone();
    for row in only_first.requests.iter_mut().filter(|row| row.version == 1) {
        row.sums = RequestSums { first_requests: row.sums.requests, ..RequestSums::default() };
    }
    assert!(matches!(judge(&question, &only_first), Err(JudgeError::OnlyFirstRequests { .. })));
    let mut apart = rows.clone();
    apart.requests.iter_mut().filter(|row| row.version == 1).for_each(|row| row.assignment = Assignment::Slot);
    assert!(matches!(judge(&question, &apart), Err(JudgeError::AssignedApart { .. })));
}

#[test]
fn a_minority_of_other_assignments_is_left_out() {
    let (question, mut rows) = rows_of(Way::Coin(0.5), 5);
    let alone = judge(&question, &rows).unwrap();
    let mut others: Vec<_> = rows.requests.iter().filter(|row| row.second < 310).copied().collect();
    others.iter_mut().for_each(|row| {
        row.assignment = Assignment::None;
        row.process += 10;
    });
    let requests: u64 = others.iter().map(|row| row.sums.requests).sum();
    rows.requests.extend(others);
    let mixed = judge(&question, &rows).unwrap();
    assert_eq!((mixed.design, &mixed.total), (ReleaseDesign::RandomPerRequest, &alone.total));
    assert!(mixed.warnings.contains(&ReleaseWarning::OtherAssignments { requests }), "{:?}", mixed.warnings);
}

/// Rows of an earlier agent have no sums in levels. The total is the ratio of means within seconds and routes, with a
/// warning.
#[test]
fn rows_without_sums_in_levels_are_not_adjusted() {
    let (question, mut rows) = rows_of(Way::Coin(0.5), 8);
    let adjusted = judge(&question, &rows).unwrap();
    let mut missing = 0;
    for row in rows.requests.iter_mut().filter(|row| row.second < 310) {
        row.sums.levels = LevelSums::default();
        missing += row.sums.requests;
    }
    let plain = judge(&question, &rows).unwrap();
    assert_eq!(plain.warnings, [ReleaseWarning::NotAdjusted { requests: missing }]);
    let [one, other] = [&adjusted, &plain].map(|report| report.total.interval().clone().unwrap());
    assert!(other.half_width() > one.half_width() && other.holds(0.03), "{one:?} {other:?}");
    assert_eq!(adjusted.usual, plain.usual);
}

/// If the agent or the service was started within the window, the time before is not a gap. A gap after that is
/// reported.
#[test]
fn time_before_the_first_row_is_not_a_gap() {
    let (question, mut rows) = rows_of(Way::Coin(0.5), 9);
    let gaps = |rows: &ReleaseRows, from: u64| {
        let report = judge(&ReleaseQuestion { from, ..question.clone() }, rows).unwrap();
        report.warnings.iter().any(|warning| matches!(warning, ReleaseWarning::Gaps { .. }))
    };
    assert!(!gaps(&rows, 120));
    rows.requests.retain(|row| !(340..370).contains(&row.second));
    assert!(gaps(&rows, 300));
}

/// If one version after the other is undecided, the report recommends coins and no time for more of the same traffic.
#[test]
fn an_undecided_comparison_one_after_the_other_recommends_coins() {
    let source = Source::recorded();
    let mut open = 0;
    for seed in 0..20 {
        let rows = source.window(200, 440, Way::After, 0.004, &mut ChaCha8Rng::seed_from_u64(seed));
        let question = ReleaseQuestion { by_route: true, ..made::question(200 + seed, 440) };
        let report = judge(&question, &rows).unwrap();
        let changes = report.routes.iter().map(|route| &route.change).chain([&report.total]);
        assert!(changes.clone().count() > 1 && changes.clone().all(|change| change.settle_seconds.is_err()));
        let undecided = report.total.verdict == Verdict::Undecided;
        assert_eq!(report.settle.is_ok(), undecided, "{report:?}");
        open += u32::from(undecided);
    }
    assert!(open > 0);
}

/// New processes of the same code may differ from the old ones together, also if there are several at a time or a worker
/// was recycled. Those of several hosts average out. Processes that both versions share do not differ.
#[test]
fn the_interval_includes_what_new_processes_differ_by() {
    let (from, to) = (200, 440);
    let question = made::question(from, to);
    let rows = Source::recorded().window(from, to, Way::After, 0.0, &mut ChaCha8Rng::seed_from_u64(0));
    let judged = |hosts: u64, process: fn(&ReleaseRow, u64) -> u64| {
        let mut rows = rows.clone();
        for row in &mut rows.requests {
            row.host = (row.process % hosts) as u32;
            row.process = process(row, from + (to - from) / 4);
        }
        let report = judge(&question, &rows).unwrap();
        assert_eq!((report.design, report.refused.len()), (ReleaseDesign::OneAfterTheOther, 0));
        let allowance = report.warnings.iter().find_map(|warning| match warning {
            ReleaseWarning::ForkedProcesses { allowance } => Some(*allowance),
            _ => None,
        });
        let interval = report.total.interval().unwrap();
        (allowance, (interval.high.ln_1p() - interval.low.ln_1p()) / 2.0)
    };
    let (none, half_width) = judged(1, |row, _| row.process);
    assert_eq!(none, None);
    let includes = |process: fn(&ReleaseRow, u64) -> u64| {
        let (allowance, wider) = judged(1, process);
        assert!((wider - half_width - 0.03).abs() < 1e-9, "{wider} {half_width}");
        allowance == Some(0.03)
    };
    assert!(includes(|row, _| 10 * (1 + u64::from(row.version))));
    assert!(includes(|row, recycled| 10 * (1 + u64::from(row.version)) + u64::from(row.second >= recycled)));
    assert!(includes(|row, _| 10 * (1 + u64::from(row.version)) + row.process % 2));
    // Counted from outside, each version in processes of its own.
    assert_eq!(judged(1, |_, _| 0).0, Some(0.03));
    let (allowance, _) = judged(2, |row, _| 10 * (1 + u64::from(row.version)));
    assert!((allowance.unwrap() - 0.03 / 2.0_f64.sqrt()).abs() < 1e-9, "{allowance:?}");
    // A metrics store does not distinguish processes.
    let scraped = judge(&question, &scraped(&rows, 10)).unwrap();
    let included = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::ForkedProcesses { .. });
    assert!(scraped.warnings.iter().any(included), "{:?}", scraped.warnings);
}

/// Costs are adjusted for load by those of the other version at the same time. One version after the other has none.
#[test]
fn a_course_is_adjusted_only_if_both_versions_served_at_the_same_time() {
    for (way, together) in [(Way::Coin(0.3), true), (Way::Slots(1), true), (Way::Processes, true), (Way::After, false)]
    {
        let (question, rows) = rows_of(way, 11);
        let moments = judge(&question, &rows).unwrap().course.moments;
        let adjusted = moments.iter().filter(|moment| moment.adjusted().iter().any(Option::is_some)).count();
        let expected = if together { moments.len() / 2..=moments.len() } else { 0..=0 };
        assert!(expected.contains(&adjusted), "{way:?}: {adjusted} of {}", moments.len());
    }
}

/// Distributions of wall times that extend beyond the window do not count, and a window without a whole one has none.
#[test]
fn quantiles_describe_requests_of_the_window_only() {
    let (question, rows) = rows_of(Way::Coin(0.3), 10);
    let wall = |from, to, rows: &ReleaseRows| {
        let question = ReleaseQuestion { from, to, ..question.clone() };
        judge(&question, rows).unwrap().wall.map(|wall| wall.quantiles)
    };
    let (from, to) = (question.from.next_multiple_of(10), question.to / 10 * 10);
    let mut within = rows.clone();
    within.walls.retain(|row| (from + 10..to - 10).contains(&row.second));
    assert!(within.walls.len() < rows.walls.len());
    assert_eq!(wall(from + 3, to - 3, &rows), wall(from + 3, to - 3, &within));
    let why = wall(from + 38, from + 46, &rows).unwrap_err().0;
    assert!(why.contains("stored for 10 seconds at a time"), "{why}");
    // Less than a minute of whole distributions has quantiles without intervals.
    let short = wall(from + 1, from + 61, &rows).unwrap();
    assert!(short[0].interval().unwrap_err().0.contains("at least 6 whole stretches"));
    assert!(wall(from, from + 60, &rows).unwrap()[0].interval().is_ok());
}

/// The first sentence and the table contain the same median.
#[test]
fn medians_of_wall_time_have_one_definition() {
    for way in [Way::Coin(0.3), Way::Slots(1), Way::Processes, Way::After] {
        let (question, rows) = rows_of(way, 10);
        let wall = judge(&question, &rows).unwrap().wall.unwrap();
        let [old, new] = wall.quantiles[0].times.map(|time| time.seconds());
        let change = wall.median_change.unwrap();
        assert!((new / old - 1.0 - change).abs() < 1e-6, "{way:?}: {old} {new} {change}");
    }
}

/// One request in fifty of NEW costs ten times as much. The usual request does not change, the total does.
#[test]
fn a_more_expensive_tail_decides_the_verdict() {
    let source = Source::recorded();
    for (slot, seconds) in [(0, 60), (1, 120)] {
        let mut slower = 0;
        for seed in 0..20 {
            let mut coin = ChaCha8Rng::seed_from_u64(seed);
            let requests = made::within(&source.requests, 300, 300 + seconds, |request| request.end);
            let rows = made::rows(requests, &[], |request| {
                let number = made::second(request.end - request.wall);
                let first: bool = ChaCha8Rng::seed_from_u64((seed << 32) | (number / 2)).random();
                let is_new = if slot == 0 { coin.random() } else { first ^ (number % 2 == 1) };
                let factor = if is_new && coin.random::<f64>() < 0.02 { 10.0 } else { 1.0 };
                let factor = if request.version == 2 { 0.0 } else { factor };
                let assignment = if slot == 0 { Assignment::Random } else { Assignment::Slot };
                made::Label { version: u32::from(is_new), assignment, slot_seconds: slot, factor, class: 0 }
            });
            let report = judge(&made::question(300, 300 + seconds), &rows).unwrap();
            slower += usize::from(report.total.verdict == Verdict::Slower);
            assert!(report.total.change.as_ref().is_ok_and(|change| *change > 0.08), "{:?}", report.total);
            assert!(report.usual.change.as_ref().is_ok_and(|change| change.abs() < 0.05), "{:?}", report.usual);
            assert!(!report.tails.is_empty(), "{:?} {:?}", report.total, report.usual);
            // Only requests above three times the usual cost changed.
            for tail in &report.tails {
                assert!(tail.below.change.as_ref().unwrap().abs() < 0.1, "{tail:?}");
                assert!(tail.above.change.as_ref().map_or(true, |above| *above > 0.5), "{tail:?}");
                assert!(tail.above_ratio[1] > tail.above_ratio[0] + 0.01, "{tail:?}");
            }
        }
        assert_eq!(slower, 20, "slots of {slot} s");
    }
}

#[test]
fn few_requests_are_undecided() {
    let (question, rows) = rows_of(Way::Coin(0.5), 6);
    for keep in [1, 3, 10, 30, 100] {
        for way in WAYS {
            let assignment = match way {
                Way::Coin(_) => Assignment::Random,
                Way::Slots(_) => Assignment::Slot,
                _ => Assignment::None,
            };
            let mut few = rows.clone();
            few.rulers.clear();
            few.requests.retain(|row| row.version == 0);
            few.requests.truncate(keep);
            let twins: Vec<_> = few
                .requests
                .iter()
                .map(|row| {
                    let mut twin = *row;
                    twin.version = 1;
                    if way == Way::After {
                        twin.second += 60;
                    }
                    twin
                })
                .collect();
            few.requests.extend(twins);
            few.requests.iter_mut().for_each(|row| {
                row.assignment = assignment;
                row.slot_seconds = u32::from(assignment == Assignment::Slot);
            });
            let report = judge(&question, &few).unwrap();
            assert!(
                matches!(report.total.verdict, Verdict::Undecided | Verdict::Same),
                "{way:?} {keep}: {:?}",
                report.total
            );
            if let Ok(change) = &report.total.change {
                assert!(change.is_finite() && change.abs() < 1e-6, "{way:?} {keep}: {:?}", report.total);
            }
        }
    }
}

/// A counter of the service counted the requests of two versions on one host, so there are no processes and no
/// logarithms.
#[test]
fn requests_counted_by_the_service_can_be_compared() {
    let (question, mut rows) = rows_of(Way::Processes, 7);
    let inside = judge(&question, &rows).unwrap();
    for row in &mut rows.requests {
        row.process = 0;
        row.sums = RequestSums { requests: row.sums.requests, cpu: row.sums.cpu, ..RequestSums::default() };
    }
    let outside = judge(&question, &rows).unwrap();
    assert!(outside.from_outside && outside.wall.is_err() && outside.sides[0].wall_mean.is_err());
    assert!(question.by_route && outside.routes.is_empty() && outside.usual.change.is_err());
    assert_eq!(outside.design, ReleaseDesign::Canary);
    assert!(outside.warnings.iter().any(|warning| matches!(warning, ReleaseWarning::OneProcessASide { .. })));
    let (inside, outside) = (inside.total.change.unwrap(), outside.total.change.unwrap());
    assert!((inside - outside).abs() < 0.05, "{inside} {outside}");
}
