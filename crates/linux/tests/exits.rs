//! Exit records of real process trees, compared with rusage and schedstat of the same trees.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use steady_linux::exits::{Listener, TaskExit, tree_of};
use steady_linux::process::{self, ChildUsage, Program, Stdio};
use steady_linux::procfs::{Schedstat, SchedstatReader};
use steady_linux::{Root, clock};
use steady_model::Nanos;

/// Tests that reap any child of this process run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns a listener, unless this machine has no exit records.
#[allow(clippy::print_stderr, reason = "skipped tests say so")]
fn listener(test: &str) -> Option<(MutexGuard<'static, ()>, Listener)> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    process::become_subreaper().unwrap();
    Listener::open().map_err(|reason| eprintln!("skipped: {test}: {reason}")).ok().map(|listener| (guard, listener))
}

/// Usage of a command of this process: from wait4(2), from the schedstat of its main thread, and from its tree's
/// records.
struct Run {
    pid: i32,
    usage: ChildUsage,
    schedstat: Schedstat,
    tasks: Vec<TaskExit>,
}

fn run(listener: &mut Listener, words: &[&str]) -> Run {
    let mut program = Program::new(Path::new(words[0]), words.iter().map(OsStr::new), path(), 0).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let stdio = Stdio { input: null.as_fd(), output: null.as_fd(), error: null.as_fd() };
    listener.take();
    let child = program.spawn("0", 0, stdio).unwrap();
    let mut watched = [rustix::event::PollFd::new(&child.pidfd, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut watched, None).unwrap();
    let schedstat = SchedstatReader::new(&Root::default()).unwrap().read(child.pid.as_raw_nonzero().get()).unwrap();
    let usage = process::wait_for(child.pid).unwrap().usage;
    process::end_descendants().unwrap();
    let records = listener.take();
    let own = std::process::id() as i32;
    Run {
        pid: child.pid.as_raw_nonzero().get(),
        usage,
        schedstat,
        tasks: tree_of(&records, own).into_iter().cloned().collect(),
    }
}

fn path<'a>() -> [(&'a OsStr, &'a OsStr); 1] {
    [(OsStr::new("PATH"), OsStr::new("/usr/bin:/bin"))]
}

fn sum(tasks: &[TaskExit], of: impl Fn(&TaskExit) -> Nanos) -> f64 {
    tasks.iter().map(of).sum::<Nanos>().seconds()
}

/// Processes that use a CPU until they are dropped.
struct Spinners(Vec<std::process::Child>);

impl Spinners {
    fn start(count: usize) -> Self {
        Spinners((0..count).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()).collect())
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
fn run_delay_matches_schedstat() {
    let Some((_alone, mut listener)) = listener("run_delay_matches_schedstat") else { return };
    let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    // The records of the spinners are in the tree too.
    let task_of = |run: &Run| run.tasks.iter().find(|task| task.pid == run.pid).unwrap().clone();
    // A task that neither waits nor loses time to the host always runs or waits for a CPU. The first runs may wait for
    // pages of the shell, and any run may lose time.
    let mut left = vec![];
    let mut runs = (0..20).map(|_| {
        let _spinners = Spinners::start(2);
        run(&mut listener, &["/bin/sh", "-c", spin])
    });
    let found = runs.find(|run| {
        let task = task_of(run);
        let (recorded, known) = (task.run_delay.clone().unwrap().seconds(), run.schedstat.run_delay.seconds());
        // The task may wait once more after its record is written, and `known` includes this wait.
        let rest = task.wall.seconds() - task.cpu.seconds() - recorded;
        left.push((task.voluntary_switches, rest, recorded, known));
        task.voluntary_switches == 0 && (-1e-5..known - recorded + 1e-5).contains(&rest)
    });
    let run = found.unwrap_or_else(|| panic!("waits, and seconds left, recorded and known: {left:?}"));
    let task = task_of(&run);
    assert_eq!(task.last_of_process, Some(true));
    let (recorded, known) = (task.run_delay.clone().unwrap().seconds(), run.schedstat.run_delay.seconds());
    assert!(recorded <= known && known - recorded < 0.02 + 0.02 * known, "{recorded} of {known} s");
    let (cpu, used) = (task.cpu.seconds(), (run.usage.user + run.usage.system).seconds());
    assert!(used > 0.02 && (cpu - used).abs() < 0.012 + 0.01 * used, "{cpu} of {used} s");
}

#[test]
fn a_tree_of_processes_and_threads_adds_up() {
    let Some((_alone, mut listener)) = listener("a_tree_of_processes_and_threads_adds_up") else { return };
    let script = "for i in 1 2 3; do seq 200000 | sort -r --parallel=2 -S 64M | md5sum; done";
    let run = run(&mut listener, &["/bin/sh", "-c", script]);
    let processes = run.tasks.iter().filter(|task| task.tgid == Some(task.pid)).count();
    assert_eq!(processes, 10, "a shell, and three of each command");
    assert_eq!(run.tasks.iter().filter(|task| task.last_of_process == Some(true)).count(), 10);
    assert!(run.tasks.len() >= 10, "sort may have threads: {}", run.tasks.len());
    let used = (run.usage.user + run.usage.system).seconds();
    let recorded = sum(&run.tasks, |task| task.cpu);
    // Not in the records: what a process uses after its record is written, and the last tick of processes that waited.
    assert!(recorded <= used * 1.001 && used - recorded < 0.05 * used + 10.0 * 0.005, "{recorded} of {used} s");
    let faults: u64 = run.tasks.iter().map(|task| task.minor_faults).sum();
    assert_eq!(faults, run.usage.minor_faults);
    let switches: u64 = run.tasks.iter().map(|task| task.voluntary_switches).sum();
    assert!(switches.abs_diff(run.usage.voluntary_switches) <= 30, "{switches} of {}", run.usage.voluntary_switches);
}

#[test]
fn every_thread_has_its_record() {
    let Some((_alone, mut listener)) = listener("every_thread_has_its_record") else { return };
    let script = "import threading\n\
                  def work():\n  s = 0\n  for i in range(200000): s += i\n\
                  ts = [threading.Thread(target=work) for _ in range(4)]\n\
                  [t.start() for t in ts]; [t.join() for t in ts]";
    let Some(python) = ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|p| Path::new(p).exists())
    else {
        return;
    };
    let run = run(&mut listener, &[python, "-c", script]);
    assert_eq!(run.tasks.len(), 5, "{:?}", run.tasks);
    assert!(run.tasks.iter().all(|task| task.tgid == run.tasks[4].tgid), "the last record is the first thread's");
    let recorded = sum(&run.tasks, |task| task.cpu);
    let used = (run.usage.user + run.usage.system).seconds();
    assert!(recorded <= used * 1.001 && used - recorded < 0.05 * used + 5.0 * 0.005, "{recorded} of {used} s");
    // The other threads wait too.
    let delay = sum(&run.tasks, |task| task.run_delay.clone().unwrap());
    assert!(delay >= run.schedstat.run_delay.seconds() * 0.9);
}

