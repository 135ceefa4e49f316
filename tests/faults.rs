//! `steady compare` with commands that fail, hang or start daemons, missing permissions, signals, and full disks.

mod steady;

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use steady::{
    data_home, eventually, first_cpu, json, output_of, primary, processes_with, run, scratch, skip, steady,
    within_a_second, work,
};

#[test]
fn a_failing_command_is_reported_with_its_status() {
    let (status, stdout, stderr) = run(&["compare", "true", "sh -c 'exit 7'"]);
    assert_eq!((status, stdout.as_str()), (3, ""));
    assert!(stderr.contains("status 7") && stderr.contains("--ignore-failure"), "{stderr}");
    assert!(stderr.contains("it printed nothing") && stderr.lines().count() == 1, "{stderr}");
    json(0, &["--runs", "6", "--ignore-failure", "true", "sh -c 'exit 7'"]);
    json(0, &["--runs", "6", "--ignore-failure=7", "true", "sh -c 'exit 7'"]);
    assert_eq!(run(&["compare", "--runs", "6", "--ignore-failure=8", "true", "sh -c 'exit 7'"]).0, 3);
}

/// The command runs once more to show its output. That run is limited in time and leaves nothing behind.
#[test]
fn the_error_of_a_failing_command_has_its_output() {
    let failure = |command: &str| {
        let (status, stdout, stderr) = run(&["compare", "--no-history", "--quiet", "--shell", "true", command]);
        assert_eq!((status, stdout.as_str()), (3, ""), "{stderr}");
        stderr
    };
    let shown = failure("seq 1000 >&2; printf '\\033[31mred\\n'; exit 7");
    assert!(shown.contains("of its output:\n  982\n") && shown.ends_with("\n  1000\n  \\u{1b}[31mred\n"), "{shown}");
    assert!(failure("exit 7").contains("it printed nothing"));
    let marker = scratch("failed-once");
    let once = |then: &str| format!("if test -e {0}; then {then}; fi; touch {0}; exit 7", marker.display());
    assert!(
        failure(&once("exit 0"))
            .contains("status 7; --ignore-failure measures it even if it fails; run once more, it succeeded")
    );
    fs::remove_file(&marker).unwrap();
    let hung = failure(&once("sleep 7009"));
    assert!(hung.contains("did not end within 10 s") && processes_with("sleep 7009") == 0, "{hung}");
    fs::remove_file(&marker).unwrap();
    // With a script around each run, the command does not run alone.
    let (_, _, stderr) = run(&["compare", "--no-history", "--quiet", "--prepare", "true", "false", "true"]);
    assert!(stderr.contains("--show-output shows its output"), "{stderr}");
}

#[test]
fn a_signal_that_kills_the_command_is_reported() {
    let (status, _, stderr) = run(&["compare", "true", "sh -c 'kill -SEGV $$'"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("signal 11"), "{stderr}");
}

#[test]
fn unequal_failures_make_the_comparison_invalid() {
    let count = scratch("count");
    // Every second run of the second command dies.
    let dies = format!(
        "sh -c 'echo x >> {0}; n=$(wc -l < {0}); [ $((n % 2)) = 0 ] && kill -KILL $$; exit 0'",
        count.display()
    );
    let report = json(3, &["--runs", "30", "--ignore-failure", "true", &dies]);
    assert_eq!(primary(&report)["verdict"], "undecided", "{report}");
    assert!(report["warnings"].to_string().contains("signal 9"), "{report}");
    fs::remove_file(count).unwrap();
}

#[test]
fn a_hanging_command_is_killed_with_its_children_at_the_timeout() {
    let (status, _, stderr) = run(&["compare", "--timeout", "300ms", "true", "sh -c 'sleep 7001 & sleep 7001; true'"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("--timeout"), "{stderr}");
    assert!(within_a_second(|| processes_with("sleep 7001") == 0));
}

#[test]
fn a_hanging_command_without_a_timeout_is_killed_at_the_end_of_the_budget() {
    let (status, _, stderr) = run(&["compare", "--budget", "500ms", "true", "sleep 7005"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("took longer than the whole budget") && stderr.contains("--timeout"), "{stderr}");
    assert!(within_a_second(|| processes_with("sleep 7005") == 0));
}

/// Returns a command that leaves a daemon: a process in a new session, and its child.
fn daemon(seconds: u32) -> String {
    format!("sh -c 'setsid sh -c \"sleep {seconds} & exec sleep {seconds}\" >/dev/null 2>&1 & exit 0'")
}

#[test]
fn daemons_of_commands_are_killed_at_the_end() {
    let report = json(0, &["--runs", "6", "true", &daemon(7002)]);
    assert!(within_a_second(|| processes_with("sleep 7002") == 0));
    assert!(report["warnings"].to_string().contains("left_behind"), "{report}");
}

#[test]
fn daemons_of_commands_are_killed_within_a_second_if_steady_is_killed() {
    let lingers = "sh -c 'setsid sleep 7003 & setsid sh -c \"sleep 7003 & wait\" & sleep 7003'";
    let mut child = steady().args(["compare", "--runs", "6", lingers, lingers]).stdout(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| processes_with("sleep 7003") >= 3), "the commands do not start");
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9));
    assert!(within_a_second(|| processes_with("sleep 7003") == 0), "{} left", processes_with("sleep 7003"));
    let launchers = || processes_with("__launcher");
    assert!(within_a_second(|| launchers() == 0) || launchers_of_others(), "a launcher is left");
}

