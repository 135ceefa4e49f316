//! System calls counted by the tracer, compared with strace and with programs whose calls are known.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use steady_linux::process::{Attached, Status};
use steady_linux::tracer::{self, Counted};

#[allow(clippy::print_stderr, reason = "skipped tests say so")]
fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

fn program(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin", "/usr/local/bin"].into_iter().map(|folder| Path::new(folder).join(name)).find(|p| p.exists())
}

/// Traces a command; `None` if tracing is not allowed.
fn count(test: &str, words: &[&str]) -> Option<Counted> {
    let path = program(words[0]).or_else(|| Some(PathBuf::from(words[0])).filter(|path| path.exists()));
    let Some(path) = path else {
        skip(test, &format!("no {}", words[0]));
        return None;
    };
    let command = Attached::new(&path, words.iter().map(OsStr::new)).unwrap();
    tracer::count(&command).map_err(|absent| skip(test, &absent.0)).ok()
}

fn named(counted: &Counted) -> BTreeMap<String, u64> {
    counted.counts.by_name().into_iter().map(|call| (call.name, call.count)).collect()
}

static FILES: AtomicU32 = AtomicU32::new(0);

/// Returns strace's counts of a command's calls by name. Each call is counted once, where it begins.
fn strace(test: &str, words: &[&str]) -> Option<BTreeMap<String, u64>> {
    let Some(strace) = program("strace") else {
        skip(test, "no strace");
        return None;
    };
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let log = std::env::temp_dir().join(format!("steady-strace-{}-{number}", std::process::id()));
    let null = || std::process::Stdio::null();
    let mut command = Command::new(strace);
    command.args(["-f", "-qq", "-o"]).arg(&log).args(words).stdin(null()).stdout(null()).stderr(null());
    command.status().unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    std::fs::remove_file(&log).unwrap();
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        // "123 read(0, ...", "123  <... read resumed>", "123 --- SIGCHLD ...", "123 +++ exited".
        let event = line.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
        let Some((name, _)) = event.split_once('(') else { continue };
        if name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    // strace also counts the execve(2) that starts the command.
    if let Some(execs) = counts.get_mut("execve") {
        *execs -= 1;
    }
    counts.retain(|_, count| *count > 0);
    Some(counts)
}

/// Compares the calls of a deterministic command with strace.
fn agrees(test: &str, words: &[&str]) -> Option<Counted> {
    let (counted, known) = (count(test, words)?, strace(test, words)?);
    assert_eq!(counted.status, Status::Exited(0), "{words:?}");
    assert_eq!(named(&counted), known, "{words:?}");
    assert!(counted.counts.calls() > 20, "{words:?}");
    Some(counted)
}

#[test]
fn calls_of_one_process_match_strace() {
    let test = "calls_of_one_process_match_strace";
    agrees(test, &["true"]);
    agrees(test, &["gzip", "-c", "/etc/passwd"]);
    agrees(test, &["seq", "10000"]);
}

#[test]
fn calls_of_trees_match_strace() {
    let test = "calls_of_trees_match_strace";
    let Some(counted) = agrees(test, &["bash", "-c", "for i in 1 2 3 4 5; do (exit 0); done; /bin/true; echo x"])
    else {
        return;
    };
    assert_eq!((counted.counts.forks, counted.counts.threads, counted.counts.execs), (6, 0, 1));
}

#[test]
fn threads_and_processes_are_distinguished() {
    let test = "threads_and_processes_are_distinguished";
    let script = "import threading, os\n\
                  for _ in range(7):\n  t = threading.Thread(target=os.getppid); t.start(); t.join()\n\
                  os.waitpid(os.fork() or os._exit(0), 0)";
    let Some(counted) = count(test, &["python3", "-c", script]) else { return };
    assert_eq!(counted.status, Status::Exited(0));
    // If python3 is a wrapper script, it has forks of its own.
    assert_eq!(counted.counts.threads, 7);
    assert!(counted.counts.forks >= 1);
    assert_eq!(named(&counted).get("getppid"), Some(&7));
}

#[test]
fn signals_arrive_and_exit_statuses_are_reported() {
    let test = "signals_arrive_and_exit_statuses_are_reported";
    let Some(counted) = count(test, &["sh", "-c", "trap 'exit 7' USR1; kill -USR1 $$; exit 1"]) else { return };
    assert_eq!(counted.status, Status::Exited(7));
    let status = |script| count(test, &["bash", "-c", script]).map(|counted| counted.status);
    assert_eq!(status("kill -KILL $$"), Some(Status::Signalled(9)));
    assert_eq!(status("sleep 100 & kill -KILL $!; wait $!; exit $?"), Some(Status::Exited(137)));
    assert_eq!(status("trap '' TERM; kill -TERM $$; exit 3"), Some(Status::Exited(3)));
}

