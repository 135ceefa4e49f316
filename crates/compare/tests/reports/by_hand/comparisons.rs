//! Comparisons built by hand, one for each kind of result.

use steady_model::*;

use crate::made::{self, seconds};

/// A comparison of `names` without verdicts.
fn base(names: &[&str], blocks: usize) -> Report {
    let commands = names.iter().map(|name| {
        let argv: Vec<String> = name.split(' ').map(str::to_owned).collect();
        let program = format!("/usr/bin/{}", argv[0]).into();
        Command { name: (*name).to_owned(), program, argv, ..Command::default() }
    });
    let plan = Plan::new(commands.collect(), Effort::Budget(seconds(10.0)), Seed(1_314_300_071_535_409_598));
    let blocks: Vec<Block> = (0..blocks).map(|index| block(index, names.len())).collect();
    let looks = vec![
        Look { blocks: blocks.len() / 4, fraction: 0.125, last: false },
        Look { blocks: blocks.len(), fraction: 0.3, last: true },
    ];
    let breakdowns =
        (0..names.len()).map(|command| breakdown(command, blocks.len(), 0.0123 * (1.0 + 0.38 * command as f64)));
    Report {
        judgements: vec![],
        ranking: vec![],
        course: vec![],
        breakdowns: breakdowns.collect(),
        startups: vec![],
        load: Load { preempted_ratio: 0.09, run_delay_ratio: Ok(0.0123) },
        warnings: vec![],
        record: Record {
            plan,
            started: Timestamp(1_795_171_242),
            host: made::host("kvm"),
            revision: Ok("0123456789ab".into()),
            counters: Err(Absent::because("this machine has no counters that can be read")),
            tick: Ok(Nanos(4_000_000)),
            primary: Metric::Cpu,
            left_out: vec![],
            blocks,
            usual: vec![],
            cold: None,
            looks,
            activity: activity(),
            moments: vec![],
            elapsed: seconds(3.1),
            ending: Ending::Decided,
            unfinished: None,
            unused_revisions: false,
        },
    }
}

fn activity() -> Activity {
    Activity { busy_ratio: Ok(0.624), steal_ratio: Ok(0.031), pressure: Ok(0.118), throttled_ratio: Ok(0.0) }
}

/// Every third block is a duet.
fn block(index: usize, commands: usize) -> Block {
    let duet = index % 3 == 2 && commands == 2;
    let began = Nanos(40_000_000 * index as u64 + 123_456_789);
    let mut at = began;
    let mut ended = began;
    let runs = (0..commands).map(|command| {
        let wall = Nanos(12_400_017 + 4_700_003 * command as u64 + 977 * index as u64);
        let started = at;
        ended = ended.max(started + wall);
        at = if duet { at + Nanos(20_011) } else { started + wall };
        Run {
            command,
            cpu: duet.then_some(command),
            padding: 16 * (index as u32 % 7),
            started,
            wall,
            user: Nanos(wall.0 / 4 * 3 / 1000 * 1000),
            system: Nanos(wall.0 / 8 / 1000 * 1000),
            run_delay: Ok(Nanos(41_937)),
            peak_memory: Ok(Bytes(3_358_720)),
            minor_faults: 92,
            major_faults: 0,
            voluntary_switches: 1,
            involuntary_switches: u64::from(index.is_multiple_of(5)),
            tasks_started: None,
            left_behind: 0,
            counters: None,
            energy_joules: None,
            values: vec![],
            outcome: Outcome::Exited(0),
        }
    });
    let runs = runs.collect();
    Block { layout: if duet { Layout::Duet } else { Layout::Turns }, runs, ended, draw: None }
}

fn spread(mean: f64, off: f64) -> Spread {
    let interval = Interval { low: mean - off, high: mean + off };
    Spread { mean, interval, deviation: mean * 0.06, median: mean * 0.99, min: mean * 0.9, max: mean * 1.6 }
}

fn breakdown(command: usize, runs: usize, cpu: f64) -> Breakdown {
    Breakdown {
        command,
        runs,
        failures: 0,
        layout: Layout::Turns,
        wall: spread(cpu * 1.09, cpu * 0.021),
        cpu: spread(cpu, cpu * 0.0041),
        user: Ok(spread(cpu * 0.86, cpu * 0.012)),
        system: Ok(spread(cpu * 0.14, cpu * 0.012)),
        run_delay: Ok(spread(cpu * 0.013, cpu * 0.006)),
        elapsed: Ok(spread(cpu * 1.077, cpu * 0.02)),
        blocked: Ok(spread(cpu * 0.077, cpu * 0.009)),
        peak_memory: Ok(Bytes(3_358_720 + 1_000_000 * command as u64)),
        minor_faults: 92.25,
        major_faults: 0.0,
        voluntary_switches: 1.02,
        involuntary_switches: 0.203,
        counters: None,
        values: vec![],
    }
}

