use steady_model::{Activity, Ending, Host, Machine, Seed, Timestamp};

use super::*;
use crate::run::LoadContext;
use crate::{CpuUse, LoadPlan, LoadWork};

fn absent<T>() -> Reading<T> {
    Err(Absent::because("not measured"))
}

fn run(cpu: f64, wall: f64, work: u64) -> LoadRun {
    LoadRun {
        user: Nanos::from_seconds(cpu),
        system: Nanos::ZERO,
        wall: Nanos::from_seconds(wall),
        run_delay: Ok(Nanos::from_seconds(wall - cpu)),
        work,
        overshoot: Ok(Nanos::from_seconds(cpu - 1.0)),
        outcome: Outcome::Exited(0),
        left_behind: 0,
    }
}

fn row(runs: Vec<LoadRun>) -> LoadRow {
    let activity =
        Activity { busy_ratio: absent(), steal_ratio: Ok(0.1), pressure: absent(), throttled_ratio: absent() };
    let begun = LoadRow::new(runs.len() as u32, Nanos::ZERO, Nanos::from_seconds(2.0), activity);
    LoadRow {
        cpus: vec![CpuUse { cpu: 0, busy_ratio: absent(), ours_ratio: absent() }],
        others_cpu: Ok(Nanos::from_seconds(0.5)),
        own_cpu: Ok(Nanos::from_seconds(0.04)),
        runs,
        ..begun
    }
}

fn record(mut rows: Vec<LoadRow>) -> LoadRecord {
    rows.sort_by_key(|row| row.procs);
    let plan = LoadPlan {
        work: LoadWork::Hash { cpu_time: Nanos::from_seconds(1.0), poll: None },
        procs: rows.iter().map(|row| row.procs).collect(),
        cpus: None,
    };
    let host = Host {
        hostname: absent(),
        kernel: absent(),
        cpu_model: absent(),
        cpus_allowed: 2,
        cpus_online: 2,
        cpu_quota: absent(),
        memory: absent(),
        hypervisor: absent(),
    };
    let machine = Machine {
        online: vec![0, 1],
        offline: absent(),
        allowed: vec![0, 1],
        cores: absent(),
        packages: absent(),
        kinds: vec![],
        quota: absent(),
    };
    let context = LoadContext { host, machine, started: Timestamp(0), revision: absent() };
    let begun = LoadRecord::begun(plan, Seed(1), context, absent());
    LoadRecord { rows, elapsed: Nanos::from_seconds(5.0), ending: Ending::Spent, ..begun }
}

#[test]
fn rows_become_points_by_number_of_processes() {
    let rows =
        vec![row(vec![run(1.0, 2.0, 100), run(1.2, 2.0, 120), run(1.1, 2.0, 110)]), row(vec![run(1.0, 1.0, 100)])];
    let judged = judged(record(rows));
    assert_eq!(judged.points().iter().map(|point| point.procs).collect::<Vec<_>>(), [1, 3]);
    let three = judged.points()[1].figures;
    let close = |one: f64, two: f64| assert!((one - two).abs() < 1e-9, "{one} {two}");
    close(three.cpu_seconds, 1.1);
    close(three.wall_seconds, 2.0);
    close(three.work, 110.0);
    close(three.work_per_cpu_second, 100.0);
    close(three.work_per_wall_second, 55.0);
    close(three.throughput_per_second, 165.0);
    close(three.waiting_ratio.clone().unwrap(), (1.0 + 0.8 + 0.9) / 6.0);
    close(three.overshoot_median_seconds.clone().unwrap(), 0.1);
    close(three.overshoot_max_seconds.clone().unwrap(), 0.2);
    close(three.others_cpus.clone().unwrap(), 0.25);
    close(three.own_ratio.clone().unwrap(), 0.01);
    close(judged.scaling.as_ref().unwrap().per_wall_factor, 100.0 / 55.0);
    assert_eq!(unavailable_cpus(&judged.rows[0], 2), Ok(0.25 + 0.2));
}

#[test]
fn a_reading_that_one_run_lacks_is_absent_for_the_row() {
    let mut without = run(1.0, 2.0, 100);
    without.run_delay = Err(Absent::because("it had threads"));
    without.overshoot = Err(Absent::because("it had no limit"));
    let mut lacking = row(vec![run(1.0, 2.0, 100), without]);
    lacking.others_cpu = Err(Absent::because("too short for ticks"));
    let judged = judged(record(vec![lacking]));
    let point = judged.points()[0].figures;
    assert_eq!(point.waiting_ratio, Err(Absent::because("it had threads")));
    assert_eq!(point.overshoot_max_seconds, Err(Absent::because("it had no limit")));
    assert_eq!(point.others_cpus, Err(Absent::because("too short for ticks")));
    assert!(judged.scaling.is_err(), "one point has no scaling");
}

