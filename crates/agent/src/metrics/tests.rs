//! Tests of the published metrics.

use std::collections::HashSet;

use steady_model::{
    Assignment, HostSecond, LevelSums, ProcessRow, ReleaseRow, ReleaseRulerRow, RequestRuler, RequestSums, RulerSums,
    WallRow, wall_bucket,
};

use super::sums::MOST;
use super::text::Dialect;
use super::*;

const START: f64 = 1_700_000_000.25;

fn sums() -> PublishedSums {
    PublishedSums::new(Limits { services: 2, versions: 3, routes: 4, ..Limits::default() }, START)
}

/// A row of requests with 1 ms of CPU time each.
fn row(version: u32, route: u32, requests: u64) -> ReleaseRow {
    let each = requests as f64;
    let log = 1e6_f64.ln();
    let sums = RequestSums {
        requests,
        first_requests: 3,
        cpu: 1e6 * each,
        cpu_squared: 1e12 * each,
        log: log * each,
        log_squared: log * log * each,
        before: -0.25 * each,
        wall: 2e6 * each,
        levels: LevelSums { requests, ..LevelSums::default() },
        ..RequestSums::default()
    };
    ReleaseRow {
        second: 0,
        host: 0,
        process: 7,
        version,
        route,
        class: 0,
        assignment: Assignment::Random,
        span_seconds: 1,
        slot_seconds: 0,
        second_of_pair: false,
        sums,
    }
}

/// The rows of a service, with the names that they refer to.
fn rows(service: &str, versions: &[&str], routes: &[&str], requests: Vec<ReleaseRow>) -> ReleaseRows {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    ReleaseRows {
        service: service.to_owned(),
        hosts: vec!["here".to_owned()],
        versions: texts(versions),
        routes: texts(routes),
        requests,
        ..ReleaseRows::default()
    }
}

fn batch(second: u64, services: Vec<ReleaseRows>) -> Batch {
    Batch { second, host: "here".to_owned(), services, ..Batch::default() }
}

fn page(sums: &PublishedSums, dialect: Dialect) -> String {
    String::from_utf8(super::page::write(sums, dialect, Vec::new()).unwrap()).unwrap()
}

/// The value of the series with this name and these labels.
fn value(page: &str, series: &str) -> Option<f64> {
    let found = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.map(|value| value.parse().unwrap())
}

#[test]
fn rows_of_processes_and_seconds_are_added_up() {
    let mut sums = sums();
    let slow = ReleaseRow { process: 8, ..row(0, 0, 2) };
    sums.add(&batch(1_000, vec![rows("shop", &["v1"], &["/"], vec![row(0, 0, 10), slow])]));
    sums.add(&batch(1_001, vec![rows("shop", &["v0", "v1"], &["/x", "/"], vec![row(1, 1, 5)])]));
    let page = page(&sums, Dialect::Classic);
    let of = |name: &str| {
        value(&page, &format!("steady_{name}{{service=\"shop\",version=\"v1\",route=\"/\",assigned=\"random\"}}"))
    };
    assert_eq!((of("requests_total"), of("requests_warming_total")), (Some(17.0), Some(9.0)));
    assert_eq!((of("requests_cpu_seconds_total"), of("requests_wall_seconds_total")), (Some(0.017), Some(0.034)));
    assert_eq!(of("requests_cpu_seconds_squared_total"), Some(17e-6));
    assert_eq!(of("requests_before_log_total"), Some(17.0 * 15.75));
    assert!((of("requests_cpu_log_total").unwrap() - 17.0 * 1e6_f64.ln()).abs() < 1e-9);
    assert_eq!(value(&page, "steady_agent_start_time_seconds"), Some(START));
}

/// Sums in levels of some requests; all values are different.
fn levels(requests: u64) -> LevelSums {
    let mut place = 0.0;
    let values = [0.0; 14].map(|_: f64| {
        place += 1.0;
        if place % 2.0 == 0.0 { 1e15 * place } else { 1e6 * place }
    });
    let mut levels = LevelSums::from_values(requests, 1, values);
    (levels.recent, levels.recent_base, levels.ruler_excess) = (-3e6, -2e15, -5e15);
    levels
}

