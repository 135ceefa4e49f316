use steady_model::{Absent, Activity, Host, Interval, Machine, Nanos, Quota, Reading, Resource, Seed, Timestamp};
use steady_rulers::RulerReading;
use steady_stats::{CountRange, Fitted, ScalabilityLaw};

use super::*;
use crate::run::Setting;
use crate::{CpuUse, Figures, LoadPlan, LoadRow};

fn absent<T>() -> Reading<T> {
    Err(Absent::because("not looked at"))
}

fn cpu(cpu: usize, busy: f64, ours: f64) -> CpuUse {
    CpuUse { cpu, busy_ratio: Ok(busy), ours_ratio: Ok(ours) }
}

fn ruler(resource: Resource, slowdown_ratio: f64) -> RulerReading {
    RulerReading {
        resource,
        working_set: None,
        seconds_per_unit: 1e-9,
        spread_ratio: 0.01,
        slowdown_ratio,
        cost: Nanos(1),
    }
}

fn row(procs: u32, cpus: Vec<CpuUse>, rulers: Vec<RulerReading>) -> LoadRow {
    let activity =
        Activity { busy_ratio: absent(), steal_ratio: absent(), pressure: absent(), throttled_ratio: absent() };
    let figures = Figures {
        cpu_seconds: 5.0,
        wall_seconds: 5.0,
        work: 1.0,
        work_per_cpu_second: 1.0,
        work_per_wall_second: 1.0,
        overshoot_median_seconds: Ok(20e-6),
        overshoot_max_seconds: Ok(f64::from(procs) * 1e-3),
        user_seconds: 5.0,
        throughput_per_second: 1.0,
        waiting_ratio: absent(),
        others_cpus: Ok(0.1 * f64::from(procs)),
        own_ratio: Ok(0.001),
    };
    LoadRow { figures: Ok(figures), run_count: 1, cpus, rulers, ..LoadRow::new(procs, Nanos::ZERO, Nanos(1), activity) }
}

fn machine() -> Machine {
    Machine {
        online: (0..4).collect(),
        offline: Ok(vec![]),
        allowed: (0..4).collect(),
        cores: Ok(vec![vec![0, 2], vec![1, 3]]),
        packages: Ok(1),
        kinds: vec![],
        quota: Ok(None),
    }
}

fn fitted(value: f64, low: f64, high: f64) -> Fitted {
    Fitted { value, interval: Interval { low, high } }
}

fn known(low: u32, high: u32) -> Reading<CountRange> {
    Ok(CountRange { low, high })
}

fn report() -> LoadRecord {
    let poll = Some(Nanos(1_000_000_000));
    let work = LoadWork::Hash { cpu_time: Nanos(5_000_000_000), poll };
    let host = Host {
        hostname: absent(),
        kernel: absent(),
        cpu_model: absent(),
        cpus_allowed: 4,
        cpus_online: 4,
        cpu_quota: absent(),
        memory: absent(),
        hypervisor: absent(),
    };
    let alone = vec![cpu(0, 0.5, 0.5), cpu(1, 0.5, 0.49), cpu(2, 0.02, 0.01), cpu(3, 0.0, 0.0)];
    let full = vec![cpu(0, 0.99, 1.0), cpu(1, 0.98, 1.0), cpu(2, 1.0, 1.0), cpu(3, 0.97, 1.0)];
    let plan = LoadPlan { work, procs: vec![1, 8], cpus: None };
    let setting = Setting { host, machine: machine(), started: Timestamp(0), revision: absent() };
    let rulers = vec![ruler(Resource::Alu, 1.8), ruler(Resource::Shared, 2.0), ruler(Resource::Shared, 3.0)];
    let rows = vec![row(1, alone, vec![ruler(Resource::Alu, 1.0), ruler(Resource::Shared, 1.0)]), row(8, full, rulers)];
    let scaling = Scaling {
        per_cpu_factor: 1.692,
        per_wall_factor: 3.46,
        cores: known(2, 2),
        logical_cpus: known(3, 4),
        second_thread_gain: Ok(fitted(0.203, 0.18, 0.271)),
        full_load_inflation: 1.66,
        caveats: vec!["at N = 4 it is slower".to_owned()],
        law: Ok(ScalabilityLaw {
            lambda: fitted(74_123.0, 73_000.0, 75_000.0),
            sigma: fitted(0.041, 0.03, 0.05),
            kappa: fitted(0.00012, 0.0, 0.0003),
            peak: Ok(fitted(24.4, 20.2, f64::INFINITY)),
            residual_ratio: 0.062,
        }),
    };
    let begun = LoadRecord::begun(plan, Seed(1), setting, Ok(0.00001));
    LoadRecord { rows, elapsed: Nanos(1), ending: Ending::Spent, scaling: Ok(scaling), ..begun }
}

fn said(report: &LoadRecord) -> Vec<String> {
    sentences(report).into_iter().chain(ended_early(report)).map(|sentence| sentence.replace(TIE, " ")).collect()
}

fn holds(said: &[String], sentence: &str) {
    assert!(said.iter().any(|one| one == sentence), "not said: {sentence}\nsaid:\n{}", said.join("\n"));
}