fn judgement(metric: Metric, command: usize, verdict: Verdict, change: f64, interval: Interval) -> Judgement {
    let Interval { low, high } = interval;
    let (is_open, decided) = (verdict == Verdict::Undecided, "there is a verdict");
    Judgement {
        metric,
        command,
        primary: metric == Metric::Cpu,
        verdict,
        within_resolution: low >= -0.01 && high <= 0.01,
        decided_by: DecidedBy::UsualRun,
        usual: Size { change: Ok(change), interval: Ok(interval) },
        mean: Size { change: Ok(change + 0.001), interval: Ok(Interval { low: low - 0.008, high: high + 0.009 }) },
        mean_open: false,
        change: Ok(change),
        interval: Ok(interval),
        verdict_interval: Ok(interval),
        confidence: 0.95,
        pairs: 64,
        layouts: vec![],
        undecided: if is_open { Ok(Undecided::TooWide) } else { Err(Absent::because(decided)) },
        effort_to_settle: Err(Absent::because(if is_open { "the effort for a verdict is not known" } else { decided })),
        widening: Ok(1.3),
    }
}

fn layouts(judgement: &mut Judgement, turns: (f64, f64, f64), duet: (f64, f64, f64)) {
    let effect =
        |layout, (change, low, high), pairs| LayoutEffect { layout, change, interval: Interval { low, high }, pairs };
    judgement.layouts = vec![effect(Layout::Turns, turns, 43), effect(Layout::Duet, duet, 21)];
}

/// Verdicts on secondary metrics with about this change.
fn secondary(command: usize, change: f64) -> Vec<Judgement> {
    let near = |off: f64| Interval { low: change - off, high: change + off };
    let verdict = |off: f64| match change {
        _ if change > off => Verdict::Slower,
        _ if change < -off => Verdict::Faster,
        _ if off <= 0.01 => Verdict::Same,
        _ => Verdict::Undecided,
    };
    vec![
        judgement(Metric::Elapsed, command, verdict(0.004), change, near(0.004)),
        judgement(Metric::Wall, command, verdict(0.021), change, near(0.021)),
        judgement(Metric::Memory, command, Verdict::Same, 0.0, Interval { low: -0.0012, high: 0.0009 }),
    ]
}

const TWO: [&str; 2] = ["sha256sum input.bin", "sha256sum --check --strict --ignore-missing list-of-sums.txt"];

/// Adds readings of the load every quarter of a second, and the estimates of a few looks.
fn watched(mut report: Report) -> Report {
    let end = report.record.blocks.last().map_or(Nanos::ZERO, |block| block.ended);
    let quarters = (1..).map(|index| Nanos(250_000_000 * index)).take_while(|at| *at <= end);
    let moment = |(index, at): (usize, Nanos)| Moment {
        at,
        busy_ratio: Some([0.4, 0.55, 1.0, 0.97, 0.62][index % 5]),
        steal_ratio: report.record.activity.steal_ratio.is_ok().then_some([0.0, 0.02, 0.09][index % 3]),
        pressure: report.record.activity.pressure.is_ok().then_some([0.03, 0.1, 0.44, 0.3][index % 4]),
    };
    report.record.moments = quarters.enumerate().map(moment).collect();
    let blocks = report.record.blocks.len();
    let numbers = [blocks / 8, blocks / 4, blocks / 2, blocks];
    for judgement in report.primary().cloned().collect::<Vec<_>>() {
        let (Ok(change), Ok(interval)) = (judgement.change, judgement.interval) else { continue };
        for (index, number) in numbers.into_iter().enumerate() {
            let wider = f64::from(1u32 << (3 - index)).sqrt();
            let (low, high) = (change - (change - interval.low) * wider, change + (interval.high - change) * wider);
            report.course.push(Sight {
                command: judgement.command,
                blocks: number,
                at: report.record.blocks[number.max(1) - 1].ended,
                change: Some(change + 0.1 * (high - low) * [0.4, -0.3, 0.1, 0.0][index]),
                interval: (index > 0).then_some(Interval { low, high }),
            });
        }
    }
    report.record.looks = numbers
        .into_iter()
        .map(|blocks| Look { blocks, fraction: 0.3 * blocks as f64 / numbers[3] as f64, last: blocks == numbers[3] })
        .collect();
    report
}

