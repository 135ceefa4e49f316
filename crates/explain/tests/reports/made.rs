//! Records with made-up values, for the golden files.

use steady_costs::prices::{Price, Priced, Prices};
use steady_explain::*;
use steady_feature::attended::AttendedCommand;
use steady_model::*;

use crate::shared::{builder, seconds};

fn command(name: &str) -> Command {
    let argv = name.split(' ').map(str::to_owned).collect();
    Command { name: name.to_owned(), argv, program: "/usr/bin/x".into(), ..Command::default() }
}

fn price(nanoseconds: f64) -> Price {
    let seconds = nanoseconds * 1e-9;
    Price { seconds, interval: Interval { low: seconds * 0.97, high: seconds * 1.04 } }
}

/// A clock rate, as the time of one step of arithmetic.
fn alu(seconds: f64, half: f64, readings: u32) -> Reading<AluTime> {
    Ok(AluTime { seconds, interval: Interval { low: seconds - half, high: seconds + half }, readings })
}

pub(crate) fn prices() -> Prices {
    Prices {
        measured: Timestamp(1_795_171_242 - 11_520),
        kernel: Ok("Linux 6.12.9".into()),
        boot: Ok("5f7c1d3e-0f43-4d0c-9c1b-8f6d0a7f3b21".into()),
        alu: alu(1.75e-9, 0.01e-9, 1_350),
        prices: vec![
            (Priced::MinorFault, Ok(price(512.0))),
            (Priced::Switch, Ok(price(1_480.0))),
            (Priced::Fork, Ok(price(61_000.0))),
            (Priced::Thread, Ok(price(7_900.0))),
            (Priced::Exec, Err(Absent::because("the probe spawn_static is for x86-64 and aarch64"))),
            (Priced::KernelEntry, Ok(price(92.0))),
            (Priced::Call(KernelCall::Read), Ok(price(164.0))),
            (Priced::Call(KernelCall::OpenatClose), Ok(price(1_310.0))),
        ],
    }
}

fn activity() -> Activity {
    Activity {
        busy_ratio: Ok(0.71),
        steal_ratio: Ok(0.004),
        pressure: Err(Absent::because("the kernel keeps no pressure stall information")),
        throttled_ratio: Ok(0.0),
    }
}

fn attended(name: &str) -> AttendedCommand {
    command(name).into()
}

fn missing(what: &str, why: &str) -> Missing {
    Missing { what: what.to_owned(), why: why.to_owned() }
}

/// A part at the made-up price.
fn part(name: &str, priced: Priced, at_least: bool, count: f64) -> Part {
    let price = prices().of(priced).unwrap();
    let interval = Interval { low: count * price.interval.low, high: count * price.interval.high };
    Part { name: name.to_owned(), priced, at_least, count, price, seconds: count * price.seconds, interval }
}

/// The parts in order, and the rest of a CPU time.
fn parts_of(cpu: f64, mut parts: Vec<Part>) -> (Vec<Part>, (f64, Interval)) {
    parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let left = |of: fn(&Part) -> f64| cpu - parts.iter().map(of).sum::<f64>();
    let interval = Interval { low: left(|part| part.interval.high), high: left(|part| part.interval.low) };
    let unexplained = (left(|part| part.seconds), interval);
    (parts, unexplained)
}

