//! `steady compare --metric-from`: numbers that the commands report themselves.

mod steady;

use std::fs;
use std::path::PathBuf;

use steady::{run, scratch};

/// Compares two commands in 8 pairs. Returns the exit status, standard output and standard error.
fn compare(words: &[&str], old: &str, new: &str) -> (i32, String, String) {
    let options = ["compare", "--no-history", "--runs", "8", "--warmup", "1", "--resolution", "5%"];
    run(&[&options[..], words, &[old, new]].concat())
}

/// A shell command that prints `text`.
fn printing(text: &str) -> String {
    format!("printf '{text}'")
}

/// The JSON of a comparison of two shell commands.
fn measured(words: &[&str], old: &str, new: &str) -> serde_json::Value {
    let words = [words, &["--shell=sh", "--format", "json", "--samples"]].concat();
    let (status, json, stderr) = compare(&words, old, new);
    assert_eq!(status, 0, "{stderr}");
    serde_json::from_str(&json).unwrap()
}

/// The primary verdict, and the mean of its metric for the second command.
fn primary(json: &serde_json::Value) -> (&str, &str, f64) {
    let verdict = &json["verdicts"][0];
    let values = json["commands"][1]["values"].as_array().unwrap();
    let own = values.iter().find(|value| value["metric"] == verdict["metric"]).unwrap();
    (verdict["metric"].as_str().unwrap(), verdict["verdict"].as_str().unwrap(), own["mean"].as_f64().unwrap())
}

#[test]
fn values_are_in_lines_matches_or_json() {
    let (old, new) = (printing("x\\nsteady: t 10 ms\\n"), printing("steady: t 0.02 s\\nend\\n"));
    assert_eq!(primary(&measured(&["--metric-from", "t[ms]"], &old, &new)), ("t", "slower", 20.0));
    let (old, new) = (printing("took 9 s, took 3 s\\n"), printing("took 1 s, took 2 s\\n"));
    assert_eq!(primary(&measured(&["--metric-from", "t[s]=regex:took ([0-9]+) s"], &old, &new)), ("t", "faster", 2.0));
    let (old, new) = (printing("{\"a\": [1, 7]}"), printing("log\\n{\"a\": [1, 7]}\\n"));
    assert_eq!(primary(&measured(&["--metric-from", "t=json:/a/1"], &old, &new)), ("t", "same", 7.0));
}

#[test]
fn values_are_read_from_standard_error_or_a_file() {
    let (old, new) = ("echo steady: t 1 >&2; echo steady: t 5", "echo steady: t 2 >&2; echo steady: t 5");
    let from_stderr = ["--metric-from", "t", "--metric-input", "stderr"];
    assert_eq!(primary(&measured(&from_stderr, old, new)), ("t", "slower", 2.0));
    let file = scratch("values").display().to_string();
    let (old, new) = (format!("echo 'steady: t 1' >{file}"), format!("echo 'steady: t 2' >{file}"));
    let json = measured(&["--metric-from", "t", "--metric-input", &file], &old, &new);
    assert_eq!(primary(&json), ("t", "slower", 2.0));
    assert_eq!(json["layouts_left_out"][0]["layout"], "duet");
}

#[test]
fn a_value_of_an_earlier_run_does_not_count() {
    let file = scratch("stale");
    fs::write(&file, "steady: t 1\n").unwrap();
    let file = file.display().to_string();
    let (status, _, stderr) = compare(&["--metric-from", "t", "--metric-input", &file], "true", "true");
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("the run did not write it"), "{stderr}");
    let absent = scratch("absent").display().to_string();
    let (status, _, stderr) = compare(&["--metric-from", "t", "--metric-input", &absent], "true", "true");
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("No such file"), "{stderr}");
}