/// Returns whether the remaining launchers belong to other tests, which run concurrently: none of them is an orphan.
fn launchers_of_others() -> bool {
    within_a_second(|| {
        let orphan = |entry: &fs::DirEntry| {
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            line.contains("__launcher") && stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some("1")
        };
        !fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| orphan(&entry))
    })
}

#[test]
fn a_command_whose_output_never_ends_is_killed_at_the_timeout() {
    // Several processes fill the pipe, so that it is never empty.
    let one = "head -c 70060000000000 /dev/zero";
    let flood = &format!("sh -c '{one} & {one} & exec {one}'");
    let (status, _, stderr) = run(&["compare", "--timeout", "1s", "--metric-from", "x=regex:x=(.*)", flood, flood]);
    assert!(status != 0 && stderr.contains("--timeout"), "{status} {stderr}");
    assert!(within_a_second(|| processes_with(one) == 0));
}

#[test]
fn an_interruption_gives_the_verdict_so_far() {
    let (less, more) = (work(1000), work(4000));
    let runs = std::env::temp_dir().join(format!("steady-interrupted-{}", std::process::id()));
    let count = format!("echo >>{}", runs.display());
    let args = ["compare", "--runs", "1000000", "--format", "json", "--prepare", &count, &less, &more];
    let child = steady().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Enough runs for a verdict, including the warm-up.
    let many = || fs::read(&runs).is_ok_and(|lines| lines.len() >= 100);
    assert!(eventually(many), "too few runs");
    fs::remove_file(&runs).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&primary(&report)["verdict"], &report["ending"]), (&"slower".into(), &"interrupted".into()));
}

#[test]
fn signals_that_steady_was_started_to_ignore_do_not_interrupt_it() {
    let script = format!(
        "trap '' HUP INT; exec '{}' compare --runs 20 'sleep 0.1013' 'sleep 0.1013'",
        env!("CARGO_BIN_EXE_steady")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("XDG_DATA_HOME", steady::data_home());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| processes_with("sleep 0.1013") >= 2));
    for signal in ["-HUP", "-INT"] {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    }
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert!(status == 0 && !stdout.contains("nterrupted"), "{status} {stdout}{stderr}");
}

#[test]
fn an_interruption_during_the_first_run_takes_effect_immediately() {
    let child = steady().args(["compare", "sleep 7004", "sleep 7004"]).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| processes_with("sleep 7004") >= 2));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 143, "{stderr}");
    assert!(within_a_second(|| processes_with("sleep 7004") == 0));
}