/// One thread that reads a file and faults pages in, on a busy machine.
pub(crate) fn alone() -> ExplainRecord {
    let (parts, unexplained) = parts_of(
        0.765_2 - 0.011_4,
        vec![
            part("page faults", Priced::MinorFault, false, 214_511.0),
            part("major page faults", Priced::MinorFault, true, 12.0),
            part("switches", Priced::Switch, false, 1_300.0),
            part("system calls", Priced::KernelEntry, true, 412_233.0),
        ],
    );
    ExplainRecord {
        started: Timestamp(1_795_171_242),
        command: attended("./scan --pages 'in put.bin'"),
        interpreter: None,
        trace: false,
        by_process: false,
        host: builder(),
        revision: Ok("0123456789ab".into()),
        ended: Outcome::Exited(0),
        wall_seconds: seconds(1.234_567),
        cpu_seconds: seconds(0.765_2),
        user_seconds: seconds(0.512),
        system_seconds: seconds(0.253_2),
        system_interval: Ok(Interval { low: 0.201_3, high: 0.310_8 }),
        tick_seconds: Ok(seconds(0.004)),
        thread_seconds: Ok(seconds(1.234_567)),
        waiting_seconds: Ok(seconds(0.038_9)),
        blocked_seconds: Ok(1.234_567 - 0.765_2 - 0.038_9),
        stopped_seconds: Nanos::ZERO,
        counts: Counts {
            minor_faults: 214_511,
            major_faults: 12,
            voluntary_switches: Ok(1_204),
            involuntary_switches: Ok(96),
            forks: Ok(0),
            threads: Ok(0),
            execs: Ok(0),
            execs_at_least: false,
            calls: Ok(412_233),
            calls_by_name: Err(Absent::because("only --trace counts them by name")),
        },
        parts,
        unexplained: Ok(unexplained),
        missing: vec![],
        notes: vec![],
        sources: vec![
            "system calls: the raw_syscalls tracepoint".into(),
            "forks, threads, execs: the sched tracepoints".into(),
        ],
        counting_cost_seconds: Ok(seconds(0.011_4)),
        processes: Err(Absent::because("there was one process")),
        processes_sampled: false,
        progress: vec![],
        activity: activity(),
        alu: alu(1.70e-9, 0.06e-9, 10),
        left_behind: 0,
        prices: prices(),
    }
}

/// A tree of many processes that ran for a long time. One price is not known.
pub(crate) fn tree() -> ExplainRecord {
    let at = |second: u32| {
        let busy = f64::from(second) + 0.4 * f64::from(second.min(20));
        Progress {
            at_seconds: seconds(f64::from(second)),
            cpu_seconds: seconds(busy),
            user_seconds: seconds(busy * 0.7),
            waiting_seconds: (!(12..15).contains(&second)).then(|| seconds(f64::from(second * second) / 60.0)),
        }
    };
    let process = |number: i32| ProcessUse {
        pid: 4_000 + number,
        parent: if number == 0 { 3_999 } else { 4_000 },
        name: if number == 0 { "make".into() } else { format!("cc1 {number}") },
        threads: 1 + u32::from(number == 3) * 7,
        wall_seconds: seconds(if number == 0 { 41.2 } else { 2.5 + f64::from(number) }),
        cpu_seconds: seconds(if number == 0 { 0.31 } else { 2.1 + f64::from(number % 7) }),
        waiting_seconds: if number == 5 {
            Err(Absent::because("its exit record was lost"))
        } else {
            Ok(seconds(0.1 * f64::from(number)))
        },
        blocked_seconds: match number {
            0 => Ok(seconds(40.1)),
            5 => Err(Absent::because("its exit record was lost")),
            _ => Ok(seconds(0.2)),
        },
        faults: 12_000 + 311 * number as u64,
        switches: 90 + number as u64,
    };
    let (parts, unexplained) = parts_of(
        49.5,
        vec![
            part("page faults", Priced::MinorFault, false, 8_412_233.0),
            part("switches", Priced::Switch, false, 48_983.0),
            part("forks", Priced::Fork, false, 1_204.0),
            part("threads", Priced::Thread, false, 7.0),
        ],
    );
    ExplainRecord {
        command: attended("make -j4 all"),
        by_process: true,
        revision: Err(Absent::because("not a git repository")),
        ended: Outcome::Exited(2),
        wall_seconds: seconds(41.2),
        cpu_seconds: seconds(49.5),
        user_seconds: seconds(33.1),
        system_seconds: seconds(16.4),
        system_interval: Ok(Interval { low: 15.1, high: 17.7 }),
        thread_seconds: Ok(seconds(149.8)),
        waiting_seconds: Ok(seconds(30.2)),
        blocked_seconds: Ok(149.8 - 49.5 - 30.2),
        stopped_seconds: seconds(3.5),
        counts: Counts {
            minor_faults: 8_412_233,
            major_faults: 0,
            voluntary_switches: Ok(40_112),
            involuntary_switches: Ok(8_871),
            forks: Ok(1_204),
            threads: Ok(7),
            execs: Ok(1_180),
            execs_at_least: true,
            calls: Err(Absent::because("tracefs cannot be read: permission denied")),
            calls_by_name: Err(Absent::because("only --trace counts them by name")),
        },
        parts,
        unexplained: Ok(unexplained),
        missing: vec![
            missing("the price of execs", "the probe spawn_static is for x86-64 and aarch64"),
            missing("system calls", "tracefs cannot be read: permission denied"),
        ],
        sources: vec!["forks, threads, execs: exit records (taskstats)".into()],
        counting_cost_seconds: Err(Absent::because("no counter with a known cost was in use")),
        processes: Ok((0..12).map(process).collect()),
        progress: (1..=41).map(at).collect(),
        alu: alu(1.752e-9, 0.004e-9, 10),
        left_behind: 2,
        ..alone()
    }
}

