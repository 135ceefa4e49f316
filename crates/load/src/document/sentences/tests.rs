use steady_model::{Absent, Activity, Host, Interval, Machine, Nanos, Quota, Reading, Resource, Seed, Timestamp};
use steady_rulers::RulerReading;
use steady_stats::{CountRange, Fitted, ScalabilityLaw};

use super::*;
use crate::run::LoadContext;
use crate::{CpuUse, Figures, LoadPlan, LoadRow};

fn absent<T>() -> Reading<T> {
    Err(Absent::because("this is a test"))
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
        system_seconds: 0.0,
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
    let context = LoadContext { host, machine: machine(), started: Timestamp(0), revision: absent() };
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
    let begun = LoadRecord::begun(plan, Seed(1), context, Ok(0.00001));
    LoadRecord { rows, elapsed: Nanos(1), ending: Ending::Spent, scaling: Ok(scaling), ..begun }
}

fn sentences_of(report: &LoadRecord) -> Vec<String> {
    sentences(report).into_iter().chain(ended_early(report)).map(|sentence| sentence.replace(TIE, " ")).collect()
}

fn assert_says(all: &[String], sentence: &str) {
    assert!(all.iter().any(|one| one == sentence), "missing: {sentence}\nfound:\n{}", all.join("\n"));
}

#[test]
fn every_result_has_a_sentence() {
    let all = sentences_of(&report());
    for sentence in [
        "From N = 1 to 8 concurrent processes, work per CPU second varies by a factor of 1.69 and work per wall second \
         by a factor of 3.46: CPU time is the better metric here, although load affects it too.",
        "By the measurements alone, each process has its own core up to N = 2.",
        "By the measurements alone, each process has its own logical CPU up to at least N = 3 and at most N = 4.",
        "The system reports 4 logical CPUs on 2 cores, up to 2 threads each.",
        "Measurements and system agree on the number of cores.",
        "A second thread on a core adds 20 % to the work of the core at N = 1. The measurements allow a gain of 18 to 27 %, \
         because a core may be slower when all are busy.",
        "At N = 8, the same work takes 1.66 times as much CPU time as at N = 1.",
        "CPU time of the rulers at N = 8, relative to N = 1: ALU 1.80, shared cache 2.50.",
        "Universal Scalability Law, by least squares: lambda 74.1 thousand (73 thousand to 75 thousand) hashes per second \
         for one process, sigma 0.041 (0.030 to 0.050) (contention), kappa 1.2e-4 (0 to 3.0e-4) (coherency); 95 % \
         intervals in brackets.",
        "By the law, throughput is highest at N = 24 (20 or more).",
        "It leaves 6.2 % of throughput unexplained: the measurements have corners or scatter, the law has neither.",
        "Processes exceeded their CPU time limit by 20.0 µs (median of the worst row), and by 8.00 ms at most (N = 8).",
        "The thread that checks the CPU time every 1 s uses under 0.01 % of a CPU.",
        "At N = 1, the process ran or waited on CPUs 0 (50 % of the samples), 1 (49 % of the samples).",
        "At N = 1, a system monitor would show none of 4 CPUs as busy for 90 % of the time or more; the busiest was \
         busy 50 % of the time.",
        "At N = 8, a system monitor would show 4 of 4 CPUs as busy, each for at least 97 % of the time.",
        "Everything else on the machine used 0.45 CPUs on average and 0.8 CPUs at most (N = 8); steady itself used at \
         most 0.10 % of the machine.",
        "At N = 4 it is slower.",
    ] {
        assert_says(&all, sentence);
    }
}

#[test]
fn a_reason_that_nothing_shows_the_cores_is_given_once() {
    let mut report = report();
    let why = || Absent::because("at N = 1, other programs already used 3.5 of 4 CPUs");
    let scaling = report.scaling.as_mut().unwrap();
    (scaling.cores, scaling.logical_cpus) = (Err(why()), Err(why()));
    scaling.second_thread_gain = Err(why());
    let all = sentences_of(&report);
    assert_says(
        &all,
        "The measurements do not show up to which N each process has its own core or logical CPU: at N = 1, other \
         programs already used 3.5 of 4 CPUs.",
    );
    for claim in ["By the measurements alone", "agree on the number", "second thread"] {
        assert!(!all.iter().any(|sentence| sentence.contains(claim)), "{claim}: {all:?}");
    }
}

