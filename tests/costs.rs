//! `steady costs`: the costs of primitives on this machine, invalid options, interruptions, and processes that are
//! left.

mod steady;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steady::{cpu_seconds, eventually, first_cpu, output_of, run, scratch, skip, steady, within_a_second};
use steady_linux::clock;
use steady_model::Nanos;

/// Runs `steady costs` and returns its JSON report. Panics if the exit status is not `status`.
fn costs(status: i32, args: &[&str]) -> Value {
    let (actual, stdout, stderr) = run(&[&["costs", "--no-history", "--format", "json"], args].concat());
    assert_eq!(actual, status, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

fn probes(report: &Value) -> &Vec<Value> {
    report["probes"].as_array().expect("there are probes")
}

fn probe<'a>(report: &'a Value, name: &str) -> &'a Value {
    probes(report).iter().find(|probe| probe["name"] == name).unwrap_or_else(|| panic!("{name} in {report}"))
}

fn number(probe: &Value, field: &str) -> f64 {
    probe[field].as_f64().unwrap_or_else(|| panic!("{field} in {probe}"))
}

/// Panics unless the probe has the expected number of events. Switches that the kernel makes for other reasons count too.
fn assert_events_counted(probe: &Value) {
    let [expected, counted] = ["expected_events", "counted_events"].map(|field| number(probe, field));
    assert!(expected > 0.0, "{probe}");
    let allowed = if probe["name"].as_str().unwrap().contains("switch") { 0.9..1.5 } else { 0.99..1.01 };
    assert!(allowed.contains(&(counted / expected)), "{probe}");
}

/// Returns the processes whose command line begins with `prefix`.
fn processes(prefix: &str) -> Vec<i32> {
    let numbered = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<i32>().ok();
    let begins = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").starts_with(prefix)
    };
    fs::read_dir("/proc").unwrap().filter_map(numbered).filter(begins).collect()
}

/// Returns the probers of one experiment.
fn probers_of(parent: u32) -> Vec<i32> {
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let actual_parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        actual_parent == Some(parent)
    };
    processes("steady __prober").into_iter().filter(is_child).collect()
}

/// Processes that keep CPUs busy, killed on drop.
struct Spinners(Vec<Child>);

