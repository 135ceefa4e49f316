//! Reports of releases in all forms, and reading them from JSON.

mod made;

use made::{HOSTILE, all, random};
use proptest::prelude::*;
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_model::*;
use steady_release::*;
use steady_render::Style;
use steady_render::json::description;
use steady_testing::{goldens, values};

fn text(report: &ReleaseReport, width: usize) -> String {
    report.text(Style { width, color: false })
}

fn rendered(report: &ReleaseReport, form: Form) -> String {
    report.rendered(form, Style::default(), false)
}

/// Returns the verdict in a few words.
fn summary(report: &ReleaseReport) -> String {
    report.facts().verdict
}

#[test]
fn reports_match_the_golden_files() {
    goldens::check(all().into_iter().flat_map(|(name, report)| {
        let exports = [
            ("json", report.json(false)),
            ("csv", report.csv()),
            ("md", rendered(&report, Form::Markdown)),
            ("html", rendered(&report, Form::Html)),
        ];
        goldens::forms(name, |width| text(&report, width), exports)
    }));
}

#[test]
fn lines_fit_the_width_of_the_terminal() {
    for (name, report) in all().into_iter().filter(|(name, _)| *name != "release-hostile") {
        goldens::lines_fit(name, |width| text(&report, width));
    }
}

#[test]
fn colour_does_not_change_the_text() {
    for (name, report) in all() {
        let mut coloured = report.text(Style { color: true, ..Style::default() });
        assert!(coloured.contains("\x1b[1"), "{name}");
        while let Some(start) = coloured.find('\x1b') {
            let end = coloured[start..].find('m').unwrap();
            coloured.replace_range(start..=start + end, "");
        }
        let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(trimmed(&coloured), trimmed(&text(&report, 80)), "{name}");
    }
}

#[test]
fn the_first_line_is_the_answer() {
    let first = |report: &ReleaseReport| text(report, 1000).lines().next().unwrap_or_default().to_owned();
    let lines: Vec<String> = all().iter().map(|(_, report)| first(report)).collect();
    assert_eq!(
        lines[0],
        "v2 needs 7.5 % less CPU time per request than v1 (7.2 to 7.8 %, 95 %). If all requests of v1 and v2 \
         ran v2, they would use 1.80 CPUs less than on v1 (1.72 to 1.88); they used 24 CPUs from the first request to \
         the last. The median wall time changed by -3.0 % (-4.1 to -1.9 %)."
    );
    assert!(lines[1].starts_with("v2 needs 5.1 % more CPU time per request than v1 (3.3 to 7.0 %"), "{}", lines[1]);
    // The median wall time of the undecided comparison has no interval, so only the table has its change.
    assert!(lines.iter().all(|line| !line.contains("no interval")), "{lines:?}");
    assert!(
        lines[1].contains("their processes would use 0.077 CPUs more than on v1 (0.051 to 0.103); they used 3.1 CPUs"),
        "{}",
        lines[1]
    );
    assert!(
        lines[2].starts_with("No difference beyond ±1 % in CPU time per request between v1 and v2"),
        "{}",
        lines[2]
    );
    assert!(lines[3].starts_with("No answer: "), "{}", lines[3]);
    assert!(lines[4].starts_with("Undecided: "), "{}", lines[4]);
    let whole = |which: usize| text(&all()[which].1, 1000);
    assert!(whole(2).contains("Model-based (canary)") && whole(3).contains("Design: one after the other"));
    assert!(whole(3).contains("about 2.4 min of the same traffic"), "{}", whole(3));
    assert!(
        whole(4).contains("hardly narrow the interval") && whole(4).contains("about 3.6 min of traffic"),
        "{}",
        whole(4)
    );
    assert!(whole(5).contains("the agent's own rulers alone"), "{}", whole(5));
}

