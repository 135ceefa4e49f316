//! Tests that every probe counts its events correctly, measures what was used, and leaves nothing behind.
//!
//! The tests run one at a time, because they examine the open files and the children of the whole process.

use std::sync::{Mutex, MutexGuard};

use steady_linux::process::{Status, keep_to, wait_for};
use steady_linux::topology::allowed_cpus;
use steady_linux::{Root, procfs};
use steady_model::{Absent, Bytes, KernelCall, Probe, Reading, Timed};
use steady_workloads::probes::{Primitive, ProbeCpus, open};

static TURN: Mutex<()> = Mutex::new(());

/// This thread, pinned to one CPU while no other test runs, and a second CPU if there is one.
struct Pinned {
    place: ProbeCpus,
    _turn: MutexGuard<'static, ()>,
}

impl Pinned {
    fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut cpus = allowed_cpus(&Root::default()).expect("the kernel reports the CPUs").into_iter();
        let cpu = cpus.next().expect("a CPU may be used");
        let other = cpus.next().ok_or_else(|| Absent::because("there is only one CPU"));
        keep_to(&[cpu]).expect("a thread can be pinned to a CPU");
        let size = |kibibytes: u64| Ok(Bytes(kibibytes << 10));
        let place = ProbeCpus { cpu, other, l1: size(16), l2: size(256), shared: size(2048) };
        Pinned { place, _turn: turn }
    }

    /// Opens the probe; prints a line and returns `None` if this machine does not support it.
    #[allow(clippy::print_stderr, reason = "skipped tests print a line")]
    fn open(&self, probe: Probe) -> Option<Box<dyn Primitive>> {
        let report = |absent: &Absent| eprintln!("skipped: the probe {}: {absent}", probe.name());
        open(probe, &self.place).inspect_err(report).ok()
    }
}

/// Returns the number of repetitions: enough that effects at the edges are below 1 %, and few enough for a test.
fn loops(probe: Probe) -> u64 {
    match probe {
        Probe::ForkExit | Probe::VforkExit | Probe::SpawnStatic | Probe::SpawnDynamic => 30,
        Probe::PipeByte => 50,
        Probe::PageFaultMany => 3,
        Probe::PageFaultCold => 10,
        _ if is_a_switch(probe) => 2_000,
        Probe::LockContended => 2_000,
        Probe::ThreadStart => 200,
        _ => 70_000,
    }
}

/// Returns whether the events are context switches. Other programs may cause additional ones, but none can be missing.
fn is_a_switch(probe: Probe) -> bool {
    matches!(
        probe,
        Probe::ProcessSwitch | Probe::PublishedProcessSwitch | Probe::ThreadSwitchCondvar | Probe::ThreadSwitchFutex
    )
}

#[test]
fn every_event_is_counted() {
    let pinned = Pinned::new();
    for probe in Probe::all() {
        let Some(mut primitive) = pinned.open(probe) else { continue };
        let loops = loops(probe);
        for _ in 0..3 {
            let timed = primitive.run(loops).unwrap();
            let expected = loops as f64 * primitive.events_per_loop();
            let ratio = timed.events as f64 / expected;
            let most = if is_a_switch(probe) { 1.5 } else { 1.01 };
            assert!((0.99..=most).contains(&ratio), "{}: {timed:?}", probe.name());
            assert_eq!(timed.loops, loops);
        }
    }
}

#[test]
fn an_empty_loop_has_no_events() {
    let pinned = Pinned::new();
    for probe in Probe::all() {
        let Some(mut primitive) = pinned.open(probe) else { continue };
        let loops = loops(probe);
        let timed = primitive.empty(loops).unwrap();
        assert_eq!(timed.loops, loops);
        let most = if is_a_switch(probe) { loops / 2 } else { loops / 100 };
        assert!(timed.events <= most, "{}: {timed:?}", probe.name());
    }
}

#[test]
fn cpu_time_does_not_exceed_wall_time() {
    let pinned = Pinned::new();
    // The resolution of the times of children and of rusage, in nanoseconds, twice.
    const GRAIN: u64 = 2_000;
    for probe in Probe::all() {
        let Some(mut primitive) = pinned.open(probe) else { continue };
        for timed in [primitive.run(loops(probe)).unwrap(), primitive.empty(loops(probe)).unwrap()] {
            let cpus = if probe.needs_two_cpus() { 2 } else { 1 };
            // The partner works slightly longer than the caller's clock runs.
            let slack = if cpus == 2 || is_a_switch(probe) { 10_000_000 } else { GRAIN };
            assert!(timed.cpu.0 <= cpus * timed.wall.0 + slack, "{}: {timed:?}", probe.name());
            assert!(timed.cpu.0 > 0 && timed.wall.0 > 0, "{}: {timed:?}", probe.name());
        }
    }
}