pub(crate) fn slower() -> Report {
    let mut report = base(&TWO, 64);
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Slower, 0.382, Interval { low: 0.379, high: 0.385 });
    layouts(&mut primary, (0.382, 0.379, 0.385), (0.379, 0.376, 0.381));
    report.judgements.push(primary);
    report.judgements.extend(secondary(1, 0.374));
    report
}

/// The usual run costs less, and the mean is higher.
pub(crate) fn mean_decides() -> Report {
    let mut report = base(&TWO, 64);
    let size = |change, low, high| Size { change: Ok(change), interval: Ok(Interval { low, high }) };
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Slower, 0.31, Interval { low: 0.12, high: 0.55 });
    primary.decided_by = DecidedBy::Mean;
    primary.usual = size(-0.05, -0.051, -0.049);
    primary.mean = size(0.31, 0.12, 0.55);
    report.judgements.push(primary);
    report
}

/// The usual run costs less, and the mean is uncertain.
pub(crate) fn mean_uncertain() -> Report {
    let mut report = base(&TWO, 64);
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Faster, -0.05, Interval { low: -0.051, high: -0.049 });
    primary.mean = Size { change: Ok(0.2), interval: Ok(Interval { low: -0.31, high: 1.2 }) };
    primary.mean_open = true;
    report.judgements.push(primary);
    report.warnings.push(Warning::MeanUncertain { command: 1, metric: Metric::Cpu });
    report
}

/// The usual run costs less, and the estimate of the mean is higher.
pub(crate) fn mean_other_way() -> Report {
    let mut report = mean_uncertain();
    report.warnings = vec![Warning::MeanOtherWay { command: 1, metric: Metric::Cpu }];
    report
}

pub(crate) fn faster_within() -> Report {
    let mut report = base(&TWO, 64);
    report.judgements.push(judgement(
        Metric::Cpu,
        1,
        Verdict::Faster,
        -0.0031,
        Interval { low: -0.0040, high: -0.0022 },
    ));
    report
}

pub(crate) fn same() -> Report {
    let mut report = base(&TWO, 64);
    report.judgements.push(judgement(Metric::Cpu, 1, Verdict::Same, -0.001, Interval { low: -0.004, high: 0.002 }));
    report.judgements.extend(secondary(1, -0.0015));
    report
}

pub(crate) fn undecided() -> Report {
    let mut report = base(&TWO, 64);
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Undecided, 0.007, Interval { low: -0.004, high: 0.019 });
    primary.effort_to_settle = Ok(3.8);
    report.judgements.push(primary);
    report.judgements.extend(secondary(1, 0.008));
    report.record.elapsed = seconds(10.02);
    report.record.ending = Ending::Spent;
    report
}

pub(crate) fn three() -> Report {
    let mut report = base(
        &["sort -S 1M words", "sort -S 64M words", "sort -S 1G --parallel=1 --temporary-directory=/tmp words"],
        40,
    );
    report.judgements.push(judgement(
        Metric::Cpu,
        1,
        Verdict::Faster,
        -0.0312,
        Interval { low: -0.0335, high: -0.0289 },
    ));
    report.judgements.extend(secondary(1, -0.03));
    report.judgements.push(judgement(Metric::Cpu, 2, Verdict::Same, 0.002, Interval { low: -0.003, high: 0.007 }));
    report.judgements.extend(secondary(2, 0.003));
    report.judgements.iter_mut().for_each(|judgement| judgement.pairs = 40);
    let rank = |command, best, worst| Rank { command, best, worst };
    report.ranking = vec![rank(1, 1, 1), rank(0, 2, 3), rank(2, 2, 3)];
    report
        .record
        .left_out
        .push(LeftOut { layout: Layout::Duet, reason: "the budget is too small to try both layouts".into() });
    report
}

