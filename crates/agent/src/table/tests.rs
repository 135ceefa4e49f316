//! Tests of the rows that datagrams give.

use std::fmt::Write;

use proptest::prelude::*;
use steady_model::{Assignment, ReleaseRows, RequestProcess, RequestRuler, wall_bucket};

use crate::record::LineFault;

use super::processes::{Processes, number_of};
use super::*;

/// 100.5 s after the boot, in second 1,000 since 1970.
const NOW: Now = Now { monotonic: 100 * SECOND + SECOND / 2, ahead: 900 };

fn datagram(service: &str, pid: u32, lines: &str) -> Vec<u8> {
    format!("steady/1\t{service}\t{pid}\t5\n{lines}").into_bytes()
}

fn request(end: u64, number: u64, version: &str, route: &str, more: &str) -> String {
    format!("r\t{end}\t{number}\t{version}\t{route}\t200\t1000\t2500\t{more}\n")
}

fn limits() -> Limits {
    Limits {
        services: 2,
        versions: 2,
        routes: 3,
        route_bytes: 1_000,
        classes: 2,
        processes: 4,
        rows: 100,
        late_seconds: 60,
    }
}

/// Adds lines of the service `shop`, and returns its rows.
fn rows(table: &mut Table, lines: &str) -> ReleaseRows {
    table.take_in(&datagram("shop", 7, lines), NOW);
    table.take("here").pop().unwrap_or_default()
}

#[test]
fn requests_are_added_to_the_row_of_their_second() {
    let mut table = Table::new(limits());
    let end = NOW.monotonic;
    let mut lines = request(end, 151, "v1", "/", "random\tdelay=7\truler=syscall:900");
    lines += &request(end - SECOND, 152, "v1", "/", "random");
    lines += &request(end, 153, "v1", "/", "random");
    lines += &request(end, 3, "v1", "/", "none\truler=alu:1");
    let rows = rows(&mut table, &lines);
    let mut all: Vec<_> = rows
        .requests
        .iter()
        .map(|row| (row.second, row.assignment, row.sums.requests, row.sums.first_requests))
        .collect();
    all.sort_unstable();
    assert_eq!(
        all,
        [(999, Assignment::Random, 1, 0), (1_000, Assignment::Random, 2, 0), (1_000, Assignment::None, 0, 1)]
    );
    assert!(rows.requests.iter().all(|row| row.process == number_of(RequestProcess { pid: 7, began: 5 })));
    let row = rows.requests.iter().find(|row| row.second == 1_000 && row.sums.requests == 2).unwrap();
    assert_eq!((row.sums.cpu, row.sums.wall, row.sums.watched, row.sums.watched_delay), (2_000.0, 5_000.0, 1, 7.0));
    assert_eq!(rows.rulers.len(), 1, "the ruler of a request of the warm-up is left out");
    assert_eq!(
        (rows.rulers[0].ruler, rows.rulers[0].second, rows.rulers[0].sums.readings),
        (RequestRuler::Syscall, 1_000, 1)
    );
    assert_eq!(rows.rulers[0].sums.log, 900_f64.ln());
    let walls: Vec<_> = rows.walls.iter().map(|wall| (wall.second, wall.counts.clone())).collect();
    let bucket = wall_bucket(2_500);
    assert!(walls.contains(&(990, vec![(bucket, 1)])) && walls.contains(&(1_000, vec![(bucket, 2)])), "{walls:?}");
    assert!(table.take("here").is_empty(), "the rows were removed");
}

#[test]
fn requests_in_slots_have_the_first_second_of_the_slot_and_its_place_in_the_pair() {
    let mut table = Table::new(limits());
    let end = NOW.monotonic;
    let lines = request(end, 200, "v1", "/", "slot\tslot=3:99\truler=alu:10")
        + &request(end, 201, "v2", "/", "slot\tslot=2:100");
    let rows = rows(&mut table, &lines);
    let mut all: Vec<_> = rows.requests.iter().map(|row| (row.second, row.slot_seconds, row.second_of_pair)).collect();
    all.sort_unstable();
    assert_eq!(all, [(999, 3, true), (1_000, 2, false)]);
    assert_eq!(rows.rulers[0].second, 999);
    table.take_in(&datagram("shop", 7, &request(end, 202, "v1", "/", "slot\tslot=2:50")), NOW);
    assert_eq!(
        table.arrived().faults[LineFault::Slot.index()],
        1,
        "the request cannot have begun in a slot that long ago"
    );
}