#[test]
fn a_run_without_a_value_ends_the_comparison_and_shows_what_was_printed() {
    let old = printing("steady: t 1\\n");
    let (status, stdout, stderr) = compare(&["--shell=sh", "--metric-from", "t"], &old, "echo nothing to see");
    assert_eq!((status, stdout.as_str()), (3, ""), "{stderr}");
    assert!(stderr.contains("no value of 't'") && stderr.contains("nothing to see"), "{stderr}");
    let (status, _, stderr) = compare(&["--shell=sh", "--metric-from", "t"], &old, "echo steady: t -1");
    assert!(status == 3 && stderr.contains("the value -1 is negative"), "{stderr}");
    let (status, _, stderr) = compare(&["--metric-from", "t"], "true", "true");
    assert!(status == 3 && stderr.contains("--metric-input stderr"), "{stderr}");
    // A run that failed need not print a value.
    let fails = "case $STEADY_RUN in *[13579]) exit 1;; esac; echo steady: t 1";
    let words = ["--shell=sh", "--ignore-failure=2", "--metric-from", "t"];
    let (status, _, stderr) = compare(&words, &old, fails);
    assert!(status == 3 && stderr.contains("exited with status 1"), "{stderr}");
}

#[test]
fn a_larger_value_can_be_better() {
    let (old, new) = (printing("steady: rate 100\\n"), printing("steady: rate 120\\n"));
    let words = ["--metric-from", "rate[,more]", "--fail-if", "slower>5%"];
    let json = measured(&words, &old, &new);
    assert_eq!(primary(&json), ("rate", "faster", 120.0));
    assert_eq!(json["verdicts"][0]["condition"], "does_not_hold");
    let (status, text, stderr) = compare(&[&words[..], &["--shell=sh"]].concat(), &new, &old);
    assert_eq!(status, 1, "{stderr}");
    assert!(text.starts_with("The rate of") && text.contains("lower than that of"), "{text}");
    assert!(text.replace("\n  ", " ").contains("which is worse"), "{text}");
    assert!(text.contains("slower>5% holds"), "{text}");
}

#[test]
fn counts_may_be_zero() {
    let (zero, five) = (printing("steady: n 0\\n"), printing("steady: n 5\\n"));
    let same = measured(&["--metric-from", "n"], &zero, &zero);
    assert_eq!((primary(&same).1, &same["verdicts"][0]["change"]), ("same", &serde_json::json!(0.0)));
    let more = measured(&["--metric-from", "n", "--fail-if", "slower>1%"], &zero, &five);
    assert_eq!(primary(&more).1, "slower");
    let absent = more["verdicts"][0]["change_absent"].as_str().unwrap();
    assert!(absent.contains("reports 0 in most runs"), "{absent}");
}

#[test]
fn the_first_metric_decides_unless_another_one_is_chosen() {
    let (old, new) = (printing("steady: a 1\\nsteady: b 2\\n"), printing("steady: a 1\\nsteady: b 3\\n"));
    let both = ["--metric-from", "a", "--metric-from", "b"];
    assert_eq!(primary(&measured(&both, &old, &new)), ("a", "same", 1.0));
    assert_eq!(primary(&measured(&[&both[..], &["--metric", "b"]].concat(), &old, &new)), ("b", "slower", 3.0));
    let by_cpu = measured(&[&both[..], &["--metric", "cpu", "--layout", "turns"]].concat(), &old, &new);
    assert_eq!(by_cpu["verdicts"][0]["metric"], "cpu");
    let of_b = by_cpu["verdicts"].as_array().unwrap().iter().find(|verdict| verdict["metric"] == "b").unwrap();
    assert_eq!((&of_b["primary"], &of_b["verdict"]), (&serde_json::json!(false), &serde_json::json!("slower")));
}

