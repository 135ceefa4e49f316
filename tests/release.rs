//! `steady release` on stores of generated requests whose costs are known.

#[path = "release/fake.rs"]
mod fake;
#[path = "release/fleet.rs"]
mod fleet;
mod kept_rows;
mod steady;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kept_rows::{FIRST_SECOND, SECONDS, Service, store, store_from};
use serde_json::Value;
use steady::{eventually, output_of, processes_with, scratch, steady};

const SHOP: Service = Service { name: "shop", versions: &["v1", "v2"], factor: 1.05 };
const ALIKE: Service = Service { name: "alike", versions: &["v1", "v2"], factor: 1.0 };
const ONE: Service = Service { name: "one", versions: &["v1"], factor: 1.0 };

/// The window in which all stores have rows.
const WINDOW: [&str; 4] = ["--from", "2026-11-21T09:05:00Z", "--window", "1m"];

fn compare(store: &Path, args: &[&str]) -> Command {
    let mut command = steady();
    command.args(["release", "compare", "--store"]).arg(store).args(args);
    command
}

/// Compares in the window of the stores. Returns the exit status, standard output and standard error.
fn within(store: &Path, args: &[&str]) -> (i32, String, String) {
    output_of(compare(store, &[args, &WINDOW].concat()).output().unwrap())
}

