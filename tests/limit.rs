//! `steady limit` on real commands: limits with every source of CPU time, exit statuses, streams, signals, and
//! processes that are left.

mod steady;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steady_linux::clock;

use steady::{
    copy_steady, eventually, first_cpu, output_of, own_duration, processes_with, reported, run, scratch, seconds, skip,
    steady, within_a_second,
};

/// A shell script that uses a CPU until it is killed.
const SPIN: &str = "while :; do :; done";

/// Runs a shell script under `steady limit`. Returns the exit status and the report.
fn limited(name: &str, options: &[&str], script: &str) -> (i32, Value) {
    let (status, _, _, report) = limited_with_output(name, options, script);
    (status, report)
}

/// Like [`limited`], but also returns standard output and standard error.
fn limited_with_output(name: &str, options: &[&str], script: &str) -> (i32, String, String, Value) {
    reported("limit", name, options, script)
}

/// Returns the sources of CPU time that are available here, as values of `--source`.
fn sources(test: &str) -> Vec<&'static str> {
    let is_available = |source: &&str| {
        let (status, _, stderr) = run(&["limit", "--cpu", "1s", "--source", source, "--", "true"]);
        if status != 0 {
            assert_eq!(status, 125, "{stderr}");
            skip(test, stderr.trim());
        }
        status == 0
    };
    ["cgroup-v2", "cgroup-v1", "task-clock", "proc"].into_iter().filter(is_available).collect()
}

#[test]
fn a_command_within_its_limits_returns_its_own_status() {
    let (status, stdout, stderr, report) =
        limited_with_output("own", &["--cpu", "5s"], "echo out; echo err >&2; exit 7");
    assert_eq!((status, stdout.as_str()), (7, "out\n"));
    assert!(stderr.starts_with("err\nsteady: The command ended by itself with status 7"), "{stderr}");
    assert_eq!((&report["schema"], &report["outcome"]), (&"steady.limit/1".into(), &"ok".into()));
    assert_eq!(report["ended"]["exited"], 7);
    assert!(report["overshoot_seconds"].is_null() && report["overshoot_seconds_absent"].is_string(), "{report}");
    let (status, stdout, stderr) = run(&["limit", "--cpu", "5s", "--quiet", "true"]);
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (0, "", ""), "the command needs no --");
}

#[test]
fn every_source_ends_a_spinner_at_its_limit() {
    for source in sources("every_source_ends_a_spinner_at_its_limit") {
        let options = ["--cpu", "300ms", "--source", source];
        let (status, report) = limited(&format!("spinner-{source}"), &options, SPIN);
        assert_eq!((status, &report["outcome"]), (124, &"cpu-limit".into()), "{report}");
        assert_eq!(report["source"], source.replace('-', "_"), "{report}");
        let (cpu, overshoot) = (seconds(&report, "cpu_seconds"), seconds(&report, "overshoot_seconds"));
        assert!((0.3..0.6).contains(&cpu) && (cpu - 0.3 - overshoot).abs() < 1e-6, "{source}: {report}");
        let (status, report) = limited(&format!("short-{source}"), &["--cpu", "2s", "--source", source], "exit 3");
        assert_eq!((status, &report["outcome"]), (3, &"ok".into()), "{report}");
    }
}

#[test]
fn threads_and_children_are_added_up() {
    for source in sources("threads_and_children_are_added_up") {
        let threads = "import threading,hashlib\nfor _ in range(3): threading.Thread(target=lambda: [hashlib.sha256(b'x'*1000000) for _ in iter(int, 1)]).start()";
        for (kind, script) in [
            ("children", format!("for i in 1 2 3; do sh -c '{SPIN}' & done; wait")),
            ("threads", format!("exec python3 -c \"{threads}\"")),
            ("one after the other", "while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; done".into()),
            ("daemons", format!("setsid sh -c 'sh -c \"{SPIN}\" & {SPIN}' & sleep 20")),
        ] {
            let name = format!("{kind}-{source}");
            // Without a source of the time that a process waits for a CPU, that time counts towards the wall limit. On
            // a busy machine the default wall limit, four times the CPU limit, would be reached first.
            let options = ["--cpu", "600ms", "--wall-factor", "100", "--source", source];
            let (status, report) = limited(&name, &options, &script);
            assert_eq!((status, &report["outcome"]), (124, &"cpu-limit".into()), "{source} {kind}: {report}");
            assert!((0.6..1.2).contains(&seconds(&report, "cpu_seconds")), "{source} {kind}: {report}");
        }
    }
}

