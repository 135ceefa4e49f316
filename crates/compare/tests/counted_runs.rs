//! Counters of real runs, from the launcher to the verdict: with software events of the kernel, and with recorded
//! readings. This program starts itself as a launcher, as `steady` does.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program is its own test harness")]

mod common;

use std::env;
use std::io;
use std::path::PathBuf;
use std::process;

use common::{plan, setting};
use steady_compare::run::{CompareContext, compare};
use steady_compare::{CommandRunner, judge};
use steady_linux::Root;
use steady_linux::counters::{self, Counter, EVENTS, Event, Meter, RawCount};
use steady_linux::topology::allowed_cpus;
use steady_model::{
    Command, CounterScope, Effort, Layout, Metric, Nanos, PerCommand, Plan, Reading, Record, Report, Run, Verdict,
};
use steady_process::launcher;

/// The variable that selects the counters of a launcher.
const INSTRUMENT: &str = "COUNTED_RUNS_INSTRUMENT";

/// Software events in place of the CPU's events: CPU time for instructions, page faults for cycles.
const SOFTWARE: [Event; EVENTS] =
    [Event::TASK_CLOCK, Event::PAGE_FAULTS, Event::CONTEXT_SWITCHES, Event::CPU_MIGRATIONS];

/// The tests: name, counters and function.
const TESTS: [(&str, &str, fn()); 4] = [
    ("counted_cpu_time_agrees_with_rusage", "software", counted_cpu_time_agrees_with_rusage),
    ("both_sides_of_a_duet_are_counted", "software", both_sides_of_a_duet_are_counted),
    ("scripts_around_runs_are_not_counted", "software", scripts_around_runs_are_not_counted),
    ("recorded_readings_reach_the_verdict", "recorded", recorded_readings_reach_the_verdict),
];

fn main() {
    let instrument = env::var(INSTRUMENT).unwrap_or_default();
    let argument = env::args().nth(1).unwrap_or_default();
    if argument == launcher::ARGUMENT {
        return launcher::serve(&env::vars_os().collect::<Vec<_>>(), &|scope| open(&instrument, scope));
    }
    if let Some((_, _, test)) = TESTS.iter().find(|(name, ..)| *name == argument) {
        return test();
    }
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = TESTS.iter().filter(|(name, ..)| words.iter().all(|word| name.contains(word)));
    let all: Vec<bool> = wanted.map(|(name, instrument, _)| passes(name, instrument)).collect();
    let failed = all.iter().filter(|passed| !**passed).count();
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {word}. {} passed; {failed} failed; 0 ignored", all.len() - failed);
    process::exit(i32::from(failed > 0));
}

/// Runs a test in a separate process.
fn passes(name: &str, instrument: &str) -> bool {
    if let Err(reason) = open(instrument, None) {
        eprintln!("skipped: {name}: {reason}");
        return true;
    }
    let status = process::Command::new("/proc/self/exe").arg(name).env(INSTRUMENT, instrument).status();
    let passed = status.is_ok_and(|status| status.success());
    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    passed
}

fn open(instrument: &str, scope: Option<CounterScope>) -> Reading<Meter> {
    match instrument {
        "recorded" => Ok(Meter::new(CounterScope::User, [Some(Box::new(Recorded(0))), None, None, None])),
        _ => counters::open(&SOFTWARE, scope),
    }
}

/// Readings of a kernel that multiplexes counters. They ran for half of the time, and after the first 60 runs not at
/// all in every tenth run. Each run has a million events: with a few more in some runs, one in twenty orders of the runs
/// would be a difference.
struct Recorded(u64);

impl Counter for Recorded {
    fn read(&mut self) -> io::Result<RawCount> {
        // There are two readings per run: before and after it.
        let ended = self.0.div_ceil(2);
        self.0 += 1;
        let ran: u64 = (1..=ended).filter(|run| !never_ran(*run)).count() as u64;
        let value = 1_000_000 * ran;
        Ok(RawCount { value, enabled: 2_000_000_000 * ended, running: 1_000_000_000 * ran })
    }
}

fn never_ran(run: u64) -> bool {
    run > 60 && run.is_multiple_of(10)
}

fn shell(script: String) -> Command {
    let argv = vec!["sh".to_owned(), "-c".to_owned(), script.clone()];
    Command { name: script, argv, program: PathBuf::from("/bin/sh"), ..Command::default() }
}