#[test]
fn the_time_of_quantiles_is_reported_if_it_is_not_the_window() {
    let mut report = random();
    assert!(!text(&report, 1000).contains("quantiles: from"));
    let mut wall = report.wall.clone().unwrap();
    wall.covered.as_mut().unwrap().from += 10;
    report.wall = Ok(wall.clone());
    assert!(text(&report, 1000).contains("quantiles: from 2026-11-21T09:05:10Z to "), "{}", text(&report, 1000));
    // Quantiles of earlier versions included distributions partly outside the window.
    report.question.from += 3;
    report.wall = Ok(ReleaseWall { covered: None, ..wall });
    assert!(!text(&report, 1000).contains("quantiles: from"));
}

#[test]
fn a_short_window_of_an_earlier_version_does_not_say_where_time_is_missing() {
    let short = |seconds, before_seconds| {
        let short = ReleaseWarning::ShortWindow { requested_seconds: 600, seconds, block_seconds: 60, before_seconds };
        text(&ReleaseReport { warnings: vec![short], ..random() }, 1000).replace('\u{a0}', " ")
    };
    assert!(
        short(300, Some(240)).contains("no data of agents for the first 4.0 min of it"),
        "{}",
        short(300, Some(240))
    );
    assert!(short(300, None).contains("no data of agents for the rest, because"), "{}", short(300, None));
    assert!(short(420, None).contains("the blocks of 60.0 s that lie in it as a whole"), "{}", short(420, None));
}

/// A fleet's store does not distinguish processes, so more of them do not help.
#[test]
fn a_canary_by_the_rows_of_a_fleet_advises_more_hosts() {
    let mut report = all().swap_remove(2).1;
    report.total.verdict = Verdict::Undecided;
    assert!(text(&report, 1000).contains("More processes of each version, or more hosts, narrow"));
    // On these hosts, processes that one process forked may have the same difference, however many there are.
    for (allowance, limits) in [(0.003, false), (0.03, true)] {
        report.warnings.push(ReleaseWarning::ForkedProcesses { allowance });
        let text = text(&report, 1000);
        assert_eq!(text.contains("More hosts narrow the interval. More processes on the same hosts"), limits, "{text}");
        assert_eq!(text.contains("More processes of each version"), !limits, "{text}");
        report.warnings.pop();
    }
    report.sides.iter_mut().for_each(|side| side.processes = Err(Absent::because("rows of a fleet")));
    assert!(text(&report, 1000).contains("More hosts narrow the interval."));
    let none = || Err(Absent::because("one host"));
    (report.total.low, report.total.high) = (none(), none());
    let text = text(&report, 1000);
    assert!(text.contains("An interval needs more hosts") && !text.contains("narrow"), "{text}");
}

/// The verdict follows the total. The report also has the usual request and the requests that changed.
#[test]
fn requests_that_changed_differently_are_named() {
    let whole = |name: &str| text(&all().into_iter().find(|(other, _)| *other == name).unwrap().1, 1000);
    let mixture = whole("release-mixture");
    assert!(mixture.starts_with("v2 needs 17 % more CPU time per request than v1 (11 to 22 %, 95 %)."), "{mixture}");
    let usual = "The usual request (robust geometric mean) changed by -2.9 % (-3.4 to -2.4 %, 95 %).";
    assert!(mixture.contains(usual), "{mixture}");
    let named = "on /page (without a class), requests above 3 times the usual cost (10 % of requests, 64 % of CPU \
                 time) need 28 % more (20 to 36 %), the others need 4.0 % less (3.7 to 4.4 %)";
    assert!(mixture.contains(named), "{mixture}");
    // The interval of a change that may be zero has the sign of the change.
    let (_, mut open) = all().into_iter().find(|(other, _)| *other == "release-mixture").unwrap();
    open.tails[0].below = ChangeEstimate::new(Ok(-0.02), Ok(Interval { low: -0.07, high: 0.02 }));
    assert!(text(&open, 1000).contains("the others differ by -2 % (-7 to 2 %)"), "{}", text(&open, 1000));
    // Requests that may not have changed are not named.
    open.tails[0].above = open.tails[0].below.clone();
    let open = text(&open, 1000);
    let class = "changed unequally: on /page (class large), requests above 3 times";
    assert!(open.contains(class) && open.contains("The JSON export has 1 more."), "{open}");
    // Without expensive requests, the sentence has no split.
    let (_, mut classes) = all().into_iter().find(|(other, _)| *other == "release-mixture").unwrap();
    classes.tails[0].above.change = Err(Absent::because("too few requests"));
    classes.tails[0].above_cpu_ratio = 0.000_3;
    let classes = text(&classes, 1000);
    assert!(classes.contains("on /page (without a class), requests need 4.0 % less (3.7 to 4.4 %)"), "{classes}");
    let unexplained = whole("release-unexplained");
    let why = "by +1 % in CPU time per request (-62 to 166 %, 95 %); the true change may be zero";
    assert!(unexplained.starts_with("Undecided: ") && unexplained.contains(why), "{unexplained}");
}