/// A traced command with more kinds of calls than the table has rows.
pub(crate) fn traced() -> ExplainRecord {
    let names: Vec<String> = (0..15).map(|index| format!("call_{index}")).collect();
    let calls = names.iter().zip(1u64..).map(|(name, index)| CallCount { name: name.clone(), count: 4_000 / index });
    let mut parts: Vec<Part> = names
        .iter()
        .zip(1u64..)
        .map(|(name, index)| part(name, Priced::KernelEntry, true, (4_000 / index) as f64))
        .collect();
    parts.push(part("openat, close", Priced::Call(KernelCall::OpenatClose), true, 17.0));
    let (parts, _) = parts_of(0.765_2, parts);
    ExplainRecord {
        trace: true,
        ended: Outcome::Signalled(9),
        system_interval: Ok(Interval { low: 0.253_2, high: 0.253_2 }),
        tick_seconds: Err(Absent::because("user and system time are exact")),
        thread_seconds: Err(Absent::because("it would include the tracer's stops")),
        waiting_seconds: Err(Absent::because("it would include the tracer's stops")),
        blocked_seconds: Err(Absent::because("it would include the tracer's stops")),
        counts: Counts {
            voluntary_switches: Err(Absent::because("each stop of the tracer is a switch")),
            involuntary_switches: Err(Absent::because("each stop of the tracer is a switch")),
            forks: Ok(4),
            calls: Ok(13_318),
            calls_by_name: Ok(calls.collect()),
            ..alone().counts
        },
        parts,
        unexplained: Err(Absent::because("the tracer distorted its times")),
        missing: vec![missing("switches", "each stop of the tracer is a switch")],
        notes: vec![
            "The tracer stopped the command at each system call to count it, which distorted its times.".into(),
        ],
        ..alone()
    }
}

/// A command where most counters are not allowed, and whose parts exceed its CPU time.
pub(crate) fn refused() -> ExplainRecord {
    let why = "perf_event_paranoid is 4";
    let no_records = "taskstats needs CAP_NET_ADMIN";
    let parts = vec![part("page faults", Priced::MinorFault, false, 214_511.0)];
    let (parts, unexplained) = parts_of(0.071, parts);
    ExplainRecord {
        by_process: true,
        cpu_seconds: seconds(0.071),
        user_seconds: seconds(0.02),
        system_seconds: seconds(0.051),
        system_interval: Err(Absent::because(
            "the command used 1.2 ms of CPU time, less than 2 ticks of 4.0 ms each, at which the kernel samples user and \
             system time",
        )),
        thread_seconds: Err(Absent::because(no_records)),
        waiting_seconds: Err(Absent::because(no_records)),
        blocked_seconds: Err(Absent::because(no_records)),
        counts: Counts {
            forks: Err(Absent::because(why)),
            threads: Err(Absent::because(why)),
            execs: Err(Absent::because(why)),
            execs_at_least: false,
            calls: Err(Absent::because(why)),
            ..alone().counts
        },
        parts,
        unexplained: Ok(unexplained),
        missing: ["forks", "threads", "execs", "system calls"].map(|what| missing(what, why)).to_vec(),
        notes: vec![
            "The parts add up to 38.8 ms more than the CPU time, which is outside the intervals of their prices: these \
            events were cheaper in this command than when their prices were measured. The largest part is page faults."
                .into(),
        ],
        sources: vec![],
        processes: Err(Absent::because(no_records)),
        alu: Err(Absent::because("the CPU-time clock is too coarse for the arithmetic ruler")),
        ..alone()
    }
}