#[test]
fn a_service_that_sends_only_invalid_lines_is_not_silent() {
    let mut table = Table::new(limits());
    table.take_in(&datagram("shop", 7, &request(NOW.monotonic, 202, "v1", "/", "slot\tslot=2:50")), NOW);
    let later = |seconds| Now { monotonic: NOW.monotonic + seconds * SECOND, ..NOW };
    let facts = |seconds| table.services(later(seconds)).remove(0);
    assert_eq!((facts(44).versions, facts(44).silent_seconds), (vec![], 44));
}

/// Many requests at once after a pause are not a high rate.
#[test]
fn the_rate_of_requests_is_that_of_the_last_minute() {
    let mut table = Table::new(limits());
    table.take_in(&datagram("shop", 7, ""), NOW);
    let rate = |table: &mut Table, seconds: usize| {
        (0..seconds).for_each(|_| table.tick());
        table.services(NOW)[0].per_second
    };
    assert_eq!(rate(&mut table, 100), 0.0);
    table.take_in(&datagram("shop", 7, &request(NOW.monotonic, 202, "v1", "/", "none").repeat(30)), NOW);
    assert_eq!([rate(&mut table, 1), rate(&mut table, 59), rate(&mut table, 1)], [0.5, 0.5, 0.0]);
}

#[test]
fn the_time_of_receipt_replaces_an_impossible_end() {
    let mut table = Table::new(limits());
    let later = NOW.monotonic + 3 * SECOND;
    let lines = [0, later, u64::MAX, NOW.monotonic - 61 * SECOND].map(|end| request(end, 151, "v1", "/", "none"));
    let rows = rows(&mut table, &lines.concat());
    assert_eq!(rows.requests.len(), 1);
    assert_eq!((rows.requests[0].second, rows.requests[0].sums.requests), (1_000, 4));
    assert_eq!(table.arrived().ends_replaced, 4);
    // The process counts its requests since 95 s after the boot.
    let began = 95 * SECOND;
    let lines = [began - 1, began].map(|end| request(end, 151, "v1", "/", "none")).concat();
    table.take_in(format!("steady/1\tshop\t7\t{began}\n{lines}").as_bytes(), NOW);
    assert_eq!(table.arrived().ends_replaced, 5);
}

/// Middleware sends this name for the names beyond its own limit.
#[test]
fn the_name_other_is_that_of_the_names_beyond_the_limit() {
    let mut table = Table::new(limits());
    let routes = ["(other)", "/0", "/1", "/2", "/3", "(other)"];
    let lines = routes.map(|route| request(NOW.monotonic, 151, "v1", route, "none\tclass=(other)")).concat();
    let rows = rows(&mut table, &lines);
    let mut requests: Vec<(&str, u64)> =
        rows.requests.iter().map(|row| (rows.routes[row.route as usize].as_str(), row.sums.requests)).collect();
    requests.sort_unstable();
    assert_eq!(requests, [("(other)", 3), ("/0", 1), ("/1", 1), ("/2", 1)]);
    assert_eq!((rows.classes, rows.folded), (vec![String::new(), "(other)".to_owned()], 1), "only /3 is folded");
}

#[test]
fn names_beyond_the_limits_are_folded_and_counted() {
    let mut table = Table::new(limits());
    let mut lines = String::new();
    for number in 0..10 {
        lines += &request(NOW.monotonic, 151 + number, "v1", &format!("/{number}"), "none");
    }
    lines += &request(NOW.monotonic, 170, "v2", "/0", "none");
    lines += &request(NOW.monotonic, 171, "v3", "/0", "none");
    lines += "l\t5\n";
    let rows = rows(&mut table, &lines);
    let mut routes = rows.routes.clone();
    routes.sort();
    assert_eq!(routes, ["(other)", "/0", "/1", "/2"]);
    assert_eq!((rows.folded, rows.lost, rows.versions.len()), (8, 5, 2));
    assert_eq!((table.arrived().folded, table.arrived().requests), (8, 12));
    for service in ["a", "b", "c"] {
        table.take_in(&datagram(service, 1, &request(NOW.monotonic, 151, "v", "/", "none")), NOW);
    }
    assert_eq!((table.take("here").len(), table.arrived().folded), (1, 10));
    assert_eq!((table.arrived().requests, table.arrived().left_out), (15, 3), "of v3 and of two services");
    // After 700 s without a datagram, another service replaces the shop.
    let later = Now { monotonic: NOW.monotonic + 700 * SECOND, ..NOW };
    table.take_in(&datagram("c", 1, &request(later.monotonic, 151, "v", "/", "none")), later);
    assert_eq!(table.take("here")[0].service, "c");
}

