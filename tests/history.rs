//! `steady history`: runs of all kinds are stored, listed, shown, reported again identically, and removed.

mod steady;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use steady::{data_home, output_of, steady};
use steady_history::{History, Which};
use steady_model::{Facts, RunKind};

/// Returns the data directory of one test.
fn data_of(test: &str) -> PathBuf {
    data_home().join(test)
}

/// Runs `steady` with its data in `home`. Returns standard output and standard error; panics if the exit status is not
/// `status`.
fn run_in(home: &Path, status: i32, args: &[&str]) -> (String, String) {
    let (actual, stdout, stderr) = output_of(steady().env("XDG_DATA_HOME", home).args(args).output().unwrap());
    assert_eq!(actual, status, "{args:?}: {stdout}{stderr}");
    (stdout, stderr)
}

/// Returns the runs in the history.
fn runs(home: &Path) -> Vec<Value> {
    let (stdout, stderr) = run_in(home, 0, &["history", "list", "--format", "json"]);
    assert_eq!(stderr, "");
    let list: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(list["schema"], "steady.history/1");
    list["runs"].as_array().unwrap().clone()
}

fn ids(home: &Path) -> Vec<i64> {
    runs(home).iter().map(|run| run["id"].as_i64().unwrap()).collect()
}

/// Stores `number` small comparisons.
fn fill(home: &Path, number: usize) {
    (0..number).for_each(|_| drop(run_in(home, 0, &["compare", "--quiet", "--runs", "1", "true", "true"])));
}

#[test]
fn a_stored_comparison_is_reported_again_identically() {
    let home = data_of("again");
    let args = ["compare", "--runs", "30", "--seed", "7", "sh -c :", "sh -c 'true; true'"];
    let json = run_in(&home, 0, &[&args[..], &["--format", "json", "--samples"]].concat()).0;
    assert_eq!(run_in(&home, 0, &["history", "report", "1", "--format", "json", "--samples"]).0, json);
    let text = run_in(&home, 0, &args).0;
    let (report, line) = text.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(line, "History: 2 (steady history report 2)");
    assert_eq!(run_in(&home, 0, &["history", "report", "last"]).0.trim_end(), report);
    let again = home.join("again.json");
    let export = ["history", "report", "1", "--quiet", "--samples", "--export-json", again.to_str().unwrap()];
    assert_eq!(run_in(&home, 0, &export).0, "");
    assert_eq!(fs::read_to_string(again).unwrap(), json);
}

#[test]
fn the_list_shows_commands_and_times_of_runs() {
    let home = data_of("list");
    assert_eq!(run_in(&home, 0, &["history", "list"]).0, "The history has no runs.\n");
    assert!(!home.exists(), "listing creates no files");
    fill(&home, 3);
    let long = format!("sh -c ': {}'", "x".repeat(100));
    run_in(&home, 0, &["compare", "--quiet", "--runs", "6", &long, "true", "sh -c ': \u{1b}[31m\n'"]);
    let all = runs(&home);
    assert_eq!(ids(&home), [1, 2, 3, 4]);
    assert!(all[3]["pairs"].as_u64() >= Some(6) && all[3]["complete"] == true, "{}", all[3]);
    assert_eq!(all[0]["commands"], serde_json::json!(["true", "true"]));
    assert!(all[0]["started"].as_str().unwrap().ends_with('Z'));
    let (text, _) = run_in(&home, 0, &["history", "list", "--limit", "2"]);
    assert_eq!(text.lines().count(), 3, "not a header and two runs: {text}");
    assert!(text.contains(&format!("{long} · true · ")) && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("true · true"), "{text}");
}

