//! `steady explain` on programs that do one thing so many times: the counts are theirs, the right line is the dearest, and
//! nothing is counted twice.

mod steady;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use steady::{run, scratch, skip, told};

/// The program of `testdata/made/made.c`, compiled once.
fn made() -> &'static str {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = scratch("made");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/made/made.c");
        let done = Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).status();
        assert!(done.expect("there is a C compiler").success());
        program
    });
    MADE.to_str().expect("the build's folder has a name in UTF-8")
}

/// What is told of one run.
fn explained(name: &str, options: &[&str], command: &[&str]) -> Value {
    let file = scratch(&format!("explained-{name}.json"));
    let words = [&["explain", "--quiet", "--export-json", file.to_str().unwrap()], options, &["--"], command].concat();
    let (status, _, stderr) = run(&words);
    assert_eq!(status, 0, "{stderr}");
    let text = fs::read_to_string(&file).expect("the report was written");
    let _ = fs::remove_file(&file);
    serde_json::from_str(&text).expect("it is JSON")
}

fn seconds(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// The seconds of the line of an event.
fn line(report: &Value, event: &str) -> f64 {
    let parts = report["parts"].as_array().expect("there are parts");
    parts.iter().filter(|part| part["event"] == event).map(|part| seconds(part, "seconds")).sum()
}

/// Says that a count is absent here, and whether it is.
fn absent(test: &str, report: &Value, count: &str) -> bool {
    let why = report["counts"][format!("{count}_absent")].as_str();
    if let Some(why) = why {
        skip(test, why);
    }
    why.is_some()
}

/// The parts, what the counting took and what is left come to the whole.
fn adds_up(report: &Value) {
    let parts: f64 = report["parts"].as_array().unwrap().iter().map(|part| seconds(part, "seconds")).sum();
    let whole = seconds(report, "cpu_seconds");
    let parts = parts + report["counting_cost_seconds"].as_f64().unwrap_or(0.0);
    assert!((parts + seconds(report, "unexplained_seconds") - whole).abs() <= 1e-9 + 1e-6 * whole, "{report}");
}

#[test]
fn page_faults_carry_the_time_of_a_program_that_touches_pages() {
    let report = explained("faults", &[], &[made(), "faults", "20000"]);
    adds_up(&report);
    assert!((20_000..21_000).contains(&report["counts"]["minor_faults"].as_u64().unwrap()), "{report}");
    let share = line(&report, "minor_fault") / seconds(&report, "cpu_seconds");
    assert!((0.5..2.0).contains(&share), "{share}: {report}");
}

#[test]
fn a_switch_is_counted_on_either_side() {
    let report = explained("pingpong", &[], &["taskset", "-c", "0", made(), "pingpong", "5000"]);
    adds_up(&report);
    let counts = &report["counts"];
    let of = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"));
    let switches = of("voluntary_switches") + of("involuntary_switches");
    assert!((9_900..12_000).contains(&switches), "{switches}: {report}");
    assert!(line(&report, "switch") > 0.0);
}

#[test]
fn processes_are_counted_one_by_one() {
    let report = explained("forks", &[], &[made(), "forks", "200"]);
    adds_up(&report);
    if absent("processes_are_counted_one_by_one", &report, "forks") {
        return;
    }
    assert_eq!(report["counts"]["forks"], 200, "{report}");
    assert!(line(&report, "fork") > 0.0);
}

#[test]
fn system_calls_are_counted_without_a_tracer_where_that_is_allowed() {
    let report = explained("calls", &[], &[made(), "calls", "200000"]);
    adds_up(&report);
    if absent("system_calls_are_counted_without_a_tracer_where_that_is_allowed", &report, "calls") {
        return;
    }
    assert!((200_000..201_000).contains(&report["counts"]["calls"].as_u64().unwrap()), "{report}");
    let (of_calls, of_all) = (line(&report, "kernel_entry"), seconds(&report, "cpu_seconds"));
    assert!(of_calls > 0.4 * of_all && of_calls < 2.0 * of_all, "{of_calls} of {of_all}: {report}");
}

#[test]
fn a_tracer_knows_calls_by_name() {
    let report = explained("named", &["--trace"], &[made(), "pingpong", "1000"]);
    let Some(by_name) = report["counts"]["calls_by_name"].as_array() else {
        return skip("a_tracer_knows_calls_by_name", &report["counts"]["calls_by_name_absent"].to_string());
    };
    let of = |name: &str| {
        by_name.iter().filter(|call| call["name"] == name).map(|call| call["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert!((2_000..2_100).contains(&of("read")) && (2_000..2_100).contains(&of("write")), "{report}");
    assert!(line(&report, "call_read") > 0.0 && line(&report, "call_write") > 0.0, "{report}");
    assert!(report["unexplained_seconds"].is_null(), "times under a tracer are not its own");
}

#[test]
fn time_asleep_is_blocked() {
    let report = explained("sleep", &[], &[made(), "sleep", "0.3"]);
    let blocked = seconds(&report, "blocked_seconds");
    let waiting = seconds(&report, "waiting_seconds");
    let rest = seconds(&report, "cpu_seconds") + waiting + seconds(&report, "stopped_seconds");
    // On a crowded machine the CPU may be taken from it when its timer runs already and it is not yet asleep: then it waits
    // for a CPU while that time passes.
    assert!(blocked + waiting >= 0.29 && blocked > 0.0 && seconds(&report, "cpu_seconds") < 0.1, "{report}");
    assert!((blocked + rest - seconds(&report, "thread_seconds")).abs() < 1e-6, "{report}");
}

/// A busy loop on CPU 0 that dies with the test.
struct Spinner(Child);

impl Spinner {
    fn start() -> Self {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
        Spinner(command.spawn().expect("taskset is there"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn time_in_the_queue_is_waiting() {
    let _spinners = [Spinner::start(), Spinner::start()];
    let report = explained("spin", &[], &["taskset", "-c", "0", made(), "spin", "0.2"]);
    let (cpu, waiting) = (seconds(&report, "cpu_seconds"), seconds(&report, "waiting_seconds"));
    assert!((0.199..0.3).contains(&cpu), "{report}");
    // It got a third of the CPU or less: at least twice as long in the queue as on the CPU, less what is grain.
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
    // The four are blocked for 0, 1, 2 and 3 turns of 0.05 s, the first thread of all for four.
    let (blocked, cpu) = (seconds(&report, "blocked_seconds"), seconds(&report, "cpu_seconds"));
    assert!((0.2..0.3).contains(&cpu), "{report}");
    assert!(blocked > 0.4, "{report}");
}

#[test]
fn the_difference_of_two_is_the_pages_that_one_touches_more() {
    let of = |pages: &str| format!("{} faults {pages}", made());
    let (old, new) = (of("100"), of("3000"));
    let file = scratch("explained-pair.json");
    let words = ["explain", "--runs", "40", "--no-history", "--export-json", file.to_str().unwrap(), &old, &new];
    let (status, stdout, stderr) = told(steady::steady().args(words).output().expect("steady starts"));
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let _ = fs::remove_file(&file);
    let lines = report["lines"].as_array().expect("there are lines");
    let faults = lines.iter().find(|line| line["event"] == "minor_fault").unwrap_or_else(|| panic!("{report}"));
    let more = faults["difference_count"].as_f64().unwrap_or_else(|| panic!("{faults}"));
    assert!((2_890.0..2_910.0).contains(&more), "{faults}");
    assert!((stdout + &stderr).contains("page faults"), "they are told");
}