#[test]
fn all_of_two_thousand_short_processes_have_records() {
    let Some((_alone, mut listener)) = listener("all_of_two_thousand_short_processes_have_records") else { return };
    let run = run(&mut listener, &["/bin/bash", "-c", "for ((i = 0; i < 2000; i++)); do (exit 0); done"]);
    assert_eq!((run.tasks.len(), listener.lost()), (2_001, 0));
    assert_eq!(run.tasks.iter().filter(|task| task.never_executed).count(), 2_000);
    // None of them waited for anything, so their CPU time is exact although they were short.
    let recorded = sum(&run.tasks, |task| task.cpu);
    let used = (run.usage.user + run.usage.system).seconds();
    assert!(recorded < used * 1.02 && recorded > 0.3 * used, "{recorded} of {used} s");
}

#[test]
fn killed_left_behind_processes_have_records() {
    let Some((_alone, mut listener)) = listener("killed_left_behind_processes_have_records") else { return };
    let run = run(&mut listener, &["/bin/sh", "-c", "setsid sh -c 'sleep 100 & sleep 100' & sleep 0.1"]);
    let names: Vec<&str> = run.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "sleep").count(), 3, "{names:?}");
    assert_eq!(run.tasks.len(), 5, "{names:?}");
}

#[test]
fn take_never_waits_and_returns_each_record_once() {
    let Some((_alone, mut listener)) = listener("take_never_waits_and_returns_each_record_once") else { return };
    Command::new("true").status().unwrap();
    let own = std::process::id() as i32;
    let started = clock::monotonic();
    assert_eq!(tree_of(&listener.take(), own).len(), 1);
    assert_eq!(tree_of(&listener.take(), own).len(), 0);
    assert!(clock::monotonic() - started < Nanos(1_000_000_000));
}

/// Runs with fewer privileges, started by the next test.
#[test]
#[ignore = "it only prints why there are no records"]
#[allow(clippy::print_stdout, reason = "the other test reads its output")]
fn print_why_there_are_no_records() {
    println!("{}", Listener::open().map_or_else(|absent| absent.0, |_| "there are records".to_owned()));
}

#[test]
#[allow(clippy::print_stderr, reason = "skipped tests say so")]
fn missing_records_have_a_reason() {
    // Hold the lock, because the processes of this test would be in the trees of other tests.
    let Some((_alone, _)) = listener("missing_records_have_a_reason") else { return };
    let own = std::env::current_exe().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all"], "CAP_NET_ADMIN"),
        (&["unshare", "--user", "--map-root-user"], "CAP_NET_ADMIN"),
        (&["unshare", "--pid", "--fork"], "PID namespaces"),
        (&["unshare", "--net"], "network namespace"),
    ];
    for (wrapper, reason) in cases {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(&own);
        command.args(["--ignored", "--exact", "print_why_there_are_no_records", "--nocapture"]);
        match command.output() {
            Ok(output) if output.status.success() => {
                let output = String::from_utf8_lossy(&output.stdout);
                assert!(output.contains(reason), "{wrapper:?}: {output}");
            }
            // Some machines do not allow these commands or do not have them.
            other => eprintln!("skipped: missing_records_have_a_reason: {wrapper:?}: {other:?}"),
        }
    }
}