#[test]
fn rows_without_a_successful_run_have_no_figures() {
    let mut failed = run(1.0, 1.0, 0);
    failed.outcome = Outcome::Signalled(9);
    let judged = judged(record(vec![row(vec![failed.clone()]), row(vec![]), row(vec![failed, run(1.0, 2.0, 50)])]));
    assert_eq!(judged.points().len(), 1);
    let point = judged.points()[0];
    assert_eq!((point.procs, point.row.run_count, point.figures.work), (2, 1, 50.0));
}

#[test]
fn short_rows_do_not_show_the_cores() {
    // Two processes with half the work per wall second, as on one CPU.
    let rows = || vec![row(vec![run(1.0, 1.0, 100)]), row(vec![run(1.0, 2.0, 100), run(1.0, 2.0, 100)])];
    let scaling_of = |rows| judged(record(rows)).scaling.unwrap();
    assert!(scaling_of(rows()).cores.is_ok());
    let mut short = rows();
    short[1].elapsed = Nanos::from_seconds(0.19);
    let scaling = scaling_of(short);
    assert!(scaling.cores.unwrap_err().0.contains("0.2 s") && scaling.logical_cpus.is_err());
    assert!(scaling.second_thread_gain.is_err());
    let mut alone = rows();
    alone[0].elapsed = Nanos::from_seconds(0.19);
    assert!(scaling_of(alone).cores.is_ok(), "one process shares no core");
}

/// The numbers of cores and CPUs would be those that other programs left.
#[test]
fn a_busy_machine_does_not_show_the_cores() {
    let why = |rows| judged(record(rows)).scaling.unwrap().cores.map_err(|why| why.0);
    let two = || row(vec![run(1.0, 2.0, 100), run(1.0, 2.0, 100)]);
    let waiting = "at N = 1, the process already waited for a CPU during 50 % of the wall time, so that N = 1 is no idle \
                   baseline";
    assert_eq!(why(vec![row(vec![run(1.0, 2.0, 100)]), two()]).unwrap_err(), waiting);
    assert!(why(vec![row(vec![run(1.0, 1.1, 100)]), two()]).is_ok());
    let mut unknown = row(vec![run(1.0, 2.0, 100)]);
    unknown.runs[0].run_delay = Err(Absent::because("it had threads"));
    let blocked = "at N = 1, the process neither ran nor waited for a CPU during 50 % of its wall time, so that the CPU use \
                   does not show how many CPUs there are";
    assert_eq!(why(vec![unknown.clone(), two()]).unwrap_err(), blocked, "another CPU was free");
    unknown.others_cpu = Ok(Nanos::from_seconds(2.3));
    let others = "at N = 1, other programs already used 1.1 of 2 CPUs, so that N = 1 is no idle baseline";
    assert_eq!(why(vec![unknown, two()]).unwrap_err(), others);
    // With more processes than CPUs, they wait for each other.
    let three = || row(vec![run(1.0, 2.0, 100); 3]);
    assert!(why(vec![three(), row(vec![run(1.0, 2.0, 100); 4])]).is_ok());
}

/// A process that sleeps, or that has threads, does not show how many CPUs there are.
#[test]
fn processes_that_do_not_use_one_cpu_each_show_no_cores() {
    let scaling = |cpu: f64, wall: f64| {
        let run = || LoadRun { run_delay: Ok(Nanos::ZERO), ..run(cpu, wall, 1) };
        judged(record((1..=4).map(|procs| row(vec![run(); procs])).collect())).scaling.unwrap()
    };
    let asleep = scaling(0.05, 0.2);
    let why = "at N = 1, the process neither ran nor waited for a CPU during 75 % of its wall time, so";
    assert!(asleep.cores.unwrap_err().0.starts_with(why));
    assert!(asleep.logical_cpus.is_err() && asleep.caveats.is_empty(), "{:?}", asleep.caveats);
    let threads = scaling(0.4, 0.2);
    assert!(threads.cores.unwrap_err().0.starts_with("at N = 1, the process used 2.0 CPUs, so"));
    let usual = scaling(0.19, 0.2).cores;
    assert!(!usual.as_ref().is_err_and(|why| why.0.contains("does not show how many")), "{usual:?}");
}
