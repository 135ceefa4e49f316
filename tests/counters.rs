//! Hardware performance counters: used where the machine has them, and otherwise reported as missing with a remedy.

mod steady;

use std::fs;

use serde_json::Value;
use steady::{json, primary, run, scratch, skip, work};

/// Returns the scope of the counters of this machine (whose events they count), or the reason why there are none. Both
/// are read from the report of a comparison.
fn counters() -> Result<String, String> {
    let report = json(0, &["--runs", "6", "true", "true"]);
    match &report["counters"] {
        Value::String(scope) => Ok(scope.clone()),
        _ => Err(report["counters_absent"].as_str().expect("a null has its reason").to_owned()),
    }
}

#[test]
fn without_counters_the_reason_and_a_remedy_are_reported() {
    let test = "without_counters_the_reason_and_a_remedy_are_reported";
    let Err(reason) = counters() else { return skip(test, "this machine has counters") };
    let mark = scratch("set-up");
    let setup = format!("touch {}", mark.display());
    let (status, stdout, stderr) = run(&["compare", "--setup", &setup, "--metric", "instructions", "true", "true"]);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains(&reason) && stderr.contains("use --metric cpu"), "{reason} is not in {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!mark.exists(), "the setup ran before the error");
    let (status, text, stderr) = run(&["compare", "--runs", "6", "true", "true"]);
    assert_eq!(status, 0, "{stderr}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains(&words(&format!("CPU counters: {reason}"))), "{text}");
    assert!(!text.contains("branch misses"), "{text}");
}

#[test]
fn with_counters_instructions_need_few_pairs() {
    let test = "with_counters_instructions_need_few_pairs";
    if let Err(reason) = counters() {
        return skip(test, &reason);
    }
    let (less, more) = (work(4000), work(4200));
    let report = json(0, &["--metric", "instructions", "--samples", &less, &more]);
    let verdict = primary(&report);
    assert_eq!((verdict["metric"].as_str(), verdict["verdict"].as_str()), (Some("instructions"), Some("slower")));
    assert!(verdict["low"].as_f64() > Some(0.005) && verdict["high"].as_f64() < Some(0.05), "{verdict}");
    assert!(report["commands"][0]["instructions"].as_f64() > Some(1e5), "{report}");
    let file = scratch("counted.json");
    fs::write(&file, report.to_string()).unwrap();
    let (status, _, stderr) = run(&["judge", file.to_str().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!(status, 0, "{stderr}");
}
