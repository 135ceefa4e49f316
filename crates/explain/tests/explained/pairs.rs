//! The difference of two commands, from made-up pairs of runs.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_costs::prices::Priced;
use steady_explain::*;
use steady_model::*;
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::made_up::{absent, close, counts, line, mean_of, measure, pair, plan};

/// A simulated command: base CPU time in seconds, and page faults that cost their price.
struct Program {
    base: f64,
    faults: u64,
}

/// Runs pairs of two programs on a machine with noise.
fn pairs(programs: [Program; 2], pairs: usize, fault: f64, coin: &mut ChaCha8Rng) -> ExplainPairRecord {
    let mut machine = SimulatedMachine::new(&[0.005, 0.005], Conditions::QUIET, 1);
    let mut record = measure(&plan(0.2, 3), &mut machine);
    record.primary = Metric::Cpu;
    let mut run = |command: usize, place: usize, at: usize| {
        let faults = programs[command].faults + coin.random_range(0..40);
        let noise = 1.0 + 0.01 * (coin.random::<f64>() + coin.random::<f64>() - 1.0);
        let cpu = Nanos::from_seconds(programs[command].base * noise + faults as f64 * fault);
        let system = Nanos((cpu.0 as f64 * coin.random_range(0.2..0.6)) as u64);
        let waiting = Nanos(coin.random_range(0..200_000));
        Run {
            command,
            cpu: None,
            padding: 0,
            started: Nanos(20_000_000 * (2 * at + place) as u64),
            wall: cpu + waiting + Nanos(1_000_000),
            user: cpu - system,
            system,
            run_delay: Ok(waiting),
            peak_memory: absent("x"),
            minor_faults: faults,
            major_faults: 0,
            voluntary_switches: 2,
            involuntary_switches: coin.random_range(0..2),
            tasks_started: None,
            left_behind: 0,
            outcome: Outcome::Exited(0),
            counters: None,
            energy_joules: None,
            values: vec![],
        }
    };
    record.blocks =
        (0..pairs).map(|at| Block::new(Layout::Turns, vec![run(at % 2, 0, at), run(1 - at % 2, 1, at)])).collect();
    let of = |calls| Ok(vec![counts(&[("read", calls), ("getppid", 3)]); 3]);
    pair(record, [of(100), of(400)])
}

/// One in 20 runs of NEW takes 20 times as long, and the others 5 % less: 90 % more on average.
#[test]
fn rare_expensive_runs_have_a_note_with_the_mean() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = || [Program { base: 0.02, faults: 0 }, Program { base: 0.019, faults: 0 }];
    let notes = |record| judged_pair(record).notes;
    let mut record = pairs(programs(), 400, 0.0, &mut coin);
    assert_eq!(notes(record.clone()), [""; 0]);
    for block in record.record.blocks.iter_mut().step_by(20) {
        let slow = block.runs.iter_mut().find(|run| run.command == 1).unwrap();
        (slow.user, slow.wall) = (slow.user + Nanos::from_seconds(0.38), slow.wall + Nanos::from_seconds(0.38));
    }
    let [note] = &notes(record)[..] else { panic!("one note") };
    assert!(
        note.replace('\u{a0}', " ").contains("NEW needs 18 ms more CPU time on average (10 to 26 ms, 95 %)"),
        "{note}"
    );
}

/// A third of the runs of OLD and half of those of NEW take twice as long: 12.5 % more on average.
#[test]
fn with_two_modes_all_pairs_count_equally() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = [Program { base: 0.02, faults: 0 }, Program { base: 0.02, faults: 0 }];
    let mut record = pairs(programs, 300, 0.0, &mut coin);
    for run in record.record.blocks.iter_mut().flat_map(|block| &mut block.runs) {
        if coin.random_bool([1.0 / 3.0, 0.5][run.command]) {
            (run.user, run.wall) = (run.user + Nanos::from_seconds(0.02), run.wall + Nanos::from_seconds(0.02));
        }
    }
    let record = judged_pair(record);
    let cpu = record.lines.iter().find(|line| line.line == Line::Cpu).unwrap();
    let (size, interval) = cpu.difference.clone().unwrap();
    assert!(interval.holds(0.02 / 6.0) && interval.low > 0.0 && interval.high < 0.007, "{size} {interval:?}");
    assert!((cpu.seconds[0].clone().unwrap() - 0.0267).abs() < 0.002, "{:?}", cpu.seconds);
    assert!(record.notes.iter().any(|note| note.contains("two modes")), "{:?}", record.notes);
}

