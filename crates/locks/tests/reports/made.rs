//! Made-up records of the locks of commands.

use steady_feature::attended::AttendedCommand;
use steady_locks::*;
use steady_model::*;

use crate::shared::{HOSTILE, absent, builder, seconds};

fn command(name: &str) -> AttendedCommand {
    let argv = name.split(' ').map(str::to_owned).collect();
    AttendedCommand { name: name.to_owned(), argv, program: "/usr/bin/x".into() }
}

/// A place with a function and a line.
fn place(function: &str, line: &str, offset: u64) -> CodePlace {
    let module = Ok("/home/me/queue/build/queue".into());
    CodePlace { module, offset, function: Ok(function.to_owned()), line: Ok(format!("/home/me/queue/src/{line}")) }
}

/// A place without symbols and debug information.
fn bare(module: &str, offset: u64) -> CodePlace {
    CodePlace {
        module: Ok(module.to_owned()),
        offset,
        function: absent("the file has no symbols"),
        line: absent("the file has no debug information"),
    }
}

fn site(place: CodePlace, acquisitions: u64, contended: u64, wait: f64) -> LockSite {
    let CodePlace { function, line, module, offset } = place;
    LockSite { function, line, module, offset, acquisitions, contended, wait_seconds: seconds(wait) }
}

fn process(pid: u32, threads: u32, life: f64) -> LockedProcess {
    LockedProcess {
        pid,
        program: Ok("/home/me/queue/build/queue".into()),
        forked: false,
        life_seconds: seconds(life),
        ended_itself: true,
        threads,
        folded_locks: 0,
        folded_acquisitions: 0,
        folded_contended: 0,
        folded_wait_seconds: Nanos::ZERO,
    }
}

/// A lock with `acquisitions`, none of them contended.
fn lock(id: u32, kind: LockKind, acquisitions: u64) -> LockUse {
    fn never<T>() -> Reading<T> {
        absent("no thread waited for it")
    }
    fn untimed<T>(kind: LockKind) -> Reading<T> {
        absent(if kind.is_held() { "no hold was timed" } else { "no thread holds a condition or semaphore" })
    }
    LockUse {
        id,
        kind,
        probably_gil: false,
        process: 0,
        address: 0x55d0_1234_5000 + 64 * u64::from(id),
        destroyed: false,
        acquisitions,
        contended: 0,
        given_up: 0,
        waits: never(),
        wait_seconds: never(),
        wait_median_seconds: never(),
        wait_p99_seconds: never(),
        wait_max_seconds: never(),
        hold_seconds: untimed(kind),
        hold_mean_seconds: untimed(kind),
        hold_median_seconds: untimed(kind),
        hold_p99_seconds: untimed(kind),
        hold_max_seconds: untimed(kind),
        holds_timed_contended: untimed(kind),
        holds_timed_sampled: untimed(kind),
        threads: 1,
        sites: vec![],
        made_at: absent("the call that initialised it was not observed"),
        waiting: vec![],
        held_by: absent("no thread waited for it when the process ended"),
        gain_seconds: Ok(Nanos::ZERO),
    }
}

/// The lock, with waits; `times` has their total, median, 99th percentile and maximum, in seconds.
fn waited(lock: LockUse, waits: u64, times: [f64; 4]) -> LockUse {
    let [total, median, p99, most] = times.map(|time| Ok(seconds(time)));
    LockUse {
        waits: Ok(waits),
        wait_seconds: total,
        wait_median_seconds: median,
        wait_p99_seconds: p99,
        wait_max_seconds: most,
        ..lock
    }
}

/// The lock, with holds; `times` has their total, mean and maximum in seconds, and `timed` the numbers of timed
/// contended and uncontended holds.
fn held(lock: LockUse, times: [f64; 3], timed: [u64; 2]) -> LockUse {
    let [total, mean, most] = times;
    LockUse {
        hold_seconds: Ok(seconds(total)),
        hold_mean_seconds: Ok(seconds(mean)),
        hold_median_seconds: Ok(seconds(mean * 0.9)),
        hold_p99_seconds: Ok(seconds(mean * 3.0)),
        hold_max_seconds: Ok(seconds(most)),
        holds_timed_contended: Ok(timed[0]),
        holds_timed_sampled: Ok(timed[1]),
        ..lock
    }
}

