//! Locks of commands as they might have been watched.

use steady_model::*;

use crate::made::{HOSTILE, absent, builder, seconds};

fn command(name: &str) -> Command {
    let argv = name.split(' ').map(str::to_owned).collect();
    Command { name: name.to_owned(), argv, program: "/usr/bin/x".into(), ..Command::default() }
}

/// A place with all that can be told of it.
fn place(function: &str, line: &str, offset: u64) -> CodePlace {
    let module = Ok("/home/me/queue/build/queue".into());
    CodePlace { module, offset, function: Ok(function.to_owned()), line: Ok(format!("/home/me/queue/src/{line}")) }
}

/// A place of which symbols and lines are missing.
fn bare(module: &str, offset: u64) -> CodePlace {
    CodePlace {
        module: Ok(module.to_owned()),
        offset,
        function: absent("the file has no symbols"),
        line: absent("the file has no debug information"),
    }
}

fn site(place: CodePlace, acquisitions: u64, contended: u64, wait: f64) -> LockSite {
    LockSite { place, acquisitions, contended, wait: seconds(wait) }
}

fn process(pid: u32, threads: u32, life: f64) -> LockedProcess {
    LockedProcess {
        pid,
        program: Ok("/home/me/queue/build/queue".into()),
        forked: false,
        life: seconds(life),
        ended_itself: true,
        threads,
        folded: FoldedLocks::default(),
    }
}

/// A lock that was taken so often and never waited for.
fn lock(id: u32, kind: LockKind, acquisitions: u64) -> LockUse {
    LockUse {
        id,
        kind,
        process: 0,
        address: 0x55d0_1234_5000 + 64 * u64::from(id),
        destroyed: false,
        acquisitions,
        contended: 0,
        given_up: 0,
        waits: absent("it was never waited for"),
        holds: if kind.is_held() { absent("no hold was timed") } else { absent("it is not held") },
        threads: 1,
        sites: vec![],
        made_at: absent("it was not seen to be initialised"),
        waiting: vec![],
        held_by: absent("nobody waited for it at the end"),
        gain: Ok(Nanos::ZERO),
    }
}

fn times(count: u64, total: f64, median: f64, p99: f64, most: f64) -> LockTimes {
    LockTimes { count, total: seconds(total), median: seconds(median), p99: seconds(p99), most: seconds(most) }
}

fn holds(total: f64, mean: f64, most: f64, contended: u64, sampled: u64) -> LockHolds {
    LockHolds {
        total: seconds(total),
        mean: seconds(mean),
        median: seconds(mean * 0.9),
        p99: seconds(mean * 3.0),
        most: seconds(most),
        timed_contended: contended,
        timed_sampled: sampled,
    }
}

fn thread(
    process: usize,
    tid: u32,
    start: Reading<CodePlace>,
    life: f64,
    [wait, events, joins]: [f64; 3],
) -> LockThread {
    let (life, wait) = (seconds(life), seconds(wait));
    let waits_at = absent("it waited for nothing at the end");
    LockThread { process, tid, start, waits_at, life, wait, wait_events: seconds(events), wait_joins: seconds(joins) }
}

fn first() -> Reading<CodePlace> {
    absent("it is the first of its process")
}