#[test]
fn all_processes_of_a_fork_storm_are_killed() {
    let storm = "spin_7101() { while :; do sh -c ': 7101' & sh -c 'sleep 7101' & sleep 0.02; done; }; spin_7101";
    for source in sources("all_processes_of_a_fork_storm_are_killed") {
        // The script sleeps between forks. On fast CPUs the default wall limit, four times the CPU limit, would come
        // first.
        let options = ["--cpu", "200ms", "--wall-factor", "100", "--kill-after", "100ms", "--source", source];
        let (status, report) = limited(&format!("storm-{source}"), &options, storm);
        assert_eq!((status, &report["outcome"]), (124, &"cpu-limit".into()), "{source}: {report}");
        assert!(within_a_second(|| processes_with("sleep 7101") == 0), "{source}");
    }
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let options = ["--cpu", "200ms", "--kill-after", "300ms"];
    let (status, report) = limited("ignores-term", &options, &format!("trap '' TERM; {SPIN}"));
    assert_eq!((status, &report["outcome"], &report["ended"]["signalled"]), (124, &"cpu-limit".into(), &9.into()));
    assert!((0.2..0.8).contains(&seconds(&report, "cpu_seconds")), "{report}");
    assert!(report["killed"] == true && seconds(&report, "wall_seconds") < 10.0, "{report}");
    let (status, report) = limited("handles-term", &["--cpu", "200ms"], &format!("trap 'exit 5' TERM; {SPIN}"));
    assert_eq!((status, &report["outcome"], &report["ended"]["exited"]), (124, &"cpu-limit".into(), &5.into()));
}

#[test]
fn a_command_that_kills_itself_beyond_its_limit_was_not_killed_by_steady() {
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; kill -KILL $$";
    let options = ["--cpu", "10ms", "--wall-factor", "10000", "--poll", "30s"];
    let (status, _, stderr, report) = limited_with_output("itself", &options, script);
    assert_eq!((status, &report["ended"]["signalled"], &report["killed"]), (124, &9.into(), &false.into()), "{report}");
    assert!(stderr.contains("CPU limit reached") && !stderr.contains("SIGTERM"), "{stderr}");
}

#[test]
fn a_sleeper_reaches_the_wall_limit() {
    let (status, stdout, stderr, report) =
        limited_with_output("sleeper", &["--cpu", "250ms", "--wall-factor", "2"], "sleep 7102");
    assert_eq!((status, stdout.as_str(), &report["outcome"]), (124, "", &"wall-limit".into()), "{report}");
    assert!(stderr.contains("Wall limit reached") && stderr.contains("--wall-factor"), "{stderr}");
    let counted = seconds(&report, "wall_seconds") - report["waiting_seconds"].as_f64().unwrap_or(0.0);
    assert!((0.5..1.0).contains(&counted) && seconds(&report, "cpu_seconds") < 0.1, "{report}");
    assert!(report["overshoot_seconds"].is_null(), "{report}");
}

#[test]
fn waiting_for_a_cpu_does_not_count_towards_the_wall_limit() {
    let spinners: Vec<Child> = (0..12).map(|_| Command::new("sh").args(["-c", SPIN]).spawn().unwrap()).collect();
    let probe = limited("crowded", &["--cpu", "250ms", "--wall-factor", "1.5"], SPIN);
    let script = format!("sleep {}", own_duration("7103."));
    let sleeper = limited("crowded-sleeper", &["--cpu", "250ms", "--wall-factor", "2"], &script);
    for mut spinner in spinners {
        spinner.kill().unwrap();
        spinner.wait().unwrap();
    }
    let (status, report) = probe;
    if report["waiting_seconds"].is_null() {
        return skip(
            "waiting_for_a_cpu_does_not_count_towards_the_wall_limit",
            &report["waiting_seconds_absent"].to_string(),
        );
    }
    assert_eq!((status, &report["outcome"]), (124, &"cpu-limit".into()), "{report}");
    assert_eq!(sleeper.1["outcome"], "wall-limit", "sleeping does not reach the wall limit: {}", sleeper.1);
    let counted = seconds(&sleeper.1, "wall_seconds") - seconds(&sleeper.1, "waiting_seconds");
    assert!(counted < 1.0, "{}", sleeper.1);
}