/// A thousand hosts take a line and a few rows, with the outliers first.
#[test]
fn many_hosts_do_not_flood_a_terminal() {
    let (_, fleet) = all().into_iter().find(|(name, _)| *name == "release-fleet").unwrap();
    let shown = text(&fleet, 1000);
    let line = "40 hosts, changes from +1.2 % to +2.1 %; web-7 is an outlier: +9.1 % (8.2 to 10.0 %).";
    assert!(shown.contains(line), "{shown}");
    let thousand = |mut fleet: ReleaseReport, outliers: usize| {
        fleet.hosts = fleet.hosts.iter().cycle().take(1_000).cloned().collect();
        fleet.hosts.iter_mut().enumerate().for_each(|(at, host)| host.outlying = at < outliers);
        text(&fleet, 80)
    };
    let many = thousand(fleet.clone(), 20);
    assert!(
        many.lines().filter(|line| !line.is_empty()).count() < 60
            && many.split_whitespace().collect::<Vec<_>>().join(" ").contains("17 more are outliers"),
        "{many}"
    );
    assert!(many.contains("965 hosts are not shown"), "{many}");
    assert!(many.contains("25 hosts have no estimates of their own"), "{many}");
    let two = thousand(fleet, 2).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(two.contains("web-7: +9.1 % (8.2 to 10.0 %) and web-2"), "{two}");
}

#[test]
fn summaries_are_short() {
    let summaries: Vec<String> = all().iter().map(|(_, report)| summary(report)).collect();
    let expected = ["7.5 % less", "5.1 % more", "same", "refused", "undecided", "56.2 % less", "2.1 % less"];
    assert_eq!(summaries[..expected.len()], expected);
}

#[test]
fn the_schema_matches_the_golden_file() {
    goldens::check_schema(&SCHEMA, description::<ReleaseReport>(&SCHEMA));
}

#[test]
fn json_keeps_the_contract() {
    for (name, report) in all() {
        let value = report.value();
        assert_eq!(value["schema"], SCHEMA.name, "{name}");
        assert_eq!(value["refused"], !report.refused.is_empty(), "{name}");
        assert_eq!(value["design"], report.design.name(), "{name}");
        let fields = ["change", "low", "high", "verdict", "raw_change", "load_shift", "requests"];
        let parts = ["routes", "hosts"].into_iter().flat_map(|parts| value[parts].as_array().unwrap());
        let rows = std::iter::once(&value["total"]).chain(parts);
        for (row, field) in rows.flat_map(|row| fields.map(|field| (row, field))) {
            assert!(row.get(field).is_some(), "{name}: {field}");
        }
    }
}