/// A queue of one mutex between eight workers, whose first thread waits for their ends.
pub(crate) fn queue() -> LocksReport {
    let worker = || Ok(place("worker", "main.c:31", 0x1340));
    let mut threads: Vec<LockThread> =
        (0..8).map(|n| thread(0, 4_243 + n, worker(), 2.38, [1.71 - 0.02 * f64::from(n), 0.12, 0.0])).collect();
    threads.push(thread(0, 4_242, first(), 2.413_2, [0.0, 0.0, 2.36]));
    let mutex = LockUse {
        contended: 311_204,
        waits: Ok(times(311_204, 12.98, 0.000_012_3, 0.001_2, 0.009_23)),
        holds: Ok(holds(2.06, 0.000_001_71, 0.000_812, 311_204, 872)),
        threads: 8,
        sites: vec![
            site(place("push", "queue.c:88", 0x1422), 602_112, 240_331, 10.07),
            site(place("pop", "queue.c:120", 0x14fe), 598_000, 70_873, 2.91),
        ],
        made_at: Ok(place("queue_new", "queue.c:40", 0x1390)),
        gain: Ok(seconds(0.904)),
        ..lock(1, LockKind::Mutex, 1_204_331)
    };
    let condition = LockUse {
        contended: 1_204,
        waits: Ok(times(1_204, 0.96, 0.000_71, 0.002_4, 0.004_1)),
        threads: 8,
        sites: vec![site(place("pop", "queue.c:124", 0x1511), 1_204, 1_204, 0.96)],
        gain: absent("waiting for a condition is waiting for something to happen"),
        ..lock(2, LockKind::Condition, 1_204)
    };
    let log = LockUse {
        contended: 2,
        waits: Ok(times(2, 0.000_034, 0.000_016, 0.000_018, 0.000_018)),
        holds: Ok(holds(0.000_2, 0.000_003_1, 0.000_02, 2, 0)),
        threads: 9,
        sites: vec![site(place("log_line", "log.c:12", 0x1700), 2, 2, 0.000_034)],
        gain: Ok(Nanos(20_000)),
        ..lock(3, LockKind::Spinlock, 64)
    };
    LocksReport {
        command: command("./queue --workers=8 'in put.txt'"),
        started: Timestamp(1_795_171_242),
        host: builder(),
        revision: Ok("0123456789ab".into()),
        ended: Outcome::Exited(0),
        wall: seconds(2.414),
        cpu: seconds(4.31),
        sampled_one_in: 1_024,
        order: LockOrder::Wait,
        processes: vec![process(4_242, 9, 2.413_2)],
        unwatched: 0,
        locks: vec![mutex, condition, log],
        threads,
        futexes: Ok(FutexWaits {
            total: seconds(16.4),
            other: seconds(0.11),
            off_by: seconds(0.24),
            looks: 1_210,
            unwatched: vec![],
        }),
        left_behind: 0,
    }
}

/// Two threads that wait for one another, until somebody killed them; a third waits for one of them.
pub(crate) fn deadlocked() -> LocksReport {
    let mut report = queue();
    let taken = |id, line: &str, waiting: Vec<usize>, holder| LockUse {
        contended: 3,
        waits: Ok(times(3 + waiting.len() as u64, 9.98 * waiting.len() as f64, 0.000_02, 9.9, 9.98)),
        holds: Ok(holds(0.000_1, 0.000_005, 0.000_02, 3, 0)),
        threads: 3,
        sites: vec![site(place("transfer", line, 0x1422), 112, 3, 9.98 * waiting.len() as f64)],
        waiting,
        held_by: Ok(holder),
        gain: absent("the command did not end by itself"),
        ..lock(id, LockKind::Mutex, 112)
    };
    report.command = command("./bank");
    (report.wall, report.cpu, report.ended) = (seconds(10.002), seconds(0.011), Outcome::Signalled(9));
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
    report.locks = vec![taken(1, "bank.c:17", vec![0, 2], 1), taken(2, "bank.c:18", vec![1], 0)];
    report.futexes = Ok(FutexWaits {
        total: seconds(40.0),
        other: Nanos::ZERO,
        off_by: seconds(0.02),
        looks: 904,
        unwatched: vec![],
    });
    report.left_behind = 1;
    report
}

/// A program in which nothing can be watched.
pub(crate) fn none() -> LocksReport {
    LocksReport {
        command: command("./server"),
        processes: vec![],
        locks: vec![],
        threads: vec![],
        futexes: Ok(FutexWaits {
            total: seconds(9.1),
            other: seconds(9.1),
            off_by: seconds(0.31),
            looks: 812,
            unwatched: vec!["/home/me/server (Go: it parks its threads in futexes of its own)".into()],
        }),
        ..queue()
    }
}

/// One thread that takes a lock now and then, which nobody else wants; nothing else can be read.
pub(crate) fn quiet() -> LocksReport {
    LocksReport {
        command: command("xz -T1"),
        ended: Outcome::Exited(3),
        revision: absent("not a git repository"),
        wall: seconds(0.81),
        cpu: seconds(0.8),
        processes: vec![LockedProcess { program: absent("it had ended"), ..process(9, 1, 0.81) }],
        locks: vec![lock(1, LockKind::Mutex, 412), lock(2, LockKind::Semaphore, 1)],
        threads: vec![thread(0, 9, first(), 0.81, [0.0, 0.0, 0.0])],
        futexes: absent("/proc/PID/task cannot be read: permission denied"),
        ..queue()
    }
}