#[test]
fn a_full_disk_is_an_error_after_the_report_is_printed() {
    let (status, stdout, stderr) = run(&["compare", "--runs", "6", "--export-json", "/dev/full", "true", "true"]);
    assert_eq!(status, 125);
    assert!(stderr.contains("/dev/full") && stderr.contains("No space"), "{stderr}");
    assert!(stdout.contains("Seed"), "the report is not printed");
    let files = ["--export-json", "/dev/full", "--export-markdown", "/dev/stderr", "--export-html", "/dev/full"];
    let args = [&["compare", "-q", "--runs", "6", "--fail-if", "slower>900%"], &files[..], &["true", "true"]].concat();
    let (status, _, stderr) = run(&args);
    let with = |text: &str| stderr.lines().filter(|line| line.starts_with("steady: ") && line.contains(text)).count();
    assert_eq!(
        (status, with("--export-json"), with("--export-html"), with("The condition")),
        (125, 1, 1, 1),
        "{stderr}"
    );
    assert!(stderr.contains("## "), "another export is not written: {stderr}");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = steady().args(["compare", "--runs", "6", "true", "true"]).stdout(full).stderr(Stdio::piped()).output();
    let (status, _, stderr) = output_of(output.unwrap());
    assert_eq!(status, 125);
    assert!(stderr.contains("standard output"), "{stderr}");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = steady().args(["compare", "--help"]).stdout(full).stderr(Stdio::piped()).output();
    let (status, _, stderr) = output_of(output.unwrap());
    assert!(status == 125 && stderr.contains("the help cannot be written"), "{status} {stderr}");
}

#[test]
fn a_missing_proc_is_named() {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs tmpfs /proc || exit 77; exec \"$@\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_steady")]);
    let done = command.args(["compare", "--no-history", "true", "true"]).output();
    match done.ok().map(output_of).filter(|(status, _, stderr)| *status != 77 && !stderr.starts_with("unshare")) {
        Some((status, _, stderr)) => {
            assert!(status == 125 && stderr.contains("/proc must be mounted"), "{status} {stderr}");
        }
        None => skip("a_missing_proc_is_named", "no file system can be mounted"),
    }
}

#[test]
fn a_closed_output_pipe_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output =
        steady().args(["compare", "--runs", "6", "true", "true"]).stdout(writer).stderr(Stdio::piped()).output();
    let (status, _, stderr) = output_of(output.unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
}

#[test]
fn on_one_cpu_the_layout_is_turns() {
    let mut command = Command::new("taskset");
    command.env("XDG_DATA_HOME", data_home());
    let cpu = first_cpu();
    command.args(["-c", &cpu, env!("CARGO_BIN_EXE_steady"), "compare", "--runs", "12", "--format", "json"]);
    let output = command.args(["true", "true"]).output().unwrap();
    let (status, stdout, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["layouts"]["turns"]["pairs"], 12);
    assert!(report["layouts_left_out"].to_string().contains("one CPU"), "{report}");
    let report = json(0, &["--cpus", &cpu, "--runs", "12", "true", "true"]);
    assert_eq!(report["layouts"]["turns"]["pairs"], 12);
    assert_eq!(run(&["compare", "--cpus", &cpu, "--layout", "duet", "true", "true"]).0, 2);
}

#[test]
fn commands_that_change_their_cpus_are_run_in_turns() {
    let moves = "taskset -c 0,1 sh -c :";
    let report = json(0, &["--runs", "40", moves, moves]);
    if report["host"]["cpus_allowed"].as_u64() < Some(2) {
        return skip("commands_that_change_their_cpus_are_run_in_turns", "one CPU");
    }
    assert_eq!(report["layouts"]["turns"]["pairs"], 40, "{report}");
    assert!(report["layouts_left_out"].to_string().contains("CPUs"), "{report}");
}

#[test]
fn commands_that_write_files_are_run_in_turns() {
    let file = scratch("written");
    let writes = format!("dd if=/dev/zero of={} bs=64k count=4 conv=fsync", file.display());
    let report = json(0, &["--runs", "40", &writes, &writes]);
    fs::remove_file(&file).unwrap();
    if report["layouts"]["duet"]["pairs"].as_u64() > Some(0) {
        return skip("commands_that_write_files_are_run_in_turns", "this file system does not count writes");
    }
    assert_eq!(report["layouts"]["turns"]["pairs"], 40);
}

#[test]
fn commands_may_close_their_streams() {
    let closes = "sh -c 'exec <&- >&- 2>&-; exit 0'";
    json(0, &["--runs", "6", closes, closes]);
}

#[test]
fn steady_works_with_closed_streams() {
    let script = format!("exec {} compare --quiet --runs 6 'sh -c :' 'sh -c :' <&- 2>&-", env!("CARGO_BIN_EXE_steady"));
    let mut command = Command::new("sh");
    assert!(command.args(["-c", &script]).env("XDG_DATA_HOME", data_home()).status().unwrap().success());
}