/// Runs that started from snapshots, in eight draws.
pub(crate) fn from_snapshots() -> Report {
    let mut report = base(&["sort -n list", "sort -g list"], 64);
    report.record.plan.warm = true;
    let draw = |(index, block): (usize, Block)| block.in_draw(Some(index as u64 / 8));
    report.record.blocks = report.record.blocks.into_iter().enumerate().map(draw).collect();
    report.record.usual = report.record.blocks.iter().step_by(8).cloned().collect();
    report.judgements.push(judgement(Metric::Cpu, 1, Verdict::Slower, 0.0912, Interval { low: 0.0871, high: 0.0952 }));
    report.judgements.extend(secondary(1, 0.085));
    report.judgements.iter_mut().for_each(|judgement| judgement.pairs = 8);
    let start_up = |command: usize, mean: f64| StartUp {
        command,
        metric: Metric::Cpu,
        mean: Ok(mean),
        interval: Ok(Interval { low: mean - 21e-6, high: mean + 19e-6 }),
        draws: 8,
    };
    report.startups = vec![
        start_up(0, 592e-6),
        StartUp {
            mean: Err(Absent::because("it ran both ways in 1 draw, and an interval needs 6")),
            interval: Err(Absent::because("it ran both ways in 1 draw, and an interval needs 6")),
            draws: 1,
            ..start_up(1, 0.0)
        },
    ];
    report
}

/// Snapshots were requested, and one program has none.
pub(crate) fn cold() -> Report {
    let mut report = same();
    let reason = "'/usr/bin/sha256sum' makes a thread before its first instruction".to_owned();
    report.record.plan.warm = true;
    report.record.cold = Some(Cold { command: Some(0), reason: reason.clone() });
    report.warnings.push(Warning::Cold { command: Some(0), reason });
    report
}

pub(crate) fn one() -> Report {
    let mut report = base(&["make -j1 -C /srv/project all"], 400);
    report.record.elapsed = seconds(10.0);
    report.record.ending = Ending::Spent;
    report.load.preempted_ratio = 0.04;
    report
}

pub(crate) fn absent() -> Report {
    let mut report = slower();
    let why = || Absent::because("only the main thread was read, and it did not use all CPU time of the run");
    for breakdown in &mut report.breakdowns {
        breakdown.run_delay = Err(why());
        breakdown.blocked = Err(why());
        breakdown.peak_memory =
            Err(Absent::because("it is not above the 3548 KiB of the process that starts the runs"));
    }
    report.breakdowns[1].cpu.interval = Interval::EVERYTHING;
    for judgement in &mut report.judgements {
        let reason = match judgement.metric {
            Metric::Elapsed => "the commands have several threads",
            Metric::Memory => "it is not above the 3548 KiB of the process that starts the runs",
            Metric::Wall => "3 pairs in turns, and an interval needs 6",
            _ => continue,
        };
        judgement.pairs = if judgement.metric == Metric::Wall { 3 } else { 0 };
        judgement.change = Err(Absent::because(reason));
        judgement.interval = Err(Absent::because(reason));
        judgement.verdict_interval = Err(Absent::because(reason));
        judgement.verdict = Verdict::Undecided;
        judgement.effort_to_settle = Err(Absent::because("the effort for a verdict is not known"));
        judgement.undecided = Ok(Undecided::TooFewPairs);
        if judgement.pairs == 0 {
            judgement.effort_to_settle = Err(Absent::because(reason));
            judgement.undecided = Err(Absent::because(reason));
            judgement.widening = Err(Absent::because(reason));
        }
    }
    report.record.activity.pressure =
        Err(Absent::because("the kernel offers no pressure stall information (CONFIG_PSI, psi=1)"));
    report.record.activity.steal_ratio = Err(Absent::because("the hypervisor has reported no stolen time since boot"));
    report.record.activity.throttled_ratio =
        Err(Absent::because("the control groups that govern CPU time are not mounted here"));
    report.load.run_delay_ratio = Err(why());
    report.record.host.hypervisor = Err(Absent::because("neither the CPU nor the firmware says"));
    report.record.host.cpu_quota = Err(Absent::because("the control groups that govern CPU time are not mounted here"));
    report
}

pub(crate) fn failures_ignored() -> Report {
    let mut report = same();
    report.record.plan.failures = FailureRule::IgnoreCodes(vec![1, 3]);
    report.record.plan.metric = Some(Metric::Cpu);
    report.breakdowns[1].failures = 3;
    report.breakdowns[1].runs = 61;
    report.warnings.push(Warning::Failures { command: 1, failed: 3, runs: 64, first: "exit status 3".into() });
    report.warnings.push(Warning::LeftBehind { command: 1, processes: 64 });
    report.warnings.push(Warning::Throttled { ratio: 0.12 });
    report.record.activity.throttled_ratio = Ok(0.12);
    report
}