#[test]
fn everything_is_told_a_sentence_each() {
    let said = said(&report());
    for sentence in [
        "From N = 1 to 8 processes, work per CPU second ranges by a factor of 1.69 and work per wall second by 3.46: CPU \
         time is the better metric here, but load moves it too, 2.04 times less than wall time.",
        "By the points alone, each process has a core to itself up to N = 2.",
        "By the points alone, each process has a logical CPU to itself up to some N from 3 to 4.",
        "The system says: 4 logical CPUs on 2 cores, up to 2 threads each.",
        "Points and system agree on the cores.",
        "A second thread on a core adds 20 % to what a core gets done at N = 1; the points leave 18 to 27 %, for a core may \
         be slower when all are busy.",
        "At N = 8 the same work takes 1.66 times the CPU time of N = 1.",
        "The rulers took, at N = 8, so many times the CPU time of N = 1: ALU 1.80, shared cache 2.50.",
        "Universal Scalability Law, by least squares: lambda 74.1 thousand (73 thousand to 75 thousand) hashes per second \
         for one process, sigma 0.041 (0.030 to 0.050) (contention), kappa 1.2e-4 (0 to 3.0e-4) (coherency); 95 % \
         intervals in brackets.",
        "By the law most gets done at N = 24 (20 or more).",
        "It leaves 6.2 % of throughput unexplained: these points have corners, or scatter, and the law has neither.",
        "Processes used more CPU time than their budget by 20.0 µs in the median of the worst row, by 8.00 ms at most \
         (N = 8).",
        "The thread that sleeps for 1 s and looks costs under 0.01 % of a CPU.",
        "At N = 1 the process ran on CPUs 0 (50 % of the looks), 1 (49 % of the looks).",
        "A system monitor would show none of 4 CPUs busy all of the time at N = 1: the busiest was busy 50 %.",
        "A system monitor would show all of 4 CPUs busy at N = 8, the least of them 97 %.",
        "Everything else on the machine kept 0.45 CPUs busy on average and 0.8 at most (N = 8); steady itself at most \
         0.10 % of the machine.",
        "At N = 4 it is slower.",
    ] {
        holds(&said, sentence);
    }
}

#[test]
fn a_machine_that_hides_its_threads_is_suspected() {
    let mut report = report();
    report.machine.cores = Ok((0..4).map(|cpu| vec![cpu]).collect());
    holds(
        &said(&report),
        "The points say fewer cores than the system: CPUs that are shown as cores may be threads of one, which a virtual \
         machine may hide, or share something else.",
    );
}

#[test]
fn a_range_of_cores_is_held_against_the_system() {
    let mut report = report();
    report.machine.cores = Ok((0..4).map(|cpu| vec![cpu]).collect());
    let scaling = report.scaling.as_mut().unwrap();
    (scaling.cores, scaling.full_load_inflation) = (known(2, 4), 1.66);
    let alike = "The points leave that: 4 of 2 to 4 cores. Were two of these CPUs threads of one core, which a virtual \
                 machine may hide, the points would look alike.";
    holds(&said(&report), alike);
    report.scaling.as_mut().unwrap().full_load_inflation = 1.02;
    holds(&said(&report), "The points agree with that: 4 is among the 2 to 4 that they leave.");
}

#[test]
fn a_quota_is_told() {
    let mut report = report();
    report.machine.quota = Ok(Some(Quota { quota: Nanos(150_000_000), period: Nanos(100_000_000) }));
    holds(
        &said(&report),
        "The control group's quota is worth 1.5 CPUs: from N = 2 on the processes share that, however many CPUs there are.",
    );
}

#[test]
fn cores_of_several_kinds_are_not_held_against_the_points() {
    let mut report = report();
    report.machine.kinds = vec![("performance".to_owned(), vec![0, 2]), ("efficiency".to_owned(), vec![1, 3])];
    let said = said(&report);
    holds(
        &said,
        "The system says: 4 logical CPUs on 2 cores, up to 2 threads each; 2 of kind \u{201c}performance\u{201d}, 2 of kind \
         \u{201c}efficiency\u{201d}.",
    );
    assert!(said.iter().any(|sentence| sentence.contains("as if all cores were alike")), "{said:?}");
    assert!(!said.iter().any(|sentence| sentence.starts_with("Points and system")), "{said:?}");
}

#[test]
fn one_busy_cpu_is_named() {
    let mut report = report();
    report.rows[0].cpus = vec![cpu(0, 0.01, 0.0), cpu(1, 0.99, 1.0), cpu(2, 0.0, 0.0), cpu(3, 0.03, 0.0)];
    let said = said(&report);
    holds(&said, "At N = 1 the process stayed on CPU 1.");
    holds(&said, "A system monitor would show 1 of 4 CPUs busy at N = 1: CPU 1.");
}

#[test]
fn what_is_absent_says_why() {
    let mut report = report();
    report.scaling = Err(Absent::because("fewer than two numbers of processes were measured"));
    report.rows.iter_mut().flat_map(|row| &mut row.figures).for_each(|figures| figures.others_cpus = absent());
    report.failure = Some("process 3 was killed".to_owned());
    report.rows.remove(0);
    let unknown = CpuUse { cpu: 0, busy_ratio: absent(), ours_ratio: absent() };
    report.rows[0].cpus = vec![unknown];
    let said = said(&report);
    holds(&said, "Nothing to say about scaling: fewer than two numbers of processes were measured.");
    holds(&said, "What everything else on the machine used is absent: not looked at.");
    holds(&said, "How busy each CPU was at N = 8 is absent: not looked at.");
    holds(&said, "It ended early: process 3 was killed; 1 of 2 rows were measured.");
}

#[test]
fn load_that_moves_nothing_is_said_to() {
    let mut report = report();
    let scaling = report.scaling.as_mut().unwrap();
    (scaling.per_cpu_factor, scaling.per_wall_factor, scaling.full_load_inflation) = (1.01, 1.01, 1.0);
    let told = said(&report);
    assert!(told[0].ends_with("load moved neither."), "{}", told[0]);
    holds(&told, "At N = 8 the same work takes as much CPU time as at N = 1, within 2 %.");
    let scaling = report.scaling.as_mut().unwrap();
    scaling.per_wall_factor = 2.0;
    assert!(said(&report)[0].ends_with("CPU time is the better metric here, and load hardly moves it."));
}
