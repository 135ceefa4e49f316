//! `steady explain` on programs that do one thing a known number of times: the counts are right, the largest part has
//! the right cause, and nothing is counted twice.

mod steady;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use steady::{first_cpu, output_of, run, scratch, skip};

/// Returns the path of the program `testdata/made/made.c`, which is compiled once.
fn made() -> &'static str {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = scratch("made");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/made/made.c");
        let done = Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).status();
        assert!(done.expect("there is a C compiler").success());
        program
    });
    MADE.to_str().expect("the build directory has a UTF-8 name")
}

/// Returns the JSON report on one run.
fn explained(name: &str, options: &[&str], command: &[&str]) -> Value {
    let file = scratch(&format!("explained-{name}.json"));
    let args = [&["explain", "--quiet", "--export-json", file.to_str().unwrap()], options, &["--"], command].concat();
    let (status, _, stderr) = run(&args);
    assert_eq!(status, 0, "{stderr}");
    let text = fs::read_to_string(&file).expect("the report was written");
    let _ = fs::remove_file(&file);
    serde_json::from_str(&text).expect("the report is JSON")
}

fn seconds(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// Returns the seconds that the report attributes to an event.
fn seconds_of_event(report: &Value, event: &str) -> f64 {
    let parts = report["parts"].as_array().expect("there are parts");
    parts.iter().filter(|part| part["event"] == event).map(|part| seconds(part, "seconds")).sum()
}

/// Returns whether a count is not available on this machine, after reporting a skip.
fn skipped_without(test: &str, report: &Value, count: &str) -> bool {
    let why = report["counts"][format!("{count}_absent")].as_str();
    if let Some(why) = why {
        skip(test, why);
    }
    why.is_some()
}

/// Panics unless the parts, the cost of counting and the unexplained rest add up to the CPU time.
fn assert_adds_up(report: &Value) {
    let parts: f64 = report["parts"].as_array().unwrap().iter().map(|part| seconds(part, "seconds")).sum();
    let total = seconds(report, "cpu_seconds");
    let parts = parts + report["counting_cost_seconds"].as_f64().unwrap_or(0.0);
    assert!((parts + seconds(report, "unexplained_seconds") - total).abs() <= 1e-9 + 1e-6 * total, "{report}");
}

#[test]
fn page_faults_explain_the_time_of_a_program_that_touches_pages() {
    // A fault costs more while other programs use memory, so the price is that of now. The use of memory may change
    // between the measurement of the price and the run.
    let mut shares = vec![];
    let is_explained = (0..3).any(|_| {
        let report = explained("faults", &["--fresh"], &[made(), "faults", "20000"]);
        assert_adds_up(&report);
        assert!((20_000..21_000).contains(&report["counts"]["minor_faults"].as_u64().unwrap()), "{report}");
        let share = seconds_of_event(&report, "minor_fault") / seconds(&report, "cpu_seconds");
        shares.push(share);
        (0.5..2.0).contains(&share)
    });
    assert!(is_explained, "{shares:?}");
}

#[test]
fn context_switches_of_both_processes_are_counted() {
    let report = explained("pingpong", &[], &["taskset", "-c", &first_cpu(), made(), "pingpong", "5000"]);
    assert_adds_up(&report);
    let counts = &report["counts"];
    let of = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"));
    let switches = of("voluntary_switches") + of("involuntary_switches");
    assert!((9_900..12_000).contains(&switches), "{switches}: {report}");
    assert!(seconds_of_event(&report, "switch") > 0.0);
}

#[test]
fn every_fork_is_counted() {
    let report = explained("forks", &[], &[made(), "forks", "200"]);
    assert_adds_up(&report);
    if skipped_without("every_fork_is_counted", &report, "forks") {
        return;
    }
    assert_eq!(report["counts"]["forks"], 200, "{report}");
    assert!(seconds_of_event(&report, "fork") > 0.0);
}

/// A script names its interpreter in its first line, and that may be a shim too.
#[test]
fn the_interpreter_of_a_script_may_be_a_shim() {
    let folder = scratch("of-shims");
    let shims = folder.join("shims");
    fs::create_dir_all(&shims).unwrap();
    let loops = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do /bin/true; done";
    for (file, text) in [
        (shims.join("python3"), format!("#!/bin/sh\n{loops}\n")),
        (folder.join("tool.py"), "#!/usr/bin/env python3\n".to_owned()),
    ] {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", shims.display());
    let export = folder.join("report.json");
    let mut explain = steady::steady();
    explain.env("PATH", path).args(["explain", "--export-json"]).arg(&export).arg("--").arg(folder.join("tool.py"));
    let (status, _, text) = output_of(explain.output().unwrap());
    assert_eq!(status, 0, "{text}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&export).unwrap()).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(report["interpreter"].as_str(), shims.join("python3").to_str());
    if let Some(why) = report["processes_absent"].as_str() {
        return skip("the_interpreter_of_a_script_may_be_a_shim", why);
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("shims/python3 is a script that starts the real program"), "{text}");
}

/// Processes with the same name are summed, which shows what a script spends its time on.
#[test]
fn the_processes_of_a_program_are_summed() {
    let file = scratch("explained-programs.json");
    let script = "for i in 1 2 3 4 5 6 7; do cat /dev/null; done; sleep 0.01";
    let args = ["explain", "--export-json", file.to_str().unwrap(), "--", "sh", "-c", script];
    let (status, _, text) = run(&args);
    assert_eq!(status, 0, "{text}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let _ = fs::remove_file(&file);
    if let Some(why) = report["processes_absent"].as_str() {
        return skip("the_processes_of_a_program_are_summed", why);
    }
    let row = text.lines().find(|line| line.trim_start().starts_with("cat ")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(row.split_whitespace().nth(1), Some("7"), "{text}");
}

#[test]
fn system_calls_are_counted_without_a_tracer_if_permitted() {
    // Other programs may make the calls more expensive between the measurement of the price and the run.
    let mut found = vec![];
    for _ in 0..3 {
        let report = explained("calls", &["--fresh"], &[made(), "calls", "200000"]);
        assert_adds_up(&report);
        if skipped_without("system_calls_are_counted_without_a_tracer_if_permitted", &report, "calls") {
            return;
        }
        assert!((200_000..201_000).contains(&report["counts"]["calls"].as_u64().unwrap()), "{report}");
        // The CPU time includes what counting adds to each call, which may be as much as the call itself.
        let own = seconds(&report, "cpu_seconds") - seconds(&report, "counting_cost_seconds");
        let of_calls = seconds_of_event(&report, "kernel_entry");
        if of_calls > 0.4 * own && of_calls < 2.0 * own {
            return;
        }
        found.push((of_calls, own));
    }
    panic!("seconds of the calls, and CPU time: {found:?}");
}

#[test]
fn a_tracer_counts_calls_by_name() {
    let report = explained("named", &["--trace"], &[made(), "pingpong", "1000"]);
    let Some(by_name) = report["counts"]["calls_by_name"].as_array() else {
        return skip("a_tracer_counts_calls_by_name", &report["counts"]["calls_by_name_absent"].to_string());
    };
    let of = |name: &str| {
        by_name.iter().filter(|call| call["name"] == name).map(|call| call["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert!((2_000..2_100).contains(&of("read")) && (2_000..2_100).contains(&of("write")), "{report}");
    assert!(seconds_of_event(&report, "call_read") > 0.0 && seconds_of_event(&report, "call_write") > 0.0, "{report}");
    assert!(report["unexplained_seconds"].is_null(), "a tracer distorts the times");
}

#[test]
fn sleeping_counts_as_blocked() {
    let report = explained("sleep", &[], &[made(), "sleep", "0.3"]);
    let blocked = seconds(&report, "blocked_seconds");
    let waiting = seconds(&report, "waiting_seconds");
    let rest = seconds(&report, "cpu_seconds") + waiting + seconds(&report, "stopped_seconds");
    // On a busy machine the program may lose the CPU after it has started its timer and before it sleeps. That part of
    // the time counts as waiting for a CPU.
    assert!(blocked + waiting >= 0.29 && blocked > 0.0 && seconds(&report, "cpu_seconds") < 0.1, "{report}");
    assert!((blocked + rest - seconds(&report, "thread_seconds")).abs() < 1e-6, "{report}");
}

/// A busy loop on the first allowed CPU, killed on drop.
struct Spinner(Child);

impl Spinner {
    fn start() -> Self {
        let mut command = Command::new("taskset");
        command.args(["-c", &first_cpu(), "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
        Spinner(command.spawn().expect("taskset starts"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn queueing_for_a_cpu_counts_as_waiting() {
    let _spinners = [Spinner::start(), Spinner::start()];
    let report = explained("spin", &[], &["taskset", "-c", &first_cpu(), made(), "spin", "0.2"]);
    let (cpu, waiting) = (seconds(&report, "cpu_seconds"), seconds(&report, "waiting_seconds"));
    assert!((0.199..0.3).contains(&cpu), "{report}");
    // The program gets at most a third of the CPU, so it queues at least twice as long as it runs. The bound is lower
    // because times have a coarse resolution.
    assert!(waiting > 1.2 * cpu, "{report}");
    assert!(
        (cpu + waiting - seconds(&report, "wall_seconds")).abs() < 0.2 * seconds(&report, "wall_seconds"),
        "{report}"
    );
}

#[test]
fn threads_that_wait_for_a_lock_are_blocked() {
    let report = explained("locks", &[], &[made(), "locks", "4", "0.05"]);
    if let Some(why) = report["blocked_seconds_absent"].as_str() {
        return skip("threads_that_wait_for_a_lock_are_blocked", why);
    }
    // The four threads are blocked for 0, 1, 2 and 3 turns of 0.05 s, the main thread for four turns.
    let (blocked, cpu) = (seconds(&report, "blocked_seconds"), seconds(&report, "cpu_seconds"));
    assert!((0.2..0.3).contains(&cpu), "{report}");
    assert!(blocked > 0.4, "{report}");
}

#[test]
fn the_difference_of_two_commands_is_the_additional_page_faults() {
    let of = |pages: &str| format!("{} faults {pages}", made());
    let (old, new) = (of("100"), of("3000"));
    let file = scratch("explained-pair.json");
    let args = ["explain", "--runs", "40", "--no-history", "--export-json", file.to_str().unwrap(), &old, &new];
    let (status, stdout, stderr) = output_of(steady::steady().args(args).output().expect("steady starts"));
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let _ = fs::remove_file(&file);
    let lines = report["lines"].as_array().expect("there are lines");
    let faults = lines.iter().find(|line| line["event"] == "minor_fault").unwrap_or_else(|| panic!("{report}"));
    let more = faults["difference_count"].as_f64().unwrap_or_else(|| panic!("{faults}"));
    assert!((2_890.0..2_910.0).contains(&more), "{faults}");
    assert!(
        stdout.contains("page faults") || stderr.contains("page faults"),
        "page faults are not in the report: {stderr}"
    );
}