/// Nothing but a program that takes no lock at all.
pub(crate) fn untaken() -> LocksReport {
    LocksReport { locks: vec![], order: LockOrder::Contended, ..quiet() }
}

/// A hundred locks of two processes without symbols, by acquisitions; most of the waiting is that of none of them alone.
pub(crate) fn many() -> LocksReport {
    let one = |id: u32| {
        let spins = id % 7 == 3;
        let waited = 0.4 / f64::from(id);
        LockUse {
            process: (id % 2) as usize,
            contended: 10_000 / u64::from(id),
            given_up: u64::from(id.is_multiple_of(5)),
            waits: Ok(times(10_000 / u64::from(id), waited, 0.000_021, 0.000_4, 0.01)),
            holds: if spins {
                absent("no hold was timed")
            } else {
                Ok(holds(0.6, 0.000_004, 0.001, 10_000 / u64::from(id), 9))
            },
            threads: 4,
            destroyed: id.is_multiple_of(3),
            sites: (0..u64::from(id % 9))
                .map(|n| site(bare("/usr/lib/libduckdb.so.1", 0x8_1000 + 16 * n), 1_000, 20 * n, waited / 9.0))
                .collect(),
            gain: if spins {
                absent("a spinlock's waiting uses the CPUs that others might need")
            } else {
                Ok(seconds(0.001))
            },
            ..lock(
                id,
                if spins {
                    LockKind::Spinlock
                } else if id % 7 == 5 {
                    LockKind::Rwlock
                } else {
                    LockKind::Mutex
                },
                9_000_000 / u64::from(id),
            )
        }
    };
    let start = |n: u64| Ok(bare("/usr/lib/libduckdb.so.1", 0x4_0000 + n));
    let mut parent = process(100, 30_000, 61.2);
    parent.folded = FoldedLocks { locks: 983_616, acquisitions: 2_951_004, contended: 12, wait: seconds(0.002_1) };
    LocksReport {
        command: command("duckdb -c '.read q.sql'"),
        order: LockOrder::Acquisitions,
        wall: seconds(61.3),
        cpu: seconds(118.2),
        processes: vec![parent, LockedProcess { forked: true, ended_itself: false, ..process(131, 2, 60.0) }],
        unwatched: 3,
        locks: (1..=100).map(one).collect(),
        threads: (0..40).map(|n| thread(n % 2, 200 + n as u32, start(n as u64), 3.0, [0.052, 0.3, 0.0])).collect(),
        futexes: Ok(FutexWaits {
            total: seconds(31.0),
            other: seconds(12.4),
            off_by: seconds(1.9),
            looks: 20_114,
            unwatched: vec![
                "/usr/bin/busybox (static)".into(),
                "/opt/x/tool (uses no pthread functions of the C library)".into(),
            ],
        }),
        ..queue()
    }
}

/// The queue under names that would end whatever they stand in.
pub(crate) fn hostile() -> LocksReport {
    let mut report = queue();
    let wild =
        || CodePlace { module: Ok(HOSTILE.into()), offset: 1, function: Ok(HOSTILE.into()), line: Ok(HOSTILE.into()) };
    report.command = Command { name: HOSTILE.to_owned(), argv: vec![HOSTILE.to_owned()], ..report.command };
    report.host.hostname = Ok(HOSTILE.to_owned());
    report.revision = absent(HOSTILE);
    report.processes[0].program = Ok(HOSTILE.to_owned());
    report.threads[0].start = Ok(wild());
    report.threads[0].waits_at = Ok(wild());
    for lock in &mut report.locks {
        lock.sites.iter_mut().for_each(|site| site.place = wild());
        lock.made_at = Ok(wild());
        lock.gain = absent(HOSTILE);
    }
    report.locks[0].sites[0].place = CodePlace { function: absent(HOSTILE), line: absent(HOSTILE), ..wild() };
    report.locks[0].waiting = vec![0];
    report.locks[0].held_by = absent(HOSTILE);
    report.futexes.as_mut().unwrap().unwatched.push(HOSTILE.to_owned());
    report
}

pub(crate) fn all() -> [(&'static str, LocksReport); 7] {
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