#[test]
fn counts_of_the_kernel_are_reported_on_request() {
    let metrics = |words: &[&str]| -> Vec<String> {
        let json = measured(words, "true", "sleep 0.01; sleep 0.01");
        let verdicts = json["verdicts"].as_array().unwrap();
        verdicts.iter().map(|verdict| verdict["metric"].as_str().unwrap().to_owned()).collect()
    };
    let usual = metrics(&["--layout", "turns"]);
    assert!(!usual.contains(&"faults".to_owned()), "{usual:?}");
    let asked = metrics(&["--layout", "turns", "--metric", "cpu,faults,switches"]);
    assert!(
        asked.starts_with(&["cpu".to_owned()]) && asked.ends_with(&["faults".to_owned(), "switches".to_owned()]),
        "{asked:?}"
    );
    let json = measured(&["--metric", "switches,cpu"], "sleep 0.01", "sleep 0.01; sleep 0.01");
    let verdict = &json["verdicts"][0];
    assert_eq!(
        (&verdict["metric"], &verdict["verdict"]),
        (&serde_json::json!("switches"), &serde_json::json!("slower"))
    );
}

#[test]
fn an_export_is_judged_as_it_was_measured() {
    let json = scratch("export.json").display().to_string();
    let (old, new) = (printing("steady: rate 100 1/s\\n"), printing("steady: rate 120 1/s\\n"));
    let words =
        ["--shell=sh", "--metric-from", "rate[1/s,more]", "--samples", "--export-json", &json, "--format", "csv"];
    let (status, csv, stderr) = compare(&words, &old, &new);
    assert_eq!(status, 0, "{stderr}");
    assert!(csv.lines().next().unwrap().ends_with(",rate_1/s"), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",100") || line.ends_with(",120")), "{csv}");
    let (status, text, stderr) = run(&["judge", &json]);
    assert_eq!(status, 0, "{stderr}");
    assert!(text.starts_with("The rate of") && text.contains("20.0 % higher"), "{text}");
    let (_, markdown, _) = run(&["judge", "--format", "markdown", &json]);
    assert!(markdown.contains("--metric rate --metric-from 'rate&#91;1/s,more&#93;'"), "{markdown}");
    let (status, again, _) = run(&["judge", "--format", "json", &json]);
    assert_eq!(status, 0);
    let (first, again): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap(), serde_json::from_str(&again).unwrap());
    assert_eq!(first["verdicts"], again["verdicts"]);
}

#[test]
fn what_a_program_prints_is_read_completely() {
    // More than a pipe holds, before and after the value.
    let prints = "head -c 300000 /dev/zero; echo; echo steady: t 4; head -c 300000 /dev/zero";
    assert_eq!(primary(&measured(&["--metric-from", "t"], prints, prints)), ("t", "same", 4.0));
    // A process that outlives the command may print later. It is killed.
    let leaves = "echo steady: t 4; (sleep 5; echo steady: t 9) &";
    assert_eq!(primary(&measured(&["--metric-from", "t"], leaves, leaves)), ("t", "same", 4.0));
}

#[test]
fn contradictory_options_are_refused() {
    let usage = |words: &[&str], part: &str| {
        let (status, _, stderr) = compare(words, "true", "true");
        assert!(status == 2 && stderr.contains(part), "{words:?}: {stderr}");
    };
    usage(&["--metric-from", "took ([0-9]+) ms"], "'latency[ms]=regex:took ([0-9]+) ms'");
    usage(&["--metric-from", "t=regex:took"], "no group");
    usage(&["--metric-from", "t=took (.*) ms"], "must begin with regex:, least: or json:");
    usage(&["--metric-from", "t[more]"], "'t[,more]'");
    usage(&["--fail-if", "faster>100%"], "can never hold");
    usage(&["--metric-from", "t=json:a"], "not a JSON pointer");
    usage(&["--metric-from", "t", "--metric-from", "t"], "there twice");
    usage(&["--metric", "latency"], "there is no metric 'latency'");
    usage(&["--metric-input", "stderr"], "--metric-from");
    usage(&["--metric-from", "t", "--show-output"], "--metric-input");
    usage(&["--metric-from", "t", "--output", "pipe"], "--metric-input");
    usage(&["--metric-from", "t", "--metric-input", "/dev/null"], "not a file");
    let file: PathBuf = scratch("both");
    usage(&["--metric-from", "t", "--metric-input", &file.display().to_string(), "--layout", "duet"], "--layout turns");
}
