//! Counts of process trees at kernel tracepoints, compared with a tracer's counts of the same commands.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use steady_linux::process::{self, Attached, Program, Stdio};
use steady_linux::tracepoints::{Made, Tracepoints, TreeCounts};
use steady_linux::tracer;
use steady_model::Reading;

/// Tests that reap any child of this process run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[allow(clippy::print_stderr, reason = "skipped tests say so")]
fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

fn tracepoints(test: &str) -> Option<(MutexGuard<'static, ()>, Tracepoints)> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    process::become_subreaper().unwrap();
    Tracepoints::open().map_err(|reason| skip(test, &reason.0)).ok().map(|points| (guard, points))
}

/// Runs a command until its last descendant has ended.
fn run(points: &mut Tracepoints, words: &[&str]) -> Reading<TreeCounts> {
    let environment: Vec<_> = std::env::vars_os().collect();
    let environment = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let mut program = Program::new(Path::new(words[0]), words.iter().map(OsStr::new), environment, 0).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let stdio = Stdio { input: null.as_fd(), output: null.as_fd(), error: null.as_fd() };
    points.begin().unwrap();
    let child = program.spawn("0", 0, stdio).unwrap();
    let usage = process::wait_for(child.pid).unwrap().usage;
    let left = process::end_descendants().unwrap();
    points.end(usage.with(&left.usage).cpu_time())
}

/// Compares the counts of a command whose calls are deterministic with the tracer's counts.
fn agrees(test: &str, points: &mut Tracepoints, words: &[&str]) -> Option<TreeCounts> {
    let counted = run(points, words).unwrap();
    let command = Attached::new(Path::new(words[0]), words.iter().map(OsStr::new)).unwrap();
    let known = tracer::count(&command).map_err(|absent| skip(test, &absent.0)).ok()?.counts;
    let made = Made { forks: known.forks, threads: known.threads };
    let known = TreeCounts { calls: known.calls(), execs: known.execs, made: Some(made) };
    assert_eq!(counted, known, "{words:?}");
    Some(counted)
}

#[test]
fn counts_match_a_tracer() {
    let test = "counts_match_a_tracer";
    let Some((_alone, mut points)) = tracepoints(test) else { return };
    agrees(test, &mut points, &["/bin/true"]);
    let script = "for i in 1 2 3 4 5 6 7; do (exit 0); done; /bin/true; /bin/true; exec /bin/true";
    let Some(counted) = agrees(test, &mut points, &["/bin/bash", "-c", script]) else { return };
    assert_eq!((counted.execs, counted.made), (3, Some(Made { forks: 9, threads: 0 })));
}

#[test]
fn threads_and_processes_are_distinguished() {
    let test = "threads_and_processes_are_distinguished";
    let Some((_alone, mut points)) = tracepoints(test) else { return };
    let Some(python) = ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|p| Path::new(p).exists())
    else {
        return skip(test, "no python3");
    };
    let script = "import threading, os\n\
                  for _ in range(7):\n  t = threading.Thread(target=os.getppid); t.start(); t.join()\n\
                  os.waitpid(os.fork() or os._exit(0), 0)\n\
                  import subprocess; subprocess.run(['/bin/true'])";
    let counted = run(&mut points, &[python, "-c", script]).unwrap();
    assert_eq!((counted.execs, counted.made), (1, Some(Made { forks: 2, threads: 7 })));
}

#[test]
fn a_hundred_runs_have_equal_counts() {
    let test = "a_hundred_runs_have_equal_counts";
    let Some((_alone, mut points)) = tracepoints(test) else { return };
    let counts: Vec<TreeCounts> = (0..100).map(|_| run(&mut points, &["/bin/true"]).unwrap()).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert!(
        counts[0].calls > 10 && counts[0].execs == 0 && counts[0].made == Some(Made { forks: 0, threads: 0 }),
        "{:?}",
        counts[0]
    );
    // Calls of other children between two runs do not count.
    std::process::Command::new("/bin/sh").args(["-c", "for i in 1 2 3; do (exit 0); done"]).status().unwrap();
    assert_eq!(run(&mut points, &["/bin/true"]).unwrap(), counts[0]);
}