#[test]
fn cores_that_other_programs_used_are_not_missing() {
    let mut report = report();
    report.scaling.as_mut().unwrap().cores = known(1, 1);
    report.rows.iter_mut().for_each(|row| row.figures.as_mut().unwrap().others_cpus = Ok(0.1));
    assert_says(
        &sentences_of(&report),
        "The measurements show fewer cores than the system: something slowed the processes down before they shared \
         cores.",
    );
    report.rows[1].figures.as_mut().unwrap().others_cpus = Ok(1.2);
    assert_says(
        &sentences_of(&report),
        "The measurements show fewer cores than the system: other programs used up to 1.2 CPUs.",
    );
}

#[test]
fn few_runs_of_a_command_allow_no_conclusion() {
    let mut report = report();
    let command = steady_model::Command { name: "gzip file".to_owned(), ..steady_model::Command::default() };
    report.plan.work = LoadWork::Command { command, window: Nanos(1_000_000_000) };
    report.rows.iter_mut().for_each(|row| row.run_count = 50);
    assert!(sentences_of(&report)[0].contains("CPU time is the better metric here"));
    report.rows[0].run_count = 3;
    let all = sentences_of(&report);
    assert_says(&all, "The system reports 4 logical CPUs on 2 cores, up to 2 threads each.");
    for claim in ["By the measurements", "Measurements and system", "A second thread"] {
        assert!(!all.iter().any(|sentence| sentence.starts_with(claim)), "{claim}: {all:?}");
    }
    assert!(all[0].ends_with("by a factor of 3.46."), "{}", all[0]);
    assert_eq!(
        all[1],
        "At N = 1, there were only 3 runs: too few to distinguish an effect of load from chance, in this and all other \
         factors. Use a longer --window (here 1 s)."
    );
    let scaling = report.scaling.as_mut().unwrap();
    let why = Absent::because("at N = 1, the process already waited, so that N = 1 is no idle baseline");
    (scaling.cores, scaling.logical_cpus) = (Err(why.clone()), Err(why));
    assert_says(
        &sentences_of(&report),
        "The measurements do not show up to which N each process has its own core or logical CPU: at N = 1, the process \
         already waited, so that N = 1 is no idle baseline.",
    );
}

#[test]
fn the_wall_time_with_the_most_processes_is_compared_with_the_fewest() {
    let mut report = report();
    report.rows[1].figures.as_mut().unwrap().work_per_wall_second = 0.4;
    assert_says(
        &sentences_of(&report),
        "With 8 processes, the same work takes 2.50 times as long (wall time) as with 1.",
    );
}

#[test]
fn a_missing_fit_names_the_option_that_helps() {
    let mut report = report();
    report.scaling.as_mut().unwrap().law = absent();
    assert_says(&sentences_of(&report), "Measure more numbers of processes, such as --procs 1..6.");
}

/// The sentence has the median of several readings, so the table must have it too.
#[test]
fn the_table_of_rulers_has_the_same_estimate_as_the_sentence() {
    let report = report();
    assert_says(
        &sentences_of(&report),
        "CPU time of the rulers at N = 8, relative to N = 1: ALU 1.80, shared cache 2.50.",
    );
    let table = format!("{:?}", crate::document::tables::rulers(&report).unwrap());
    assert!(table.contains("2.50") && !table.contains("2.00"), "{table}");
}

#[test]
fn fewer_cores_than_reported_may_be_hidden_threads() {
    let mut report = report();
    report.machine.cores = Ok((0..4).map(|cpu| vec![cpu]).collect());
    assert_says(
        &sentences_of(&report),
        "The measurements show fewer cores than the system: CPUs that it reports as cores may be threads of one core, \
         which a virtual machine may hide, or share another resource.",
    );
}

