//! `steady explain` between a shell and a command: streams, exit statuses, signals, job control, processes that are
//! left, and reports where the system forbids a source of data.

mod steady;

use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use steady_linux::clock;

use steady::{
    as_nobody, eventually, output_of, own_duration, processes_with, reported, run, scratch, seconds, skip, steady,
    within_a_second,
};

/// The options without and with a tracer.
const TRACING: [&[&str]; 2] = [&[], &["--trace"]];

/// Measures prices once. Otherwise concurrent tests would each find none and measure them.
fn measure_prices() {
    static MEASURED: LazyLock<()> = LazyLock::new(|| {
        let (status, _, stderr) = run(&["explain", "--quiet", "--no-history", "--", "true"]);
        assert_eq!(status, 0, "{stderr}");
    });
    LazyLock::force(&MEASURED);
}

/// Runs a shell script under `steady explain`. Returns the exit status, standard output, standard error and the report.
fn explained(name: &str, options: &[&str], script: &str) -> (i32, String, String, Value) {
    measure_prices();
    reported("explain", name, options, script)
}

#[test]
fn a_command_has_its_own_streams_and_status() {
    for options in TRACING {
        let (status, stdout, stderr, report) = explained("own", options, "echo out; echo err >&2; exit 7");
        assert_eq!((status, stdout.as_str()), (7, "out\n"), "{stderr}");
        assert!(stderr.starts_with("err\nsteady: "), "{stderr}");
        assert_eq!((&report["schema"], &report["ended"]["exited"]), (&"steady.explain/1".into(), &7.into()));
        assert_eq!(report["trace"], !options.is_empty(), "{report}");
        assert!(stderr.lines().all(|line| line.chars().count() <= 80), "{stderr}");
    }
    let (status, stdout, stderr) = run(&["explain", "--quiet", "--", "true"]);
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (0, "", ""));
}

#[test]
fn the_times_of_a_single_thread_add_up_to_the_wall_time() {
    let test = "the_times_of_a_single_thread_add_up_to_the_wall_time";
    for _ in 0..3 {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exec sleep 0.3";
        let (_, _, _, report) = explained("sum", &[], script);
        if report["waiting_seconds"].is_null() {
            return skip(test, &report["waiting_seconds_absent"].to_string());
        }
        let wall = seconds(&report, "wall_seconds");
        let parts = ["cpu_seconds", "waiting_seconds", "blocked_seconds"].map(|name| seconds(&report, name));
        assert!((parts.iter().sum::<f64>() - wall).abs() < 1e-6, "{report}");
        let split = seconds(&report, "user_seconds") + seconds(&report, "system_seconds");
        assert!((split - parts[0]).abs() < 1e-6, "{report}");
        // Linux 6.18 sometimes counts a part of a sleep as waiting for a CPU.
        assert!(parts[1] + parts[2] >= 0.29, "the command sleeps for 0.3 s: {report}");
        if parts[2] >= 0.29 {
            assert!(parts[2] < 0.4, "the command sleeps for 0.3 s: {report}");
            return;
        }
    }
    skip(test, "the kernel counted part of each sleep as waiting for a CPU");
}

#[test]
fn standard_input_belongs_to_the_command() {
    for options in TRACING {
        measure_prices();
        let mut command = steady();
        command.args(["explain", "--quiet"]).args(options).args(["--", "sh", "-c", "read a; read b; echo $b $a"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
        assert_eq!(output_of(child.wait_with_output().unwrap()), (0, "two one\n".to_owned(), String::new()));
    }
    // Closed streams are not an error.
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let line = format!("exec \"$0\" explain --quiet -- sh -c 'exit 4' {closed}");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_steady")]).env("XDG_DATA_HOME", steady::data_home());
        assert_eq!(command.status().unwrap().code(), Some(4), "{closed}");
    }
}

#[test]
fn signals_are_forwarded_once() {
    for options in TRACING {
        for signal in ["TERM", "INT", "USR1"] {
            let script = format!("trap 'echo got; exit 9' {signal}; echo ready; while :; do sleep 0.01; done");
            let child = explained_child(options, &script);
            send(signal, child.id());
            let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
            assert_eq!((status, stdout.as_str()), (9, "got\n"), "{signal} {options:?}: {stderr}");
        }
        // A signal to the process group reaches the command directly and is not forwarded again.
        let script = "n=; trap 'echo got; n=1' USR1; echo ready; until [ \"$n\" ]; do sleep 0.01; done; sleep 0.3";
        let child = explained_child(options, script);
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args(["-USR1", "--", &group]).status().unwrap().success());
        let (status, stdout, _) = output_of(child.wait_with_output().unwrap());
        assert_eq!((status, stdout.as_str()), (0, "got\n"), "{options:?}");
    }
}

