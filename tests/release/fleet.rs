//! `steady release compare --prometheus` with fake servers that replay real responses or misbehave.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use steady_fleet::{Client, Matchers, Settings};
use steady_model::{ALL_PROCESSES, LevelSums, ReleaseRows};

use crate::fake::{FakeServer, Recording, Request, Response};
use crate::steady::{output_of, scratch, steady};

fn compare(url: &str, args: &[&str]) -> Command {
    let mut command = steady();
    command.args(["release", "compare", "--prometheus", url, "v1", "v2", "--no-history"]).args(args);
    command
}

/// Returns the options for the recorded window and its host label.
fn window_options(recording: &Recording) -> Vec<&str> {
    let [from, to] = &recording.window;
    vec!["--from", from, "--to", to, "--host-label", "host"]
}

fn report(url: &str, args: &[&str]) -> Value {
    let (status, stdout, stderr) = output_of(compare(url, &[args, &["--format", "json"]].concat()).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    serde_json::from_str(&stdout).unwrap()
}

/// Runs a comparison that fails with this status. Returns the error message, its only output.
fn error_line(url: &str, args: &[&str], expected: i32) -> String {
    let (status, stdout, stderr) = output_of(compare(url, args).output().unwrap());
    assert_eq!((status, stdout.as_str()), (expected, ""), "{args:?}: {stderr}");
    assert!(stderr.starts_with("steady: ") && stderr.lines().count() == 1, "{stderr}");
    stderr
}

#[test]
fn recorded_servers_give_the_known_difference() {
    let mut changes = Vec::new();
    for store in ["prometheus", "victoria-metrics"] {
        let recording = Recording::of(store);
        let fake = FakeServer::start({
            let recording = recording.clone();
            move |request, _| recording.answer(request)
        });
        let report = report(&fake.url(), &[&window_options(&recording)[..], &["--by", "route"]].concat());
        assert_eq!(report["design"], "random-per-request");
        let total = &report["total"];
        let (low, high) = (total["low"].as_f64().unwrap(), total["high"].as_f64().unwrap());
        // v2 needs 5 % more in the generated metrics (tests/fleet/made_agents.py).
        assert!(low < 0.05 && 0.05 < high && high - low < 0.03, "{store}: {low} to {high}");
        assert_eq!(report["routes"].as_array().unwrap().len(), 2);
        let sides = report["sides"].as_array().unwrap();
        assert!(sides.iter().all(|side| side["hosts"] == 3), "{sides:?}");
        // One agent was started again, one was not reachable for a while.
        let warnings = report["warnings"].as_array().unwrap();
        let missing = warnings.iter().find(|warning| warning["kind"] == "missing-scrapes").unwrap();
        assert_eq!(missing["hosts"], 2, "{missing}");
        changes.push(total["change"].as_f64().unwrap());
        // Every request disables the cache and passes on the timeout.
        for Request { path, form, .. } in fake.requests() {
            assert!(["/api/v1/query", "/api/v1/query_range"].contains(&path.as_str()), "{path}");
            assert_eq!((form["nocache"].as_str(), form["timeout"].as_str()), ("1", "30000ms"));
        }
    }
    assert!((changes[0] - changes[1]).abs() < 0.005, "{changes:?}");
}

/// Returns the rows that the client gets from the recorded responses.
fn rows(recording: &Recording, fake: &FakeServer) -> ReleaseRows {
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
fn level_sums_classes_and_cpu_time_of_processes_are_read() {
    for store in ["prometheus", "victoria-metrics"] {
        let recording = Recording::of(store);
        let fake = FakeServer::start({
            let recording = recording.clone();
            move |request, _| recording.answer(request)
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
        // The generated costs depend on both covariates.
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

/// Returns a response of the recording without the values before second `from`.
fn since(from: f64, response: Response) -> Response {
    let Response::Whole(status, kind, text) = response else { return response };
    let mut answer: Value = serde_json::from_str(&text).unwrap();
    let series = answer["data"]["result"].as_array_mut();
    for values in series.into_iter().flatten().filter_map(|series| series.get_mut("values")?.as_array_mut()) {
        values.retain(|value| value[0].as_f64() >= Some(from));
    }
    Response::Whole(status, kind, answer.to_string())
}

#[test]
fn a_window_that_begins_before_the_data_is_shortened_with_a_warning() {
    let recording = Recording::of("prometheus");
    let [from, to] = recording.window.each_ref().map(|end| end.parse::<f64>().unwrap());
    let begin = (from + 0.6 * (to - from)).floor();
    let fake = FakeServer::start({
        let recording = recording.clone();
        move |request, _| since(begin, recording.answer(request))
    });
    let report = report(&fake.url(), &window_options(&recording));
    let warnings = report["warnings"].as_array().unwrap();
    let short = warnings.iter().find(|warning| warning["kind"] == "short-window").unwrap();
    let seconds = |field: &str| short[field].as_f64().unwrap();
    assert!(seconds("seconds") <= to - begin && seconds("requested_seconds") >= to - from - 1.0, "{short}");
    let args = window_options(&recording);
    let (_, text, _) = output_of(compare(&fake.url(), &args).output().unwrap());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the store has no data of agents for the first"), "{text}");
    // A short window mainly loses the time before the first scrape, and the parts of blocks at its ends.
    let fake = FakeServer::start({
        let recording = recording.clone();
        move |request, _| recording.answer(request)
    });
    let args = window_options(&recording);
    let (_, text, _) = output_of(compare(&fake.url(), &args).output().unwrap());
    assert!(!text.contains("has no data of agents"), "{text}");
}

#[test]
fn blocks_shorter_than_the_time_between_scrapes_are_refused() {
    let services = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"service":"shop","version":"v1"},"value":[1,"1"]},
        {"metric":{"service":"shop","version":"v2"},"value":[1,"1"]}]}}"#;
    let scrapes = r#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"instance":"a"},"values":[[1000,"1"],[1010,"1"],[1020,"1"]]}]}}"#;
    let fake = FakeServer::start(move |request, _| match request.form["query"].starts_with("group by") {
        true => Response::json(200, services),
        false => Response::json(200, scrapes),
    });
    let line = error_line(&fake.url(), &["--from", "1970-01-01T00:16:40Z", "--window", "1m", "--block", "9s"], 2);
    assert!(line.contains("--block 9s is too short: agents are scraped every 10 s"), "{line}");
}

#[test]
fn agents_without_level_sums_can_be_compared() {
    let recording = Recording::of("prometheus");
    let nothing = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    let fake = FakeServer::start({
        let recording = recording.clone();
        let new = ["_excess_", "_recent_", "_ruler_excess", "steady_process_"];
        move |request, _| match request.form.get("query") {
            Some(query) if new.iter().any(|name| query.contains(name)) => Response::json(200, nothing),
            _ => recording.answer(request),
        }
    });
    let rows = rows(&recording, &fake);
    assert!(!rows.requests.is_empty() && rows.processes.is_empty());
    assert!(rows.requests.iter().all(|row| row.sums.levels == LevelSums::default()));
    assert_eq!(report(&fake.url(), &window_options(&recording))["design"], "random-per-request");
}

#[test]
fn the_text_report_states_the_difference() {
    let recording = Recording::of("prometheus");
    let args = window_options(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = FakeServer::start(move |request, _| recording.answer(request));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (status, stdout, stderr) = output_of(compare(&fake.url(), &args).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("v2 needs ") && stdout.contains(" on 2 hosts, because scrapes are"), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
}

#[test]
fn warnings_of_the_server_are_passed_on() {
    let recording = Recording::of("prometheus");
    let args = window_options(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = FakeServer::start(move |request, _| match recording.answer(request) {
        Response::Whole(200, kind, text) => {
            Response::Whole(200, kind, text.replacen('{', r#"{"warnings":["a store did not answer"],"#, 1))
        }
        other => other,
    });
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (status, _, stderr) = output_of(compare(&fake.url(), &args).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, "steady: the fleet's store warns: a store did not answer\n"));
}

#[test]
fn failed_requests_are_retried_once() {
    let recording = Recording::of("prometheus");
    let args = window_options(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = FakeServer::start(move |request, number| match number {
        0 => Response::json(503, "{}"),
        2 => Response::Nothing,
        _ => recording.answer(request),
    });
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert_eq!(report(&fake.url(), &args)["total"]["verdict"], "slower");
}

#[test]
fn the_base_path_and_headers_are_sent() {
    let recording = Recording::of("prometheus");
    let mut args = window_options(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = FakeServer::start(move |request, _| {
        let path = request.path.strip_prefix("/a/prometheus").unwrap_or("elsewhere").to_owned();
        recording.answer(&Request { path, ..request.clone() })
    });
    let file = scratch("fleet-headers");
    std::fs::write(&file, "Authorization: Bearer secret\n\n").unwrap();
    let from_file = format!("@{}", file.display());
    args.extend(["--header", "X-Scope-OrgID: shop", "--header", &from_file, "--timeout", "5s"].map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    report(&format!("{}/a/prometheus/", fake.url()), &args);
    for Request { headers, form, .. } in fake.requests() {
        assert_eq!((headers["x-scope-orgid"].as_str(), headers["authorization"].as_str()), ("shop", "Bearer secret"));
        assert_eq!(form["timeout"], "5000ms");
    }
    std::fs::write(&file, "secret\n").unwrap();
    let line = error_line(&fake.url(), &["--header", &from_file], 2);
    assert!(line.contains("NAME: VALUE") && !line.contains("secret\n"), "{line}");
}

#[test]
fn server_errors_are_reported_on_one_line() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(error_line(&format!("http://{closed}"), &[], 125).contains("no server listens there"));
    assert!(error_line("http://no-such-host.invalid", &[], 125).contains("cannot be reached"));
    let assert_error = |answer: Response, expected: i32, piece: &str| {
        // A busy machine may need more than a second for an answer.
        let timeout = if matches!(answer, Response::Silence) { "1s" } else { "30s" };
        let fake = FakeServer::start(move |_, _| answer.clone());
        let line = error_line(&fake.url(), &["--timeout", timeout], expected);
        assert!(line.contains(piece) && line.contains(&fake.url()), "{line}");
    };
    let half = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}}"#;
    let page = Response::Whole(200, "text/html", "<!doctype html>\n<p>Welcome".to_owned());
    let bad = r#"{"status":"error","errorType":"bad_data","error":"parse\nerror"}"#;
    let over = r#"{"status":"error","errorType":"execution","error":"too many samples"}"#;
    assert_error(Response::Silence, 125, "took longer than 1 s");
    assert_error(Response::Nothing, 125, "cannot be reached");
    assert_error(Response::Half(half.to_owned()), 125, "ends too early");
    assert_error(Response::Redirect("https://login/"), 2, "https://login/");
    assert_error(Response::json(401, "{}"), 2, "send a token or a tenant with --header");
    assert_error(Response::json(403, "{}"), 2, "status 403");
    assert_error(page, 2, "an HTML page, not with JSON");
    assert_error(Response::json(503, "<html>"), 125, "status 503 and an HTML page");
    assert_error(Response::Whole(404, "text/plain", String::new()), 125, "a metrics store that scrapes the agents");
    assert_error(Response::json(400, bad), 2, "reports an error: parse error (query: group by (service");
    assert_error(Response::json(200, over), 125, "reports an error: too many samples");
    assert_error(Response::json(200, "[1, 2]"), 125, "is invalid");
    assert_error(Response::json(200, r#"{"data":null}"#), 125, "has no status");
}

#[test]
fn missing_agents_services_and_versions_are_reported() {
    let empty = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
    let fake = FakeServer::start(|_, _| Response::json(200, empty));
    assert!(
        error_line(&fake.url(), &["--select", "job=\"x\""], 2)
            .contains(r#"steady_agent_start_time_seconds{job="x"} at all"#)
    );
    // The server has agents, but not in the window.
    let answer = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"3"]}]}}"#;
    let fake = FakeServer::start(move |request, _| {
        Response::json(200, if request.form.contains_key("time") { empty } else { answer })
    });
    assert!(
        error_line(&fake.url(), &["--from", "2020-01-01", "--window", "1h"], 2)
            .contains("in the window, but it has some now")
    );
    let of = |series: &str| format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#);
    let knows = |series: &str, args: &[&str], pieces: [&str; 2]| {
        let answer = of(series);
        let fake = FakeServer::start(move |_, _| Response::json(200, &answer));
        let line = error_line(&fake.url(), args, 2);
        assert!(pieces.iter().all(|piece| line.contains(piece)), "{line}");
    };
    let shop = r#"{"metric":{"service":"shop","version":"v1"},"value":[1,"1"]}"#;
    let both = format!(r#"{shop},{{"metric":{{"service":"till","version":"v2"}},"value":[1,"1"]}}"#);
    knows(shop, &[], ["no version 'v2'", "only 'v1'"]);
    knows(&both, &[], ["choose one with --service", "'shop' and 'till'"]);
    knows(&both, &["--service", "ship"], ["no service 'ship'", "'shop' and 'till'"]);
    knows(
        r#"{"metric":{"service":"kube","exported_service":"shop","version":"v1"},"value":[1,"1"]}"#,
        &[],
        ["exported_service", "honor_labels: true"],
    );
}

#[test]
fn agents_with_equal_host_labels_are_rejected() {
    let recording = Recording::of("prometheus");
    let args = window_options(&recording).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fake = FakeServer::start(move |request, _| match recording.answer(request) {
        // Give all agents the same host label.
        Response::Whole(200, kind, text) if request.form["query"].contains("start_time") => {
            Response::Whole(200, kind, text.replace("web-2", "web-1").replace("web-3", "web-1"))
        }
        other => other,
    });
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert!(error_line(&fake.url(), &args, 2).contains("'web-1' by the label 'host'"));
}

#[test]
fn invalid_options_are_usage_errors() {
    let wrong = |args: &[&str], piece: &str| {
        let (status, _, stderr) =
            output_of(steady().args(["release", "compare", "v1", "v2"]).args(args).output().unwrap());
        assert!(status == 2 && stderr.contains(piece), "{args:?}: {stderr}");
    };
    let url = "http://127.0.0.1:9";
    wrong(&["--prometheus", "localhost:9090"], "http://HOST:9090");
    wrong(&["--prometheus", "http://a:b@c"], "Authorization");
    wrong(&["--prometheus", url, "--store", "x"], "cannot be used with");
    wrong(&["--select", "a=\"b\""], "--prometheus");
    wrong(&["--prometheus", url, "--select", "a=b"], "must be in quotes");
    wrong(&["--prometheus", url, "--host-label", "a-b"], "not a valid label name");
    wrong(&["--prometheus", url, "--header", "secret"], "NAME: VALUE");
}