/// With --ignore-failure, runs that fail early are evaluated.
#[test]
fn a_note_counts_runs_that_failed() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = [Program { base: 0.02, faults: 10 }, Program { base: 0.02, faults: 10 }];
    let mut record = pairs(programs, 40, 0.5e-6, &mut coin);
    record.record.plan.failures = FailureRule::IgnoreAll;
    for block in record.record.blocks.iter_mut().step_by(20) {
        block.runs.iter_mut().find(|run| run.command == 1).unwrap().outcome = Outcome::Exited(7);
    }
    let [note] = &judged_pair(record).notes[..] else { panic!("one note") };
    let note = note.replace('\u{a0}', " ");
    assert!(note.starts_with("2 of 40 runs of NEW exited with a status other than 0 (the first with 7)."), "{note}");
}

#[test]
fn a_note_names_counts_that_widen_the_interval_of_a_row() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = [Program { base: 0.02, faults: 10 }, Program { base: 0.02, faults: 10 }];
    let mut record = pairs(programs, 10, 0.5e-6, &mut coin);
    let runs = |of: &dyn Fn(u64) -> Vec<(&'static str, u64)>| Ok((0..3).map(|run| counts(&of(run))).collect());
    record.counted[0] = runs(&|run| vec![("read", 379 + run), ("getppid", 3)]);
    assert_eq!(judged_pair(record.clone()).notes, [""; 0]);
    record.counted[0] = runs(&|run| vec![("read", 379 + 10 * run), ("getppid", 3)]);
    let [note] = &judged_pair(record.clone()).notes[..] else { panic!("one note") };
    assert!(note.ends_with(" are wide: read (379 to 399 in 3 runs of OLD)."), "{note}");
    // The same kind shares a row with others if many kinds cost more.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let with_others = |run: u64| {
        let others = names.into_iter().map(|name| (name, 10_000));
        others.chain([("getppid", 3 + run)]).collect()
    };
    record.counted = [runs(&with_others), runs(&|_| vec![])];
    assert_eq!(judged_pair(record).notes, [""; 0]);
}

#[test]
fn a_note_says_which_command_left_processes_behind() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = [Program { base: 0.02, faults: 10 }, Program { base: 0.02, faults: 10 }];
    let mut record = pairs(programs, 10, 0.5e-6, &mut coin);
    record
        .record
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.runs)
        .for_each(|run| run.left_behind = 1 - run.command as u32);
    let [note] = &judged_pair(record).notes[..] else { panic!("one note") };
    let note = note.replace('\u{a0}', " ");
    assert!(note.starts_with("OLD left 10 processes behind. They were killed, and"), "{note}");
}

#[test]
fn lines_add_up_to_the_lines_above_them() {
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    let programs = [Program { base: 0.02, faults: 1_000 }, Program { base: 0.021, faults: 6_100 }];
    let report = judged_pair(pairs(programs, 30, 0.5e-6, &mut coin));
    let of = |line| mean_of(&report, line);
    assert!(close(of(Line::User) + of(Line::System), of(Line::Cpu)));
    assert!(close(of(Line::Cpu) + of(Line::Waiting) + of(Line::Blocked), of(Line::Wall)));
    let parts: f64 = report
        .lines
        .iter()
        .filter(|line| matches!(line.line, Line::Part(_)))
        .map(|line| line.difference.as_ref().unwrap().0)
        .sum();
    assert!(close(parts + of(Line::Unexplained), of(Line::Cpu)));
    for command in 0..2 {
        let seconds = |of: Line| *line(&report, of).seconds[command].as_ref().unwrap();
        let parts: f64 = report
            .lines
            .iter()
            .filter(|line| matches!(line.line, Line::Part(_)))
            .map(|line| line.seconds[command].as_ref().unwrap())
            .sum();
        assert!(close(parts + seconds(Line::Unexplained), seconds(Line::Cpu)));
    }
    let faults = line(&report, Line::Part(Priced::MinorFault));
    let (more, interval) = faults.more.unwrap();
    assert!((more - 5_100.0).abs() < 20.0 && interval.holds(5_100.0) && interval.half_width() < 20.0, "{faults:?}");
    let reads = line(&report, Line::Part(Priced::Call(KernelCall::Read)));
    assert!(close(reads.difference.as_ref().unwrap().0, 300.0 * 0.2e-6) && reads.at_least == Some(true));
    assert_eq!(reads.counts, Some([100.0, 400.0]));
}

#[test]
fn the_price_of_an_exec_is_a_lower_bound() {
    let mut coin = ChaCha8Rng::seed_from_u64(1);
    let programs = [Program { base: 0.02, faults: 1_000 }, Program { base: 0.02, faults: 1_000 }];
    let mut record = pairs(programs, 10, 0.5e-6, &mut coin);
    let executed = |number: u64| Counts { execs: Ok(number), forks: Ok(number), ..counts(&[]) };
    record.counted = [Ok(vec![executed(0); 3]), Ok(vec![executed(2); 3])];
    let report = judged_pair(record);
    let of = |priced: Priced| line(&report, Line::Part(priced)).at_least;
    assert_eq!((of(Priced::Exec), of(Priced::Fork)), (Some(true), Some(false)));
}