pub(crate) fn unequal_failures() -> Report {
    let mut report = failures_ignored();
    report.record.plan.failures = FailureRule::Abort;
    for block in report.record.blocks.iter_mut().skip(1).step_by(20).take(3) {
        block.runs.iter_mut().filter(|run| run.command == 1).for_each(|run| run.outcome = Outcome::Exited(2));
    }
    report.judgements.truncate(1);
    report.judgements[0].verdict = Verdict::Undecided;
    report.judgements[0].undecided = Ok(Undecided::UnequalFailures);
    report.judgements[0].effort_to_settle = Err(Absent::because("the effort for a verdict is not known"));
    report
}

pub(crate) fn interrupted() -> Report {
    let mut report = undecided();
    report.record.elapsed = seconds(4.4);
    report.record.ending = Ending::Interrupted;
    report.judgements[0].effort_to_settle = Ok(1.9);
    report.warnings.push(Warning::Interrupted);
    report
}

pub(crate) fn too_few() -> Report {
    let mut report = base(&TWO, 4);
    let few = || Absent::because("4 pairs, and an interval needs 6");
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Undecided, 0.0, Interval { low: 0.0, high: 0.0 });
    primary.change = Err(few());
    primary.interval = Err(few());
    primary.verdict_interval = Err(few());
    (primary.usual, primary.mean) =
        (Size { change: Err(few()), interval: Err(few()) }, Size { change: Err(few()), interval: Err(few()) });
    primary.undecided = Ok(Undecided::TooFewPairs);
    primary.pairs = 4;
    primary.widening = Err(Absent::because("there are too few pairs"));
    report.judgements.push(primary);
    report.record.plan.effort = Effort::Pairs(4);
    report.record.ending = Ending::Spent;
    report.warnings.push(Warning::TooFewPairs { pairs: 4 });
    report
}

/// No pair was completed under load.
pub(crate) fn no_pairs() -> Report {
    let mut report = too_few();
    report.record.plan.effort = Effort::Budget(Nanos(1_000_000_000));
    report.record.elapsed = Nanos(1_800_000_000);
    report.record.blocks.clear();
    report.record.looks.clear();
    report.breakdowns.clear();
    report.judgements.iter_mut().for_each(|judgement| judgement.pairs = 0);
    report.warnings = vec![Warning::TooFewPairs { pairs: 0 }];
    report
}

pub(crate) fn below_grain() -> Report {
    let mut report = base(&["true", "/bin/true"], 64);
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Undecided, 0.0, Interval { low: -0.02, high: 0.02 });
    primary.undecided = Ok(Undecided::BelowGrain);
    report.judgements.push(primary);
    report.warnings.push(Warning::BelowGrain { metric: Metric::Cpu });
    report
}

pub(crate) fn factor() -> Report {
    let mut report = base(&["grep -c x big.txt", "awk /x/{n++}END{print(n)} big.txt"], 18);
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Slower, 2.21, Interval { low: 2.13, high: 2.29 });
    primary.pairs = 18;
    report.judgements.push(primary);
    report.judgements.push(judgement(Metric::Wall, 1, Verdict::Slower, 2.1, Interval { low: 1.7, high: 2.6 }));
    report
}

pub(crate) fn layouts_disagree() -> Report {
    let mut report = base(&TWO, 64);
    let mut primary = judgement(Metric::Cpu, 1, Verdict::Slower, 0.012, Interval { low: 0.008, high: 0.031 });
    layouts(&mut primary, (0.012, -0.003, 0.027), (0.041, 0.036, 0.046));
    primary.verdict_interval = Ok(Interval { low: 0.009, high: 0.026 });
    report.judgements.push(primary);
    report.judgements.extend(secondary(1, 0.013));
    report.warnings.push(Warning::LayoutsDisagree { command: 1, metric: Metric::Cpu });
    report
}

/// Instructions as the metric: only user mode is counted, and the first look gave the verdict.
pub(crate) fn instructions() -> Report {
    let mut report = base(&TWO, 12);
    report.record.plan.metric = Some(Metric::Instructions);
    report.record.primary = Metric::Instructions;
    report.record.counters = Ok(CounterScope::User);
    report.record.blocks.iter_mut().for_each(|block| block.layout = Layout::Turns);
    report.record.looks = vec![Look { blocks: 12, fraction: 0.06, last: false }];
    let reason = "load hardly changes instructions, so duets have no advantage".to_owned();
    report.record.left_out = vec![LeftOut { layout: Layout::Duet, reason }];
    let mut primary =
        judgement(Metric::Instructions, 1, Verdict::Slower, 0.003_204, Interval { low: 0.003_201, high: 0.003_208 });
    (primary.primary, primary.pairs) = (true, 12);
    report.judgements.push(primary);
    let mut cpu = judgement(Metric::Cpu, 1, Verdict::Undecided, 0.011, Interval { low: -0.02, high: 0.043 });
    cpu.primary = false;
    report.judgements.push(cpu);
    count(&mut report, Some(2_311_207_112.4));
    report
}