fn thread(process: usize, tid: u32, start: Reading<CodePlace>, life: f64, waits: [f64; 3]) -> LockThread {
    let [wait, events, joins] = waits.map(seconds);
    LockThread {
        process,
        tid,
        start,
        waits_at: absent("it waited for nothing when its process ended"),
        life_seconds: seconds(life),
        wait_seconds: wait,
        wait_ratio: Ok(wait.seconds() / seconds(life).seconds()),
        wait_events_seconds: events,
        wait_joins_seconds: joins,
    }
}

fn first() -> Reading<CodePlace> {
    absent("it is the main thread of its process")
}

/// A queue with one mutex and eight workers; the main thread joins them.
pub(crate) fn queue() -> LocksRecord {
    let worker = || Ok(place("worker", "main.c:31", 0x1340));
    let mut threads: Vec<LockThread> =
        (0..8).map(|n| thread(0, 4_243 + n, worker(), 2.38, [1.71 - 0.02 * f64::from(n), 0.12, 0.0])).collect();
    threads.push(thread(0, 4_242, first(), 2.413_2, [0.0, 0.0, 2.36]));
    let mutex = waited(lock(1, LockKind::Mutex, 1_204_331), 311_204, [12.98, 0.000_012_3, 0.001_2, 0.009_23]);
    let mutex = LockUse {
        contended: 311_204,
        threads: 8,
        sites: vec![
            site(place("push", "queue.c:88", 0x1422), 602_112, 240_331, 10.07),
            site(place("pop", "queue.c:120", 0x14fe), 598_000, 70_873, 2.91),
            site(place("queue_size", "queue.c:140", 0x15a0), 4_219, 0, 0.0),
        ],
        made_at: Ok(place("queue_new", "queue.c:40", 0x1390)),
        gain_seconds: Ok(seconds(0.904)),
        ..held(mutex, [2.06, 0.000_001_71, 0.000_812], [311_204, 872])
    };
    let condition = LockUse {
        contended: 1_204,
        threads: 8,
        sites: vec![site(place("pop", "queue.c:124", 0x1511), 1_204, 1_204, 0.96)],
        gain_seconds: absent("no thread holds a condition or semaphore; a wait for it is usually a wait for an event"),
        ..waited(lock(2, LockKind::Condition, 1_204), 1_204, [0.96, 0.000_71, 0.002_4, 0.004_1])
    };
    let log = waited(lock(3, LockKind::Spinlock, 64), 2, [0.000_034, 0.000_016, 0.000_018, 0.000_018]);
    let log = LockUse {
        contended: 2,
        threads: 9,
        sites: vec![site(place("log_line", "log.c:12", 0x1700), 2, 2, 0.000_034)],
        gain_seconds: Ok(Nanos(20_000)),
        ..held(log, [0.000_2, 0.000_003_1, 0.000_02], [2, 0])
    };
    let record = LocksRecord {
        command: command("./queue --workers=8 'in put.txt'"),
        started: Timestamp(1_795_171_242),
        host: builder(),
        revision: Ok("0123456789ab".into()),
        ended: Outcome::Exited(0),
        wall_seconds: seconds(2.414),
        cpu_seconds: seconds(4.31),
        thread_seconds: 0.0,
        wait_seconds: 0.0,
        wait_ratio: absent("no thread was observed"),
        wait_events_seconds: 0.0,
        wait_joins_seconds: 0.0,
        sampled_one_in: 1_024,
        timed_first: 256,
        order: LockOrder::Wait,
        processes: vec![process(4_242, 9, 2.413_2)],
        unwatched_processes: 0,
        locks: vec![mutex, condition, log],
        threads,
        futexes: Ok(FutexWaits {
            wait_seconds: seconds(16.4),
            other_seconds: seconds(0.11),
            other_off_by_seconds: seconds(0.24),
            looks: 1_210,
            unwatched_programs: vec![],
        }),
        left_behind: 0,
    };
    record.summed()
}