/// A plan with two shell loops of these numbers of iterations.
fn counting(turns: [u32; 2]) -> Plan {
    let count = |turns: u32| shell(format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done"));
    Plan { commands: turns.map(count).to_vec(), ..plan(2, 4.0, 17) }
}

fn measured(plan: &Plan, duets: bool) -> Report {
    let mut runner = CommandRunner::start(plan, None, None, None).unwrap();
    let setting = CompareContext { counters: runner.counters(), ..setting() };
    assert!(setting.counters.is_ok(), "{:?}", setting.counters);
    if duets && let [one, other, ..] = allowed_cpus(&Root::default()).unwrap()[..] {
        runner.add_duet(one, other).unwrap();
    }
    judge(compare(plan, setting, &mut runner, &mut |_| {}).unwrap())
}

fn runs(record: &Record) -> impl Iterator<Item = &Run> {
    record.blocks.iter().flat_map(|block| &block.runs)
}

fn instructions(run: &Run) -> u64 {
    run.counters.unwrap().instructions.unwrap()
}

/// Counted CPU time divided by rusage's CPU time, which also contains the time before the exec.
fn share_counted(record: &Record) -> f64 {
    let counted: u64 = runs(record).map(instructions).sum();
    let used: Nanos = runs(record).map(Run::cpu_time).sum();
    counted as f64 / used.0 as f64
}

/// Measures again while the counted share is above 1, up to four times: the counter's clock includes interrupts that run
/// on top of the command, and rusage does not.
fn measured_with_share_of_one(plan: &Plan, duets: bool) -> Report {
    const MOST: f64 = 1.02;
    let mut report = measured(plan, duets);
    for _ in 0..4 {
        if share_counted(&report.record) < MOST {
            break;
        }
        report = measured(plan, duets);
    }
    let share = share_counted(&report.record);
    assert!(share < MOST, "{share} times the CPU time was counted");
    report
}

fn counted_cpu_time_agrees_with_rusage() {
    let plan = Plan { metric: Some(Metric::Instructions), ..counting([3_000, 6_000]) };
    let report = measured_with_share_of_one(&plan, true);
    let judgement = report.primary().next().unwrap();
    assert_eq!((judgement.metric, judgement.verdict), (Metric::Instructions, Verdict::Slower), "{judgement:?}");
    assert!(runs(&report.record).all(|run| run.cpu.is_none()), "turns only");
    let share = share_counted(&report.record);
    assert!(share >= 0.75, "{share} of the CPU time was counted");
    for run in runs(&report.record) {
        let counted = run.counters.unwrap().cycles.unwrap();
        assert!(counted.abs_diff(run.minor_faults + run.major_faults) <= 40, "{counted} faults: {run:?}");
    }
}

fn both_sides_of_a_duet_are_counted() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return eprintln!("skipped: both_sides_of_a_duet_are_counted: there is one CPU");
    }
    let plan = Plan {
        layout: Some(Layout::Duet),
        metric: Some(Metric::Cpu),
        effort: Effort::Pairs(20),
        ..counting([3_000, 3_000])
    };
    let report = measured_with_share_of_one(&plan, true);
    assert_eq!(runs(&report.record).filter(|run| run.cpu.is_some()).count(), 40);
    let share = share_counted(&report.record);
    assert!(share >= 0.75, "{share} of the CPU time was counted");
    assert!(report.judgements.iter().any(|one| one.metric == Metric::Instructions && one.pairs == 20));
}

fn scripts_around_runs_are_not_counted() {
    let work = || PerCommand(vec!["i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done".to_owned()]);
    let plan = Plan { prepare: work(), conclude: work(), effort: Effort::Pairs(10), ..counting([1_000, 1_000]) };
    measured_with_share_of_one(&plan, false);
}

fn recorded_readings_reach_the_verdict() {
    let plan = Plan {
        metric: Some(Metric::Instructions),
        effort: Effort::Pairs(60),
        // Otherwise the number of warm-up runs, and with it the readings of the other runs, depends on the load.
        warmup: Some(2),
        commands: vec![shell(":".to_owned()); 2],
        ..plan(2, 10.0, 18)
    };
    let report = measured(&plan, false);
    let counts: Vec<Option<u64>> = runs(&report.record).map(|run| run.counters.unwrap().instructions).collect();
    assert!(counts.iter().flatten().all(|count| *count == 2_000_000), "{counts:?}");
    let absent = counts.iter().filter(|count| count.is_none()).count();
    assert!((6..=7).contains(&absent), "{absent} of {} never ran: {counts:?}", counts.len());
    assert!(runs(&report.record).all(|run| run.counters.unwrap().cycles.is_none()));
    let judgement = report.primary().next().unwrap();
    assert_eq!(judgement.verdict, Verdict::Same, "{judgement:?}");
    assert_eq!(judgement.pairs, 60 - absent, "a pair with a missing reading counts");
}