/// All records of one command, by name of the golden file.
pub(crate) fn all() -> [(&'static str, ExplainRecord); 4] {
    [("explain-alone", alone()), ("explain-tree", tree()), ("explain-traced", traced()), ("explain-refused", refused())]
}

fn run(command: usize, place: usize, at: f64) -> Run {
    let new = command == 1;
    Run {
        command,
        cpu: None,
        padding: 16 * place as u32,
        started: seconds(at),
        wall: seconds(if new { 0.052 } else { 0.040 }),
        user: seconds(0.016),
        system: seconds(if new { 0.028 } else { 0.019 }),
        run_delay: Ok(Nanos::ZERO),
        peak_memory: Ok(Bytes(4 << 20)),
        minor_faults: if new { 6_300 } else { 1_200 },
        major_faults: 0,
        voluntary_switches: 2,
        involuntary_switches: 1,
        tasks_started: None,
        left_behind: 0,
        outcome: Outcome::Exited(0),
        counters: None,
        energy_joules: None,
        values: vec![],
    }
}

fn record(pairs: usize) -> Record {
    let commands = vec![command("./sort --heap big.txt"), command("./sort --arena big.txt")];
    let plan = Plan::new(commands, Effort::Budget(seconds(10.0)), Seed(1_314_300_071_535_409_598));
    let plan = Plan { layout: Some(Layout::Turns), ..plan };
    let block = |index: usize| {
        let at = index as f64 * 0.1;
        let first = index % 2;
        Block::new(Layout::Turns, vec![run(first, 0, at), run(1 - first, 1, at + 0.06)])
    };
    Record {
        plan,
        started: Timestamp(1_795_171_242),
        host: builder(),
        revision: Ok("0123456789ab".into()),
        counters: Err(Absent::because("this machine has no counters")),
        tick: Ok(seconds(0.004)),
        primary: Metric::Cpu,
        left_out: vec![],
        blocks: (0..pairs).map(block).collect(),
        usual: vec![],
        cold: None,
        looks: vec![],
        activity: activity(),
        moments: vec![],
        elapsed: seconds(9.8),
        ending: Ending::Spent,
        unfinished: None,
        unused_revisions: false,
    }
}

fn counts(calls: u64) -> Counts {
    Counts { calls: Ok(calls), forks: Ok(1), ..alone().counts }
}

fn line(line: Line, name: &str, depth: u32, seconds: [f64; 2], half: f64) -> Difference {
    let difference = seconds[1] - seconds[0];
    Difference {
        line,
        name: name.to_owned(),
        depth,
        seconds: seconds.map(Ok),
        counts: None,
        more: None,
        at_least: None,
        difference: Ok((difference, Interval { low: difference - half, high: difference + half })),
    }
}

fn events(name: &str, priced: Priced, at_least: bool, counts: [f64; 2], half: f64) -> Difference {
    let price = prices().of(priced).unwrap();
    let more = counts[1] - counts[0];
    let seconds = counts.map(|count| count * price.seconds);
    let error = half * price.seconds + more.abs() * 0.04 * price.seconds;
    Difference {
        counts: Some(counts),
        more: Some((more, Interval { low: more - half, high: more + half })),
        at_least: Some(at_least),
        ..line(Line::Part(priced), name, 2, seconds, error)
    }
}

/// NEW has more page faults.
pub(crate) fn more_faults() -> ExplainPairRecord {
    ExplainPairRecord {
        record: record(12),
        counted: [Ok(vec![counts(900); 3]), Ok(vec![counts(940), counts(944), counts(941)])],
        sources: vec!["system calls: the raw_syscalls tracepoint".into()],
        alu: alu(1.82e-9, 0.02e-9, 96),
        prices: prices(),
        confidence: 0.95,
        pairs: 12,
        lines: vec![
            line(Line::Wall, "wall time", 0, [0.040, 0.052_4], 0.000_6),
            line(Line::Cpu, "CPU time", 1, [0.035, 0.047_1], 0.000_4),
            line(Line::User, "user time", 2, [0.016, 0.018_9], 0.000_9),
            line(Line::System, "system time", 2, [0.019, 0.028_2], 0.000_8),
            events("page faults", Priced::MinorFault, false, [1_200.0, 15_300.0], 4.0),
            events("system calls", Priced::KernelEntry, true, [900.0, 941.7], 5.0),
            events("switches", Priced::Switch, false, [3.0, 3.2], 0.4),
            events("forks", Priced::Fork, false, [1.0, 1.0], 0.0),
            line(Line::Unexplained, "unexplained", 2, [0.034_2, 0.039_1], 0.000_7),
            line(Line::Waiting, "waiting for a CPU", 1, [0.000_1, 0.000_1], 0.000_05),
            line(Line::Blocked, "blocked", 1, [0.004_9, 0.005_2], 0.000_5),
        ],
        missing: vec![missing("the price of execs", "the probe spawn_static is for x86-64 and aarch64")],
        notes: vec!["NEW left 12 processes behind. They were killed, and the CPU time until then is counted.".into()],
    }
}

/// NEW waits less, and the composition of its CPU time is not known.
pub(crate) fn quicker() -> ExplainPairRecord {
    let why = Absent::because(
        "only the main thread was read, and it did not use all CPU time of the run; steady explain -- COMMAND can use exit \
         records of all threads",
    );
    let waiting = Difference {
        seconds: [Err(why.clone()), Ok(0.012_4)],
        difference: Err(why.clone()),
        ..line(Line::Waiting, "waiting for a CPU", 1, [0.0; 2], 0.0)
    };
    let mut report = more_faults();
    report.record.primary = Metric::Wall;
    report.counted = [Err(why.clone()), Err(why)];
    report.lines = vec![
        line(Line::Wall, "wall time", 0, [0.240, 0.191], 0.002),
        line(Line::Cpu, "CPU time", 1, [0.035, 0.035_1], 0.000_4),
        line(Line::Unexplained, "unexplained", 2, [0.035, 0.035_1], 0.000_4),
        waiting,
        line(Line::OffCpu, "waiting for a CPU or blocked", 1, [0.205, 0.155_9], 0.002),
    ];
    report.missing = vec![missing("forks, threads, execs and system calls", "perf_event_paranoid is 4")];
    report.notes = vec![];
    report
}

/// The commands do not differ.
pub(crate) fn alike() -> ExplainPairRecord {
    let mut report = more_faults();
    report.lines = vec![
        line(Line::Wall, "wall time", 0, [0.040, 0.040_1], 0.000_6),
        line(Line::Cpu, "CPU time", 1, [0.035, 0.035_1], 0.000_4),
        line(Line::User, "user time", 2, [0.016, 0.016_1], 0.000_9),
        line(Line::System, "system time", 2, [0.019, 0.019], 0.000_8),
        events("page faults", Priced::MinorFault, false, [1_200.0, 1_200.0], 0.0),
        line(Line::Unexplained, "unexplained", 2, [0.034_4, 0.034_5], 0.000_4),
        line(Line::Waiting, "waiting for a CPU", 1, [0.0, 0.0], 0.0),
        line(Line::Blocked, "blocked", 1, [0.005, 0.005], 0.000_5),
    ];
    report
}

/// Too few pairs for an interval.
pub(crate) fn few() -> ExplainPairRecord {
    let mut report = more_faults();
    report.record.blocks.truncate(3);
    report.record.ending = Ending::Interrupted;
    report.pairs = 3;
    let why = Absent::because("an interval needs 6 pairs, and there were 3 pairs");
    report.lines.iter_mut().for_each(|line| {
        line.difference = Err(why.clone());
        line.more = None;
    });
    report
}

/// All records of two commands, by name of the golden file.
pub(crate) fn pairs() -> [(&'static str, ExplainPairRecord); 4] {
    [
        ("explain-dearer", more_faults()),
        ("explain-quicker", quicker()),
        ("explain-alike", alike()),
        ("explain-few", few()),
    ]
}