/// A control group does not list a process that has ended, so its waiting since the last reading must be read from it.
#[test]
fn a_command_shorter_than_the_interval_of_readings_has_its_waiting() {
    const NAME: &str = "a_command_shorter_than_the_interval_of_readings_has_its_waiting";
    let spinner = || Command::new("taskset").args(["-c", &first_cpu(), "sh", "-c", SPIN]).spawn();
    let Ok(spinners) = (0..2).map(|_| spinner()).collect::<Result<Vec<Child>, _>>() else {
        return skip(NAME, "no taskset");
    };
    let script = format!("exec taskset -c {} sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'", first_cpu());
    // Without the last reading, some runs have an estimate from the first instant of the command, which may be right.
    let runs: Vec<(i32, Value)> = (0..6).map(|_| limited("short", &["--cpu", "5s"], &script)).collect();
    for mut spinner in spinners {
        spinner.kill().unwrap();
        spinner.wait().unwrap();
    }
    for (status, report) in runs {
        if report["waiting_seconds"].is_null() {
            return skip(NAME, &report["waiting_seconds_absent"].to_string());
        }
        // With two spinners on its CPU, the command waits about twice as long as it runs.
        assert_eq!(status, 0, "{report}");
        assert!(seconds(&report, "waiting_seconds") > 0.7 * seconds(&report, "cpu_seconds"), "{report}");
    }
}

/// No reading sees the whole life of any of these processes.
#[test]
fn waiting_of_short_processes_does_not_count() {
    const NAME: &str = "waiting_of_short_processes_does_not_count";
    let spinner = || Command::new("taskset").args(["-c", &first_cpu(), "sh", "-c", SPIN]).spawn();
    let Ok(spinners) = (0..3).map(|_| spinner()).collect::<Result<Vec<Child>, _>>() else {
        return skip(NAME, "no taskset");
    };
    let short = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
    let all = r#"sh -c 'for n in $(seq 100); do sh -c "$short"; done'"#;
    let script = format!("export short='{short}'; exec taskset -c {} {all}", first_cpu());
    let runs: Vec<(i32, Value)> = (0..3).map(|_| limited("processes", &["--cpu", "5s"], &script)).collect();
    for mut spinner in spinners {
        spinner.kill().unwrap();
        spinner.wait().unwrap();
    }
    for (status, report) in runs {
        if report["waiting_seconds"].is_null() {
            return skip(NAME, &report["waiting_seconds_absent"].to_string());
        }
        assert_eq!(status, 0, "{report}");
        let [wall, cpu, waiting] = ["wall_seconds", "cpu_seconds", "waiting_seconds"].map(|key| seconds(&report, key));
        // One process runs or waits at nearly all times.
        assert!(waiting > 0.7 * (wall - cpu) && waiting <= wall - 0.9 * cpu, "{report}");
    }
}

/// A command can use more CPUs than `steady`, which must not check its CPU time later for that.
#[test]
fn a_command_that_extends_its_cpus_is_ended_at_its_limit() {
    const NAME: &str = "a_command_that_extends_its_cpus_is_ended_at_its_limit";
    let allowed = Command::new("taskset").args(["-c", "0,1", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return skip(NAME, "no taskset, or no second CPU");
    }
    let record = scratch("extends");
    let script = format!("({SPIN}) & ({SPIN}) & wait");
    let mut command = Command::new("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_steady"), "limit", "--quiet", "--cpu", "500ms", "--export-json"]);
    command.arg(&record).args(["--", "taskset", "-c", "0,1", "sh", "-c", &script]);
    command.output().unwrap();
    let report: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    fs::remove_file(&record).unwrap();
    assert_eq!(report["outcome"], "cpu-limit", "{report}");
    // Without the second CPU in the schedule, the command used twice its limit.
    assert!(seconds(&report, "overshoot_seconds") < 0.25, "{report}");
}

#[test]
fn time_while_stopped_does_not_count() {
    let script = "kill -STOP $$; exit 3";
    let file = scratch("stopped.json");
    let args = ["limit", "--cpu", "200ms", "--wall-factor", "2", "--export-json", file.to_str().unwrap(), "--"];
    let begun = clock::monotonic();
    let child = steady().args(args).args(["sh", "-c", script]).stderr(Stdio::piped()).spawn().unwrap();
    // The command stops itself, and `steady` stops too, so that its parent sees it.
    assert!(eventually(|| state_of(child.id()) == Some('T')), "{:?}", state_of(child.id()));
    std::thread::sleep(Duration::from_millis(900));
    send("CONT", child.id());
    let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((status, &report["outcome"]), (3, &"ok".into()), "{stderr}");
    let (stopped, passed) = (seconds(&report, "stopped_seconds"), (clock::monotonic() - begun).seconds());
    assert!((0.8..passed).contains(&stopped), "{passed} s: {report}");
    fs::remove_file(file).unwrap();
}