#[test]
fn a_range_of_cores_is_compared_with_the_system() {
    let mut report = report();
    report.machine.cores = Ok((0..4).map(|cpu| vec![cpu]).collect());
    let scaling = report.scaling.as_mut().unwrap();
    (scaling.cores, scaling.full_load_inflation) = (known(2, 4), 1.66);
    let alike = "This is consistent with the measurements (2 to 4 cores). They would look the same if some of these \
                 CPUs were threads of one core, which a virtual machine may hide.";
    assert_says(&sentences_of(&report), alike);
    report.scaling.as_mut().unwrap().full_load_inflation = 1.02;
    assert_says(&sentences_of(&report), "This is consistent with the measurements (2 to 4 cores).");
}

#[test]
fn a_quota_is_reported() {
    let mut report = report();
    report.machine.quota = Ok(Some(Quota { quota: Nanos(150_000_000), period: Nanos(100_000_000) }));
    assert_says(
        &sentences_of(&report),
        "The quota of the control group is 1.5 CPUs: from N = 2 on, the processes share that, however many CPUs there \
         are.",
    );
}

#[test]
fn cores_of_several_kinds_are_not_compared_with_the_measurements() {
    let mut report = report();
    report.machine.kinds = vec![("performance".to_owned(), vec![0, 2]), ("efficiency".to_owned(), vec![1, 3])];
    let all = sentences_of(&report);
    assert_says(
        &all,
        "The system reports 4 logical CPUs on 2 cores, up to 2 threads each; 2 of kind \u{201c}performance\u{201d}, \
         2 of kind \u{201c}efficiency\u{201d}.",
    );
    assert!(all.iter().any(|sentence| sentence.contains("assumes that all cores are alike")), "{all:?}");
    assert!(!all.iter().any(|sentence| sentence.starts_with("Measurements and system")), "{all:?}");
}

#[test]
fn one_busy_cpu_is_named() {
    let mut report = report();
    report.rows[0].cpus = vec![cpu(0, 0.01, 0.0), cpu(1, 0.99, 1.0), cpu(2, 0.0, 0.0), cpu(3, 0.03, 0.0)];
    let all = sentences_of(&report);
    assert_says(&all, "At N = 1, the process ran or waited only on CPU 1.");
    assert_says(&all, "At N = 1, a system monitor would show 1 of 4 CPUs as busy for 90 % of the time or more: CPU 1.");
}

#[test]
fn missing_readings_have_a_reason() {
    let mut report = report();
    report.scaling = Err(Absent::because("fewer than two numbers of processes were measured"));
    report.rows.iter_mut().flat_map(|row| &mut row.figures).for_each(|figures| figures.others_cpus = absent());
    report.failure = Some("process 3 was killed".to_owned());
    report.rows.remove(0);
    let unknown = CpuUse { cpu: 0, busy_ratio: absent(), ours_ratio: absent() };
    report.rows[0].cpus = vec![unknown];
    let all = sentences_of(&report);
    assert_says(&all, "Scaling was not estimated: fewer than two numbers of processes were measured.");
    assert_says(&all, "The CPU use of everything else on the machine was not measured: this is a test.");
    assert_says(&all, "At N = 8, the use of each CPU was not measured: this is a test.");
    assert_says(&all, "The experiment ended early: process 3 was killed; 1 of 2 rows was measured.");
}

#[test]
fn load_without_effect_is_reported() {
    let mut report = report();
    let scaling = report.scaling.as_mut().unwrap();
    (scaling.per_cpu_factor, scaling.per_wall_factor, scaling.full_load_inflation) = (1.01, 1.01, 1.0);
    let all = sentences_of(&report);
    assert!(all[0].ends_with("load affects neither."), "{}", all[0]);
    assert_says(&all, "At N = 8, the same work takes as much CPU time as at N = 1, within 2 %.");
    let scaling = report.scaling.as_mut().unwrap();
    scaling.per_wall_factor = 2.0;
    assert!(sentences_of(&report)[0].ends_with("CPU time is the better metric here, and load hardly affects it."));
}

#[test]
fn processes_that_were_left_behind_are_named() {
    let mut report = report();
    assert!(!sentences_of(&report).iter().any(|sentence| sentence.contains("behind")));
    report.rows[0].left_behind = 1;
    assert_says(
        &sentences_of(&report),
        "What the command left behind was killed at the end of each run (1 process in all): its work is cut off.",
    );
}
