//! Made-up load experiments: the published tables, and records with missing readings.

use steady_load::run::LoadContext;
use steady_load::{CpuUse, Figures, LoadPlan, LoadRecord, LoadRow, LoadRun, LoadWork};
use steady_model::*;
use steady_rulers::RulerReading;
use steady_stats::{CountRange, Fitted, ScalabilityLaw, Scaling};

use crate::shared::{absent, seconds};

/// Returns a machine with `cores` cores of `threads` threads each; CPU n is thread n / cores of core n % cores.
fn machine(cores: usize, threads: usize) -> Machine {
    let all: Vec<usize> = (0..cores * threads).collect();
    Machine {
        online: all.clone(),
        offline: Ok(vec![]),
        allowed: all,
        cores: Ok((0..cores).map(|core| (0..threads).map(|thread| core + thread * cores).collect()).collect()),
        packages: Ok(1),
        kinds: vec![],
        quota: Ok(None),
    }
}

/// Returns an experiment without rows.
fn base(work: LoadWork, procs: Vec<u32>, machine: Machine) -> LoadRecord {
    let host = Host {
        hostname: Ok("build-7".into()),
        kernel: Ok("Linux 6.12.9".into()),
        cpu_model: Ok("Intel(R) Xeon(R) Processor".into()),
        cpus_allowed: machine.allowed.len(),
        cpus_online: machine.online.len(),
        cpu_quota: machine.quota.clone(),
        memory: Ok(Bytes(25_276_510_208)),
        hypervisor: Ok(None),
    };
    let (started, revision) = (Timestamp(1_795_171_242), Ok("0123456789ab".into()));
    let context = LoadContext { host, machine, started, revision };
    let plan = LoadPlan { work, procs, cpus: None };
    let begun = LoadRecord::begun(plan, Seed(1_314_300_071_535_409_598), context, absent("no thread polls"));
    let scaling = absent("scaling needs at least two numbers of processes");
    LoadRecord { elapsed: seconds(221.4), ending: Ending::Spent, scaling, ..begun }
}

/// Measurements of each process of a row; times are in seconds.
struct Each {
    cpu: f64,
    wall: f64,
    work: f64,
}

/// Adds a row of processes with equal measurements, and its figures.
fn add(record: &mut LoadRecord, procs: u32, each: Each, overshoot: Reading<f64>) {
    let Each { cpu, wall, work } = each;
    let cpus = record.machine.allowed.clone();
    let busy = (f64::from(procs) / cpus.len() as f64).min(1.0);
    let run = |index: u32| LoadRun {
        user: seconds(cpu * 0.998) + Nanos(u64::from(index)),
        system: seconds(cpu * 0.002),
        wall: seconds(wall),
        run_delay: Ok(seconds((wall - cpu).max(0.0))),
        work: work as u64,
        overshoot: overshoot.clone().map(seconds),
        outcome: Outcome::Exited(0),
        left_behind: 0,
    };
    let of = |cpu: usize| CpuUse {
        cpu,
        busy_ratio: Ok(if cpu < procs as usize { 0.98 } else { 0.013 }),
        ours_ratio: Ok(if cpu < procs as usize { 0.97 } else { 0.0 }),
    };
    let figures = Figures {
        cpu_seconds: cpu,
        wall_seconds: wall,
        work,
        work_per_cpu_second: work / cpu,
        work_per_wall_second: work / wall,
        overshoot_median_seconds: overshoot.clone(),
        overshoot_max_seconds: overshoot.clone().map(|median| median * 3.7),
        user_seconds: cpu * 0.998,
        system_seconds: cpu * 0.002,
        throughput_per_second: f64::from(procs) * work / wall,
        waiting_ratio: Ok(((wall - cpu) / wall).max(0.0)),
        others_cpus: Ok(0.0211),
        own_ratio: Ok(0.0002),
    };
    let order = record.rows.len();
    let activity = Activity { busy_ratio: Ok(busy), steal_ratio: Ok(0.0), pressure: Ok(0.1), throttled_ratio: Ok(0.0) };
    record.rows.push(LoadRow {
        figures: Ok(figures),
        run_count: procs as usize,
        left_behind: 0,
        order,
        runs: (0..procs).map(run).collect(),
        cpus: cpus.iter().map(|cpu| of(*cpu)).collect(),
        others_cpu: Ok(seconds(wall * 0.0213)),
        own_cpu: Ok(seconds(wall * 0.002)),
        ..LoadRow::new(procs, seconds(7.0 * order as f64), seconds(wall * 1.01), activity)
    });
}