#[test]
fn a_poll_overshoots_up_to_its_interval() {
    let (status, report) = limited("poll", &["--cpu", "150ms", "--poll", "400ms"], SPIN);
    assert_eq!((status, &report["outcome"]), (124, &"cpu-limit".into()), "{report}");
    assert_eq!(report["poll_seconds"], 0.4);
    assert!(seconds(&report, "wall_seconds") >= 0.4, "the limit was enforced before the first poll: {report}");
    // A command that ends between two polls is checked against the limit when it ends.
    let script = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exit 0";
    let (status, report) = limited("poll-end", &["--cpu", "20ms", "--poll", "1m"], script);
    assert_eq!((status, &report["outcome"], &report["ended"]["exited"]), (124, &"cpu-limit".into(), &0.into()));
}

#[test]
fn standard_input_belongs_to_the_command() {
    let mut command = steady();
    command.args(["limit", "--cpu", "5s", "--quiet", "--", "sh", "-c", "read a; read b; echo $b $a"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    assert_eq!(output_of(child.wait_with_output().unwrap()), (0, "two one\n".to_owned(), String::new()));
    // If the command closes its streams and continues to run, both pipes are closed: `steady` holds no copies.
    let script = format!("exec <&- >&-; sleep {}", own_duration("7104."));
    let mut child = steady();
    child.args(["limit", "--cpu", "5s", "--quiet", "--", "sh", "-c", &script]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    let mut input = child.stdin.take().unwrap();
    assert!(within_a_second(|| input.write_all(b"x").is_err()), "the pipe still has a reader");
    send("TERM", child.id());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    // Closed streams are not an error.
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let line = format!("exec \"$0\" limit --cpu 5s -- sh -c 'exit 4' {closed}");
        let status = Command::new("sh").args(["-c", &line, env!("CARGO_BIN_EXE_steady")]).status().unwrap();
        assert_eq!(status.code(), Some(4), "{closed}");
    }
}

#[test]
fn signals_are_forwarded_once() {
    for signal in ["TERM", "INT", "HUP", "USR1", "USR2", "QUIT", "34"] {
        let script = format!("trap 'echo got; exit 9' {}; echo ready; while :; do sleep 0.01; done", trap_name(signal));
        let child = limited_child(&script);
        send(signal, child.0.id());
        let (status, stdout) = child.end();
        assert_eq!((status, stdout.as_str()), (9, "got\n"), "{signal}");
    }
    // A signal to the process group reaches the command directly and is not forwarded again.
    let script = "n=; trap 'echo got; n=1' USR1; echo ready; until [ \"$n\" ]; do sleep 0.01; done; sleep 0.3";
    let child = limited_child(script);
    let group = format!("-{}", child.0.id());
    assert!(Command::new("kill").args(["-USR1", "--", &group]).status().unwrap().success());
    assert_eq!(child.end(), (0, "got\n".to_owned()));
}

/// Returns the name of a signal for `trap`.
fn trap_name(signal: &str) -> &str {
    if signal == "34" { "RTMIN" } else { signal }
}

#[test]
fn steady_ends_by_the_same_signal_as_the_command() {
    for (signal, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
        let (status, stderr) = status_of(&format!("kill -{signal} $$"));
        assert_eq!(status.signal(), Some(number), "{stderr}");
        assert!(stderr.contains(&format!("Signal {number} ended the command")), "{stderr}");
    }
}

fn status_of(script: &str) -> (std::process::ExitStatus, String) {
    let mut command = steady();
    let output = command.args(["limit", "--cpu", "5s", "--", "sh", "-c", script]).output().unwrap();
    (output.status, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn ignored_signals_stay_ignored() {
    // A process that has had a second thread handles the C library's own signals, 32 and 33, even if they were ignored.
    const OF_C_LIBRARY: u64 = 3 << 31;
    let script = "grep SigIgn /proc/self/status";
    let ignored_in = |command: &str, prefix: &str| {
        let line = format!("trap '' {prefix}; exec \"$0\" {command} --no-history --quiet -- {script}");
        let direct = format!("trap '' {prefix}; exec {script}");
        let signals = |line: &str| {
            let args = ["-c", line, env!("CARGO_BIN_EXE_steady")];
            let text = String::from_utf8(Command::new("sh").args(args).output().unwrap().stdout).unwrap();
            let mask = u64::from_str_radix(text.trim_start_matches("SigIgn:").trim(), 16).expect("a mask of signals");
            format!("{:016x}", mask & !OF_C_LIBRARY)
        };
        (signals(&line), signals(&direct))
    };
    for signals in ["EXIT", "HUP", "INT QUIT", "CHLD", "PIPE", "TERM USR1 TSTP"] {
        for command in ["limit --cpu 5s", "explain", "locks"] {
            let (attended, direct) = ignored_in(command, signals);
            assert_eq!(attended, direct, "{command}: {signals}");
        }
    }
}

#[test]
fn processes_that_the_command_leaves_are_killed() {
    let (status, report) = limited("leaves", &["--cpu", "5s"], "setsid sleep 7105 & sleep 7105 & exit 0");
    assert_eq!((status, &report["outcome"], &report["left_behind"]), (0, &"ok".into(), &2.into()), "{report}");
    assert_eq!(processes_with("sleep 7105"), 0);
}

#[test]
fn nothing_is_left_if_steady_or_its_guardian_is_killed() {
    let script = "setsid sh -c 'sleep 7106 & sleep 7106' & (sleep 7106 &) ; echo ready; sleep 7106";
    for source in sources("nothing_is_left_if_steady_or_its_guardian_is_killed") {
        let child = limited_child_by(&["--source", source], script);
        assert!(eventually(|| sleepers("7106") >= 4));
        send("KILL", child.0.id());
        assert_eq!(child.0.wait_with_output().unwrap().status.signal(), Some(9));
        assert!(within_a_second(|| sleepers("7106") == 0), "{source}: {} left", sleepers("7106"));

        let child = limited_child_by(&["--source", source], script);
        assert!(eventually(|| sleepers("7106") >= 4));
        let guardian = child_of(child.0.id()).expect("there is a guardian");
        send("KILL", guardian);
        let (status, _, stderr) = output_of(child.0.wait_with_output().unwrap());
        assert_eq!(status, 125, "{stderr}");
        assert!(stderr.contains("guardian was killed"), "{stderr}");
        assert!(within_a_second(|| sleepers("7106") == 0), "{source}: {} left", sleepers("7106"));
    }
    let group = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|name| {
            name.strip_prefix("steady-limit-").is_some_and(|pid| fs::metadata(format!("/proc/{pid}")).is_err())
        })
    };
    for folder in ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"] {
        assert!(within_a_second(|| !group(folder)), "a control group is left in {folder}");
    }
}

#[test]
fn a_kill_of_the_process_group_or_of_steady_leaves_nothing() {
    for (number, args) in [&["limit", "--cpu", "100s"][..], &["explain"], &["locks"]].into_iter().enumerate() {
        for round in 0..5 {
            for is_group in [true, false] {
                let time = format!("71{}{number}{round}{}", std::process::id(), u8::from(is_group));
                let sleep = format!("sleep {time}");
                // Processes in new sessions, daemons that have forked twice, and children.
                let daemon = format!("setsid sh -c '(setsid {sleep} &); {sleep}'");
                let script = format!("setsid {sleep} & ({daemon} &); ({sleep} &); echo ready; {sleep}");
                let mut command = steady();
                command.args(args).args(["--no-history", "--quiet", "--", "sh", "-c", &script]);
                command.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
                let mut child = command.spawn().unwrap();
                ready(&mut child);
                assert!(eventually(|| sleepers(&time) == 5), "{args:?}: {} run", sleepers(&time));
                let victim = if is_group { format!("-{}", child.id()) } else { child.id().to_string() };
                assert!(Command::new("kill").args(["-KILL", "--", &victim]).status().unwrap().success());
                assert_eq!(child.wait().unwrap().signal(), Some(9));
                // Counts helpers too: they have the command in their arguments.
                let left = || processes_with(&sleep);
                assert!(within_a_second(|| left() == 0), "{args:?}, round {round}, group: {is_group}: {} left", left());
            }
        }
    }
}

#[test]
fn a_file_size_limit_is_reported_and_applies_to_the_command() {
    let file = scratch("limit-too-large");
    let run_below_limit = |line: &str| {
        let script = format!("ulimit -f 0; {line}; echo $?");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_steady"), file.to_str().unwrap()]);
        output_of(command.env("XDG_DATA_HOME", steady::data_home()).output().unwrap())
    };
    let (_, stdout, stderr) = run_below_limit("\"$0\" limit --cpu 5s --no-history --export-json \"$1\" -- true");
    assert!(stdout == "125\n" && stderr.contains("File too large"), "{stdout} {stderr}");
    let (_, stdout, stderr) = run_below_limit("\"$0\" compare --runs 6 --quiet true true");
    assert!(stdout == "0\n" && stderr.contains("not stored in the history"), "{stdout} {stderr}");
    assert!(stderr.contains("no more than 0 bytes (ulimit -f)"), "{stderr}");
    // SIGXFSZ kills the command, and `steady` ends by the same signal.
    let writes = "\"$0\" limit --cpu 5s --no-history --quiet -- sh -c 'exec echo text >> \"$0\"' \"$1\"";
    let (direct, limited) = ("sh -c 'exec echo text >> \"$0\"' \"$1\"", writes);
    let status = |line: &str| run_below_limit(line).1.lines().last().map(str::to_owned);
    assert_eq!(status(limited), status(direct));
    assert_ne!(status(direct), Some("0".to_owned()));
    let _ = fs::remove_file(file);
}

#[test]
fn a_limit_on_processes_is_an_error_without_a_panic() {
    let test = "a_limit_on_processes_is_an_error_without_a_panic";
    if !rustix::process::geteuid().is_root() {
        return skip(test, "only root can change to another user");
    }
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let run = |limit: &str, args: &[&str]| {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).args(["prlimit", &format!("--nproc={limit}"), env!("CARGO_BIN_EXE_steady")]);
        command.args(args).env("XDG_DATA_HOME", "/nonexistent").current_dir("/");
        output_of(command.output().expect("setpriv (util-linux) starts"))
    };
    if run("100", &["--version"]).0 != 0 {
        return skip(test, "the user nobody has no access to the binary");
    }
    for args in [
        &["limit", "--cpu", "1s", "--", "true"][..],
        &["explain", "--", "true"],
        &["explain", "true", "true"],
        &["locks", "--", "true"],
        &["compare", "--runs", "6", "true", "true"],
    ] {
        for limit in ["0", "1", "2"] {
            let (status, _, stderr) = run(limit, args);
            assert!(status == 125 && stderr.contains("steady: "), "{args:?} with {limit}: {status} {stderr}");
            assert!(!stderr.contains("panicked"), "{args:?} with {limit}: {stderr}");
        }
    }
}

