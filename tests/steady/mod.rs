//! Helpers that run the `steady` binary.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod repository;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use steady_linux::{Root, topology};

/// Returns a `steady` command whose history goes to the data directory of this test process.
pub(crate) fn steady() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steady"));
    command.stdin(Stdio::null()).env("XDG_DATA_HOME", data_home());
    command
}

/// Returns a `steady` command for which one system call fails with EPERM. The call is given by its numbers on x86-64
/// and aarch64. Without seccomp, Python reports KeyError or AssertionError on standard error.
pub(crate) fn without_call(x86_64: &str, aarch64: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", include_str!("without_call.py"), x86_64, aarch64, env!("CARGO_BIN_EXE_steady")]);
    command.stdin(Stdio::null()).env("XDG_DATA_HOME", data_home());
    command
}

/// Copies the `steady` binary in another process. If this process had the copy open for writing, children that other tests
/// start concurrently would inherit the descriptor, and executing the copy would fail with ETXTBSY until they call
/// execve(2).
pub(crate) fn copy_steady(to: &Path) {
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_steady")).arg(to).status().expect("cp starts");
    assert!(status.success(), "steady cannot be copied to {}", to.display());
}

/// Returns a command that runs a copy of `steady` as an unprivileged user, and the directory of the copy, which that
/// user can write to. Returns `None` without root.
pub(crate) fn as_nobody(name: &str) -> Option<(Command, PathBuf)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("steady-nobody-{name}-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let copy = folder.join("steady");
    copy_steady(&copy);
    assert!(Command::new("chmod").args(["-R", "a+rwx"]).arg(&folder).status().unwrap().success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
    command.env("XDG_DATA_HOME", &folder).stdin(Stdio::null()).current_dir("/");
    Some((command, folder))
}

/// Returns the data directory of this test process, which holds its history. Removes those of processes that have
/// ended.
pub(crate) fn data_home() -> &'static Path {
    const NAME: &str = "data-of-";
    static HOME: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for entry in fs::read_dir(folder).expect("the build directory can be read").filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(NAME).map(|process| Path::new("/proc").join(process));
            if owner.is_some_and(|owner| !owner.exists()) {
                // Another test may be removing it too.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        folder.join(format!("{NAME}{}", std::process::id()))
    });
    &HOME
}

/// Returns whether repeating tests run the larger number of repetitions, which finds rare faults. `./test --all`
/// requests it with `STEADY_TESTS=all` in the environment.
pub(crate) fn at_length() -> bool {
    std::env::var_os("STEADY_TESTS").is_some_and(|value| value == "all")
}

/// Runs `steady` with these arguments. Returns the exit status, standard output and standard error.
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    output_of(steady().args(args).output().expect("steady starts"))
}

/// Returns the exit status (-1 after a signal), standard output and standard error of a process that has ended.
pub(crate) fn output_of(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("steady prints UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Runs a shell script under a subcommand that leaves standard output to the measured command. Returns the exit status,
/// standard output, standard error and the JSON report.
pub(crate) fn reported(command: &str, name: &str, options: &[&str], script: &str) -> (i32, String, String, Value) {
    let file = scratch(&format!("{command}-{name}.json"));
    let args = [&[command, "--export-json", file.to_str().unwrap()], options, &["--", "sh", "-c", script]].concat();
    let (status, stdout, stderr) = run(&args);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    let report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: '{text}' {stderr}"));
    (status, stdout, stderr, report)
}

/// Returns a numeric field of a report.
pub(crate) fn seconds(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// Runs `steady compare` and returns its JSON report. Panics if the exit status is not `status`.
pub(crate) fn json(status: i32, args: &[&str]) -> Value {
    let (actual, stdout, stderr) = run(&[&["compare", "--format", "json"], args].concat());
    assert_eq!(actual, status, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

/// Returns the primary verdict on the second command.
pub(crate) fn primary(report: &Value) -> &Value {
    let verdicts = report["verdicts"].as_array().expect("there are verdicts");
    verdicts.iter().find(|verdict| verdict["primary"] == true).expect("one verdict is primary")
}

/// Returns the path of a file for this test process, in the directory for temporary files of the build.
pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// Returns a duration in seconds for sleep(1) that no other test process uses, so that [`processes_with`] counts no
/// process of another test. `begin` is the duration up to the first digits after its point.
pub(crate) fn own_duration(begin: &str) -> String {
    format!("{begin}{:07}", std::process::id())
}

/// Returns the CPUs that this test may use, in increasing order.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    topology::allowed_cpus(&Root::default()).expect("the system reports the allowed CPUs")
}

/// Returns the first CPU that this test may use, as the value of an option.
pub(crate) fn first_cpu() -> String {
    allowed_cpus()[0].to_string()
}

/// Returns the number of processes whose command line contains `mark`.
pub(crate) fn processes_with(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("there is /proc");
    let is_marked = |entry: std::io::Result<std::fs::DirEntry>| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(mark).then_some(())
    };
    entries.filter_map(is_marked).count()
}

/// Waits up to a minute for `condition`. Use it for preconditions of a test, which may take long on a busy machine.
pub(crate) fn eventually(condition: impl FnMut() -> bool) -> bool {
    polled(6_000, condition)
}

/// Waits up to a second for `condition`. Use it for what the documentation guarantees. It counts polls instead of
/// reading the clock, so the time in which the whole machine stalls does not count.
pub(crate) fn within_a_second(condition: impl FnMut() -> bool) -> bool {
    polled(100, condition)
}

/// Checks `condition` every 10 ms, `polls` times, and once more at the end.
fn polled(polls: u32, mut condition: impl FnMut() -> bool) -> bool {
    for _ in 0..polls {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    condition()
}

/// Returns the CPU time of a process in seconds: utime and stime, in ticks of 10 ms (proc_pid_stat(5)). It is 0 once
/// the process has ended.
pub(crate) fn cpu_seconds(pid: i32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Reports on standard error, where `./test` finds it, that a test cannot run on this machine.
#[allow(clippy::print_stderr, reason = "./test lists the skipped tests")]
pub(crate) fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

/// Returns a shell command that loops `turns` times.
pub(crate) fn work(turns: u32) -> String {
    format!("sh -c 'i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done'")
}