impl Spinners {
    fn start(count: usize) -> Self {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Spinners((0..count).map(|_| spin()).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_call_costs_less_than_a_system_call_and_that_less_than_a_switch() {
    let args = ["--only", "function_call,system_call,process_switch,fork_exit", "--repetitions", "30"];
    let report = costs(0, &[&args[..], &["--budget", "60s", "--seed", "7", "--cpu", &first_cpu()]].concat());
    assert_eq!((&report["schema"], &report["seed"]), (&"steady.costs/1".into(), &"7".into()));
    for probe in probes(&report) {
        let [low, median, high] = ["low_seconds", "median_seconds", "high_seconds"].map(|field| number(probe, field));
        assert!(0.0 < low && low <= median && median <= high, "{probe}");
        assert_events_counted(probe);
        assert!(number(probe, "spread_seconds") >= 0.0 && number(probe, "resolution_seconds") > 0.0, "{probe}");
        assert_eq!(number(probe, "repetitions") + number(probe, "set_apart"), 30.0, "{probe}");
    }
    let median = |name: &str| number(probe(&report, name), "median_seconds");
    // A system call that costs less than ten function calls is a measurement error.
    assert!(10.0 * median("function_call") < median("system_call"), "{report}");
    assert!(2.0 * median("system_call") < median("process_switch"), "{report}");
    assert!(5.0 * median("process_switch") < median("fork_exit"), "{report}");
}

#[test]
fn every_probe_is_measured_or_has_a_reason() {
    let names = |text: &str| text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    let (status, listed, _) = run(&["costs", "--list"]);
    assert_eq!(status, 0);
    let all = names(&listed);
    let report = costs(0, &["--only", &all.join(","), "--repetitions", "6", "--budget", "60s"]);
    let reported: Vec<&str> = probes(&report).iter().map(|probe| probe["name"].as_str().unwrap()).collect();
    assert_eq!(reported, all);
    for probe in probes(&report) {
        if probe["median_seconds"].is_null() {
            assert!(!probe["median_seconds_absent"].as_str().unwrap().is_empty(), "{probe}");
            continue;
        }
        assert_events_counted(probe);
    }
}

#[test]
fn the_default_run_keeps_its_budget_on_a_busy_machine() {
    let _spinners = Spinners::start(8);
    let started = clock::monotonic();
    let report = costs(0, &[]);
    let took = clock::monotonic() - started;
    let repetitions = |probe: &Value| number(probe, "repetitions") + number(probe, "set_apart");
    let measured: Vec<&Value> = probes(&report).iter().filter(|probe| probe["median_seconds"].is_f64()).collect();
    assert!(measured.len() >= 20, "{} of {}", measured.len(), probes(&report).len());
    // Probes that have too few repetitions for an interval after the budget continue, for as long again at most.
    let limit = if measured.iter().any(|probe| repetitions(probe) <= 6.0) { 30.0 } else { 15.0 };
    assert!(took.seconds() < limit + 1.0, "{took:?}");
    assert!(number(&report, "elapsed_seconds") <= limit, "{report}");
    let few = probes(&report).iter().find(|probe| repetitions(probe) < 100.0);
    if let Some(few) = few {
        assert!(few["notes"].to_string().contains("of 100 repetitions"), "{few}");
    }
}

#[test]
fn a_short_budget_is_kept() {
    let started = clock::monotonic();
    let report = costs(0, &["--budget", "2s", "--repetitions", "100000", "--only", "system_call,fork_exit"]);
    let took = clock::monotonic() - started;
    assert!(took < Nanos(6_000_000_000), "{took:?}");
    for probe in probes(&report) {
        assert!(probe["notes"].to_string().contains("of 100000 repetitions"), "{probe}");
    }
    let (status, stdout, stderr) = run(&["costs", "--no-history", "--budget", "1ms"]);
    assert_eq!((status, stdout.as_str()), (125, ""));
    assert!(stderr.contains("nothing could be measured") && stderr.contains("time"), "{stderr}");
}

#[test]
fn invalid_options_are_usage_errors() {
    let refused = |args: &[&str], expected: &str| {
        let (status, stdout, stderr) = run(&[&["costs", "--no-history"], args].concat());
        assert_eq!((status, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    };
    refused(&["--only", "no_such_probe"], "no probe 'no_such_probe'");
    refused(&["--only", "system_call,"], "no probe ''");
    refused(&["--only", ""], "no probe ''");
    refused(&["--repetitions", "0"], "a whole number from 6");
    refused(&["--repetitions", "5"], "a whole number from 6");
    refused(&["--budget", "0"], "longer than 0 s");
    refused(&["--cpu", "9999"], "--cpu 9999");
    refused(&["--samples"], "--export-json");
    refused(&["clocks", "--only", "signal"], "cannot be used with");
    refused(&["no-such-thing"], "clocks");
    refused(&["--plots", "/proc/no/such/folder"], "--plots");
    refused(&["--as-published", "--only", "signal"], "cannot be used with");
    refused(&["--as-published", "--sweep-loops"], "cannot be used with");
}

#[test]
fn clocks_have_a_separate_table() {
    let (status, stdout, stderr) = run(&["costs", "clocks", "--no-history", "--repetitions", "10"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    for name in ["CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID"] {
        assert!(stdout.contains(name), "{stdout}");
    }
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    assert!(!stdout.contains("function_call"), "{stdout}");
}

#[test]
fn a_sweep_measures_increasing_loop_lengths() {
    let report = costs(0, &["--sweep-loops", "--only", "function_call,fork_exit", "--budget", "4s", "--samples"]);
    let of = |name: &str| probes(&report).iter().filter(|probe| probe["name"] == name).cloned().collect::<Vec<_>>();
    let calls = of("function_call");
    let lengths: Vec<u64> = calls.iter().filter_map(|probe| probe["loops"].as_u64()).collect();
    assert_eq!((lengths.first(), lengths.is_sorted()), (Some(&10), true), "{lengths:?}");
    assert!(lengths.len() >= 8, "{lengths:?}");
    let results = ["agrees", "start-up", "timer grain", "frequency", "preemption", "unexplained"];
    for probe in &calls {
        assert!(
            results.iter().any(|reason| probe["against_longest"] == *reason) || probe["median_seconds"].is_null(),
            "{probe}"
        );
    }
    let left_out = of("fork_exit").into_iter().filter(|probe| probe["median_seconds"].is_null());
    let reasons: Vec<String> = left_out.map(|probe| probe["median_seconds_absent"].to_string()).collect();
    // On a busy machine the budget may end before a length has enough repetitions.
    let by_budget = |reason: &String| reason.contains("budget") || reason.contains("there was time for");
    assert!(reasons.iter().any(|reason| reason.contains("budget")) && reasons.iter().all(by_budget), "{reasons:?}");
}

#[test]
fn a_sweep_is_drawn() {
    let plots = scratch("costs-sweep-plots");
    let (status, _, stderr) = run(&[
        "costs",
        "--no-history",
        "--quiet",
        "--sweep-loops",
        "--only",
        "function_call",
        "--budget",
        "2s",
        "--plots",
        plots.to_str().unwrap(),
    ]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let chart = fs::read_to_string(plots.join("function_call.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.contains("by length of the loop"), "{chart}");
    fs::remove_dir_all(plots).unwrap();
}

#[test]
fn published_primitives_are_measured_as_published_and_correctly() {
    let report = costs(0, &["--as-published", "--repetitions", "30", "--budget", "60s", "--samples"]);
    let names: Vec<&str> = probes(&report).iter().map(|probe| probe["name"].as_str().unwrap()).collect();
    let published = ["published_function_call", "published_system_call", "published_switch", "lock_uncontended"];
    let correct = ["function_call", "system_call", "process_switch", "thread_switch_condvar"];
    assert_eq!(names, published.iter().zip(correct).flat_map(|(one, other)| [*one, other]).collect::<Vec<_>>());
    let median = |name: &str| number(probe(&report, name), "median_seconds");
    assert!(10.0 * median("published_system_call") < median("system_call"), "{report}");
    assert!(median("process_switch") < median("published_switch"), "{report}");
    assert!(10.0 * median("lock_uncontended") < median("thread_switch_condvar"), "{report}");
    let published = probe(&report, "published_system_call");
    match published["calls_per_loop"].as_f64() {
        Some(calls) => {
            assert!(calls < 0.05 && published["expected_calls_per_loop"] == 0.0, "{published}");
            assert_eq!(published["notes"], Value::Array(vec![]), "{published}");
        }
        None => skip("published_primitives_are_measured_as_published_and_correctly", "calls cannot be counted"),
    }
}

#[test]
fn every_format_is_written() {
    let folder = scratch("costs-forms");
    fs::create_dir_all(&folder).unwrap();
    let files = ["json", "csv", "md", "html"].map(|form| folder.join(format!("costs.{form}")));
    let [json, csv, markdown, html] = files.each_ref().map(|file| file.to_str().unwrap());
    let plots = folder.join("plots");
    let args = ["costs", "--only", "system_call,signal", "--repetitions", "10", "--samples", "--plots"];
    let exports = ["--export-json", json, "--export-csv", csv, "--export-markdown", markdown, "--export-html", html];
    let (status, stdout, stderr) = run(&[&args[..], &[plots.to_str().unwrap()], &exports].concat());
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    assert!(stdout.contains("system_call") && stdout.contains("History: "), "{stdout}");
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(probe(&report, "signal")["samples"].as_array().unwrap().len(), 10);
    assert!(fs::read_to_string(markdown).unwrap().contains("system_call"));
    assert!(fs::read_to_string(html).unwrap().contains("<svg"));
    assert!(fs::read_to_string(csv).unwrap().lines().count() > 2);
    for name in ["system_call", "signal"] {
        assert!(fs::read_to_string(plots.join(format!("{name}.svg"))).unwrap().starts_with("<svg"));
    }
    let id = stdout.rsplit_once("History: ").unwrap().1.split(' ').next().unwrap();
    let (status, again, stderr) = run(&["history", "report", id, "--format", "json", "--samples"]);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), report, "the report from the history differs");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn with_one_cpu_probes_that_need_two_are_not_measured() {
    let mut command = Command::new("taskset");
    command.args(["-c", &first_cpu(), env!("CARGO_BIN_EXE_steady"), "costs", "--no-history", "--format", "json"]);
    command.args(["--only", "lock,atomic", "--repetitions", "10"]).stdin(Stdio::null());
    let Ok(output) = command.output() else {
        return skip("with_one_cpu_probes_that_need_two_are_not_measured", "no taskset");
    };
    let (status, stdout, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    for name in ["lock_contended", "atomic_contended"] {
        let reason = probe(&report, name)["median_seconds_absent"].as_str().unwrap();
        assert!(reason.contains("only one CPU"), "{reason}");
    }
    assert!(probe(&report, "atomic_alone")["median_seconds"].is_f64());
}

/// Runs `steady` with a seccomp filter that rejects the system call with this number. Returns `None` without seccomp.
fn run_without_call(call: u32, args: &[&str]) -> Option<(i32, String, String)> {
    let filter = format!(
        "import ctypes, os, struct, sys\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         code = [(0x20, 0, 0, 0), (0x15, 0, 1, {call}), (6, 0, 0, 0x00050001), (6, 0, 0, 0x7fff0000)]\n\
         text = b''.join(struct.pack('HBBI', *one) for one in code)\n\
         rules = ctypes.create_string_buffer(text)\n\
         program = struct.pack('HxxxxxxP', len(code), ctypes.addressof(rules))\n\
         if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(program)):\n    \
             sys.exit(99)\n\
         os.execv(sys.argv[1], sys.argv[1:])\n"
    );
    let mut command = Command::new("python3");
    command.args(["-c", &filter, env!("CARGO_BIN_EXE_steady")]).args(args).stdin(Stdio::null());
    let output = command.env("XDG_DATA_HOME", steady::data_home()).output().ok()?;
    Some(output_of(output)).filter(|(status, ..)| *status != 99)
}

#[test]
fn without_the_permission_to_pin_nothing_is_measured() {
    if !cfg!(target_arch = "x86_64") {
        return skip(
            "without_the_permission_to_pin_nothing_is_measured",
            "the test has the number of the call on x86-64 only",
        );
    }
    const SCHED_SETAFFINITY: u32 = 203;
    let Some((status, stdout, stderr)) =
        run_without_call(SCHED_SETAFFINITY, &["costs", "--no-history", "--only", "signal"])
    else {
        return skip("without_the_permission_to_pin_nothing_is_measured", "no filter of system calls can be set");
    };
    assert_eq!((status, stdout.as_str()), (125, ""), "{stderr}");
    assert!(stderr.contains("cannot be kept to CPU") && stderr.lines().count() == 1, "{stderr}");
}

/// Starts an experiment that runs for up to ten minutes.
fn start_long(only: &str) -> Child {
    let args =
        ["costs", "--no-history", "--format", "json", "--repetitions", "100000", "--budget", "10m", "--only", only];
    steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn kill(signal: &str, pid: i32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn nothing_is_left_if_steady_is_killed() {
    // These probes start helpers: another process, a thread, programs.
    let only = "process_switch,lock_contended,spawn_dynamic,load_memory";
    let mut child = start_long(only);
    let parent = child.id();
    assert!(eventually(|| probers_of(parent).len() == 4));
    std::thread::sleep(Duration::from_millis(300));
    let sessions = probers_of(parent);
    child.kill().unwrap();
    child.wait().unwrap();
    let left = || sessions.iter().map(|session| in_session(*session)).sum::<usize>();
    assert!(within_a_second(|| left() == 0), "{} left", left());
}

/// Returns the number of processes in a session, without zombies, which init reaps at some later time. Each prober is
/// the leader of a session.
fn in_session(session: i32) -> usize {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let is_in_session = |entry: &fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = fields.split_ascii_whitespace();
        let is_alive = fields.next().is_some_and(|state| state != "Z");
        is_alive && fields.nth(2).and_then(|field| field.parse().ok()) == Some(session)
    };
    entries.filter(is_in_session).count()
}

#[test]
fn an_interruption_shows_the_completed_probes() {
    let child = start_long("system_call,process_switch");
    // The calibration takes a second of CPU time, or more on a busy machine; then the probes repeat for ten minutes.
    assert!(eventually(|| probers_of(child.id()).into_iter().map(cpu_seconds).sum::<f64>() > 3.0));
    kill("-INT", child.id() as i32);
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!((status, stderr.as_str()), (130, ""));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["ending"], "interrupted");
    assert!(probe(&report, "system_call")["median_seconds"].is_f64(), "{report}");

    let child = start_long("fork_exit");
    assert!(eventually(|| !probers_of(child.id()).is_empty()));
    kill("-TERM", child.id() as i32);
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert!(status == 143, "{status}: {stderr}");
    assert!(stderr.contains("interrupted before") || stdout.contains("\"interrupted\""), "{stdout}{stderr}");
}

#[test]
fn a_killed_prober_is_reported_and_the_others_are_shown() {
    let args = ["costs", "--no-history", "--format", "json", "--repetitions", "600", "--only", "system_call,signal"];
    let child = steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| probers_of(child.id()).len() == 2));
    std::thread::sleep(Duration::from_millis(200));
    // The first prober has the lowest process id.
    let first = *probers_of(child.id()).iter().min().unwrap();
    kill("-KILL", first);
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 125, "{stderr}");
    assert!(stderr.contains("was ended by signal 9") && stderr.lines().count() == 1, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let not_measured = probes(&report).iter().filter(|probe| probe["median_seconds"].is_null()).count();
    assert_eq!((not_measured, probes(&report).len()), (1, 2), "{report}");
}
