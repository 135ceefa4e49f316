//! `steady load --rulers`: reports and exports, and that neighbours end with `steady`, also if it is killed.

mod steady;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steady::{eventually, output_of, run, scratch, steady, within_a_second};

const RESOURCES: [&str; 7] = ["alu", "l1", "l2", "shared", "memory", "fetch", "system_call"];

fn json(args: &[&str]) -> Value {
    let (status, stdout, stderr) = run(&[&["load", "--rulers", "--no-history", "--format", "json"], args].concat());
    assert_eq!(status, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

/// Returns the CPU time that a reading may cost, in seconds.
fn limit(resource: &str) -> f64 {
    if resource == "shared" { 0.005 } else { 0.001 }
}

#[test]
fn every_resource_is_measured_or_has_a_reason() {
    let report = json(&[]);
    assert_eq!((&report["schema"], &report["neighbour"]), (&"steady.rulers/1".into(), &Value::Null));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["neighbours"]), (1, &0.into()));
    let readings = rows[0]["readings"].as_array().unwrap();
    assert_eq!(readings.iter().map(|reading| reading["resource"].as_str().unwrap()).collect::<Vec<_>>(), RESOURCES);
    for reading in readings {
        let number = |name: &str| reading[name].as_f64();
        if reading["seconds_per_unit"].is_null() {
            assert!(reading["seconds_per_unit_absent"].is_string(), "{reading}");
            continue;
        }
        assert!(number("seconds_per_unit").unwrap() > 0.0 && number("spread_ratio").unwrap() >= 0.0, "{reading}");
        assert!(number("slowdown_ratio").unwrap() > 0.5, "{reading}");
        assert!(number("cost_seconds").unwrap() > 0.0, "{reading}");
    }
}

#[test]
fn the_cost_of_readings_stays_below_its_limit() {
    let too_expensive = |report: &Value| -> Vec<String> {
        let readings = report["rows"][0]["readings"].as_array().unwrap().iter();
        let above_limit = readings.filter(|reading| {
            reading["cost_seconds"].as_f64().is_some_and(|cost| cost > limit(reading["resource"].as_str().unwrap()))
        });
        above_limit.map(Value::to_string).collect()
    };
    // The kernel charges an interrupt to the thread that it interrupts, and one of a hundred readings may meet a long
    // one.
    let attempts: Vec<Vec<String>> = (0..3).map(|_| too_expensive(&json(&[]))).collect();
    assert!(attempts.iter().any(Vec::is_empty), "{attempts:?}");
}

#[test]
fn there_is_a_row_for_each_number_of_neighbours() {
    for kind in ["spin", "stream", "hash"] {
        let report = json(&["--neighbour", kind, "--procs", "1,3", "--seed", "7"]);
        let numbers: Vec<u64> =
            report["rows"].as_array().unwrap().iter().map(|row| row["neighbours"].as_u64().unwrap()).collect();
        assert_eq!((numbers, &report["neighbour"]), (vec![0, 1, 3], &kind.into()));
        let busy = |row: usize| report["rows"][row]["activity"]["busy_ratio"].as_f64().unwrap();
        assert!(busy(2) > 0.5 * f64::from(3.min(cpus())) / f64::from(cpus()), "the neighbours are idle: {report}");
    }
}

fn cpus() -> u32 {
    std::thread::available_parallelism().unwrap().get() as u32
}

#[test]
fn every_format_is_written_and_text_fits_eighty_columns() {
    let files = ["md", "csv", "html"].map(|form| scratch(&format!("rulers.{form}")));
    let args = ["load", "--rulers", "--neighbour", "spin", "--procs", "1", "--no-history"];
    let [markdown, csv, html] = files.each_ref().map(|file| file.to_str().unwrap());
    let exports = ["--export-markdown", markdown, "--export-csv", csv, "--export-html", html];
    let (status, stdout, stderr) = run(&[&args[..], &exports].concat());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    assert!(stdout.starts_with("Right now, ") && stdout.contains("Next to 1 neighbour that spins"), "{stdout}");
    let csv = fs::read_to_string(&files[1]).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * RESOURCES.len(), "{csv}");
    let (markdown, html) = (fs::read_to_string(&files[0]).unwrap(), fs::read_to_string(&files[2]).unwrap());
    assert!(markdown.contains("| shared cache |") && html.contains("<table"), "{markdown}{html}");
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
}