#[test]
fn reading_an_exported_report_gives_the_same_report() {
    for (name, report) in all() {
        assert_eq!(ReleaseReport::read(&report.json(false)), Ok(report), "{name}");
    }
    let mut report = random();
    report.refused = vec![Refusal::LoadsDoNotOverlap { variance_inflation: f64::INFINITY }];
    report.total = report.total.with_interval(Ok(Interval { low: f64::NEG_INFINITY, high: 0.1 }));
    report.routes[0].change = report.routes[0].change.clone().with_interval(Ok(Interval::EVERYTHING));
    assert_eq!(ReleaseReport::read(&report.json(false)), Ok(report));
    // A report of an earlier version of steady, without hosts and without an estimate of the total.
    let mut report = random();
    report.routes.clear();
    let mut value = report.value();
    report.question.asked = None;
    for field in ["asked", "hosts", "usual", "tails", "unexplained", "traffic_seconds"] {
        assert!(value.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    let gone =
        serde_json::json!({ "kind": "means-differ", "by_means": 0.061, "interval": { "low": 0.035, "high": 0.088 } });
    value["warnings"].as_array_mut().unwrap().extend([gone, serde_json::json!({ "kind": "restarted-processes" })]);
    let read = ReleaseReport::read(&value.to_string()).unwrap();
    assert!(read.usual.change.is_err() && read.unexplained.is_err() && read.warnings.is_empty());
    assert!(read.traffic_seconds.is_err());
    let (usual, unexplained) = (read.usual.clone(), read.unexplained.clone());
    assert_eq!(read, ReleaseReport { usual, unexplained, traffic_seconds: read.traffic_seconds.clone(), ..report });
}

/// One process per version cannot distinguish versions from processes, and the first sentence says so. Intervals of
/// earlier versions did not include the difference, so the report of such a record must not say that they do.
#[test]
fn the_first_sentence_names_the_limit_of_single_processes() {
    let (_, report) = all().into_iter().find(|(name, _)| *name == "release-single").unwrap();
    let shown = text(&report, 1000);
    let first = "Undecided: v2 differs from v1 by +1 % in CPU time per request (-2 to 5 %, 95 %, model-based); the \
                 true change may be zero, or larger than ±1 %: one process per version cannot distinguish a change of \
                 up to 3 % from a difference between processes.";
    assert!(shown.starts_with(first), "{shown}");
    assert!(shown.contains("so the interval is extended by 3 % on both sides"), "{shown}");
    assert!(!shown.contains("The usual request changed, but"), "{shown}");
    let mut value: serde_json::Value = serde_json::from_str(&report.json(false)).unwrap();
    value["warnings"] = serde_json::json!([{ "kind": "one-process-a-side" }]);
    let earlier = text(&ReleaseReport::read(&value.to_string()).unwrap(), 1000);
    assert!(earlier.contains("which the interval does not include"), "{earlier}");
    assert!(!earlier.contains("cannot distinguish"), "{earlier}");
}

/// If most of the width does not come from what single processes differ by, only more traffic is needed.
#[test]
fn too_little_traffic_is_named_instead_of_the_limit_of_single_processes() {
    let (_, mut report) = all().into_iter().find(|(name, _)| *name == "release-single").unwrap();
    let interval = Interval { low: -0.11, high: 0.04 };
    report.total = ReleaseChange { change: Ok(-0.04), ..report.total.with_interval(Ok(interval)) };
    let shown = text(&report, 1000);
    assert!(shown.contains("larger than ±1 %: there is too little traffic in the window."), "{shown}");
    assert!(!shown.contains("cannot distinguish") && !shown.contains("More traffic hardly"), "{shown}");
}

/// An interval that contains zero shows no change. Neither of the two sentences may say so.
#[test]
fn a_change_that_may_be_zero_is_not_called_a_change() {
    let mut report = random();
    report.usual = ChangeEstimate::new(Ok(0.002), Ok(Interval { low: -0.01, high: 0.014 }));
    let wall = report.wall.unwrap().with_median_interval(Ok(Interval { low: -0.24, high: 0.16 }));
    report.wall = Ok(ReleaseWall { median_change: Ok(-0.06), ..wall });
    let shown = text(&report, 1000);
    let median = "The median wall time differs by -6 % (-24 to 16 %); the true change may be zero.";
    assert!(shown.contains(median), "{shown}");
    let usual = "The usual request (robust geometric mean) differs by +0.2 % (-1.0 to 1.4 %, 95 %); the true change may \
                 be zero.";
    assert!(shown.contains(usual), "{shown}");
}

/// The total includes CPU time that requests do not explain, so it differs from the usual request for that reason.
#[test]
fn unexplained_cpu_time_is_not_called_a_change_of_other_requests() {
    let whole = |name: &str| all().into_iter().find(|(other, _)| *other == name).unwrap().1;
    let opposite = "The usual request changed, but the total may not have";
    let unexplained = whole("release-unexplained");
    assert!(!text(&unexplained, 1000).contains(opposite));
    let without = ReleaseReport { warnings: vec![], ..unexplained.clone() };
    let precise = format!("{opposite}: the total is less precise, and its interval contains the change of the usual");
    assert!(text(&without, 1000).contains(&precise));
    let total = without.total.clone().with_interval(Ok(Interval { low: -0.01, high: 0.03 }));
    let usual = ChangeEstimate::new(Ok(0.05), Ok(Interval { low: 0.04, high: 0.06 }));
    let apart = ReleaseReport { total, usual, ..without };
    let others = format!("{opposite}: other requests may have changed in the opposite direction");
    assert!(text(&apart, 1000).contains(&others), "{}", text(&apart, 1000));
    let counted = vec![ReleaseWarning::ProcessCpuCounted { ratio: 0.19 }];
    let mut counted = ReleaseReport { warnings: counted, ..unexplained };
    let shown = text(&counted, 1000);
    assert!(!shown.contains(opposite) && shown.contains("The change above therefore compares the CPU time"), "{shown}");
    counted.total.change = Err(Absent::because("the versions ran together for too short a time"));
    let shown = text(&counted, 1000);
    assert!(shown.contains("A change of the total would therefore compare"), "{shown}");
}

/// The advice names the traffic that is missing, not the length of the window that has just ended undecided.
#[test]
fn the_advice_names_the_traffic_that_is_missing() {
    let (_, report) = all().into_iter().find(|(name, _)| *name == "release-unexplained").unwrap();
    let needs = |settle_seconds: f64, traffic_seconds: f64| {
        let mut report = ReleaseReport { traffic_seconds: Ok(traffic_seconds), ..report.clone() };
        report.total.settle_seconds = Ok(settle_seconds);
        let text = text(&report, 1000);
        let (_, rest) = text.split_once("verdict probably needs ").unwrap();
        rest.split_once('.').unwrap().0.replace('\u{a0}', " ")
    };
    assert_eq!(needs(12.0, 12.0), "about 5 s more of the same traffic");
    assert_eq!(needs(300.0, 60.0), "about 4 min more of the same traffic");
    assert_eq!(needs(700.0, 60.0), "more than 10 times as much traffic", "it is too rough for a time");
}

#[test]
fn the_reason_against_other_designs_agrees_with_the_verdict() {
    for (name, report) in all() {
        let value = report.value();
        let refers = value["settle_absent"].as_str().is_some_and(|why| why.contains("total.settle_seconds"));
        assert!(!refers || value["total"]["settle_seconds"].is_number(), "{name}");
        let decided = report.total.verdict != Verdict::Undecided && report.settle.is_err();
        assert_eq!(value["settle_absent"] == "there is a verdict", decided && !refers, "{name}");
    }
}

#[test]
fn the_sentence_about_the_means_names_what_was_adjusted() {
    let mut report = random();
    let whole = |report: &ReleaseReport| text(report, 1000);
    assert!(whole(&report).contains("load and the mix of routes alone would make"));
    report.has_classes = true;
    assert!(whole(&report).contains("load and the mix of routes and classes alone would make"));
    report.total.load_shift = Err(Absent::because("raw is that of requests alone"));
    assert!(whole(&report).contains("The unadjusted means differ by") && !whole(&report).contains("alone would make"));
    report.warnings = vec![ReleaseWarning::Lost { lost: 0, folded: 7 }];
    assert!(whole(&report).contains("more routes, classes, versions or processes than"));
}

#[test]
fn an_inconsistent_export_is_refused_with_the_place_of_the_error() {
    let broken = |from: &str, to: &str| {
        let json = random().json(false);
        assert!(json.contains(from), "{from}");
        ReleaseReport::read(&json.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(broken("steady.release/1", "steady.locks/1").contains("a comparison of releases"));
    assert!(broken("steady.release/1", "steady.release/2").contains("newer"));
    assert!(broken("\"to\": \"2026", "\"to\": \"2025").contains("the window ends before it begins"));
    assert!(broken("\"confidence\": 0.95", "\"confidence\": 95").contains("confidence"));
    assert!(broken("\"verdict\": \"faster\"", "\"verdict\": \"fast\"").contains("total"));
    assert!(broken("\"high\": -0.0716", "\"high\": -0.9").contains("total.high"));
    assert!(broken("\"step_seconds\": 5", "\"step_seconds\": 0").contains("course.step_seconds"));
    assert!(broken("\"old_wall_median_seconds\": 0.0092", "\"old_wall_median_seconds\": null").contains("routes[0]"));
}

#[test]
fn csv_has_a_line_for_the_service_and_one_per_route_and_host() {
    for (name, report) in all().into_iter().filter(|(name, _)| *name != "release-hostile") {
        let csv = report.csv();
        assert_eq!(csv.lines().count(), 2 + report.routes.len() + report.hosts.len(), "{name}");
        let fields = |line: &str| line.matches(',').count();
        assert!(csv.lines().all(|line| fields(line) == fields(csv.lines().next().unwrap())), "{name}: {csv}");
    }
    let whole = "shop,v1,v2,random-per-request,,faster,false,-0.0748,-0.0779,-0.0716,-0.0732,";
    assert!(random().csv().lines().nth(1).unwrap().starts_with(whole), "{}", random().csv());
}

/// A route may have the name of the row of all routes.
#[test]
fn a_route_is_not_mistaken_for_the_total() {
    let mut report = random();
    report.routes[0].route = "all routes".to_owned();
    let shown = text(&report, 100);
    let rows = |name: &str| shown.lines().filter(|line| line.trim_start().starts_with(name)).count();
    assert_eq!([rows("all routes "), rows("'all routes' ")], [1, 1], "{shown}");
}

#[test]
fn hostile_names_are_escaped() {
    let (_, report) = all().pop().unwrap();
    assert_eq!(report.question.service, HOSTILE);
    let page = rendered(&report, Form::Html);
    assert!(!page.contains("<script") && !page.contains("\" onload="), "{page}");
    for line in rendered(&report, Form::Markdown).lines().filter(|line| line.starts_with("| ")) {
        assert!(!line.replace("\\<", "").contains('<'), "{line}");
        assert!([6, 8].contains(&line.replace("\\|", "").matches('|').count()), "{line}");
    }
    let shown = text(&report, 80);
    assert!(shown.chars().all(|letter| letter == '\n' || !letter.is_control()), "{shown}");
    assert!(!shown.contains('\u{202e}'));
    assert!(page.contains("default-src 'none'"));
}

fn change() -> impl Strategy<Value = ReleaseChange> {
    let ends = (-1.0..2.0f64, 0.0..1.0f64).prop_map(|(low, more)| Interval { low, high: low + more });
    let interval = prop_oneof![ends, Just(Interval::EVERYTHING)];
    let verdict = prop::sample::select(vec![Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::Undecided]);
    let estimate = (values::reading(-1.0..3.0f64), values::reading(interval), values::reading(-1.0..3.0f64));
    let settle = values::reading((0..100_000u32).prop_map(|quarters| f64::from(quarters) / 4.0));
    (values::count(), values::count(), estimate, values::reading(-1.0..3.0f64), verdict, any::<bool>(), settle)
        .prop_map(
            |(old, new, (change, interval, raw_change), load_shift, verdict, within_resolution, settle_seconds)| {
                ReleaseChange {
                    requests: [old, new],
                    change,
                    low: Ok(0.0),
                    high: Ok(0.0),
                    verdict,
                    within_resolution,
                    raw_change,
                    load_shift,
                    settle_seconds,
                }
                .with_interval(interval)
            },
        )
}

fn two() -> impl Strategy<Value = [Nanos; 2]> {
    [values::nanos(), values::nanos()]
}

fn wall() -> impl Strategy<Value = ReleaseWall> {
    let interval = (-0.9..0.0f64, 0.0..1.0f64).prop_map(|(low, high)| Interval { low, high });
    let quantile = (values::ratio(), two(), values::reading(interval.clone()))
        .prop_map(|(ratio, times, interval)| WallQuantile::new(ratio, times, interval));
    let bin =
        (values::nanos(), [values::ratio(), values::ratio()]).prop_map(|(below, shares)| WallBin { below, shares });
    let (quantiles, distribution) = (prop::collection::vec(quantile, 0..4), prop::collection::vec(bin, 0..30));
    let covered = prop::option::of((0..1u64 << 32, 0..1u64 << 32))
        .prop_map(|times| times.map(|(from, to)| WallTimes { from, to }));
    let part = [two(), two(), two()].prop_map(|[cpu, waiting, blocked]| WallParts { cpu, waiting, blocked });
    let parts = ([values::count(), values::count()], values::reading(part));
    (quantiles, values::reading(-1.0..3.0f64), values::reading(interval), parts, distribution, covered).prop_map(
        |(quantiles, median_change, median_interval, (watched, parts), distribution, covered)| {
            let (low, high) = (Ok(0.0), Ok(0.0));
            ReleaseWall { quantiles, covered, median_change, low, high, watched, parts, distribution }
                .with_median_interval(median_interval)
        },
    )
}

fn side() -> impl Strategy<Value = ReleaseSide> {
    let means = (values::reading(values::nanos()), values::reading(values::nanos()));
    (".{0,20}", [values::count(), values::count(), values::count(), values::count()], any::<(u32, u32)>(), means)
        .prop_map(|(version, counts, (processes, hosts), (cpu_mean, wall_mean))| ReleaseSide {
            version,
            requests: counts[0],
            failed: counts[1],
            first_requests: counts[2],
            processes: Ok(processes as usize),
            hosts: hosts as usize,
            seconds: counts[3],
            cpu_mean,
            wall_mean,
        })
}

fn moments() -> impl Strategy<Value = Vec<ReleaseMoment>> {
    let times = || [prop::option::of(values::nanos()), prop::option::of(values::nanos())];
    let ratio = || prop::option::of(values::ratio());
    let moment = (1..100u64, [values::count(), values::count()], times(), times(), ratio(), ratio());
    prop::collection::vec(moment, 0..20).prop_map(|all| {
        let mut second = 1_795_251_900;
        all.into_iter()
            .map(|(gap, requests, raw, adjusted, busy, rulers)| {
                second += gap;
                ReleaseMoment::new(second, requests, raw, adjusted).with_load(busy, rulers)
            })
            .collect()
    })
}

fn report() -> impl Strategy<Value = ReleaseReport> {
    let medians = (values::reading(values::nanos()), values::reading(values::nanos()));
    let route = (".{0,20}", values::ratio(), change(), medians).prop_map(
        |(route, cpu_ratio, change, (old_wall_median, new_wall_median))| {
            let usual = ChangeEstimate::new(change.change.clone(), change.interval());
            ReleaseRoute { route, cpu_ratio, change, usual, old_wall_median, new_wall_median }
        },
    );
    let design = prop::sample::select(ReleaseDesign::ALL.to_vec());
    let rests =
        prop::sample::select(vec![RestsOn::Coins, RestsOn::WorkerRulers, RestsOn::AgentRulers, RestsOn::SameTime]);
    let from = (design, rests, any::<bool>(), any::<bool>(), values::reading(1..40_000u32));
    let host = (".{0,20}", values::ratio(), change(), any::<bool>())
        .prop_map(|(host, cpu_ratio, change, outlying)| ReleaseHost { host, cpu_ratio, change, outlying });
    let hosts = prop::collection::vec(host, 0..30);
    let lists = (prop::collection::vec(route, 0..4), hosts, moments(), 1..100u64);
    let made = prop::sample::select((0..all().len()).collect::<Vec<_>>());
    let parts = ([side(), side()], change(), values::reading(wall()), [".{0,20}", ".{0,20}", ".{0,20}"]);
    (made, from, lists, parts).prop_map(|(made, from, (routes, hosts, moments, step), (sides, total, wall, names))| {
        let base = all().swap_remove(made).1;
        let [service, old, new] = names;
        ReleaseReport {
            question: ReleaseQuestion { service, old, new, by_route: from.2, ..base.question.clone() },
            design: from.0,
            rests_on: from.1,
            from_outside: from.3,
            has_classes: from.2,
            settle: from.4.map(|quarters| Settling { design: from.0, seconds: f64::from(quarters) / 4.0 }),
            sides,
            total,
            routes,
            hosts,
            wall,
            course: ReleaseCourse { step_seconds: step, moments },
            ..base
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_report_can_be_read_back_and_rendered(report in report()) {
        prop_assert_eq!(ReleaseReport::read(&report.json(false)), Ok(report.clone()));
        let page = rendered(&report, Form::Html);
        let body = page.split("<body>").nth(1).unwrap_or_default();
        prop_assert!(!page.contains("NaN") && page.ends_with("</html>\n"), "{}", body);
        for width in [40, 80] {
            prop_assert!(!text(&report, width).is_empty());
        }
        rendered(&report, Form::Markdown);
        report.csv();
        summary(&report);
    }

    #[test]
    fn no_change_of_the_json_causes_a_panic(
        which in 0..14_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), values::odd_value()), 1..4)
    ) {
        let value = values::changed(all()[which].1.value(), changes);
        if let Ok(report) = ReleaseReport::read(&value.to_string()) {
            text(&report, 80);
            rendered(&report, Form::Html);
            rendered(&report, Form::Markdown);
            report.csv();
            summary(&report);
        }
    }

    #[test]
    fn no_garbage_causes_a_panic(which in 0..14_usize, at in any::<prop::sample::Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = values::garbled(all()[which].1.json(false), &at, garbage);
        let _ = ReleaseReport::read(&garbled);
        prop_assert!(ReleaseReport::read(&cut).is_err());
    }
}

/// By the workers' rulers the change is below the limit, by the agent's rulers above it.
#[test]
fn a_condition_is_open_if_the_rulers_disagree_about_it() {
    let mut report = all().into_iter().find(|(name, _)| *name == "release-canary").unwrap().1;
    for (agents, holds) in [(0.034, "is open"), (0.004, "does not hold")] {
        report.question.fail_if = "slower>1%".parse().ok();
        let alarm = LoadAlarm { by_worker_rulers: 0.001, by_agent_rulers: agents };
        report.warnings = vec![ReleaseWarning::RulersDisagree(alarm)];
        let text = text(&report, 80).replace('\n', " ");
        assert!(text.contains(&format!("The condition slower>1% {holds}")), "{text}");
    }
}

#[test]
fn only_optional_fields_can_be_left_out() {
    let of_report =
        "asked hosts usual tails unexplained unexplained_absent has_classes low high covered traffic_seconds";
    let of_warnings_and_refusals = "allowance before_seconds version";
    let is_optional = |name: &str| {
        let mut all = of_report.split(' ').chain(of_warnings_and_refusals.split(' '));
        all.any(|optional| optional == name) || name.ends_with("watched_requests")
    };
    for (_, report) in all() {
        for (name, value) in values::without_each_field(&report.value()) {
            // Without a field, reading fails, unless the field is derived from others or is the reason of a null.
            if let Ok(read) = ReleaseReport::read(&value.to_string()) {
                assert!(read == report || is_optional(&name), "{name}");
            }
        }
    }
}

/// Earlier versions of steady wrote values of OLD and NEW in warnings as pairs without names.
#[test]
fn pairs_in_warnings_of_earlier_versions_are_read() {
    for (_, report) in all() {
        let mut value = report.value();
        for warning in value["warnings"].as_array_mut().unwrap() {
            for (name, pair) in [("processes", "processes"), ("failed_ratio", "shares"), ("served_seconds", "seconds")]
            {
                let fields = warning.as_object_mut().unwrap();
                let [old, new] = ["old", "new"].map(|side| fields.remove(&format!("{side}_{name}")));
                if let (Some(old), Some(new)) = (old, new) {
                    fields.insert(pair.to_owned(), vec![old, new].into());
                }
            }
        }
        assert_eq!(ReleaseReport::read(&value.to_string()).unwrap().warnings, report.warnings);
    }
}