/// A signal may arrive before the command runs, while `steady` prepares to start it.
#[test]
fn a_signal_during_the_start_ends_the_command() {
    for delay in 0..40 {
        let mut child = steady();
        child.args(["limit", "--cpu", "1h", "--no-history", "--", "sleep", "7041"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(500 * delay));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let has_ended = eventually(|| child.try_wait().unwrap().is_some());
        if !has_ended {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(has_ended && !status.success(), "after {} µs: {status}", 500 * delay);
    }
    assert!(eventually(|| processes_with("sleep 7041") == 0));
}

#[test]
fn paths_need_not_be_utf8() {
    let folder = scratch("limit-paths");
    let home = folder.join(OsStr::from_bytes(b"home-\xff"));
    fs::create_dir_all(&home).unwrap();
    let program = home.join(OsStr::from_bytes(b"\xff"));
    std::os::unix::fs::symlink("/bin/true", &program).unwrap();
    let compare = ["compare", "--runs", "6", "--quiet", "true", "true", "--input"];
    for args in [&["limit", "--cpu", "60s", "--"][..], &["explain", "--"], &["locks", "--"], &compare] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steady"));
        command.args(args).arg(&program).env("HOME", &home);
        for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        let (status, _, error) = output_of(command.output().unwrap());
        assert_eq!(status, 0, "{args:?}: {error}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn commands_that_cannot_be_started_give_the_statuses_of_a_shell() {
    let status = |args: &[&str]| {
        let (status, stdout, stderr) = run(&[&["limit", "--cpu", "1s", "--"], args].concat());
        assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{stderr}");
        assert!(stderr.starts_with("steady: "), "{stderr}");
        status
    };
    assert_eq!([status(&["no-such-program"]), status(&["./nothing"]), status(&[""])], [127, 127, 127]);
    assert_eq!([status(&["/etc/passwd"]), status(&["/etc"])], [126, 126]);
    let script = scratch("plain-script");
    fs::write(&script, "echo $1; exit 6").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&script).status().unwrap().success());
    let (status, stdout, stderr) = run(&["limit", "--cpu", "1s", "--", script.to_str().unwrap(), "word"]);
    assert_eq!((status, stdout.as_str()), (6, "word\n"), "a script without #! does not run as with execvp: {stderr}");
    fs::remove_file(script).unwrap();
}

#[test]
fn usage_errors_have_status_125() {
    for wrong in [
        &["--cpu", "0", "true"][..],
        &["--cpu", "3days", "true"],
        &["--cpu", "five", "true"],
        &["--cpu", "-1s", "true"],
        &["--cpu", "1s"],
        &["true"],
        &["--cpu", "1s", "--wall-factor", "0", "true"],
        &["--cpu", "1s", "--wall-factor", "nan", "true"],
        &["--cpu", "1s", "--poll", "0", "true"],
        &["--cpu", "1s", "--export-json", "/nonexistent/x", "true"],
        &["--cpu", "1s", "--nonsense", "true"],
    ] {
        let (status, stdout, stderr) = run(&[&["limit"], wrong].concat());
        assert_eq!((status, stdout.as_str()), (125, ""), "{wrong:?}: {stderr}");
        assert!(!stderr.is_empty(), "{wrong:?}");
    }
    assert_eq!(run(&["limit", "--help"]).0, 0);
}

#[test]
fn arguments_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut command = steady();
    command.args(["limit", "--cpu", "1s", "--quiet", "--", "printf", "%s"]).arg(OsStr::from_bytes(b"a\xff b"));
    assert_eq!(command.output().unwrap().stdout, b"a\xff b");
}

