//! `steady release compare --prometheus`, on stores that play back real answers, and on stores that misbehave.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use steady_fleet::{Client, Matchers, Settings};
use steady_model::{ALL_PROCESSES, LevelSums, ReleaseRows};

use crate::fake::{Answer, Fake, Question, Recording};
use crate::steady::{scratch, steady, told};

fn compare(url: &str, words: &[&str]) -> Command {
    let mut command = steady();
    command.args(["release", "compare", "--prometheus", url, "v1", "v2", "--no-history"]).args(words);
    command
}

/// The recorded window, and how its hosts are told.
fn within(recording: &Recording) -> Vec<&str> {
    let [from, to] = &recording.window;
    vec!["--from", from, "--to", to, "--host-label", "host"]
}

fn report(url: &str, words: &[&str]) -> Value {
    let (status, stdout, stderr) = told(compare(url, &[words, &["--format", "json"]].concat()).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    serde_json::from_str(&stdout).unwrap()
}

/// The line that it ends with, where nothing but that is told.
fn refused(url: &str, words: &[&str], expected: i32) -> String {
    let (status, stdout, stderr) = told(compare(url, words).output().unwrap());
    assert_eq!((status, stdout.as_str()), (expected, ""), "{words:?}: {stderr}");
    assert!(stderr.starts_with("steady: ") && stderr.lines().count() == 1, "{stderr}");
    stderr
}

#[test]
fn real_stores_tell_what_their_agents_were_told() {
    let mut changes = Vec::new();
    for store in ["prometheus", "victoria-metrics"] {
        let recording = Recording::of(store);
        let fake = Fake::start({
            let recording = recording.clone();
            move |question, _| recording.answer(question)
        });
        let report = report(&fake.url(), &[&within(&recording)[..], &["--by", "route"]].concat());
        assert_eq!(report["design"], "random-per-request");
        let total = &report["total"];
        let (low, high) = (total["low"].as_f64().unwrap(), total["high"].as_f64().unwrap());
        // The made agents' v2 needs 5 % more (tests/fleet/made_agents.py).
        assert!(low < 0.05 && 0.05 < high && high - low < 0.03, "{store}: {low} to {high}");
        assert_eq!(report["routes"].as_array().unwrap().len(), 2);
        let sides = report["sides"].as_array().unwrap();
        assert!(sides.iter().all(|side| side["hosts"] == 3), "{sides:?}");
        // One agent began anew, one was away for a while.
        let warnings = report["warnings"].as_array().unwrap();
        let missing = warnings.iter().find(|warning| warning["kind"] == "missing-scrapes").unwrap();
        assert_eq!(missing["hosts"], 2, "{missing}");
        changes.push(total["change"].as_f64().unwrap());
        // Every question says when, asks for no cache, and passes on how long it may take.
        for Question { path, form, .. } in fake.asked() {
            assert!(["/api/v1/query", "/api/v1/query_range"].contains(&path.as_str()), "{path}");
            assert_eq!((form["nocache"].as_str(), form["timeout"].as_str()), ("1", "30000ms"));
        }
    }
    assert!((changes[0] - changes[1]).abs() < 0.005, "{changes:?}");
}

/// The rows that a store's recorded answers make.
fn rows(recording: &Recording, fake: &Fake) -> ReleaseRows {
    let settings = Settings {
        address: fake.url().parse().unwrap(),
        headers: Vec::new(),
        timeout: Duration::from_secs(30),
        select: Matchers::default(),
        host_label: "host".to_owned(),
        block: None,
    };
    let [from, to] = recording.window.each_ref().map(|end| end.parse().unwrap());
    Client::new(settings).rows("shop", ["v1", "v2"], from, to, u64::MAX).unwrap().rows
}

#[test]
fn sums_in_levels_classes_and_cpu_time_of_processes_are_gathered() {
    for store in ["prometheus", "victoria-metrics"] {
        let recording = Recording::of(store);
        let fake = Fake::start({
            let recording = recording.clone();
            move |question, _| recording.answer(question)
        });
        let rows = rows(&recording, &fake);
        assert_eq!(rows.classes.iter().filter(|class| class.is_empty()).count(), 1);
        assert_eq!((rows.classes[0].as_str(), rows.classes[1].as_str(), rows.classes.len()), ("", "member", 2));
        let (mut sum, mut cpu) = (LevelSums::default(), 0.0);
        for row in &rows.requests {
            let levels = row.sums.levels;
            assert_eq!(levels.requests, row.sums.requests, "{store}");
            assert!(levels.base_squared * levels.requests as f64 >= levels.base * levels.base * (1.0 - 1e-9));
            sum += levels;
            cpu += row.sums.cpu;
        }
        assert!(((sum.base + sum.excess) / cpu - 1.0).abs() < 1e-9, "{store}");
        assert!(sum.exceeding > 0 && sum.excess > 0.0 && sum.ruler_squared > 0.0 && sum.recent_ruler != 0.0, "{sum:?}");
        // The made agents' costs follow both covariates.
        let slope = |xy: f64, x: f64, xx: f64| {
            let n = sum.requests as f64;
            (xy - x * sum.base / n) / (xx - x * x / n)
        };
        assert!(slope(sum.recent_base, sum.recent, sum.recent_squared) > 0.1, "{sum:?}");
        assert!(slope(sum.ruler_base, sum.ruler, sum.ruler_squared) > 0.1, "{sum:?}");
        assert!(!rows.processes.is_empty());
        for row in &rows.processes {
            assert_eq!((row.process, row.version), (ALL_PROCESSES, None));
            assert!((row.cpu / row.requests_cpu - 1.1).abs() < 1e-6, "{store}: {row:?}");
        }
    }
}

#[test]
fn agents_that_show_no_sums_in_levels_are_compared_all_the_same() {
    let recording = Recording::of("prometheus");
    let nothing = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    let fake = Fake::start({
        let recording = recording.clone();
        let new = ["_excess_", "_recent_", "_ruler_excess", "steady_process_"];
        move |question, _| match question.form.get("query") {
            Some(query) if new.iter().any(|name| query.contains(name)) => Answer::json(200, nothing),
            _ => recording.answer(question),
        }
    });
    let rows = rows(&recording, &fake);
    assert!(!rows.requests.is_empty() && rows.processes.is_empty());
    assert!(rows.requests.iter().all(|row| row.sums.levels == LevelSums::default()));
    assert_eq!(report(&fake.url(), &within(&recording))["design"], "random-per-request");
}

#[test]
fn the_answer_is_told_in_words() {
    let recording = Recording::of("prometheus");
    let words = within(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = Fake::start(move |question, _| recording.answer(question));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (status, stdout, stderr) = told(compare(&fake.url(), &words).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("v2 needs ") && stdout.contains(" on 2 hosts, for scrapes are"), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
}

#[test]
fn what_a_store_warns_of_is_passed_on() {
    let recording = Recording::of("prometheus");
    let words = within(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = Fake::start(move |question, _| match recording.answer(question) {
        Answer::Whole(200, kind, text) => {
            Answer::Whole(200, kind, text.replacen('{', r#"{"warnings":["a store did not answer"],"#, 1))
        }
        other => other,
    });
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (status, _, stderr) = told(compare(&fake.url(), &words).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, "steady: the fleet's store warns: a store did not answer\n"));
}

#[test]
fn a_store_that_falters_is_asked_once_more() {
    let recording = Recording::of("prometheus");
    let words = within(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = Fake::start(move |question, number| match number {
        0 => Answer::json(503, "{}"),
        2 => Answer::Nothing,
        _ => recording.answer(question),
    });
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(report(&fake.url(), &words)["total"]["verdict"], "slower");
}

#[test]
fn a_base_path_and_headers_go_along() {
    let recording = Recording::of("prometheus");
    let mut words = within(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = Fake::start(move |question, _| {
        let path = question.path.strip_prefix("/a/prometheus").unwrap_or("elsewhere").to_owned();
        recording.answer(&Question { path, ..question.clone() })
    });
    let file = scratch("fleet-headers");
    std::fs::write(&file, "Authorization: Bearer secret\n\n").unwrap();
    let from_file = format!("@{}", file.display());
    words.extend(["--header", "X-Scope-OrgID: shop", "--header", &from_file, "--timeout", "5s"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    report(&format!("{}/a/prometheus/", fake.url()), &words);
    for Question { headers, form, .. } in fake.asked() {
        assert_eq!((headers["x-scope-orgid"].as_str(), headers["authorization"].as_str()), ("shop", "Bearer secret"));
        assert_eq!(form["timeout"], "5000ms");
    }
    std::fs::write(&file, "secret\n").unwrap();
    let line = refused(&fake.url(), &["--header", &from_file], 2);
    assert!(line.contains("NAME: VALUE") && !line.contains("secret\n"), "{line}");
}

#[test]
fn stores_that_cannot_be_had_are_told_in_a_line() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(refused(&format!("http://{nobody}"), &[], 125).contains("nobody listens there"));
    assert!(refused("http://no-such-host.invalid", &[], 125).contains("cannot be reached"));
    let told = |answer: Answer, expected: i32, piece: &str| {
        let fake = Fake::start(move |_, _| answer.clone());
        let line = refused(&fake.url(), &["--timeout", "1s"], expected);
        assert!(line.contains(piece) && line.contains(&fake.url()), "{line}");
    };
    let half = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}}"#;
    let page = Answer::Whole(200, "text/html", "<!doctype html>\n<p>Welcome".to_owned());
    let bad = r#"{"status":"error","errorType":"bad_data","error":"parse\nerror"}"#;
    let over = r#"{"status":"error","errorType":"execution","error":"too many samples"}"#;
    told(Answer::Silence, 125, "took longer than 1 s");
    told(Answer::Nothing, 125, "cannot be reached");
    told(Answer::Half(half.to_owned()), 125, "ends too early");
    told(Answer::Elsewhere("https://login/"), 2, "https://login/");
    told(Answer::json(401, "{}"), 2, "--header tells it who you are");
    told(Answer::json(403, "{}"), 2, "status 403");
    told(page, 2, "a page, not with JSON");
    told(Answer::json(503, "<html>"), 125, "status 503: a page");
    told(Answer::json(400, bad), 2, "says: parse error (to group by (service");
    told(Answer::json(200, over), 125, "says: too many samples");
    told(Answer::json(200, "[1, 2]"), 125, "makes no sense");
    told(Answer::json(200, r#"{"data":null}"#), 125, "has no status");
}

#[test]
fn what_is_not_there_is_said() {
    let empty = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
    let fake = Fake::start(|_, _| Answer::json(200, empty));
    assert!(
        refused(&fake.url(), &["--select", "job=\"x\""], 2)
            .contains(r#"steady_agent_start_time_seconds{job="x"} at all"#)
    );
    // There are agents, but not in the window.
    let answer = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"3"]}]}}"#;
    let fake = Fake::start(move |question, _| {
        Answer::json(200, if question.form.contains_key("time") { empty } else { answer })
    });
    assert!(refused(&fake.url(), &["--from", "2020-01-01", "--window", "1h"], 2).contains("within the window, though"));
    let of = |series: &str| format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#);
    let knows = |series: &str, words: &[&str], pieces: [&str; 2]| {
        let answer = of(series);
        let fake = Fake::start(move |_, _| Answer::json(200, &answer));
        let line = refused(&fake.url(), words, 2);
        assert!(pieces.iter().all(|piece| line.contains(piece)), "{line}");
    };
    let shop = r#"{"metric":{"service":"shop","version":"v1"},"value":[1,"1"]}"#;
    let both = format!(r#"{shop},{{"metric":{{"service":"till","version":"v2"}},"value":[1,"1"]}}"#);
    knows(shop, &[], ["no version 'v2'", "only of 'v1'"]);
    knows(&both, &[], ["--service must say which", "'shop' and 'till'"]);
    knows(&both, &["--service", "ship"], ["no service 'ship'", "'shop' and 'till'"]);
    knows(
        r#"{"metric":{"service":"kube","exported_service":"shop","version":"v1"},"value":[1,"1"]}"#,
        &[],
        ["exported_service", "honor_labels: true"],
    );
}

#[test]
fn agents_that_are_not_told_apart_are_refused() {
    let recording = Recording::of("prometheus");
    let words = within(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = Fake::start(move |question, _| match recording.answer(question) {
        // As if all of them had one label.
        Answer::Whole(200, kind, text) if question.form["query"].contains("start_time") => {
            Answer::Whole(200, kind, text.replace("web-2", "web-1").replace("web-3", "web-1"))
        }
        other => other,
    });
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(refused(&fake.url(), &words, 2).contains("'web-1' by the label 'host'"));
}

#[test]
fn wrong_words_are_refused_before_anything_is_asked() {
    let wrong = |words: &[&str], piece: &str| {
        let (status, _, stderr) = told(steady().args(["release", "compare", "v1", "v2"]).args(words).output().unwrap());
        assert!(status == 2 && stderr.contains(piece), "{words:?}: {stderr}");
    };
    let url = "http://127.0.0.1:9";
    wrong(&["--prometheus", "localhost:9090"], "http://HOST:9090");
    wrong(&["--prometheus", "http://a:b@c"], "Authorization");
    wrong(&["--prometheus", url, "--store", "x"], "cannot be used with");
    wrong(&["--select", "a=\"b\""], "--prometheus");
    wrong(&["--prometheus", url, "--select", "a=b"], "stands in quotes");
    wrong(&["--prometheus", url, "--host-label", "a-b"], "no label's name");
    wrong(&["--prometheus", url, "--header", "secret"], "NAME: VALUE");
}