#[test]
fn steady_ends_by_the_same_signal_as_the_command() {
    measure_prices();
    for options in TRACING {
        for (signal, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
            let mut command = steady();
            command.arg("explain").args(options).args(["--", "sh", "-c", &format!("kill -{signal} $$")]);
            let output = command.output().unwrap();
            assert_eq!(output.status.signal(), Some(number), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn time_while_stopped_does_not_count() {
    for options in TRACING {
        measure_prices();
        let file = scratch("explained-stopped.json");
        let args = ["explain", "--quiet", "--export-json", file.to_str().unwrap()];
        // The script also stops the child of the shell.
        let script = "sleep 0.1 & kill -STOP $! $$; kill -CONT $!; wait; exit 3";
        let begun = clock::monotonic();
        let child = steady().args(args).args(options).args(["--", "sh", "-c", script]).spawn().unwrap();
        // The command stops itself, and `steady` stops too, so that its parent sees it.
        assert!(eventually(|| state_of(child.id()) == Some('T')), "{:?}", state_of(child.id()));
        std::thread::sleep(Duration::from_millis(900));
        send("CONT", child.id());
        assert_eq!(output_of(child.wait_with_output().unwrap()).0, 3);
        let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let (stopped, wall) = (seconds(&report, "stopped_seconds"), seconds(&report, "wall_seconds"));
        assert!(stopped > 0.8, "{report}");
        assert!(wall + stopped < (clock::monotonic() - begun).seconds() + 0.01, "{report}");
        // Without the time while stopped, neither of the two processes lived longer than the wall time.
        let both = 2.0 * seconds(&report, "wall_seconds") + 0.05;
        assert!(report["thread_seconds"].as_f64().unwrap_or(0.0) < both, "{report}");
        assert!(report["blocked_seconds"].as_f64().unwrap_or(0.0) < both, "{report}");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn nothing_is_left_if_steady_or_its_guardian_is_killed() {
    let mark = &own_duration("7201.");
    let script = &format!("setsid sh -c 'sleep {mark} & sleep {mark}' & (sleep {mark} &) ; echo ready; sleep {mark}");
    for options in TRACING {
        let child = explained_child(options, script);
        assert!(eventually(|| sleepers(mark) >= 4));
        send("KILL", child.id());
        assert_eq!(child.wait_with_output().unwrap().status.signal(), Some(9));
        assert!(within_a_second(|| sleepers(mark) == 0), "{options:?}: {} left", sleepers(mark));

        let child = explained_child(options, script);
        assert!(eventually(|| sleepers(mark) >= 4));
        let guardian = children_of(child.id()).first().copied().expect("there is a guardian");
        send("KILL", guardian);
        let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
        assert_eq!(status, 125, "{stderr}");
        assert!(stderr.contains("guardian was killed"), "{stderr}");
        assert!(within_a_second(|| sleepers(mark) == 0), "{options:?}: {} left", sleepers(mark));
    }
}

#[test]
fn processes_that_the_command_leaves_are_killed() {
    let mark = &own_duration("7202.");
    for options in TRACING {
        let script = format!("setsid sleep {mark} & sleep {mark} & exit 0");
        let (status, _, stderr, report) = explained("leaves", options, &script);
        assert_eq!((status, &report["left_behind"]), (0, &2.into()), "{stderr}");
        assert_eq!(sleepers(mark), 0);
    }
}

#[test]
fn commands_that_cannot_be_started_give_the_statuses_of_a_shell() {
    measure_prices();
    for options in TRACING {
        let status = |args: &[&str]| {
            let (status, stdout, stderr) = run(&[&["explain"], options, &["--"], args].concat());
            assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{stderr}");
            assert!(stderr.starts_with("steady: "), "{stderr}");
            status
        };
        assert_eq!([status(&["no-such-program"]), status(&["./nothing"]), status(&[""])], [127, 127, 127]);
        assert_eq!([status(&["/etc/passwd"]), status(&["/etc"])], [126, 126]);
        let script = scratch("explained-script");
        fs::write(&script, "echo $1; exit 6").unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&script).status().unwrap().success());
        let args = [&["explain"], options, &["--", script.to_str().unwrap(), "word"]].concat();
        let (status, stdout, stderr) = run(&args);
        assert_eq!(
            (status, stdout.as_str()),
            (6, "word\n"),
            "a script without #! does not run as with execvp: {stderr}"
        );
        fs::remove_file(script).unwrap();
    }
}

#[test]
fn usage_errors_have_status_125_or_2() {
    for (status, wrong) in [
        (125, &["--runs", "3", "--", "true"][..]),
        (125, &["--format", "json", "--", "true"]),
        (125, &["a", "b", "--", "true"]),
        (125, &["--export-json", "/nonexistent/x", "--", "true"]),
        (125, &["--nonsense", "--", "true"]),
        (2, &[]),
        (2, &["true"]),
        (2, &["a", "b", "c"]),
        (2, &["--trace", "true", "true"]),
        (2, &["--runs", "0", "true", "true"]),
        (2, &["true", "no-such-program"]),
    ] {
        let (actual, stdout, stderr) = run(&[&["explain"], wrong].concat());
        assert_eq!((actual, stdout.as_str()), (status, ""), "{wrong:?}: {stderr}");
        assert!(!stderr.is_empty(), "{wrong:?}");
    }
    assert_eq!(run(&["explain", "--help"]).0, 0);
}

#[test]
fn arguments_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    measure_prices();
    let mut command = steady();
    command.args(["explain", "--quiet", "--", "printf", "%s"]).arg(OsStr::from_bytes(b"a\xff b"));
    assert_eq!(command.output().unwrap().stdout, b"a\xff b");
}

#[test]
fn a_tracer_counts_calls_by_name() {
    let script = "exec dd if=/dev/zero of=/dev/null bs=1 count=2000 status=none";
    let (status, _, stderr, report) = explained("named", &["--trace"], script);
    assert_eq!(status, 0, "{stderr}");
    if report["trace"] == false {
        return skip("a_tracer_counts_calls_by_name", &report["counts"]["calls_by_name_absent"].to_string());
    }
    let count = |name: &str| {
        let calls = report["counts"]["calls_by_name"].as_array().unwrap();
        calls.iter().find(|call| call["name"] == name).map_or(0, |call| call["count"].as_u64().unwrap())
    };
    assert!((2000..2020).contains(&count("read")) && (2000..2010).contains(&count("write")), "{report}");
    assert_eq!(report["counts"]["execs"], 1, "the shell executes dd: {report}");
    assert!(report["unexplained_seconds"].is_null(), "a tracer distorts the times: {report}");
    assert!(report["counts"]["voluntary_switches"].is_null(), "{report}");
}

#[test]
fn processes_and_threads_are_counted_separately() {
    let script = "for i in 1 2 3 4 5; do (:); done; exec python3 -c 'import threading\n\
                  for _ in range(3):\n t = threading.Thread(target=print); t.start(); t.join()'";
    for options in TRACING {
        let (status, _, stderr, report) = explained("kinds", options, script);
        assert_eq!(status, 0, "{stderr}");
        let counts = &report["counts"];
        if counts["forks"].is_null() {
            skip("processes_and_threads_are_counted_separately", &counts["forks_absent"].to_string());
            continue;
        }
        // `python3` may be a script that starts further processes.
        assert!(counts["forks"].as_u64() >= Some(5), "{report}");
        assert_eq!(counts["threads"], 3, "{report}");
    }
}

#[test]
fn all_formats_are_written() {
    measure_prices();
    let files = ["json", "csv", "markdown", "html"].map(|form| (form, scratch(&format!("explained.{form}"))));
    let options = files.iter().flat_map(|(form, file)| [format!("--export-{form}"), file.display().to_string()]);
    let options: Vec<String> = options.collect();
    let args: Vec<&str> = ["explain"].into_iter().chain(options.iter().map(String::as_str)).collect();
    let (status, _, stderr) = run(&[&args[..], &["--", "sh", "-c", "exit 0"]].concat());
    assert_eq!(status, 0, "{stderr}");
    for ((form, file), mark) in files.iter().zip(["steady.explain/1", ",", "wall time", "<!DOCTYPE html>"]) {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(mark), "{form}: {text}");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn runs_are_stored_in_the_history_unless_disabled() {
    let home = scratch("history-of-explanations");
    let with_home = |args: &[&str]| output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
    assert_eq!(with_home(&["explain", "--", "sh", "-c", "exit 3"]).0, 3);
    assert_eq!(with_home(&["explain", "--no-history", "--", "sh", "-c", "exit 4"]).0, 4);
    assert_eq!(with_home(&["explain", "--runs", "6", "true", "sh -c :"]).0, 0);
    let (_, list, stderr) = with_home(&["history", "list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let runs = list["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["kind"], &runs[1]["kind"]), (2, &"explain".into(), &"explain".into()), "{list}");
    for run in runs {
        let (status, shown, stderr) = with_home(&["history", "report", &run["id"].to_string()]);
        assert_eq!(status, 0, "{stderr}");
        assert!(shown.contains("wall time"), "{shown}");
    }
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn prices_are_scaled_to_the_clock_rate_during_the_run() {
    let home = scratch("rate-of-the-clock");
    let (file, export) = (home.join("steady/prices.json"), home.join("report.json"));
    let args =
        ["explain", "--no-history", "--by-process", "--export-json", export.to_str().unwrap(), "--", "sh", "-c", ":"];
    let explained = || {
        let (status, _, stderr) = output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
        assert_eq!(status, 0, "{stderr}");
        (stderr, serde_json::from_str::<Value>(&fs::read_to_string(&export).unwrap()).unwrap())
    };
    fs::create_dir_all(&home).unwrap();
    let (text, first) = explained();
    assert!(text.ends_with('\n'), "{text}");
    assert!(seconds(&first, "alu_seconds") > 0.0 && first["alu_readings"] == 10, "{first}");
    // Pretend that the clock ran at half its rate when the prices were measured.
    let mut stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for path in ["/alu_seconds", "/alu_low_seconds", "/alu_high_seconds"] {
        let value = stored["prices"].pointer_mut(path).unwrap_or_else(|| panic!("no {path}"));
        *value = (2.0 * value.as_f64().unwrap()).into();
    }
    fs::write(&file, stored.to_string()).unwrap();
    let (text, second) = explained();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the clock rate at the run") && text.contains("% faster"), "{text}");
    let price = |report: &Value| {
        let faults = |part: &&Value| part["event"] == "minor_fault";
        seconds(report["parts"].as_array().unwrap().iter().find(faults).unwrap(), "price_seconds")
    };
    let ratio = price(&second) / price(&first);
    assert!((0.35..0.7).contains(&ratio), "{ratio}");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn two_commands_are_compared() {
    measure_prices();
    let (less, more) = ("sh -c 'exit 0'", "sh -c 'for i in 1 2 3 4 5 6; do (:); done'");
    let (status, stdout, stderr) = run(&["explain", "--runs", "12", "--format", "json", less, more]);
    assert_eq!(status, 0, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert_eq!(report["schema"], "steady.explain/1");
    let text = run(&["explain", "--runs", "12", less, more]).1;
    assert!(text.contains("more CPU time") && text.contains("wall time"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (status, _, stderr) = run(&["explain", "--runs", "6", "true", "sh -c 'exit 3'"]);
    assert_eq!(status, 3, "{stderr}");
}

/// A command that fails only under the tracer has no counts: those of the failed runs are not its own.
#[test]
fn a_command_that_fails_only_under_the_tracer_has_no_counts() {
    let test = "a_command_that_fails_only_under_the_tracer_has_no_counts";
    measure_prices();
    let traced = "sh -c 'grep -q ^TracerPid:.0$ /proc/self/status || exit 1; for i in 1 2 3 4 5 6 7 8; do (:); done'";
    let run_json = |old: &str| {
        let (status, stdout, stderr) = run(&["explain", "--runs", "6", "--format", "json", old, "true"]);
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str::<Value>(&stdout).unwrap()
    };
    let usual = run_json("sh -c 'exit 0'");
    if !usual["counted"][0]["runs"].is_array() {
        return skip(test, &usual["counted"][0].to_string());
    }
    let failed = &run_json(traced)["counted"][0];
    let why = failed["runs_absent"].as_str().unwrap_or_default();
    assert!(failed["runs"].is_null() && why.contains("status 1 under the tracer"), "{failed}");
}

#[test]
fn nothing_is_left_if_steady_is_killed_during_counted_runs() {
    measure_prices();
    // Counted runs have no STEADY_RUN in their environment, so only they hang.
    let hangs = "sh -c '[ -n \"$STEADY_RUN\" ] || sleep 7203'";
    let mut child = steady().args(["explain", "--runs", "6", "--quiet", hangs, hangs]).spawn().unwrap();
    let hanging = eventually(|| sleepers("7203") > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(hanging, "no counted run was started");
    assert!(within_a_second(|| sleepers("7203") == 0), "{} left", sleepers("7203"));
    assert!(within_a_second(|| processes_with("__counter") == 0) || sleepers("7203") == 0);
}

#[test]
fn without_privileges_missing_data_have_a_reason() {
    let test = "without_privileges_missing_data_have_a_reason";
    let Some((mut command, folder)) = as_nobody("plain") else {
        return skip(test, "only root can change to another user");
    };
    let file = folder.join("r.json");
    command.args(["explain", "--export-json"]).arg(&file).args(["--", "sh", "-c", "sleep 1 & sleep 1.5; exit 5"]);
    let Ok(output) = command.output() else { return skip(test, "there is no setpriv") };
    let (status, _, stderr) = output_of(output);
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap_or_default()).unwrap_or_default();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(status, 5, "{stderr}");
    assert!(seconds(&report, "cpu_seconds") > 0.0 && seconds(&report, "wall_seconds") > 1.49, "{report}");
    let why = report["waiting_seconds_absent"].as_str().unwrap_or_default();
    assert!(report["waiting_seconds"].is_null() && why.contains("CAP_NET_ADMIN"), "{report}");
    let counts = &report["counts"];
    assert!(counts["calls"].is_null() && counts["calls_absent"].as_str().unwrap().contains("--trace"), "{report}");
    assert!(counts["minor_faults"].as_u64() > Some(0), "{report}");
    // The process tree was sampled while it ran.
    assert!(report["processes"].as_array().is_some_and(|processes| processes.len() >= 3), "{report}");
    // What the command's process did before its exec does not count.
    let faults = |of: &str| counts[of].as_u64().unwrap();
    let listed: u64 = report["processes"].as_array().unwrap().iter().map(|one| one["faults"].as_u64().unwrap()).sum();
    assert!(listed <= faults("minor_faults") + faults("major_faults"), "{report}");
}

#[test]
fn without_privileges_single_threads_and_traced_commands_have_all_data() {
    let test = "without_privileges_single_threads_and_traced_commands_have_all_data";
    for trace in [false, true] {
        let Some((mut command, folder)) = as_nobody(if trace { "traced" } else { "single" }) else {
            return skip(test, "only root can change to another user");
        };
        let file = folder.join("r.json");
        command
            .args(["explain", "--export-json"])
            .arg(&file)
            .args(trace.then_some("--trace"))
            .args(["--", "sleep", "0.2"]);
        let Ok(output) = command.output() else { return skip(test, "there is no setpriv") };
        let (status, _, stderr) = output_of(output);
        let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap_or_default()).unwrap_or_default();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(status, 0, "{stderr}");
        if trace {
            assert_eq!((&report["trace"], &report["counts"]["forks"]), (&true.into(), &0.into()), "{report}");
            assert!(report["counts"]["calls_by_name"].as_array().is_some_and(|calls| !calls.is_empty()), "{report}");
        } else if report["waiting_seconds"].is_null() {
            skip(test, &report["waiting_seconds_absent"].to_string());
        } else if seconds(&report, "waiting_seconds") > seconds(&report, "wall_seconds") - 0.2 {
            skip(test, "the kernel counted part of the sleep as waiting for a CPU");
        } else {
            assert!((0.19..0.3).contains(&seconds(&report, "blocked_seconds")), "{report}");
        }
    }
}

#[test]
fn the_command_runs_without_a_tracer_if_tracing_is_forbidden() {
    measure_prices();
    let file = scratch("explained-sandbox.json");
    let mut command = steady::without_call("101", "117");
    command.args(["explain", "--trace", "--export-json"]);
    let (status, stdout, stderr) =
        output_of(command.arg(&file).args(["--", "sh", "-c", "echo out; exit 8"]).output().unwrap());
    if stderr.contains("KeyError") || stderr.contains("AssertionError") {
        return skip("the_command_runs_without_a_tracer_if_tracing_is_forbidden", "no seccomp here");
    }
    assert_eq!((status, stdout.as_str()), (8, "out\n"), "{stderr}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(report["trace"], false, "the report claims a tracer: {report}");
    assert!(report["counts"]["calls_by_name_absent"].as_str().unwrap().contains("ptrace"), "{report}");
}

/// Starts `steady explain` in a new process group, as an interactive shell does, and waits for the line "ready".
fn explained_child(options: &[&str], script: &str) -> Child {
    measure_prices();
    let mut command = steady();
    command.arg("explain").args(options).args(["--", "sh", "-c", script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
        line.push(byte[0]);
    }
    assert_eq!(line, b"ready\n");
    child
}

fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status().unwrap().success());
}

fn state_of(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn children_of(pid: u32) -> Vec<u32> {
    let parent = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok()) == Some(pid)
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(parent).collect()
}

/// Returns the number of processes with the command line `sleep SECONDS`. Those of `steady` only contain it.
fn sleepers(seconds: &str) -> usize {
    let line = format!("sleep {seconds}\0");
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text == line.replace(' ', "\0").as_bytes())
    };
    all.filter(is).count()
}