#[test]
fn stopped_processes_stay_stopped_until_continued() {
    let test = "stopped_processes_stay_stopped_until_continued";
    // Waits up to about a minute for a condition.
    let until = |condition: &str| {
        format!("n=0; until {condition}; do n=$((n + 1)); [ $n -lt 3000 ] || exit 1; sleep 0.02; done")
    };
    // A job stops itself, its shell sees that, and then the shell continues it.
    let is_stopped = "jobs | grep -q Stopped";
    let stops = until(is_stopped);
    let script = &format!(
        "set -m; sh -c 'kill -STOP $$; exit 5' & {stops}; sleep 0.2; {is_stopped} || exit 1; \
         kill -CONT $!; sleep 0.2; wait $!; exit $?"
    );
    let Some(counted) = count(test, &["bash", "-c", script]) else { return };
    assert_eq!(counted.status, Status::Exited(5));
    // Another process outside of its group stops and continues it.
    let is_stopped = "grep -q '^State:.*[tT]' /proc/$!/status";
    let stops = until(is_stopped);
    let script = &format!(
        "sleep 2 & kill -STOP $!; {stops}; sleep 0.2; {is_stopped} || exit 1; kill -CONT $!; wait $!; exit $?"
    );
    assert_eq!(count(test, &["bash", "-c", script]).map(|counted| counted.status), Some(Status::Exited(0)));
}

#[test]
fn left_behind_processes_are_killed() {
    let test = "left_behind_processes_are_killed";
    let mark = format!("{}.25", 100_000 + std::process::id());
    let script = format!("setsid sleep {mark} & (sleep {mark} & sleep {mark}) & exit 4");
    let Some(counted) = count(test, &["sh", "-c", &script]) else { return };
    assert_eq!(counted.status, Status::Exited(4));
    let running = Command::new("pgrep").args(["-f", &mark]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&running.stdout), "");
}

#[test]
fn commands_that_cannot_start_have_a_reason() {
    let start = |path: &str| tracer::count(&Attached::new(Path::new(path), [OsStr::new("x")]).unwrap());
    let reason = start("/nonexistent").unwrap_err().0;
    assert!(reason.contains("cannot execute the command") || reason.contains("ptrace"), "{reason}");
    assert!(start("/etc/passwd").is_err());
}

#[test]
fn a_thread_that_executes_becomes_the_process() {
    let test = "a_thread_that_executes_becomes_the_process";
    let script = "import threading, os, time\n\
                  threading.Thread(target=lambda: os.execv('/bin/sh', ['sh', '-c', 'exit 6'])).start()\n\
                  time.sleep(100)";
    let Some(counted) = count(test, &["python3", "-c", script]) else { return };
    assert_eq!(counted.status, Status::Exited(6));
    assert_eq!(counted.counts.threads, 1);
}

/// Runs in a sandbox, started by the next test.
#[test]
#[ignore = "it only prints why tracing is not possible"]
#[allow(clippy::print_stdout, reason = "the other test reads its output")]
fn print_why_tracing_is_not_possible() {
    let command = Attached::new(Path::new("/bin/true"), [OsStr::new("true")]).unwrap();
    println!("{}", tracer::count(&command).map_or_else(|absent| absent.0, |_| "tracing is possible".to_owned()));
}

/// Script that forbids ptrace(2) with EPERM, as a container may, and then executes its arguments.
const SANDBOX: &str = include_str!("../../../tests/steady/without_call.py");

#[test]
fn a_sandbox_without_ptrace_is_reported() {
    let test = "a_sandbox_without_ptrace_is_reported";
    let mut command = Command::new("python3");
    command.args(["-c", SANDBOX, "101", "117"]).arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "print_why_tracing_is_not_possible", "--nocapture"]);
    match command.output() {
        Ok(output) if output.status.success() => {
            let output = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.contains("a sandbox or another tracer"), "{output}");
        }
        other => skip(test, &format!("cannot use seccomp: {other:?}")),
    }
}

/// Sleep time of the processes of [`trace_sleepers`], in seconds; no other process uses this number.
const SLEEP: &str = "86437.25";

/// Runs until the next test kills it.
#[test]
#[ignore = "it only traces until it is killed"]
fn trace_sleepers() {
    count("trace_sleepers", &["sh", "-c", &format!("sleep {SLEEP} & setsid sh -c 'sleep {SLEEP} & wait' & wait")]);
}

fn sleepers() -> usize {
    let running = Command::new("pgrep").args(["-fc", &format!("^sleep {SLEEP}")]).output().unwrap();
    String::from_utf8_lossy(&running.stdout).trim().parse().unwrap()
}

#[test]
fn nothing_traced_survives_a_killed_tracer() {
    let test = "nothing_traced_survives_a_killed_tracer";
    if program("pgrep").is_none() || count(test, &["true"]).is_none() {
        return skip(test, "no pgrep, or tracing is not possible");
    }
    let mut tracer = Command::new(std::env::current_exe().unwrap());
    tracer.args(["--ignored", "--exact", "trace_sleepers"]).stdout(std::process::Stdio::null());
    let mut tracer = tracer.spawn().unwrap();
    let within_5_s = |wanted: usize| {
        (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            sleepers() == wanted
        })
    };
    assert!(within_5_s(2), "{} sleepers", sleepers());
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    assert!(within_5_s(0), "{} sleepers are left", sleepers());
}