/// Two threads in a deadlock until a signal kills them; a third waits for one of them.
pub(crate) fn deadlocked() -> LocksRecord {
    let mut report = queue();
    let deadlocked = |id, line: &str, waiting: Vec<usize>, holder| {
        let (many, long) = (3 + waiting.len() as u64, 9.98 * waiting.len() as f64);
        let one = waited(lock(id, LockKind::Mutex, 112), many, [long, 0.000_02, 9.9, 9.98]);
        LockUse {
            contended: 3,
            threads: 3,
            sites: vec![site(place("transfer", line, 0x1422), 112, 3, long)],
            waiting,
            held_by: Ok(holder),
            gain_seconds: absent("a thread still waited for it when the process ended"),
            ..held(one, [0.000_1, 0.000_005, 0.000_02], [3, 0])
        }
    };
    report.command = command("./bank");
    (report.wall_seconds, report.cpu_seconds, report.ended) = (seconds(10.002), seconds(0.011), Outcome::Signalled(9));
    report.processes = vec![LockedProcess { ended_itself: false, ..process(77, 4, 10.001) }];
    let start = |function: &str| Ok(place(function, "bank.c:9", 0x1340));
    report.threads = vec![
        thread(0, 78, start("alice"), 10.0, [9.98, 0.0, 0.0]),
        thread(0, 79, start("bob"), 10.0, [9.98, 0.0, 0.0]),
        thread(0, 80, start("auditor"), 10.0, [9.98, 0.0, 0.0]),
        thread(0, 77, first(), 10.001, [0.0, 0.0, 10.0]),
    ];
    for (thread, line) in [(0, "bank.c:17"), (1, "bank.c:18"), (2, "bank.c:30")] {
        report.threads[thread].waits_at = Ok(place("transfer", line, 0x1422));
    }
    report.locks = vec![deadlocked(1, "bank.c:17", vec![0, 2], 1), deadlocked(2, "bank.c:18", vec![1], 0)];
    report.futexes = Ok(FutexWaits {
        wait_seconds: seconds(40.0),
        other_seconds: Nanos::ZERO,
        other_off_by_seconds: seconds(0.02),
        looks: 904,
        unwatched_programs: vec![],
    });
    report.left_behind = 1;
    report.summed()
}

/// A program whose locks cannot be watched.
pub(crate) fn none() -> LocksRecord {
    let record = LocksRecord {
        command: command("./server"),
        processes: vec![],
        locks: vec![],
        threads: vec![],
        futexes: Ok(FutexWaits {
            wait_seconds: seconds(9.1),
            other_seconds: seconds(9.1),
            other_off_by_seconds: seconds(0.31),
            looks: 812,
            unwatched_programs: vec!["/home/me/server: a Go program; the Go runtime implements its own locks".into()],
        }),
        ..queue()
    };
    record.summed()
}

/// One thread with an uncontended lock; most other readings are not available.
pub(crate) fn quiet() -> LocksRecord {
    let record = LocksRecord {
        command: command("xz -T1"),
        ended: Outcome::Exited(3),
        revision: absent("not a git repository"),
        wall_seconds: seconds(0.81),
        cpu_seconds: seconds(0.8),
        processes: vec![LockedProcess {
            program: absent("the watcher could not read the path"),
            ..process(9, 1, 0.81)
        }],
        locks: vec![lock(1, LockKind::Mutex, 412), lock(2, LockKind::Semaphore, 1)],
        threads: vec![thread(0, 9, first(), 0.81, [0.0, 0.0, 0.0])],
        futexes: absent("/proc/PID/task cannot be read: permission denied"),
        ..queue()
    };
    record.summed()
}

/// A program that acquires no lock.
pub(crate) fn untaken() -> LocksRecord {
    LocksRecord { locks: vec![], order: LockOrder::Contended, ..quiet() }
}

