//! Running the binary.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

/// A call of `steady` that touches nothing of the user's.
pub(crate) fn steady() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steady"));
    command.stdin(Stdio::null()).env("XDG_DATA_HOME", data_home());
    command
}

/// The same in a sandbox that forbids one system call with EPERM, by its numbers on x86-64 and aarch64; Python says
/// KeyError or AssertionError where that cannot be had.
pub(crate) fn without_call(x86_64: &str, aarch64: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", include_str!("without_call.py"), x86_64, aarch64, env!("CARGO_BIN_EXE_steady")]);
    command.stdin(Stdio::null()).env("XDG_DATA_HOME", data_home());
    command
}

/// A data directory for this process, where histories go; those of processes that are gone are removed.
pub(crate) fn data_home() -> &'static Path {
    const NAME: &str = "data-of-";
    static HOME: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for entry in fs::read_dir(folder).expect("the build has a folder").filter_map(Result::ok) {
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

/// Whether tests that repeat something do so as often as it takes to find what is rare: `STEADY_TESTS=all` in the
/// environment, which `./test --all` sets.
pub(crate) fn at_length() -> bool {
    std::env::var_os("STEADY_TESTS").is_some_and(|value| value == "all")
}

/// Runs `steady` with these words; status, standard output, standard error.
pub(crate) fn run(words: &[&str]) -> (i32, String, String) {
    told(steady().args(words).output().expect("steady starts"))
}

/// Status, standard output, standard error.
pub(crate) fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("steady prints UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Runs one of the commands that leave standard output to the user's on a shell's script: status, standard output, standard
/// error, and its report.
pub(crate) fn reported(command: &str, name: &str, options: &[&str], script: &str) -> (i32, String, String, Value) {
    let file = scratch(&format!("{command}-{name}.json"));
    let words = [&[command, "--export-json", file.to_str().unwrap()], options, &["--", "sh", "-c", script]].concat();
    let (status, stdout, stderr) = run(&words);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    let report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: '{text}' {stderr}"));
    (status, stdout, stderr, report)
}

/// A number of a report.
pub(crate) fn seconds(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// Compares, and reads the JSON; panics where the status is another than `status`.
pub(crate) fn json(status: i32, words: &[&str]) -> Value {
    let (actual, stdout, stderr) = run(&[&["compare", "--format", "json"], words].concat());
    assert_eq!(actual, status, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

/// The primary verdict on the second command.
pub(crate) fn primary(report: &Value) -> &Value {
    let verdicts = report["verdicts"].as_array().expect("there are verdicts");
    verdicts.iter().find(|verdict| verdict["primary"] == true).expect("one is primary")
}

/// A file of this test's own, in a folder that the build owns.
pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// How many processes there are whose command line holds `mark`.
pub(crate) fn processes_with(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("there is /proc");
    let is_marked = |entry: std::io::Result<std::fs::DirEntry>| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(mark).then_some(())
    };
    entries.filter_map(is_marked).count()
}

/// Whether `condition` comes true at all: for what a test needs before it begins, which may take long on a busy machine.
pub(crate) fn eventually(condition: impl FnMut() -> bool) -> bool {
    polled(6_000, condition)
}

/// Whether `condition` comes true within a second: for what is promised. While a machine stalls, nothing is polled, and the
/// stall is not counted.
pub(crate) fn within_a_second(condition: impl FnMut() -> bool) -> bool {
    polled(100, condition)
}

/// Whether `condition` comes true at one of so many polls, 10 ms apart, or at a last one.
fn polled(polls: u32, mut condition: impl FnMut() -> bool) -> bool {
    for _ in 0..polls {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    condition()
}

/// The CPU time of a process so far: utime and stime, in ticks of 10 ms (proc_pid_stat(5)); none once it has ended.
pub(crate) fn cpu_seconds(pid: i32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Says on standard error, where `./test` finds it, that a test cannot be made here.
#[allow(clippy::print_stderr, reason = "skips are told aloud")]
pub(crate) fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

/// A busy loop of the shell, `turns` long.
pub(crate) fn work(turns: u32) -> String {
    format!("sh -c 'i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done'")
}