#[test]
fn the_best_readings_are_stored_and_a_broken_file_is_replaced() {
    let home = scratch("rulers-home");
    let read = || {
        let args = ["load", "--rulers", "--no-history", "--format", "json"];
        let (status, stdout, stderr) = output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
        assert_eq!(status, 0, "{stderr}");
        (serde_json::from_str::<Value>(&stdout).unwrap(), stderr)
    };
    let best = |report: &Value| {
        let reading = &report["rows"][0]["readings"][0];
        reading["seconds_per_unit"].as_f64().unwrap() / reading["slowdown_ratio"].as_f64().unwrap()
    };
    let (first, stderr) = read();
    assert_eq!((stderr.as_str(), &first["earlier_readings"]), ("", &false.into()));
    let file = home.join("steady/rulers.json");
    let mut stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    // Pretend that this host was once ten times as fast, which no load explains. Bins are thousandths of a natural
    // logarithm of seconds, and ln 10 is 2.303.
    let mut pretended = 0.0;
    for (name, ruler) in stored["rulers"].as_object_mut().unwrap() {
        let bins = ruler["low"].as_object_mut().unwrap();
        let bin = bins.keys().map(|bin| bin.parse::<i64>().unwrap()).min().unwrap() - 2_303;
        bins.insert(bin.to_string(), 50.into());
        if name.contains("alu 0") {
            pretended = (bin as f64 / 1e3).exp();
        }
    }
    fs::write(&file, stored.to_string()).unwrap();
    let second = read().0;
    let ratio = best(&second) / pretended;
    assert!((0.98..1.02).contains(&ratio) && second["earlier_readings"] == true, "{ratio}");
    fs::write(&file, "no JSON").unwrap();
    let third = read().0;
    let ratio = best(&third) / pretended;
    assert!(ratio > 2.0 && third["earlier_readings"] == false, "{ratio}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(read().1.contains("not kept for later runs"), "a directory in place of the file is reported");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn neighbours_are_gone_within_a_second_of_a_killed_steady() {
    let args = ["load", "--rulers", "--neighbour", "hash", "--procs", "7", "--no-history", "--quiet"];
    let mut child = steady().args(args).stdout(Stdio::null()).spawn().unwrap();
    let group = child.id().to_string();
    let neighbours = || neighbours_below(&group);
    let mut seen = Vec::new();
    assert!(eventually(|| {
        seen = neighbours();
        seen.len() == 7
    }));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_a_second(|| seen.iter().all(|pid| !fs::exists(format!("/proc/{pid}/exe")).unwrap_or(false))));
}

#[test]
fn a_killed_neighbour_is_reported_with_the_complete_rows() {
    let args = ["load", "--rulers", "--neighbour", "spin", "--procs", "1..5", "--no-history", "--format", "json"];
    let child = steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let neighbours = neighbours_of_row(child.id(), 3);
    assert!(Command::new("kill").args(["-KILL", &neighbours[0]]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 125, "{stderr}");
    assert!(stderr.contains("a neighbour was ended by signal 9"), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert!((2..=3).contains(&report["rows"].as_array().unwrap().len()), "{report}");
    assert!(report["failure"].as_str().unwrap().contains("signal 9"), "{report}");
}

/// Waits for a row that has neighbours, counted from 1, and returns the process ids of these neighbours.
fn neighbours_of_row(steady: u32, row: usize) -> Vec<String> {
    let (mut rows, mut seen) = (0, Vec::new());
    for _ in 0..3_000 {
        let now = neighbours_below(&steady.to_string());
        // Each row starts its own neighbours, one after the other.
        if !now.is_empty() && now.iter().all(|pid| !seen.contains(pid)) {
            rows += 1;
        }
        if rows == row {
            return now;
        }
        seen.extend(now);
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("there was no row {row}");
}

/// Returns the neighbours below a process: the children of its helper processes that start neighbours.
fn neighbours_below(pid: &str) -> Vec<String> {
    let children = |pid: &str| -> Vec<String> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let is = |pid: &String, word: &str| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1) == Some(word)
    };
    let starters = children(pid).into_iter().filter(|pid| is(pid, "__neighbours"));
    starters.flat_map(|pid| children(&pid)).filter(|pid| is(pid, "__neighbour")).collect()
}

#[test]
fn after_an_interruption_the_complete_rows_are_reported() {
    let args = ["load", "--rulers", "--neighbour", "spin", "--procs", "1..5", "--no-history", "--format", "json"];
    let child = steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    neighbours_of_row(child.id(), 3);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let rows = report["rows"].as_array().unwrap().len();
    assert!((2..=3).contains(&rows) && report["ending"] == "interrupted", "{rows} rows");
}

#[test]
fn invalid_options_are_usage_errors() {
    let cases: [&[&str]; 4] = [
        &["--neighbour", "sleep"],
        &["--procs", "3"],
        &["--neighbour", "spin", "--procs", "0"],
        &["--neighbour", "spin", "--procs", "4..2"],
    ];
    for args in cases {
        let (status, stdout, stderr) = run(&[&["load", "--rulers"], args].concat());
        assert_eq!((status, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(!stderr.is_empty());
    }
    let (status, _, stderr) = run(&["load", "--neighbour", "spin"]);
    assert_eq!(status, 2, "{stderr}");
}