fn json(store: &Path, args: &[&str]) -> Value {
    let (status, stdout, stderr) = within(store, &[args, &["--format", "json", "--no-history"]].concat());
    assert_eq!((status, stderr.as_str()), (0, ""));
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn a_more_expensive_version_is_found_with_the_size_of_the_difference() {
    let store = store("difference", &[SHOP]);
    let report = json(&store, &["--by", "route", "v1", "v2"]);
    assert_eq!(report["schema"], "steady.release/1");
    assert_eq!(report["design"], "random-per-request");
    assert_eq!(report["refused"], false);
    let total = &report["total"];
    assert_eq!(total["verdict"], "slower", "{total}");
    let (low, high) = (total["low"].as_f64().unwrap(), total["high"].as_f64().unwrap());
    assert!(low < 0.05 && 0.05 < high && high - low < 0.03, "{low} to {high}");
    assert_eq!(report["routes"].as_array().unwrap().len(), 2);
    // Exchanging the versions gives the opposite verdict.
    assert_eq!(json(&store, &["v2", "v1"])["total"]["verdict"], "faster");
    // --service is not needed if the store has one service.
    let (status, stdout, stderr) = within(&store, &["v1", "v2", "--no-history"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let first = stdout.lines().next().unwrap();
    assert!(first.starts_with("v2 needs ") && first.contains(" more CPU time per request than v1 ("), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    assert!(!stdout.contains('\x1b'));
}

#[test]
fn several_stores_are_compared_together() {
    let (one, other) = (store("one-host", &[SHOP]), store_from(FIRST_SECOND, 8, "other-host", &[SHOP, ONE]));
    let other = other.to_str().unwrap();
    let report = json(&one, &["--store", other, "--service", "shop", "v1", "v2"]);
    let sides = report["sides"].as_array().unwrap();
    assert!(sides.iter().all(|side| side["hosts"] == 2), "{sides:?}");
    let alone = json(&one, &["v1", "v2"]);
    let requests = |report: &Value| (0..2).map(|side| report["sides"][side]["requests"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(requests(&report), 2 * requests(&alone));
    let (status, _, stderr) = within(&one, &["--store", other, "v1", "v2"]);
    assert!(status == 2 && stderr.contains("--service") && stderr.contains("'one' and 'shop'"), "{stderr}");
}

#[test]
fn a_window_with_rows_removed_because_of_the_limit_of_size_is_reported() {
    let store = store("removed", &[SHOP]);
    let warnings = |before: u64| {
        let query =
            "INSERT INTO removed (id, before) VALUES (1, ?1) ON CONFLICT DO UPDATE SET before = excluded.before";
        rusqlite::Connection::open(&store).unwrap().execute(query, [before as i64]).unwrap();
        json(&store, &["v1", "v2"])["warnings"].to_string()
    };
    let from = 1795251900;
    assert!(!warnings(from).contains("rows-removed"), "the window begins after these rows");
    let found = warnings(from + 10);
    assert!(found.contains(r#""kind":"rows-removed","before":"2026-11-21T09:05:10Z""#), "{found}");
    // If rows of the service are missing, that may be the reason.
    let reason = "; rows before 2026-11-21T09:05:10Z were removed because the store reached its --store-limit: start";
    let (status, _, error) = within(&store, &["v1", "v9"]);
    assert!(status == 2 && error.contains("no version 'v9'") && error.contains(reason), "{status} {error}");
    rusqlite::Connection::open(&store).unwrap().execute_batch("DELETE FROM totals; DELETE FROM blocks;").unwrap();
    let (status, _, error) = within(&store, &["v1", "v2"]);
    assert!(status == 2 && error.contains("has no service: rows before 2026-11-21T09:05:10Z"), "{status} {error}");
}

#[test]
fn copies_of_a_store_are_refused() {
    let one = store("copied", &[SHOP]);
    let copy = scratch("copy.db");
    fs::copy(&one, &copy).unwrap();
    let (status, _, stderr) = within(&one, &["--store", copy.to_str().unwrap(), "--service", "shop", "v1", "v2"]);
    assert!(status == 2 && stderr.contains("copies of one store"), "{status} {stderr}");
}

#[test]
fn versions_without_a_difference_are_the_same() {
    let store = store("alike", &[ALIKE]);
    let report = json(&store, &["v1", "v2", "--resolution", "2%"]);
    assert_eq!(report["total"]["verdict"], "same", "{}", report["total"]);
}

#[test]
fn fail_if_and_require_verdict_set_the_exit_status() {
    let store = store("gates", &[SHOP, ALIKE]);
    let status = |args: &[&str]| within(&store, &[args, &["v1", "v2", "--no-history", "--quiet"]].concat()).0;
    assert_eq!(status(&["--service", "shop", "--fail-if", "slower>2%"]), 1);
    assert_eq!(status(&["--service", "shop", "--fail-if", "slower>20%"]), 0);
    assert_eq!(status(&["--service", "shop", "--fail-if", "faster>2%"]), 0);
    assert_eq!(status(&["--service", "shop", "--require-verdict"]), 0);
    assert_eq!(status(&["--service", "alike", "--require-verdict", "--resolution", "0.01%"]), 4);
    assert_eq!(status(&["--service", "alike", "--resolution", "0.01%"]), 0);
    // With a condition, the required answer is whether it holds.
    let required =
        |limit: &str| status(&["--service", "alike", "--require-verdict", "--resolution", "0.01%", "--fail-if", limit]);
    assert_eq!((required("slower>20%"), required("slower>0%")), (0, 4));
}

#[test]
fn usage_errors_name_what_is_missing() {
    let store = store("wrong", &[SHOP, ONE]);
    let refused = |path: &Path, args: &[&str], expected: &[&str]| {
        let (status, stdout, stderr) = output_of(compare(path, args).output().unwrap());
        assert_eq!((status, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.starts_with("steady: ") && stderr.lines().count() == 1, "{stderr}");
        assert!(expected.iter().all(|piece| stderr.contains(piece)), "{args:?}: {stderr}");
    };
    let at = |args: &[&'static str]| [args, &WINDOW].concat();
    refused(&scratch("no-store.db"), &["v1", "v2"], &["there is no store", "steady agent"]);
    refused(&store, &at(&["v1", "v2"]), &["--service", "'one' and 'shop'"]);
    refused(&store, &at(&["v1", "v2", "--service", "ship"]), &["no service 'ship'", "'one' and 'shop'"]);
    refused(&store, &at(&["v1", "v2", "--service", "one"]), &["no version 'v2'", "only 'v1'"]);
    refused(&store, &at(&["v1", "v9", "--service", "shop"]), &["no version 'v9'", "'v1' and 'v2'"]);
    refused(&store, &at(&["v1", "v1", "--service", "shop"]), &["itself"]);
    refused(
        &store,
        &["v1", "v2", "--service", "shop", "--from", "2026-11-22", "--window", "1m"],
        &["its last report was at 2026-11-21T09:05:59Z"],
    );
    refused(&store, &["v1", "v2", "--service", "shop", "--to", "2026-11-20"], &["are from 2026-11-21T09:05:00Z"]);
    refused(
        &store,
        &["v1", "v2", "--service", "shop", "--from", "2026-11-22", "--to", "2026-11-21"],
        &["ends before it begins"],
    );
    let other = scratch("no-database.db");
    fs::write(&other, "this text is not a database, although it is as long as one".repeat(30)).unwrap();
    let (status, _, stderr) = output_of(compare(&other, &["v1", "v2"]).output().unwrap());
    assert!(status == 2 && stderr.contains("no-database.db") && stderr.contains("not a database"), "{status} {stderr}");
}

#[test]
fn a_comparison_is_stored_in_the_history_and_reported_again() {
    let store = store("kept", &[SHOP, ALIKE]);
    let home = scratch("release-home");
    let (status, stdout, stderr) = output_of(
        compare(&store, &[&["--service", "shop", "v1", "v2"][..], &WINDOW].concat())
            .env("XDG_DATA_HOME", &home)
            .output()
            .unwrap(),
    );
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.trim_end().ends_with("(steady history report 1)"), "{stdout}");
    let history = |args: &[&str]| {
        let again = output_of(steady().env("XDG_DATA_HOME", &home).arg("history").args(args).output().unwrap());
        assert_eq!((again.0, again.2.as_str()), (0, ""));
        again.1
    };
    let list = history(&["list"]);
    // The run starts at the time of the comparison, not at the begin of the window.
    let runs = history(&["list", "--format", "json"]);
    assert!(runs.contains("\"started\"") && !runs.contains(WINDOW[1]), "{runs}");
    assert!(list.contains("release") && list.contains("shop v1") && list.contains("% more"), "{list}");
    let again = history(&["report", "last"]);
    assert!(stdout.starts_with(&again), "{again}");
    let shown = history(&["show", "last"]);
    assert!(shown.contains("kind") && shown.contains("release"), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("host not available: the record of a release describes the requests, not"), "{shown}");
    // The exit status of a report is that of the comparison.
    let open = ["--service", "alike", "--resolution", "0.01%", "--require-verdict", "v1", "v2", "--quiet"];
    let status = |mut command: Command| command.env("XDG_DATA_HOME", &home).output().unwrap().status.code();
    assert_eq!(status(compare(&store, &[&open[..], &WINDOW].concat())), Some(4));
    let mut report = steady();
    report.args(["history", "report", "last"]);
    assert_eq!(status(report), Some(4));
}

#[test]
fn every_format_is_written() {
    let store = store("forms", &[SHOP]);
    let file = |end: &str| scratch(&format!("release.{end}"));
    let (status, stdout, stderr) = output_of(
        compare(&store, &[&["v1", "v2", "--quiet", "--no-history"][..], &WINDOW].concat())
            .arg("--export-json")
            .arg(file("json"))
            .arg("--export-csv")
            .arg(file("csv"))
            .arg("--export-markdown")
            .arg(file("md"))
            .arg("--export-html")
            .arg(file("html"))
            .output()
            .unwrap(),
    );
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (0, "", ""));
    let text = |end: &str| fs::read_to_string(file(end)).unwrap();
    assert!(text("html").starts_with("<!DOCTYPE html>") && text("html").contains("needs"));
    assert!(text("md").starts_with("**v2 needs") && text("csv").starts_with("service,old,new,"));
    assert_eq!(serde_json::from_str::<Value>(&text("json")).unwrap()["service"], "shop");
}

/// Returns the Unix time of date(1), in seconds.
fn now() -> u64 {
    let date = Command::new("date").arg("+%s").output().unwrap();
    String::from_utf8(date.stdout).unwrap().trim().parse().unwrap()
}

/// Returns whether a process has a handler for SIGINT, the second bit of SigCgt (proc_pid_status(5)).
fn catches_interrupts(process: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 0b10 != 0
}

fn signal(signal: &str, process: &Child) {
    assert!(Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap().success());
}

#[test]
fn watch_ends_with_the_verdict() {
    let begun = now() - SECONDS;
    let store = store_from(begun, 7, "watched", &[SHOP]);
    let from = begun.to_string();
    let args = ["--watch", "--from", &from, "--window", "10m", "v1", "v2", "--no-history", "--format", "json"];
    let (status, stdout, stderr) = output_of(compare(&store, &args).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains(" requests: ") && stderr.lines().count() < 10, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["total"]["verdict"], "slower", "{}", report["total"]);
    assert!(!report["looks"].as_array().unwrap().is_empty());
    // The --fail-if condition is met once the whole interval lies above it.
    let gate = compare(&store, &[&args[..], &["--fail-if", "slower>1%", "--quiet"]].concat()).output().unwrap();
    assert_eq!(output_of(gate).0, 1);
}

#[test]
fn an_interrupted_watch_prints_the_report_so_far() {
    let begun = now() - SECONDS;
    let store = store_from(begun, 7, "interrupted", &[ALIKE]);
    let from = begun.to_string();
    let args = ["--watch", "--window", "10m", "v1", "v2", "--no-history", "--resolution", "0.01%"];
    let follow = |more: &[&str]| {
        let mut command = compare(&store, &[&args[..], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut process = follow(&["--from", &from]);
    let mut look = String::new();
    BufReader::new(process.stderr.as_mut().unwrap()).read_line(&mut look).unwrap();
    assert!(look.contains(" requests: "), "{look}");
    signal("-INT", &process);
    let (status, stdout, stderr) = output_of(process.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    assert!(stdout.contains("CPU time per request") && stdout.contains("Undecided:"), "{stdout}");
    assert!(stdout.contains("Warning: The watch was interrupted before"), "{stdout}");
    // Without --from, the window starts now and has no requests.
    let process = follow(&[]);
    assert!(eventually(|| catches_interrupts(&process)));
    signal("-INT", &process);
    let (status, stdout, stderr) = output_of(process.wait_with_output().unwrap());
    assert_eq!((status, stdout.as_str()), (130, ""), "{stderr}");
}

#[test]
fn a_watch_reports_that_data_stopped() {
    let begun = now() - SECONDS - 14;
    let store = store_from(begun, 7, "stopped", &[ALIKE]);
    let (from, window) = (begun.to_string(), format!("{}s", SECONDS + 16));
    let args = ["--watch", "--from", &from, "--window", &window, "v1", "v2", "--no-history", "--resolution", "0.01%"];
    let (status, stdout, stderr) = output_of(compare(&store, &args).output().unwrap());
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("no data for "), "{stderr}");
    let stdout = stdout.replace('\u{a0}', " ");
    assert!(stdout.contains("Warning: There are no data for 16.0 s of the window"), "{stdout}");
    assert!(stdout.contains("  window    76.0 s from "), "{stdout}");
}

#[test]
fn watch_waits_for_a_service_that_has_not_reported_yet() {
    let store = store("not-yet", &[SHOP]);
    let mut command =
        compare(&store, &["--watch", "--window", "10m", "--service", "later", "v1", "v2", "--no-history"]);
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| catches_interrupts(&process)));
    signal("-INT", &process);
    let (status, stdout, stderr) = output_of(process.wait_with_output().unwrap());
    assert_eq!((status, stdout.as_str()), (130, ""), "{stderr}");
    assert!(stderr.contains("no service 'later'") && stderr.contains("waiting for its requests"), "{stderr}");
}

#[test]
fn a_killed_demo_leaves_nothing() {
    let folder = scratch("demo");
    fs::create_dir_all(&folder).unwrap();
    let mark = folder.display().to_string();
    let mut demo = steady();
    demo.args(["release", "demo"]).env("TMPDIR", &folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut demo = demo.spawn().unwrap();
    // Two processes of the server, and one that removes the files.
    let started = eventually(|| processes_with(&mark) >= 3);
    signal("-KILL", &demo);
    demo.wait().unwrap();
    assert!(started, "the demo does not start");
    assert!(eventually(|| processes_with(&mark) == 0), "processes are left");
    let empty = || fs::read_dir(&folder).unwrap().next().is_none();
    assert!(eventually(empty), "files are left");
}