#[test]
fn few_repetitions_and_none_are_allowed() {
    let pinned = Pinned::new();
    for probe in Probe::all() {
        let Some(mut primitive) = pinned.open(probe) else { continue };
        for loops in [0, 1, 2, 3] {
            let timed = primitive.run(loops).unwrap();
            let expected = loops as f64 * primitive.events_per_loop();
            // Tolerates a few switches at the edges, and page faults of code that was not loaded yet.
            assert!((timed.events as f64 - expected).abs() <= 8.0, "{}, {loops}: {timed:?}", probe.name());
            assert_eq!(primitive.empty(loops).unwrap().loops, loops);
        }
    }
}

#[test]
fn nothing_is_left_behind() {
    let pinned = Pinned::new();
    let files = open_files();
    for probe in Probe::all() {
        let Some(mut primitive) = pinned.open(probe) else { continue };
        primitive.run(10).unwrap();
        drop(primitive);
        assert_eq!(open_files(), files, "{}", probe.name());
        assert_eq!(partners(), 0, "{}", probe.name());
        assert_eq!(children(), Ok(vec![]), "{}", probe.name());
    }
}

#[test]
fn all_probes_can_be_open_at_the_same_time() {
    let pinned = Pinned::new();
    let mut all: Vec<_> = Probe::all().filter_map(|probe| Some((probe, pinned.open(probe)?))).collect();
    for (probe, primitive) in &mut all {
        let expected = 20.0 * primitive.events_per_loop();
        let Timed { events, .. } = primitive.run(20).unwrap();
        assert!((events as f64 - expected).abs() <= expected / 2.0, "{}: {events}", probe.name());
    }
    assert_eq!(children().map(|children| children.len()), Ok(2), "the partner processes of both process switches");
}

#[test]
fn a_call_costs_more_than_no_call_and_a_switch_more_than_a_call() {
    let pinned = Pinned::new();
    let mut cost = |probe| {
        let mut primitive = pinned.open(probe).expect("every machine supports this probe");
        let mut costs: Vec<f64> = (0..9)
            .map(|_| {
                let (run, empty) = (primitive.run(2_000).unwrap(), primitive.empty(2_000).unwrap());
                (run.cpu.0 as f64 - empty.cpu.0 as f64) / run.events as f64
            })
            .collect();
        costs.sort_by(f64::total_cmp);
        costs[4]
    };
    let costs = [Probe::FunctionCall, Probe::SystemCall, Probe::ProcessSwitch].map(&mut cost);
    assert!(costs.is_sorted() && costs[2] > 2.0 * costs[1], "{costs:?} ns");
}

#[test]
fn a_thread_that_waits_for_a_lock_sleeps() {
    let pinned = Pinned::new();
    let Some(mut primitive) = pinned.open(Probe::LockContended) else { return };
    let (run, empty) = (primitive.run(500).unwrap(), primitive.empty(500).unwrap());
    // On a busy machine, both threads also sleep occasionally while they wait for each other.
    assert!(run.voluntary_switches >= 250 + empty.voluntary_switches, "{run:?} {empty:?}");
}

#[test]
fn a_process_does_not_outlive_the_thread_that_created_it() {
    let pinned = Pinned::new();
    let place = pinned.place.clone();
    std::thread::spawn(move || {
        let mut primitive = open(Probe::ProcessSwitch, &place).unwrap();
        primitive.run(10).unwrap();
        // As if the process had been killed.
        std::mem::forget(primitive);
    })
    .join()
    .unwrap();
    let orphan = children().unwrap()[0];
    let reaped = wait_for(rustix::process::Pid::from_raw(orphan).unwrap()).unwrap();
    assert_eq!(reaped.status, Status::Signalled(9));
    assert_eq!(children(), Ok(vec![]));
}

#[test]
fn probes_that_need_another_cpu_report_that_there_is_none() {
    let pinned = Pinned::new();
    let place = ProbeCpus { other: Err(Absent::because("there is only one CPU")), ..pinned.place.clone() };
    for probe in Probe::all().filter(|probe| probe.needs_two_cpus()) {
        let absent = open(probe, &place).err().expect("the probe is not available");
        assert_eq!(absent.0, "there is only one CPU");
    }
    let place = ProbeCpus { other: Ok(100_000), ..place };
    assert!(open(Probe::LockContended, &place).err().expect("there is no such CPU").0.contains("CPU 100000"));
    let place = ProbeCpus { l2: Err(Absent::because("no second level")), ..place };
    assert_eq!(open(Probe::LoadL2, &place).err().expect("there is no such level").0, "no second level");
}

#[test]
fn a_call_with_a_name_reports_its_number_of_calls() {
    let pinned = Pinned::new();
    for call in KernelCall::ALL {
        let Some(primitive) = pinned.open(Probe::Call(call)) else { continue };
        assert_eq!(primitive.calls_per_loop(), Ok(call.calls().len() as f64));
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("/proc can be read").count()
}

/// Returns the number of threads that belong to probes; the others are the tests' own.
fn partners() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").expect("/proc can be read").flatten();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.trim() == "partner").count()
}

fn children() -> Reading<Vec<i32>> {
    procfs::descendants(&Root::default(), std::process::id() as i32)
}