/// A hundred locks of two processes without symbols, sorted by acquisitions. No single lock has most of the waiting.
pub(crate) fn many() -> LocksRecord {
    let one = |id: u32| {
        let spins = id % 7 == 3;
        let wait = 0.4 / f64::from(id);
        let kind = match id % 7 {
            3 => LockKind::Spinlock,
            5 => LockKind::Rwlock,
            _ => LockKind::Mutex,
        };
        let many = 10_000 / u64::from(id);
        let one = waited(lock(id, kind, 9_000_000 / u64::from(id)), many, [wait, 0.000_021, 0.000_4, 0.01]);
        LockUse {
            process: (id % 2) as usize,
            contended: many,
            given_up: u64::from(id.is_multiple_of(5)),
            threads: 4,
            destroyed: id.is_multiple_of(3),
            sites: (0..u64::from(id % 9))
                .map(|n| site(bare("/usr/lib/libduckdb.so.1", 0x8_1000 + 16 * n), 1_000, 20 * n, wait / 9.0))
                .collect(),
            gain_seconds: if spins { absent("the CPU time of the process is not known") } else { Ok(seconds(0.001)) },
            ..if spins { one } else { held(one, [0.6, 0.000_004, 0.001], [many, 9]) }
        }
    };
    let start = |n: u64| Ok(bare("/usr/lib/libduckdb.so.1", 0x4_0000 + n));
    let mut parent = process(100, 30_000, 61.2);
    (parent.folded_locks, parent.folded_acquisitions, parent.folded_contended) = (983_616, 2_951_004, 12);
    parent.folded_wait_seconds = seconds(0.002_1);
    let record = LocksRecord {
        command: command("duckdb -c '.read q.sql'"),
        order: LockOrder::Acquisitions,
        wall_seconds: seconds(61.3),
        cpu_seconds: seconds(118.2),
        processes: vec![parent, LockedProcess { forked: true, ended_itself: false, ..process(131, 2, 60.0) }],
        unwatched_processes: 3,
        locks: (1..=100).map(one).collect(),
        threads: (0..40).map(|n| thread(n % 2, 200 + n as u32, start(n as u64), 3.0, [0.052, 0.3, 0.0])).collect(),
        futexes: Ok(FutexWaits {
            wait_seconds: seconds(31.0),
            other_seconds: seconds(12.4),
            other_off_by_seconds: seconds(1.9),
            looks: 20_114,
            unwatched_programs: vec![
                "/usr/bin/busybox: a statically linked program; no library can be loaded into it".into(),
                "/opt/x/tool: locks inside the C library, or futexes that the program uses directly".into(),
            ],
        }),
        ..queue()
    };
    record.summed()
}

/// The queue, with names that contain control characters and markup.
pub(crate) fn hostile() -> LocksRecord {
    let mut report = queue();
    let wild =
        || CodePlace { module: Ok(HOSTILE.into()), offset: 1, function: Ok(HOSTILE.into()), line: Ok(HOSTILE.into()) };
    report.command = AttendedCommand { name: HOSTILE.to_owned(), argv: vec![HOSTILE.to_owned()], ..report.command };
    report.host.hostname = Ok(HOSTILE.to_owned());
    report.revision = absent(HOSTILE);
    report.processes[0].program = Ok(HOSTILE.to_owned());
    report.threads[0].start = Ok(wild());
    report.threads[0].waits_at = Ok(wild());
    for lock in &mut report.locks {
        lock.sites
            .iter_mut()
            .for_each(|one| *one = site(wild(), one.acquisitions, one.contended, one.wait_seconds.seconds()));
        lock.made_at = Ok(wild());
        lock.gain_seconds = absent(HOSTILE);
    }
    (report.locks[0].sites[0].function, report.locks[0].sites[0].line) = (absent(HOSTILE), absent(HOSTILE));
    report.locks[0].waiting = vec![0];
    report.locks[0].held_by = absent(HOSTILE);
    report.futexes.as_mut().unwrap().unwatched_programs.push(HOSTILE.to_owned());
    report
}

pub(crate) fn all() -> [(&'static str, LocksRecord); 7] {
    [
        ("locks-queue", queue()),
        ("locks-deadlocked", deadlocked()),
        ("locks-none", none()),
        ("locks-quiet", quiet()),
        ("locks-untaken", untaken()),
        ("locks-many", many()),
        ("locks-hostile", hostile()),
    ]
}