/// Four services with long names leave the others a tenth of what each of them has.
#[test]
fn services_share_the_space_for_names_of_routes() {
    let mut table = Table::new(Limits { services: 20, routes: 1_000, route_bytes: 1_000, ..limits() });
    for service in 0..20 {
        let line = |route: u64| request(NOW.monotonic, 151, "v1", &format!("/long-route-number/{route:05}"), "none");
        let lines: String = (0..100).map(line).collect();
        table.take_in(&datagram(&format!("service {service}"), 7, &lines), NOW);
    }
    let bytes: Vec<usize> = table.services.values().map(Service::route_bytes).collect();
    assert!(bytes.iter().all(|bytes| (75..=1_000).contains(bytes)), "{bytes:?}");
    assert!(bytes.iter().sum::<usize>() <= 6_000, "{bytes:?}");
}

/// A later, shorter name still fits, and a name that is replaced makes space.
#[test]
fn long_names_of_routes_are_folded() {
    let mut table = Table::new(Limits { routes: 10, route_bytes: 10, ..limits() });
    let routes = |table: &mut Table, names: &[&str], now: Now| {
        let lines = names.iter().map(|name| request(now.monotonic, 151, "v1", name, "none")).collect::<String>();
        table.take_in(&datagram("shop", 7, &lines), now);
        let mut rows = table.take("here").pop().unwrap();
        rows.routes.sort();
        (rows.routes, rows.folded)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let found = routes(&mut table, &["/long/1", "/long/2", "/b"], NOW);
    assert_eq!(found, (names(&["(other)", "/b", "/long/1"]), 1));
    let later = Now { monotonic: NOW.monotonic + 700 * SECOND, ..NOW };
    assert_eq!(routes(&mut table, &["/b", "/long/2", "/long/10"], later), (names(&["(other)", "/b", "/long/2"]), 1));
}

#[test]
fn classes_have_separate_rows_up_to_a_limit() {
    let mut table = Table::new(limits());
    let mut lines = String::new();
    for (number, class) in
        ["", "\tclass=", "\tclass=hit", "\tclass=hit", "\tclass=miss", "\tclass=a", "\tclass=b"].iter().enumerate()
    {
        lines += &request(NOW.monotonic, 151 + number as u64, "v1", "/", &format!("none{class}"));
    }
    for number in 0..3 {
        lines += &request(NOW.monotonic, 161, "v1", &format!("/{number}"), "none\tclass=c");
    }
    let rows = rows(&mut table, &lines);
    assert_eq!(rows.classes[0], "", "the first name is for requests without a class");
    let requests = |route: &str, class: &str| {
        let of = |row: &&steady_model::ReleaseRow| {
            rows.routes[row.route as usize] == route && rows.classes[row.class as usize] == class
        };
        rows.requests.iter().filter(of).map(|row| row.sums.requests).collect::<Vec<_>>()
    };
    assert_eq!([requests("/", ""), requests("/", "hit"), requests("/", "miss")], [[2], [2], [1]]);
    assert_eq!([requests("/", "(other)"), requests("/0", "(other)"), requests("(other)", "(other)")], [[2], [1], [1]]);
    assert_eq!((rows.folded, table.arrived().folded), (5, 5), "a request with a folded route and class counts once");
    let plain = self::rows(&mut table, &request(NOW.monotonic, 151, "v1", "/", "none"));
    assert_eq!((plain.classes.len(), plain.requests[0].class), (0, 0));
}

/// The bound depends on the usual cost of the class, and the ruler of a line is a covariate of its request.
#[test]
fn sums_in_levels_have_a_bound_for_each_class_and_the_ruler() {
    let mut table = Table::new(limits());
    let line = |number: u64, class: &str, cpu: u64, ruler: u64| {
        let end = NOW.monotonic;
        format!("r\t{end}\t{number}\tv1\t/\t200\t{cpu}\t90000\trandom{class}\truler=alu:{ruler}\n")
    };
    let mut lines = String::new();
    for number in (151..191).step_by(4) {
        lines += &line(number, "\tclass=small", 1_000, 500);
        lines += &line(number + 1, "\tclass=large", 20_000, 500);
        lines += &line(number + 2, "", 100, 500);
        lines += &line(number + 3, "\tclass=too-many", 7_000, 500);
        lines += &line(number + 3, "\tclass=too-many-2", 7_000, 500);
    }
    // With fewer requests, the usual cost of a class would be unknown.
    for number in 191..200 {
        lines += &line(number, "\tclass=small", 1_000, 500);
        lines += &line(number, "\tclass=large", 20_000, 500);
        lines += &line(number, "", 100, 500);
    }
    rows(&mut table, &lines);
    let next = [("\tclass=small", 20_000), ("\tclass=large", 20_000), ("", 20_000), ("\tclass=too-many", 20_000)];
    let lines: String = next.iter().map(|(class, cpu)| line(200, class, *cpu, 600)).collect();
    let rows = rows(&mut table, &lines);
    let levels = |class: &str| {
        let of = |row: &&steady_model::ReleaseRow| rows.classes[row.class as usize] == class;
        let found: Vec<_> = rows.requests.iter().filter(of).map(|row| row.sums.levels).collect();
        assert_eq!(found.len(), 1, "{class}: {found:?}");
        found[0]
    };
    let costs = |class: &str| (levels(class).requests, levels(class).base, levels(class).excess);
    assert_eq!(costs("small"), (1, 3_000.0, 17_000.0));
    assert_eq!(costs("large"), (1, 20_000.0, 0.0));
    assert_eq!(costs(""), (1, 300.0, 19_700.0));
    assert_eq!(costs("(other)"), (1, 20_000.0, 0.0), "20 requests of 7000");
    let expected = 20_000.0 * (600.0_f64 / 500.0).ln();
    let large = levels("large");
    // The usual reading follows the readings before it, so the result is not exact.
    assert!((large.ruler / expected - 1.0).abs() < 0.05, "{large:?}, {expected}");
    assert!((large.ruler_base / (large.ruler * large.base) - 1.0).abs() < 1e-9, "{large:?}");
}

/// Adds lines, and returns the rows of processes: version, second, length of the slot, CPU time, and CPU time of
/// requests.
fn cpu(table: &mut Table, lines: &str) -> Vec<(String, u64, u32, f64, f64)> {
    let rows = rows(table, lines);
    let version = |place: u32| rows.versions[place as usize].clone();
    let row = |row: &steady_model::ProcessRow| {
        assert_eq!(row.process, number_of(RequestProcess { pid: 7, began: 5 }));
        (row.version.map_or("-".to_owned(), version), row.second, row.slot_seconds, row.cpu, row.requests_cpu)
    };
    rows.processes.iter().map(row).collect()
}

#[test]
fn cpu_time_of_a_process_is_what_it_used_between_readings() {
    let mut table = Table::new(limits());
    let now = NOW.monotonic;
    assert_eq!(
        cpu(&mut table, &format!("c\t{}\t900\t300\n", now - 3 * SECOND)),
        [],
        "the first reading starts the count"
    );
    let lines = format!("c\t{}\t950\t340\tversion=v1\nc\t{}\t960\t345\tversion=v1\n", now - SECOND, now - SECOND + 1);
    assert_eq!(cpu(&mut table, &lines), [("v1".to_owned(), 999, 0, 60.0, 45.0)]);
    // The reading of 2_000 ns was lost; the difference to the next reading includes its time.
    assert_eq!(cpu(&mut table, &format!("c\t{now}\t3000\t2000\n")), [("-".to_owned(), 1_000, 0, 2_040.0, 1_655.0)]);
    // A reading that arrives late is ignored, because the later one includes its time.
    assert_eq!(cpu(&mut table, &format!("c\t{}\t2000\t1000\n", now - 5)), []);
    // If a counter went back, the count starts again.
    assert_eq!(
        cpu(&mut table, &format!("c\t{}\t10\t5\nc\t{}\t15\t7\n", now + 1, now + 2)),
        [("-".to_owned(), 1_000, 0, 5.0, 2.0)]
    );
    // Another process with the same process ID has its own count.
    table.take_in(format!("steady/1\tshop\t7\t6\nc\t{}\t20\t10\n", now + 3).as_bytes(), NOW);
    assert!(table.take("here").is_empty());
    assert_eq!(table.arrived().faults.iter().sum::<u64>(), 0);
    for time in [0, now - 61 * SECOND, now + 2 * SECOND, u64::MAX] {
        assert_eq!(cpu(&mut table, &format!("c\t{time}\t1000\t1000\n")), []);
    }
    assert_eq!(table.arrived().faults[LineFault::Number.index()], 4);
    assert_eq!(cpu(&mut table, &format!("c\t{}\t{}\t{}\tx=y\n", now + 4, u64::MAX, u64::MAX)).len(), 1);
    assert_eq!(table.arrived().faults[LineFault::Name.index()], 1);
}

#[test]
fn cpu_time_of_a_process_counts_for_a_version_only_if_it_ran_no_other() {
    let mut table = Table::new(limits());
    let at = |tenths: u64| 90 * SECOND + tenths * SECOND / 10;
    let line = |tenths: u64, cpu: u64, more: &str| format!("c\t{}\t{cpu}\t{cpu}\t{more}\n", at(tenths));
    cpu(&mut table, &line(0, 0, "version=v1"));
    // Slots are of two seconds; the first reading is at 90.0 s.
    assert_eq!(cpu(&mut table, &line(21, 1, "slot=2:90\tversion=v1")), [("v1".to_owned(), 990, 2, 1.0, 1.0)]);
    assert_eq!(cpu(&mut table, &line(30, 3, "slot=2:92\tversion=v2")), [("v2".to_owned(), 992, 2, 2.0, 2.0)]);
    let mixed = |second: u64, cpu: f64| [("-".to_owned(), second, 0, cpu, cpu)];
    assert_eq!(
        cpu(&mut table, &line(45, 6, "slot=2:94\tversion=v1")),
        mixed(994, 3.0),
        "the interval begins in the previous slot"
    );
    assert_eq!(
        cpu(&mut table, &line(90, 10, "slot=2:94\tversion=v1")),
        mixed(999, 4.0),
        "the interval ends two slots later"
    );
    assert_eq!(cpu(&mut table, &line(91, 15, "slot=2:98")), mixed(999, 5.0), "no version is named");
    // The lost lines may include a reading.
    let lost = format!("l\t3\n{}{}", line(92, 21, "version=v1"), line(93, 28, "version=v1"));
    let mut rows = cpu(&mut table, &lost);
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(rows, [("-".to_owned(), 999, 0, 6.0, 6.0), ("v1".to_owned(), 999, 0, 7.0, 7.0)]);
    let third = line(94, 30, "version=v2") + &line(95, 33, "version=v3");
    let mut rows = cpu(&mut table, &third);
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        rows,
        [("-".to_owned(), 999, 0, 3.0, 3.0), ("v2".to_owned(), 999, 0, 2.0, 2.0)],
        "v3 exceeds the limit of versions"
    );
}