#[test]
fn all_formats_are_written() {
    let files = ["json", "csv", "markdown", "html"].map(|form| (form, scratch(&format!("form.{form}"))));
    let options = files.iter().flat_map(|(form, file)| [format!("--export-{form}"), file.display().to_string()]);
    let options: Vec<String> = options.collect();
    let args: Vec<&str> = ["limit", "--cpu", "1s"].into_iter().chain(options.iter().map(String::as_str)).collect();
    let (status, _, stderr) = run(&[&args[..], &["--", "sh", "-c", "exit 0"]].concat());
    assert_eq!(status, 0, "{stderr}");
    for ((form, file), mark) in files.iter().zip(["steady.limit/1", "outcome,", "**The command", "<!DOCTYPE html>"]) {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(mark), "{form}: {text}");
        fs::remove_file(file).unwrap();
    }
    assert!(stderr.lines().all(|line| line.chars().count() <= 80), "{stderr}");
}

#[test]
fn runs_are_stored_in_the_history_unless_disabled() {
    let home = scratch("history-of-limits");
    let with_home = |args: &[&str]| output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
    assert_eq!(with_home(&["limit", "--cpu", "5s", "--", "sh", "-c", "exit 3"]).0, 3);
    assert_eq!(with_home(&["limit", "--cpu", "5s", "--no-history", "--", "sh", "-c", "exit 4"]).0, 4);
    let (_, list, stderr) = with_home(&["history", "list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let runs = list["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["kind"]), (1, &"limit".into()), "{list}");
    let (status, shown, stderr) = with_home(&["history", "report", "last"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(shown.contains("ended by itself with status 3"), "{shown}");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn an_unprivileged_user_can_limit_commands() {
    let test = "an_unprivileged_user_can_limit_commands";
    if !rustix::process::geteuid().is_root() {
        return skip(test, "only root can change to another user");
    }
    let binary = scratch("steady-for-all");
    let folder = std::env::temp_dir().join(format!("steady-limit-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let copy = folder.join("steady");
    copy_steady(&copy);
    let report = folder.join("r.json");
    assert!(Command::new("chmod").args(["-R", "a+rwx"]).arg(&folder).status().unwrap().success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
    command.args(["limit", "--cpu", "300ms", "--export-json"]).arg(&report).args(["--", "sh", "-c", SPIN]);
    let output = command.stdin(Stdio::null()).current_dir("/").output();
    let Ok(output) = output else { return skip(test, "there is no setpriv") };
    let (status, _, stderr) = output_of(output);
    let read: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap_or_default()).unwrap_or_default();
    fs::remove_dir_all(&folder).unwrap();
    let _ = fs::remove_file(binary);
    assert_eq!((status, &read["outcome"]), (124, &"cpu-limit".into()), "{stderr}");
    assert!((0.3..0.6).contains(&seconds(&read, "cpu_seconds")), "{read}");
    let source = read["source"].as_str().unwrap();
    assert!(source == "cgroup_v2" || !read["passed_over"].as_array().unwrap().is_empty(), "{read}");
}

/// A program such as sudo(8) becomes a process of another user, which `steady` may not kill.
#[test]
fn a_process_of_another_user_that_does_not_end_is_an_error() {
    let test = "a_process_of_another_user_that_does_not_end_is_an_error";
    if !rustix::process::geteuid().is_root() {
        return skip(test, "only root can change to another user");
    }
    let folder = std::env::temp_dir().join(format!("steady-other-user-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let (copy, switch) = (folder.join("steady"), folder.join("setpriv"));
    copy_steady(&copy);
    let script = "cp \"$(command -v setpriv)\" \"$0\" && chmod 4755 \"$0\"";
    let is_copied = Command::new("sh").args(["-c", script]).arg(&switch).status().unwrap().success();
    assert!(Command::new("chmod").arg("a+rwx").arg(&folder).status().unwrap().success());
    let user = |program: &std::path::Path, args: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "30", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(program).args(args).env("XDG_DATA_HOME", "/nonexistent").current_dir("/").stdin(Stdio::null());
        output_of(command.output().unwrap())
    };
    let become_root = ["--reuid=0", "--regid=0", "--clear-groups"];
    if !is_copied || user(&switch, &[&become_root[..], &["id", "-u"]].concat()).1 != "0\n" {
        fs::remove_dir_all(&folder).unwrap();
        return skip(test, "there is no setpriv, or programs cannot change the user");
    }
    let switch = switch.to_str().unwrap();
    // The test reads the streams of `steady` to their ends, so the process must not keep them open.
    let sleep = "sleep 7109 >/dev/null 2>&1";
    let exec = format!("exec {sleep}");
    let itself = [&[switch][..], &become_root, &["sh", "-c", &exec]].concat();
    // The shell ends when the process has its user.
    let leaves = format!("ready=$({switch} {} sh -c '{sleep} & echo ready')", become_root.join(" "));
    for args in [
        &["limit", "--cpu", "5s", "--no-history", "--", "sh", "-c", &leaves][..],
        &[&["limit", "--cpu", "200ms", "--kill-after", "100ms", "--no-history", "--"], &itself[..]].concat(),
        &["compare", "--no-history", "--shell", "true", &leaves],
        &["compare", "--no-history", "--timeout", "1s", "true", &format!("{} sh -c '{exec}'", itself[..4].join(" "))],
    ] {
        let (status, _, stderr) = user(&copy, args);
        all_sleepers("7109").into_iter().for_each(|pid| send("KILL", pid));
        if status != 125 || !stderr.contains("cannot be ended: it belongs to another user") {
            // No program that gives its user the rights of root may stay behind.
            fs::remove_dir_all(&folder).unwrap();
            panic!("{args:?}: {status} {stderr}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn children_from_before_the_exec_are_not_killed() {
    // `exec` makes the child of the shell a child of `steady`. It does not belong to the command.
    let line = "sleep 7107 & exec \"$0\" limit --cpu 5s --quiet -- sh -c 'echo ready; sleep 7108'";
    let mut child = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_steady")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    ready(&mut child);
    let guardian =
        wait_for(|| children_of(child.id()).into_iter().find(|pid| command_line(*pid).contains("__guardian")));
    send("KILL", guardian);
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert_eq!((sleepers("7107"), sleepers("7108")), (1, 0));
    let left = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let left: Vec<u32> = left.filter(|pid| command_line(*pid) == "sleep 7107 ").collect();
    left.into_iter().for_each(|pid| send("KILL", pid));
}

/// A `steady limit` process whose command has printed "ready".
struct Limited(Child);

impl Limited {
    /// Waits for the process. Returns its exit status and the rest of standard output.
    fn end(self) -> (i32, String) {
        let (status, stdout, _) = output_of(self.0.wait_with_output().unwrap());
        (status, stdout)
    }
}

fn limited_child(script: &str) -> Limited {
    limited_child_by(&[], script)
}

/// Starts `steady limit` in a new process group, as an interactive shell does, and waits for the line "ready".
fn limited_child_by(options: &[&str], script: &str) -> Limited {
    let mut command = steady();
    command.args(["limit", "--cpu", "20s"]).args(options).args(["--", "sh", "-c", script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    ready(&mut child);
    Limited(child)
}

/// Reads the line "ready" from standard output, and no byte more.
fn ready(child: &mut Child) {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
        line.push(byte[0]);
    }
    assert_eq!(line, b"ready\n");
}

fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status().unwrap().success());
}

fn wait_for<T>(mut found: impl FnMut() -> Option<T>) -> T {
    assert!(eventually(|| found().is_some()));
    found().unwrap()
}

fn state_of(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

fn children_of(pid: u32) -> Vec<u32> {
    let parent = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok()) == Some(pid)
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(parent).collect()
}

fn child_of(pid: u32) -> Option<u32> {
    children_of(pid).first().copied()
}

/// Returns the number of processes with the command line `sleep SECONDS`. Those of `steady` only contain it.
fn sleepers(seconds: &str) -> usize {
    all_sleepers(seconds).len()
}

fn all_sleepers(seconds: &str) -> Vec<u32> {
    let line = format!("sleep {seconds} ");
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid: &u32| command_line(*pid) == line).collect()
}