#[test]
fn sums_in_levels_have_a_class_and_may_decrease() {
    let mut sums = sums();
    let with = |class, requests, known| {
        let mut row = ReleaseRow { class, ..row(0, 0, requests) };
        row.sums.levels = levels(known);
        row
    };
    let classes = || vec![String::new(), "hit".to_owned()];
    let shop = |requests| ReleaseRows { classes: classes(), ..rows("shop", &["v1"], &["/"], requests) };
    sums.add(&batch(1_000, vec![shop(vec![with(0, 10, 10), with(1, 4, 4)])]));
    let shown = |sums: &PublishedSums, name: &str, class: &str| {
        let series = format!("steady_{name}{{service=\"shop\",version=\"v1\",route=\"/\",assigned=\"random\"{class}}}");
        value(&page(sums, Dialect::OpenMetrics), &series)
    };
    let hit = ",class=\"hit\"";
    assert_eq!((shown(&sums, "requests_total", ""), shown(&sums, "requests_total", hit)), (Some(10.0), Some(4.0)));
    let names = [
        ("exceeding_total", 1.0),
        ("excess_cpu_seconds_total", 0.003),
        ("excess_cpu_seconds_squared_total", 0.004),
        ("excess_product_total", 5e-12),
        ("recent_seconds", -0.003),
        ("recent_seconds_squared_total", 7e-12),
        ("recent_product", -0.002),
        ("recent_excess_product", 9e-12),
        ("ruler_seconds", 10e6),
        ("ruler_seconds_squared_total", 11e-12),
        ("ruler_product", 0.012),
        ("ruler_excess_product", -0.005),
        ("recent_ruler_product", 0.014),
    ];
    for (name, expected) in names {
        let found = shown(&sums, &format!("requests_{name}"), hit).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{name}: {found}, {expected}");
    }
    sums.add(&batch(1_001, vec![shop(vec![with(1, 4, 4)])]));
    assert_eq!(shown(&sums, "requests_recent_seconds", hit), Some(-0.006));
    // One request of the series has no sums in levels, so the series must not be published.
    sums.add(&batch(1_002, vec![shop(vec![with(1, 1, 0)])]));
    assert_eq!(
        (shown(&sums, "requests_recent_seconds", hit), shown(&sums, "requests_exceeding_total", hit)),
        (None, None)
    );
    assert!(shown(&sums, "requests_exceeding_total", "").is_some());
}