#[test]
fn new_names_replace_unused_ones() {
    let mut table = Table::new(limits());
    let route = |second: u64| request(NOW.monotonic + second * SECOND, 151, "v1", &format!("/{second}"), "none");
    for second in [0, 1, 2, 650] {
        let now = Now { monotonic: NOW.monotonic + second * SECOND, ..NOW };
        table.take_in(&datagram("shop", 7, &route(second)), now);
    }
    let rows = table.take("here").pop().unwrap();
    assert!(rows.routes.contains(&"/650".to_owned()) && !rows.routes.contains(&"/0".to_owned()), "{:?}", rows.routes);
    assert_eq!(rows.folded, 0);
}

/// The usual costs of a version, route or class do not apply to the name that has its number later.
#[test]
fn a_new_name_does_not_have_the_costs_of_the_one_that_it_replaces() {
    let line = |second: u64, number: u64, names: [&str; 3], cpu: u64| {
        let [version, route, class] = names;
        let end = NOW.monotonic + second * SECOND;
        request(end, number, version, route, &format!("random\tclass={class}"))
            .replace("\t1000\t", &format!("\t{cpu}\t"))
    };
    let at = |second: u64| Now { monotonic: NOW.monotonic + second * SECOND, ..NOW };
    for (one, other, new) in [
        (["v1", "/", "a"], ["v2", "/", "a"], ["v3", "/", "a"]),
        (["v", "/1", "a"], ["v", "/2", "a"], ["v", "/4", "a"]),
        (["v", "/", "a"], ["v", "/", "b"], ["v", "/", "c"]),
    ] {
        let mut table = Table::new(Limits { routes: 2, ..limits() });
        let usual = |number: u64| if number.is_multiple_of(2) { 970_000 } else { 1_030_000 };
        for names in [one, other] {
            let lines: String = (151..351).map(|number| line(0, number, names, usual(number))).collect();
            lines.split_inclusive('\n').for_each(|line| table.take_in(&datagram("shop", 7, line), NOW));
        }
        table.take_in(&datagram("shop", 7, &line(650, 351, other, 1_000_000)), at(650));
        table.take("here");
        let lines: String = (352..372).map(|number| line(651, number, new, 1_500_000)).collect();
        table.take_in(&datagram("shop", 7, &lines), at(651));
        let rows = table.take("here").pop().unwrap();
        let [row] = &rows.requests[..] else { panic!("{:?}", rows.requests) };
        let log = row.sums.log / row.sums.requests as f64;
        assert!(log - 1e6_f64.ln() > 0.3, "{new:?}: {log}");
    }
}