fn fitted(value: f64, off: f64) -> Fitted {
    Fitted { value, interval: Interval { low: value - off, high: value + off } }
}

/// Published means per process: number of processes, CPU time in ms, wall time in ms, hashes.
const PUBLISHED: [(u32, f64, f64, f64); 12] = [
    (1, 5011.0, 5013.0, 367_710.0),
    (2, 5017.0, 5020.0, 374_605.0),
    (4, 5501.0, 5512.0, 407_122.0),
    (6, 5976.0, 6007.0, 430_291.0),
    (8, 5987.0, 6013.0, 418_483.0),
    (10, 5995.0, 6010.0, 361_615.0),
    (12, 5969.0, 6006.0, 309_027.0),
    (14, 5939.0, 6014.0, 280_787.0),
    (16, 5756.0, 6017.0, 254_496.0),
    (20, 5482.0, 7011.0, 242_054.0),
    (24, 5293.0, 8019.0, 234_046.0),
    (32, 5386.0, 11_032.0, 238_045.0),
];

/// The first published table, with a polled CPU limit.
pub(crate) fn hash() -> LoadRecord {
    let work = LoadWork::Hash { cpu_time: seconds(5.0), poll: Some(seconds(1.0)) };
    let mut record = base(work, PUBLISHED.iter().map(|row| row.0).collect(), machine(8, 2));
    // The order of measurement differs from the order in the table.
    for index in [3, 0, 7, 1, 11, 2, 10, 4, 5, 9, 6, 8] {
        let (procs, cpu, wall, work) = PUBLISHED[index];
        let each = Each { cpu: cpu / 1e3, wall: wall / 1e3, work };
        add(&mut record, procs, each, Ok(cpu / 1e3 - 5.0));
    }
    record.rows.sort_by_key(|row| row.procs);
    record.poll_cost = Ok(0.000_021);
    record.scaling = Ok(Scaling {
        per_cpu_factor: 1.69,
        per_wall_factor: 3.46,
        cores: Ok(CountRange { low: 8, high: 8 }),
        logical_cpus: Ok(CountRange { low: 14, high: 16 }),
        second_thread_gain: Ok(fitted(0.2, 0.03)),
        full_load_inflation: 1.66,
        caveats: vec!["between 2 and 4 processes nothing was measured".into()],
        law: Ok(ScalabilityLaw {
            lambda: fitted(74_100.0, 2_300.0),
            sigma: Fitted { value: 0.012, interval: Interval { low: 0.0, high: 0.031 } },
            kappa: fitted(0.0011, 0.0004),
            peak: Ok(Fitted { value: 29.9, interval: Interval { low: 24.0, high: f64::INFINITY } }),
            residual_ratio: 0.071,
        }),
    });
    record
}

/// The second published table: few CPUs, and unknown CPU use of others.
pub(crate) fn sum() -> LoadRecord {
    let mut record = base(LoadWork::Sum { work: 100_000_001 }, vec![1, 2, 4, 8, 16], machine(2, 2));
    for (procs, wall, user) in
        [(1, 11.08, 11.07), (2, 11.7, 11.69), (4, 19.79, 19.64), (8, 39.42, 19.62), (16, 83.36, 19.86)]
    {
        let each = Each { cpu: user, wall, work: 100_000_001.0 };
        add(&mut record, procs, each, absent("the work has no CPU time limit"));
    }
    for row in &mut record.rows {
        row.others_cpu = absent("/proc/stat cannot be read");
        row.figures.as_mut().unwrap().others_cpus = absent("/proc/stat cannot be read");
        row.cpus.iter_mut().for_each(|cpu| cpu.busy_ratio = absent("/proc/stat cannot be read"));
    }
    record.scaling = Ok(Scaling {
        per_cpu_factor: 1.79,
        per_wall_factor: 7.52,
        cores: Ok(CountRange { low: 2, high: 3 }),
        logical_cpus: Ok(CountRange { low: 4, high: 4 }),
        second_thread_gain: Ok(fitted(0.127, 0.002)),
        full_load_inflation: 1.79,
        caveats: vec![],
        law: absent("it takes six numbers of processes, and there are 5"),
    });
    record
}