/// Counters next to CPU time. The CPU has only some of them.
pub(crate) fn counted() -> Report {
    let mut report = slower();
    report.record.counters = Ok(CounterScope::UserAndKernel);
    let mut instructions =
        judgement(Metric::Instructions, 1, Verdict::Slower, 0.381, Interval { low: 0.380, high: 0.382 });
    instructions.primary = false;
    report.judgements.push(instructions);
    count(&mut report, None);
    report
}

/// Fills in the counters. The second command has a third more of each.
fn count(report: &mut Report, cycles: Option<f64>) {
    let more = |command: usize| 1.0 + command as f64 / 3.0;
    for breakdown in &mut report.breakdowns {
        breakdown.counters = Some(CounterMeans {
            instructions: Some(4_210_667_305.0 * more(breakdown.command)),
            cycles: cycles.map(|cycles| cycles * more(breakdown.command)),
            branch_misses: Some(41_803.7),
            cache_misses: Some(912.0),
        });
    }
    for run in report.record.blocks.iter_mut().flat_map(|block| &mut block.runs) {
        run.counters = Some(Counters { instructions: Some(4_210_667_305), ..Counters::default() });
    }
}

/// The first metric is a rate that the commands report themselves: a larger one is better. The second one is a count
/// that is zero for the first command.
pub(crate) fn custom() -> Report {
    let mut report = base(&TWO, 64);
    let sources = ["rate[req/s,more]=regex:([0-9]+) req/s", "retries=json:/retries"];
    report.record.plan.metrics = sources.iter().map(|source| source.parse().unwrap()).collect();
    report.record.plan.metric_input = MetricInput::Stderr;
    let metrics: Vec<Metric> = report.record.plan.custom_metrics().collect();
    report.record.primary = metrics[0];
    report.record.plan.metric = Some(metrics[0]);
    for run in report.record.blocks.iter_mut().flat_map(|block| &mut block.runs) {
        run.values = vec![41_200.0 - 2_000.0 * run.command as f64, 3.0 * run.command as f64];
    }
    for (command, breakdown) in report.breakdowns.iter_mut().enumerate() {
        let count = command as f64 * 3.0;
        let values = [spread(41_200.0 - 2_000.0 * command as f64, 310.0), spread(count, count * 0.01)];
        breakdown.values = metrics.iter().copied().zip(values.map(Ok)).collect();
    }
    let rate = judgement(metrics[0], 1, Verdict::Slower, -0.0485, Interval { low: -0.052, high: -0.045 });
    let absent = Absent::because("one of the commands reports 0 in most runs, so there is no ratio");
    let mut retries = judgement(metrics[1], 1, Verdict::Slower, 0.0, Interval { low: 0.0, high: 0.0 });
    (retries.change, retries.interval) = (Err(absent.clone()), Err(absent));
    report.judgements.push(Judgement { primary: true, ..rate });
    report.judgements.extend(secondary(1, 0.374));
    report.judgements.push(retries);
    report.record.plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond: 0.02 });
    report
}

/// All reports, each with the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("slower", watched(slower())),
        ("mean-decides", mean_decides()),
        ("mean-uncertain", mean_uncertain()),
        ("mean-other-way", mean_other_way()),
        ("faster-within", faster_within()),
        ("same", same()),
        ("undecided", watched(undecided())),
        ("three", watched(three())),
        ("one", watched(one())),
        ("absent", watched(absent())),
        ("failures-ignored", failures_ignored()),
        ("unequal-failures", unequal_failures()),
        ("interrupted", interrupted()),
        ("too-few", too_few()),
        ("no-pairs", no_pairs()),
        ("below-grain", below_grain()),
        ("factor", factor()),
        ("layouts-disagree", layouts_disagree()),
        ("instructions", instructions()),
        ("counted", counted()),
        ("from-snapshots", watched(from_snapshots())),
        ("cold", cold()),
        ("custom", custom()),
    ]
}