#[test]
fn one_run_is_shown_with_its_verdict() {
    let home = data_of("show");
    run_in(&home, 0, &["compare", "--quiet", "--runs", "1", "--seed", "18446744073709551615", "true", "sh -c :"]);
    let (text, _) = run_in(&home, 0, &["history", "show", "last"]);
    for part in ["Undecided", "Run 1", "2 sh -c :", "18446744073709551615", "CPU time", "complete"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let shown: Value =
        serde_json::from_str(&run_in(&home, 0, &["history", "show", "1", "--format", "json"]).0).unwrap();
    assert_eq!(shown["runs"][0]["seed"], "18446744073709551615");
    assert!(shown["runs"][0]["verdicts"][0]["sentence"].as_str().unwrap().starts_with("Undecided"), "{shown}");
}

#[test]
fn a_run_of_an_unknown_kind_is_listed_but_not_printed() {
    let home = data_of("novelty");
    fill(&home, 1);
    let mut history = History::open(&home.join("steady/history.db")).unwrap();
    let novelty = Facts { kind: RunKind::new("novelty"), ..history.find(Which::Last).unwrap().facts };
    history.insert("novelty.log", &novelty, "{}").unwrap();
    assert_eq!(runs(&home)[1]["kind"], "novelty");
    assert!(run_in(&home, 0, &["history", "list"]).0.contains("novelty"));
    for subcommand in ["show", "report"] {
        let (stdout, stderr) = run_in(&home, 125, &["history", subcommand, "2"]);
        assert!(
            stdout.is_empty() && stderr.contains("run 2 cannot be printed") && stderr.contains("'novelty'"),
            "{stderr}"
        );
    }
    assert_eq!(run_in(&home, 0, &["history", "remove", "2"]).0, "Removed 1 run.\n");
    let compared = history.find(Which::Last).unwrap();
    let newer = history.record(compared.id).unwrap().replace("\"steady.compare/", "\"steady.compare/9");
    history.insert("newer.log", &compared.facts, &newer).unwrap();
    let (_, stderr) = run_in(&home, 125, &["history", "report", "last"]);
    assert!(
        stderr.contains("cannot be printed: written by a newer version") && !stderr.contains("damaged"),
        "{stderr}"
    );
}

#[test]
fn unknown_runs_are_usage_errors() {
    let home = data_of("usage");
    for args in [&["show", "last"][..], &["report", "1"], &["remove", "last"]] {
        run_in(&home, 2, &[&["history"], args].concat());
    }
    fill(&home, 1);
    for args in [
        &["show", "2"][..],
        &["report", "2"],
        &["remove", "2"],
        &["remove"],
        &["remove", "1", "--all"],
        &["remove", "--before", "yesterday"],
        &["show", "x"],
        &["list", "--limit", "-1"],
    ] {
        run_in(&home, 2, &[&["history"], args].concat());
    }
    assert!(run_in(&home, 2, &["history", "show", "2"]).1.contains("no run 2 in the history"));
    assert_eq!(ids(&home), [1]);
}

#[test]
fn runs_are_removed_by_number_and_by_age() {
    let home = data_of("remove");
    fill(&home, 4);
    assert_eq!(run_in(&home, 0, &["history", "remove", "1", "last"]).0, "Removed 2 runs.\n");
    assert_eq!(ids(&home), [2, 3]);
    for nothing in
        [["--before", "2020-01-01"], ["--older-than", "1d"], ["--older-than", "1year"], ["--older-than", "9years"]]
    {
        assert_eq!(run_in(&home, 0, &[&["history", "remove"], &nothing[..]].concat()).0, "Removed 0 runs.\n");
    }
    assert_eq!(run_in(&home, 0, &["history", "remove", "--before", "2500-01-01"]).0, "Removed 2 runs.\n");
    fill(&home, 1);
    assert_eq!(run_in(&home, 0, &["history", "remove", "--all"]).0, "Removed 1 run.\n");
    assert_eq!(run_in(&home, 0, &["history", "list"]).0, "The history has no runs.\n");
}

#[test]
fn no_history_stores_nothing() {
    let home = data_of("unwanted");
    let (stdout, stderr) = run_in(&home, 0, &["compare", "--no-history", "--runs", "1", "true", "true"]);
    assert!(!stdout.contains("History") && stderr.is_empty() && !home.exists(), "{stdout}{stderr}");
}

#[test]
fn concurrent_comparisons_are_all_stored() {
    let home = data_of("several");
    let start = |_| {
        let mut command = steady();
        command.env("XDG_DATA_HOME", &home).args(["compare", "--runs", "20", "--format", "json", "true", "true"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(start).collect();
    for child in children {
        let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
        assert_eq!((status, stderr.as_str()), (0, ""));
    }
    assert_eq!(ids(&home), [1, 2, 3, 4, 5, 6]);
    assert!(runs(&home).iter().all(|run| run["complete"] == true && run["pairs"] == 20));
    assert_eq!(home.join("steady/logs").read_dir().unwrap().count(), 0);
}

/// The arguments of a short load experiment.
const LOAD: [&str; 7] = ["load", "--cpu-time", "50ms", "--procs", "1..3", "--seed", "7"];

#[test]
fn a_stored_load_experiment_is_reported_again_identically() {
    let home = data_of("load");
    let json = run_in(&home, 0, &[&LOAD[..], &["--format", "json", "--samples"]].concat()).0;
    assert_eq!(run_in(&home, 0, &["history", "report", "1", "--format", "json", "--samples"]).0, json);
    let files = |prefix: &str| ["csv", "markdown", "html"].map(|form| home.join(format!("{prefix}.{form}")));
    let args = |files: &[PathBuf; 3]| -> Vec<String> {
        let options = ["--export-csv", "--export-markdown", "--export-html"];
        options
            .iter()
            .zip(files)
            .flat_map(|(option, file)| [(*option).to_owned(), file.display().to_string()])
            .collect()
    };
    let (first, again) = (files("first"), files("again"));
    let all = |start: &[&str], files: &[PathBuf; 3]| {
        let exports = args(files);
        run_in(&home, 0, &start.iter().copied().chain(exports.iter().map(String::as_str)).collect::<Vec<_>>()).0
    };
    let text = all(&LOAD, &first);
    let (report, line) = text.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(line, "History: 2 (steady history report 2)");
    assert_eq!(all(&["history", "report", "last"], &again).trim_end(), report);
    for (one, other) in first.iter().zip(&again) {
        assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{} and {} differ", one.display(), other.display());
    }
}

#[test]
fn runs_of_all_kinds_have_their_kind_and_fields() {
    let home = data_of("kinds");
    fill(&home, 1);
    run_in(&home, 0, &[&LOAD[..], &["--quiet"]].concat());
    let all = runs(&home);
    assert_eq!([&all[0]["kind"], &all[1]["kind"]], ["compare", "load"]);
    let limited = ["limit", "--cpu", "5s", "--", "sh", "-c", "exit 7"];
    let (stdout, stderr) = run_in(&home, 7, &limited);
    assert!(stdout.is_empty() && stderr.ends_with("History: 3 (steady history report 3)\n"), "{stderr}");
    run_in(&home, 0, &["load", "--rulers", "--quiet"]);
    let all = runs(&home);
    assert_eq!([&all[2]["kind"], &all[3]["kind"]], ["limit", "rulers"]);
    assert!(all[2]["seed"].is_null() && all[2]["commands"][0] == "sh -c 'exit 7'", "{}", all[2]);
    assert!(all[2]["verdict"].as_str().unwrap().starts_with("exit 7, "), "{}", all[2]);
    for (id, form) in [("3", "json"), ("4", "json"), ("3", "csv"), ("4", "markdown")] {
        let (first, _) = run_in(&home, 0, &["history", "report", id, "--format", form]);
        assert!(
            first.len() > 100 && first == run_in(&home, 0, &["history", "report", id, "--format", form]).0,
            "{first}"
        );
    }
    let (text, _) = run_in(&home, 0, &["history", "report", "3"]);
    assert!(stderr.starts_with(&text), "the report differs from the one at the end of the run: {text}{stderr}");
    run_in(&home, 0, &["history", "show", "4"]);
    assert_eq!(run_in(&home, 0, &["history", "remove", "3", "4"]).0, "Removed 2 runs.\n");
    let load = &all[1];
    assert!(load["pairs"].is_null() && load["pairs_absent"].is_string() && load["metric"].is_null(), "{load}");
    assert_eq!((&load["seed"], &load["complete"]), (&Value::from("7"), &Value::from(true)));
    let (text, _) = run_in(&home, 0, &["history", "list"]);
    assert!(text.contains(" compare ") && text.contains(" load "), "{text}");
    let (shown, _) = run_in(&home, 0, &["history", "show", "2"]);
    assert!(shown.contains("Run 2") && shown.contains("hash: 0.05 s of CPU"), "{shown}");
    let shown: Value =
        serde_json::from_str(&run_in(&home, 0, &["history", "show", "2", "--format", "json"]).0).unwrap();
    assert!(shown["runs"][0]["sentences"].as_array().is_some_and(|all| !all.is_empty()), "{shown}");
    assert_eq!(run_in(&home, 0, &["history", "remove", "last"]).0, "Removed 1 run.\n");
    assert_eq!(ids(&home), [1]);
}

#[test]
fn costs_are_reported_again_in_every_format() {
    let home = data_of("costs");
    let forms = ["json", "csv", "markdown", "html"];
    let file = |when: &str, form: &str| home.join(format!("{when}.{form}")).display().to_string();
    let exports = |when: &str| -> Vec<String> {
        forms.iter().flat_map(|form| [format!("--export-{form}"), file(when, form)]).collect()
    };
    fs::create_dir_all(&home).unwrap();
    let all = |args: &[&str], when: &str| {
        let exports = exports(when);
        run_in(&home, 0, &args.iter().copied().chain(exports.iter().map(String::as_str)).collect::<Vec<_>>()).0
    };
    let args = ["costs", "--only", "function_call,system_call", "--repetitions", "10", "--samples"];
    let text = all(&args, "first");
    let again = all(&["history", "report", "last", "--samples"], "again");
    assert_eq!(text.trim_end().rsplit_once('\n').unwrap().0, again.trim_end());
    for form in forms {
        assert!(fs::read(file("first", form)).unwrap() == fs::read(file("again", form)).unwrap(), "{form}");
    }
    let run = &runs(&home)[0];
    assert_eq!((run["kind"].as_str(), run["complete"].as_bool()), (Some("costs"), Some(true)));
    assert_eq!(run["commands"][0], "function_call, system_call");
    let shown = run_in(&home, 0, &["history", "show", "last"]).0;
    assert!(shown.contains("System call "), "{shown}");
}