#[test]
fn a_file_that_cannot_be_executed_is_a_usage_error() {
    use std::os::unix::fs::PermissionsExt;
    let file = scratch("no-program");
    fs::write(&file, "not a program\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let (status, _, stderr) = run(&["compare", "true", file.to_str().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!(status, 2);
    assert!(stderr.contains("could not be started"), "{stderr}");
}

#[test]
fn without_permission_to_set_cpus_the_layout_is_turns() {
    let mut command = steady::without_call("203", "122");
    command.args(["compare", "--format", "json", "--runs", "12"]);
    let (status, stdout, stderr) = output_of(command.args(["true", "true"]).output().unwrap());
    if stderr.contains("KeyError") || stderr.contains("AssertionError") {
        return skip("without_permission_to_set_cpus_the_layout_is_turns", "no seccomp here");
    }
    assert_eq!(status, 0, "{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["layouts"]["turns"]["pairs"], 12);
    let left_out = report["layouts_left_out"].to_string();
    assert!(left_out.contains("not permitted") || left_out.contains("one CPU"), "{left_out}");
}

/// Returns a command that enters `group` and then executes `steady`.
fn in_group(group: &std::path::Path) -> Command {
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_steady")]).env("XDG_DATA_HOME", data_home());
    command
}

/// Creates a control group with a quota of half a CPU. Returns `None` if that is not possible.
fn half_a_cpu() -> Option<std::path::PathBuf> {
    let name = format!("steady-test-{}", std::process::id());
    let v1 = std::path::Path::new("/sys/fs/cgroup/cpu").join(&name);
    if fs::create_dir(&v1).is_ok() {
        let set =
            fs::write(v1.join("cpu.cfs_period_us"), "100000").and(fs::write(v1.join("cpu.cfs_quota_us"), "50000"));
        return set.ok().map(|()| v1);
    }
    let v2 = std::path::Path::new("/sys/fs/cgroup").join(&name);
    fs::create_dir(&v2).ok()?;
    match fs::write(v2.join("cpu.max"), "50000 100000") {
        Ok(()) => Some(v2),
        Err(_) => {
            // The CPU controller is not enabled here.
            let _ = fs::remove_dir(&v2);
            None
        }
    }
}

#[test]
fn with_a_cpu_quota_the_layout_is_turns_and_throttling_is_reported() {
    let Some(group) = half_a_cpu() else {
        return skip(
            "with_a_cpu_quota_the_layout_is_turns_and_throttling_is_reported",
            "no control group with a CPU quota can be created here",
        );
    };
    let busy = work(30_000);
    let output =
        in_group(&group).args(["compare", "--budget", "4s", "--format", "json", &busy, &busy]).output().unwrap();
    assert!(within_a_second(|| fs::remove_dir(&group).is_ok()), "a process is left in the group");
    let (status, stdout, stderr) = output_of(output);
    assert_eq!(status, 0, "{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert!(report["layouts_left_out"].to_string().contains("0.50 CPUs"), "{report}");
    // If other processes keep the CPUs busy, the group may not reach its quota.
    let share = |name: &str| report["load"][name].as_f64().unwrap();
    assert!(share("throttled_ratio") > 0.01 || share("busy_ratio") > 0.6, "{report}");
    assert_eq!(report["warnings"].to_string().contains("throttled"), share("throttled_ratio") > 0.01, "{report}");
    assert_eq!(primary(&report)["metric"], "cpu");
}

#[test]
fn ctrl_c_interrupts_steady_and_not_its_commands() {
    // A terminal sends the SIGINT of Ctrl-C to the whole process group.
    let starts = scratch("ctrl-c-starts");
    let slow = format!("sh -c 'echo >>{}; exec sleep 0.2'", starts.display());
    let mut command = steady();
    command
        .args(["compare", "--runs", "50", &slow, &slow])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The warm-up must be over. It has three pairs.
    assert!(eventually(|| fs::read(&starts).is_ok_and(|lines| lines.len() >= 20)), "too few runs");
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let (status, stdout, stderr) = output_of(child.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    assert!(stdout.contains("nterrupted"), "{stdout}");
    fs::remove_file(&starts).unwrap();
}