#[test]
fn the_least_recently_seen_processes_are_forgotten() {
    let mut processes = Processes::default();
    let mut accumulator = steady_stats::release::Accumulator::new();
    for pid in 0..100 {
        processes.seen(RequestProcess { pid, began: 0 }, u64::from(pid), 8, &mut accumulator);
        assert!(processes.len() <= 8);
    }
    assert!(processes.since(99) == 1 && processes.since(95) >= 4);
}

#[test]
fn rows_are_bounded_and_requests_given_up_count_as_lost() {
    let mut table = Table::new(Limits { processes: 1_000, ..limits() });
    for pid in 0..60 {
        assert_eq!(table.is_full(), pid >= 50, "each datagram adds two rows, of requests and of wall times");
        let lines = request(NOW.monotonic, 151, "v1", &format!("/{}", pid % 3), "none");
        let other = Now { monotonic: NOW.monotonic + u64::from(pid) * 10 * SECOND, ..NOW };
        let lines = lines.replace(&NOW.monotonic.to_string(), &other.monotonic.to_string());
        table.take_in(&datagram("shop", pid, &lines), other);
    }
    let rows = table.take("here");
    table.give_up(&rows);
    table.take_in(&datagram("shop", 1, "l\t1\n"), NOW);
    assert_eq!(table.take("here")[0].lost, 61);
}

