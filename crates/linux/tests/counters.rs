//! Counters of real process trees: kernel software events, compared with rusage of the same trees, and hardware events
//! if the machine has them.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use steady_linux::counters::{self, EVENTS, Event, HARDWARE, Meter};
use steady_linux::process::{self, ChildUsage, Program, Stdio};
use steady_model::{CounterScope, Counters, Nanos};

/// Software events of the kernel, in the fields of the hardware events.
const SOFTWARE: [Event; EVENTS] =
    [Event::TASK_CLOCK, Event::PAGE_FAULTS, Event::CONTEXT_SWITCHES, Event::CPU_MIGRATIONS];

/// Tests that reap any child of this process run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[allow(clippy::print_stderr, reason = "skipped tests say so")]
fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

/// Returns a meter of software events, unless the kernel refuses.
fn software(test: &str) -> Option<(MutexGuard<'static, ()>, Meter)> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    process::become_subreaper().unwrap();
    counters::open(&SOFTWARE, None).map_err(|reason| skip(test, &reason.0)).ok().map(|meter| (guard, meter))
}

/// Runs a shell command until its last descendant has ended. Returns the CPU time of the tree, the usage of the shell,
/// and the counts.
fn run(meter: &mut Meter, script: &str) -> (Nanos, ChildUsage, Counters) {
    let mut shell = Program::new(Path::new("/bin/sh"), ["sh", "-c", script].map(OsStr::new), path(), 0).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let stdio = Stdio { input: null.as_fd(), output: null.as_fd(), error: null.as_fd() };
    meter.begin();
    let child = shell.spawn("0", 0, stdio).unwrap();
    let usage = process::wait_for(child.pid).unwrap().usage;
    let left = process::end_descendants().unwrap();
    let cpu = usage.with(&left.usage).cpu_time();
    (cpu, usage, meter.end(cpu))
}

fn path<'a>() -> [(&'a OsStr, &'a OsStr); 1] {
    [(OsStr::new("PATH"), OsStr::new("/usr/bin:/bin"))]
}

/// A tree of processes, some of which have threads.
const TREE: &str = "for i in 1 2 3; do seq 200000 | sort -r --parallel=2 -S 64M | md5sum; done";

#[test]
fn cpu_time_of_forks_and_threads_is_counted() {
    let Some((_alone, mut meter)) = software("cpu_time_of_forks_and_threads_is_counted") else {
        return;
    };
    for _ in 0..3 {
        let (cpu, _, counted) = run(&mut meter, TREE);
        let counted = Nanos(counted.instructions.unwrap());
        // Two parts are not counted. One is what the first process uses before its exec. The other, in newer kernels,
        // is what a process uses to free its memory at its end: do_exit calls perf_event_exit_task before exit_mm. A
        // missing process or thread of this tree would be a larger difference.
        let apart = (cpu.seconds() - counted.seconds()).abs();
        assert!(apart < 0.1 * cpu.seconds() + 0.003, "{} of {} s", counted.seconds(), cpu.seconds());
    }
}

#[test]
fn faults_and_switches_match_rusage() {
    let Some((_alone, mut meter)) = software("faults_and_switches_match_rusage") else { return };
    let (_, usage, counted) = run(&mut meter, "yes | head -c 20000000 | wc -c");
    let faults = (usage.minor_faults + usage.major_faults) as f64;
    let counted_faults = counted.cycles.unwrap() as f64;
    assert!((faults - counted_faults).abs() < 0.05 * faults + 20.0, "{counted_faults} of {faults} faults");
    if meter.scope() == CounterScope::User {
        return skip(
            "faults_and_switches_match_rusage",
            "switches happen in the kernel, which this user may not count",
        );
    }
    let switches = (usage.voluntary_switches + usage.involuntary_switches) as f64;
    let counted_switches = counted.branch_misses.unwrap() as f64;
    // The last switch away from a process at its end is not counted.
    assert!((switches - counted_switches).abs() < 0.05 * switches + 16.0, "{counted_switches} of {switches} switches");
    assert!(switches > 100.0, "{switches} switches are too few for this test");
}

#[test]
fn left_behind_processes_count_until_they_are_killed() {
    let Some((_alone, mut meter)) = software("left_behind_processes_count_until_they_are_killed") else { return };
    // The run ends when the process that it leaves behind has used 50 ms of CPU time: user time is field 14, in ticks
    // of 10 ms.
    let used = "read -r _ _ _ _ _ _ _ _ _ _ _ _ _ user _ </proc/$!/stat";
    let script = format!("(while :; do :; done) & until {used} && [ \"$user\" -ge 5 ]; do sleep 0.02; done");
    let (cpu, _, counted) = run(&mut meter, &script);
    let counted = Nanos(counted.instructions.unwrap());
    assert!(cpu > Nanos(20_000_000), "it worked for {} s", cpu.seconds());
    assert!((cpu.seconds() - counted.seconds()).abs() < 0.05 * cpu.seconds() + 0.002, "{counted:?} of {cpu:?}");
}

#[test]
fn other_processes_are_not_counted() {
    let Some((_alone, mut meter)) = software("other_processes_are_not_counted") else { return };
    let (.., alone) = run(&mut meter, "exit 0");
    // Use CPU time in this process and in a child that is not a run, like a script between two runs.
    let mut sum = 0u64;
    (0..20_000_000u64).for_each(|i| sum = std::hint::black_box(sum ^ i));
    std::process::Command::new("/bin/sh").args(["-c", TREE]).stdout(std::process::Stdio::null()).status().unwrap();
    let (.., again) = run(&mut meter, "exit 0");
    let (alone, again) = (alone.instructions.unwrap(), again.instructions.unwrap());
    assert!(again < 10 * alone && again < 50_000_000, "{alone} ns, then {again} ns");
}

#[test]
fn the_shortest_runs_are_counted() {
    let Some((_alone, mut meter)) = software("the_shortest_runs_are_counted") else { return };
    let missing = (0..100).filter(|_| run(&mut meter, "exit 0").2.instructions.is_none()).count();
    assert_eq!(missing, 0, "of 100");
}

#[test]
fn a_meter_with_a_given_scope_exists_even_without_counters() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut meter = counters::open(&HARDWARE, Some(CounterScope::User)).unwrap();
    assert_eq!(meter.scope(), CounterScope::User);
    let (.., counted) = run(&mut meter, "exit 0");
    assert_eq!(counted.instructions.is_some(), counters::open(&HARDWARE, None).is_ok());
}

#[test]
fn equal_runs_have_equal_instruction_counts() {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut meter = match counters::open(&HARDWARE, Some(CounterScope::User)) {
        Ok(meter) if counters::open(&HARDWARE, None).is_ok() => meter,
        _ => {
            let reason = counters::open(&HARDWARE, None).err().map_or_else(String::new, |reason| reason.0);
            assert!(reason.len() > 20, "no counters, and no reason: {reason}");
            return skip("equal_runs_have_equal_instruction_counts", &reason);
        }
    };
    let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let mut count = || run(&mut meter, work).2.instructions.unwrap() as f64;
    let (one, other) = (count(), count());
    drop(guard);
    assert!(one > 1e6 && (one / other - 1.0).abs() < 0.01, "{one} and {other}");
}