#[test]
fn the_interval_of_each_line_contains_the_true_value() {
    let trials = 400;
    // 99.9 % quantile of the number of misses at an error rate of 5 %.
    let most = 35;
    let mut missed = [0; 3];
    for seed in 0..trials {
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        // The true price is normally distributed around the known price: 1.96 standard errors are 2 %.
        let normal = (0..12).map(|_| coin.random::<f64>()).sum::<f64>() - 6.0;
        let fault = 0.5e-6 * (1.0 + 0.02 / 1.96 * normal);
        let programs = [Program { base: 0.02, faults: 1_000 }, Program { base: 0.0205, faults: 6_100 }];
        let report = judged_pair(pairs(programs, 20, fault, &mut coin));
        let calls = 300.0 * 0.2e-6;
        let truths = [
            (Line::Cpu, 0.0005 + 5_100.0 * fault),
            (Line::Part(Priced::MinorFault), 5_100.0 * fault),
            (Line::Unexplained, 0.0005 - calls),
        ];
        for ((of, truth), missed) in truths.into_iter().zip(&mut missed) {
            *missed += usize::from(!line(&report, of).difference.as_ref().unwrap().1.holds(truth));
        }
    }
    assert!(missed.iter().all(|missed| *missed <= most), "{missed:?} of {trials}");
}

#[test]
fn counts_that_one_command_lacks_are_not_compared() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = || [Program { base: 0.02, faults: 10 }, Program { base: 0.02, faults: 10 }];
    let mut record = pairs(programs(), 10, 0.5e-6, &mut coin);
    if let Ok(runs) = &mut record.counted[1] {
        runs[1].calls = absent("the tracer was refused");
        runs[1].calls_by_name = absent("the tracer was refused");
    }
    let report = judged_pair(record);
    assert!(report.lines.iter().all(|line| line.name != "read"));
    let missing = Missing { what: "system calls".to_owned(), why: "the tracer was refused".to_owned() };
    assert_eq!(report.missing, [missing]);
    let mut record = pairs(programs(), 4, 0.5e-6, &mut coin);
    record.record.blocks[0].runs[0].run_delay = absent("several threads");
    let report = judged_pair(record);
    let of_pairs = |line: &&Difference| !matches!(line.line, Line::Part(Priced::Call(_) | Priced::KernelEntry));
    assert!(
        report.lines.iter().filter(of_pairs).all(|line| line.difference.is_err()),
        "four pairs are too few for an interval"
    );
    let waiting = line(&report, Line::Waiting);
    assert!(waiting.seconds[0].is_err() && waiting.seconds[1].is_ok(), "only OLD had several threads: {waiting:?}");
    assert!(line(&report, Line::OffCpu).seconds.iter().all(Result::is_ok));
    assert!(waiting.seconds[0].as_ref().unwrap_err().0.contains("steady explain -- COMMAND"), "{waiting:?}");
}

#[test]
fn times_at_ticks_are_absent_only_for_the_command_with_short_processes() {
    let mut coin = ChaCha8Rng::seed_from_u64(2);
    let programs = [Program { base: 0.02, faults: 10 }, Program { base: 0.02, faults: 10 }];
    let mut record = pairs(programs, 10, 0.5e-6, &mut coin);
    record.record.tick = Ok(Nanos(4_000_000));
    record.counted[0].as_mut().unwrap().iter_mut().for_each(|counts| counts.forks = Ok(4));
    let report = judged_pair(record.clone());
    let system = line(&report, Line::System);
    assert!(system.difference.is_err() && line(&report, Line::Cpu).difference.is_ok());
    assert_eq!(
        system.seconds[0].as_ref().unwrap_err().0,
        "the 5 processes of OLD used 4.0 ms of CPU time each on average, less than 2 ticks of 4.0 ms each, at which \
         the kernel samples user and system time"
    );
    assert!(system.seconds[1].is_ok(), "{system:?}");
    // Without counts, a command has one process if its main thread used all CPU time. Otherwise nothing is known.
    record.counted = [absent("no tracer"), absent("no tracer")];
    record.record.blocks[0].runs.iter_mut().filter(|run| run.command == 0).for_each(|run| {
        run.run_delay = absent("several threads");
    });
    let report = judged_pair(record);
    let user = line(&report, Line::User);
    assert!(user.seconds[0].as_ref().is_err_and(|why| why.0.contains("were not counted")), "{user:?}");
    assert!(user.seconds[1].is_ok(), "{user:?}");
}