#[test]
fn names_with_special_characters_are_preserved() {
    let mut table = Table::new(limits());
    let rows = rows(&mut table, &request(NOW.monotonic, 151, "v\\n\"\u{1f40c}", "/a\\tb'\\\\\u{0}", "none"));
    assert_eq!((rows.versions[0].as_str(), rows.routes[0].as_str()), ("v\n\"\u{1f40c}", "/a\tb'\\\u{0}"));
}

proptest! {
    #[test]
    fn rows_stay_within_their_limits(datagrams in prop::collection::vec(
        ("[a-c]", any::<u8>(), prop::collection::vec((any::<u64>(), 1..400_u64, "v[0-9]{0,2}", "/[0-9]{0,2}", "none|random|slot\tslot=1:100|x"), 0..9)), 0..30)) {
        let limits = Limits { rows: 40, ..limits() };
        let mut table = Table::new(limits);
        let (mut sent, mut kept) = (0, 0);
        for (service, pid, requests) in datagrams {
            let mut lines = String::new();
            for (end, number, version, route, way) in &requests {
                let end = if end % 2 == 0 { NOW.monotonic - end % SECOND } else { *end };
                write!(lines, "{}", request(end, *number, version, route, way)).unwrap();
                sent += 1;
            }
            table.take_in(&datagram(&service, u32::from(pid), &lines), NOW);
            if table.is_full() {
                kept += requests_in(&table.take("here"));
            }
            prop_assert!(table.services(NOW).len() <= limits.services);
        }
        kept += requests_in(&table.take("here"));
        let arrived = table.arrived();
        let bad: u64 = arrived.faults.iter().sum();
        // Requests of versions beyond the limit are in no row; those of routes beyond the limit are in the row
        // `(other)`.
        prop_assert!(kept + bad <= sent && kept + bad + arrived.folded >= sent, "{kept} {bad} {arrived:?} {sent}");
    }
}

fn requests_in(rows: &[ReleaseRows]) -> u64 {
    rows.iter().flat_map(|rows| &rows.requests).map(|row| row.sums.requests + row.sums.first_requests).sum()
}