/// A command of the user that failed after two rows, in a container on a large machine.
pub(crate) fn command() -> LoadRecord {
    let command = Command {
        name: "gzip -9 -kc 'a|b.txt'".into(),
        argv: ["gzip", "-9", "-kc", "a|b.txt"].map(str::to_owned).to_vec(),
        program: "/usr/bin/gzip".into(),
        ..Command::default()
    };
    let mut container = machine(32, 2);
    container.quota = Ok(Some(Quota { quota: Nanos(150_000_000), period: Nanos(100_000_000) }));
    container.kinds = vec![("performance".into(), (0..16).collect()), ("efficiency".into(), (16..64).collect())];
    let mut record = base(LoadWork::Command { command, window: seconds(2.0) }, vec![1, 2, 4, 8], container);
    for (procs, cpu, wall) in [(1, 0.0123, 0.0124), (2, 0.0127, 0.0171)] {
        add(&mut record, procs, Each { cpu, wall, work: 1.0 }, absent("a command has no CPU time limit"));
    }
    let reading = |resource, slowdown_ratio| RulerReading {
        resource,
        working_set: (resource != Resource::Alu).then_some(Bytes(24_576)),
        seconds_per_unit: 1.25e-9,
        spread_ratio: 0.013,
        slowdown_ratio,
        cost: Nanos(812_345),
    };
    record.rows[1].rulers = vec![reading(Resource::Alu, 1.004), reading(Resource::SystemCall, 1.31)];
    record.rows.iter_mut().for_each(|row| row.run_count = 160 / row.procs as usize);
    record.ending = Ending::Interrupted;
    record.failure = Some("'gzip -9 -kc a|b.txt' exited with status 1\n".into());
    record.scaling = Ok(Scaling {
        per_cpu_factor: 1.03,
        per_wall_factor: 1.38,
        cores: absent("two rows are too few"),
        logical_cpus: absent("two rows are too few"),
        second_thread_gain: absent("two rows are too few"),
        full_load_inflation: 1.03,
        caveats: vec![],
        law: absent("it takes six numbers of processes, and there are 2"),
    });
    record
}

/// One short row with few readings.
pub(crate) fn one() -> LoadRecord {
    let mut machine = machine(2, 1);
    machine.cores = absent("cpu0/topology cannot be read");
    machine.offline = absent("no list of them can be read");
    let mut record = base(LoadWork::Hash { cpu_time: seconds(0.002), poll: None }, vec![2], machine);
    add(&mut record, 2, Each { cpu: 0.002_01, wall: 0.002_06, work: 9_120.0 }, Ok(0.000_009));
    let short = || absent("the row took less than 10 ms, the resolution of /proc/stat");
    let row = &mut record.rows[0];
    row.cpus.iter_mut().for_each(|cpu| (cpu.busy_ratio, cpu.ours_ratio) = (short(), short()));
    row.activity = Activity { busy_ratio: short(), steal_ratio: short(), pressure: short(), throttled_ratio: short() };
    (row.others_cpu, row.own_cpu) = (short().map(seconds), short().map(seconds));
    let figures = row.figures.as_mut().unwrap();
    (figures.others_cpus, figures.own_ratio) = (short(), short());
    figures.waiting_ratio = absent("the work had several threads");
    record
}

/// An experiment in which no process succeeded.
pub(crate) fn none() -> LoadRecord {
    let mut record = base(LoadWork::Sum { work: 1_000 }, vec![10_000], machine(2, 1));
    record.ending = Ending::Interrupted;
    record.failure = Some("no more than 812 processes could be started: RLIMIT_NPROC is 1,000".into());
    record.scaling = absent("there is no row");
    record
}

/// Returns every record with the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, LoadRecord)> {
    vec![
        ("load-hash", hash()),
        ("load-sum", sum()),
        ("load-command", command()),
        ("load-one", one()),
        ("load-none", none()),
    ]
}