#[test]
fn cpu_time_of_processes_is_published_by_version() {
    let mut sums = sums();
    let row = |process, version, cpu, requests_cpu| ProcessRow {
        second: 0,
        slot_seconds: 0,
        host: 0,
        process,
        version,
        cpu,
        requests_cpu,
    };
    let mut shop = rows("shop", &["v1", "v2"], &["/"], vec![self::row(0, 0, 1)]);
    shop.processes = vec![row(7, Some(1), 4e8, 3e8), row(8, Some(1), 1e8, 1e8), row(7, None, 2e8, 1e8)];
    sums.add(&batch(1_000, vec![shop]));
    let page = page(&sums, Dialect::Classic);
    let shown: Vec<&str> = page.lines().filter(|line| line.starts_with("steady_process_")).collect();
    let expected = [
        "steady_process_cpu_seconds_total{service=\"shop\"} 0.2",
        "steady_process_cpu_seconds_total{service=\"shop\",version=\"v2\"} 0.5",
        "steady_process_requests_cpu_seconds_total{service=\"shop\"} 0.1",
        "steady_process_requests_cpu_seconds_total{service=\"shop\",version=\"v2\"} 0.4",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn requests_counted_from_outside_have_only_a_number_and_cpu_time() {
    let mut sums = sums();
    let outside = ReleaseRow { process: 0, assignment: Assignment::None, ..row(0, 0, 10) };
    sums.add(&batch(1_000, vec![rows("old", &["v1"], &["(all)"], vec![outside])]));
    let page = page(&sums, Dialect::Classic);
    let shown: Vec<&str> = page.lines().filter(|line| line.contains("assigned=\"outside\"")).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(
        shown[0].starts_with("steady_requests_total{") && shown[1].starts_with("steady_requests_cpu_seconds_total{")
    );
    assert!(!page.contains("_bucket"), "{page}");
}

#[test]
fn histograms_rulers_and_the_host_are_published_if_known() {
    let mut sums = sums();
    let empty = page(&sums, Dialect::Classic);
    assert!(!empty.contains("ruler") && !empty.contains("host") && !empty.contains("steady_request_"), "{empty}");
    let mut shop = rows("shop", &["v1"], &["/", "/b"], vec![row(0, 0, 10), row(0, 1, 1)]);
    let counts = vec![(wall_bucket(2_000_000), 10), (wall_bucket(90_000_000_000), 1)];
    shop.walls = vec![WallRow { second: 0, host: 0, version: 0, route: 0, counts }];
    let sums_of_ruler = RulerSums { readings: 4, log: 40.0, log_squared: 400.0 };
    let ruler = ReleaseRulerRow {
        second: 0,
        host: 0,
        process: 7,
        version: Some(0),
        ruler: RequestRuler::Syscall,
        sums: sums_of_ruler,
    };
    shop.rulers = vec![ruler];
    let second =
        HostSecond { second: 0, host: 0, cpus: 2, busy: Some(0.25), steal: None, pressure: Some(0.5), running: None };
    let own = ReleaseRulerRow { process: 0, version: None, ..ruler };
    let batch = Batch { rulers: vec![own], seconds: vec![second, second], ..batch(1_000, vec![shop]) };
    sums.add(&batch);
    let page = page(&sums, Dialect::Classic);
    let wall = |rest: &str| value(&page, &format!("steady_request_wall_seconds{rest}"));
    let bucket = |bound: &str| wall(&format!("_bucket{{service=\"shop\",version=\"v1\",le=\"{bound}\"}}"));
    assert_eq!((bucket("0.001448154"), bucket("0.002048")), (Some(0.0), Some(10.0)));
    assert_eq!((bucket("67.108864"), bucket("+Inf")), (Some(10.0), Some(11.0)));
    assert_eq!(wall("_count{service=\"shop\",version=\"v1\"}"), Some(11.0));
    assert_eq!(wall("_sum{service=\"shop\",version=\"v1\"}"), Some(0.022));
    let ruler = "steady_ruler_log_total{service=\"shop\",version=\"v1\",ruler=\"syscall\"}";
    assert_eq!(
        (value(&page, ruler), value(&page, "steady_agent_ruler_readings_total{ruler=\"syscall\"}")),
        (Some(40.0), Some(4.0))
    );
    let host = |name: &str| value(&page, &format!("steady_host_{name}"));
    assert_eq!(
        (host("cpus"), host("busy_seconds_total"), host("busy_observed_seconds_total")),
        (Some(2.0), Some(0.5), Some(2.0))
    );
    assert_eq!((host("steal_seconds_total"), host("pressure_seconds_total")), (None, Some(1.0)));
}

#[test]
fn the_formats_differ_only_in_metadata_and_end() {
    let mut sums = sums();
    sums.add(&batch(1_000, vec![rows("shop", &["v1"], &["/"], vec![row(0, 0, 10)])]));
    let (classic, open) = (page(&sums, Dialect::Classic), page(&sums, Dialect::OpenMetrics));
    let samples =
        |page: &str| page.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(samples(&classic), samples(&open));
    let heads = |page: &str, of: &str| {
        page.lines().filter(|line| line.split(' ').nth(2) == Some(of)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        heads(&classic, "steady_requests_cpu_seconds_total"),
        [
            "# HELP steady_requests_cpu_seconds_total CPU time of requests.",
            "# TYPE steady_requests_cpu_seconds_total counter"
        ]
    );
    assert_eq!(
        heads(&open, "steady_requests_cpu_seconds"),
        [
            "# HELP steady_requests_cpu_seconds CPU time of requests.",
            "# TYPE steady_requests_cpu_seconds counter",
            "# UNIT steady_requests_cpu_seconds seconds"
        ]
    );
    assert_eq!(heads(&classic, "steady_agent_info")[1], "# TYPE steady_agent_info gauge");
    assert_eq!(heads(&open, "steady_agent")[1], "# TYPE steady_agent info");
    assert!(open.ends_with("\n# EOF\n") && open.matches("# EOF").count() == 1 && !classic.contains("# EOF"));
}

#[test]
fn every_series_and_family_occurs_once() {
    let mut sums = sums();
    let hostile = ["a\"b\n\\", "a", "\0", "\u{fffd}"];
    for (second, service) in [(1_000, "shop"), (1_001, "x\"y"), (1_002, "shop")] {
        let requests = (0..8).map(|place| row(place % 2, place / 2, 1)).collect();
        sums.add(&batch(second, vec![rows(service, &["v1", "v\\"], &hostile, requests)]));
    }
    let page = page(&sums, Dialect::Classic);
    let series = page.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap().0);
    let mut seen = HashSet::new();
    assert!(series.into_iter().all(|series| seen.insert(series)), "{page}");
    let types = page.lines().filter(|line| line.starts_with("# TYPE"));
    assert!(types.into_iter().all(|line| seen.insert(line)), "{page}");
    let merged = "steady_requests_total{service=\"shop\",version=\"v1\",route=\"\u{fffd}\",assigned=\"random\"}";
    assert_eq!(value(&page, merged), Some(4.0), "two names with the same escaped form are one series");
}

#[test]
fn requests_given_up_are_not_counted_twice() {
    let mut sums = sums();
    let shop = |lost| ReleaseRows { lost, ..rows("shop", &["v1"], &["/"], vec![row(0, 0, 10)]) };
    let lost =
        |sums: &PublishedSums| value(&page(sums, Dialect::Classic), "steady_requests_lost_total{service=\"shop\"}");
    sums.add(&batch(1_000, vec![shop(2)]));
    sums.give_up(&[shop(2)]);
    assert_eq!(lost(&sums), Some(2.0));
    sums.add(&batch(1_001, vec![shop(15 + 4)]));
    assert_eq!(lost(&sums), Some(6.0), "the 13 requests that were given up and 2 lost lines were counted before");
}

#[test]
fn an_unused_version_is_replaced_or_removed_after_a_day() {
    let mut sums = sums();
    let mut add = |second: u64, version: &str| {
        sums.add(&batch(second, vec![rows("shop", &[version], &["/"], vec![row(0, 0, 1)])]));
        let page = page(&sums, Dialect::Classic);
        let versions = ["v1", "v2", "v3", "v4"].into_iter();
        let shown = versions.filter(|version| page.contains(&format!("version=\"{version}\"")));
        let folded = value(&page, "steady_requests_folded_total{service=\"shop\"}").unwrap();
        (shown.collect::<Vec<_>>().join(" "), folded)
    };
    for (second, version) in [(1_000, "v1"), (1_001, "v2")] {
        add(second, version);
    }
    assert_eq!(add(1_002, "v3"), ("v1 v2 v3".to_owned(), 0.0));
    assert_eq!(add(1_300, "v4"), ("v1 v2 v3".to_owned(), 4.0), "all versions were used within 300 s");
    assert_eq!(add(1_301, "v4"), ("v2 v3 v4".to_owned(), 4.0));
    assert_eq!(add(1_002 + 86_400, "v4"), ("v3 v4".to_owned(), 4.0));
}

#[test]
fn the_number_of_series_is_bounded() {
    let limits = Limits { routes: 10_000, ..Limits::default() };
    let mut sums = PublishedSums::new(limits, START);
    let routes: Vec<String> = (0..30).map(|route| format!("/{route}")).collect();
    let routes: Vec<&str> = routes.iter().map(String::as_str).collect();
    for service in 0..25 {
        for version in 0..30 {
            let name = format!("v{version}");
            let requests: Vec<ReleaseRow> = (0..30).map(|route| row(0, route, 1)).collect();
            sums.add(&batch(1_000, vec![rows(&format!("s{service}"), &[&name], &routes, requests)]));
        }
    }
    let series =
        page(&sums, Dialect::Classic).lines().filter(|line| line.starts_with("steady_requests_total{")).count();
    // Each version may have one more series, for the route (other).
    assert!((MOST..=MOST + 21 * 24).contains(&series), "{series}");
    // A later version replaces one that was unused for 300 s.
    sums.add(&batch(1_400, vec![rows("s0", &["new"], &["/", "/x"], vec![row(0, 0, 1), row(0, 1, 1)])]));
    let page = page(&sums, Dialect::Classic);
    assert!(page.contains("version=\"new\",route=\"/x\""));
    let all = page.lines().filter(|line| !line.starts_with('#')).count();
    assert!(all < 330_000, "{all}");
}

#[test]
fn an_answer_has_the_values_of_one_moment() {
    let metrics = Metrics::new(Limits::default(), START);
    let one = batch(1_000, vec![rows("shop", &["v1"], &["/"], vec![row(0, 0, 1)])]);
    metrics.add(&one, &Arrived { datagrams: 1, ..Arrived::default() }, 0);
    let now = metrics.now();
    metrics.add(&one, &Arrived { datagrams: 2, ..Arrived::default() }, 0);
    let values = |sums: &PublishedSums| {
        let page = page(sums, Dialect::Classic);
        let of_shop = "steady_requests_total{service=\"shop\",version=\"v1\",route=\"/\",assigned=\"random\"}";
        (value(&page, of_shop), value(&page, "steady_agent_datagrams_total"))
    };
    assert_eq!(values(&now), (Some(1.0), Some(1.0)));
    assert_eq!(values(&metrics.now()), (Some(2.0), Some(2.0)));
}
