//! The log of a load experiment: what it keeps when the measuring is killed at any point.

use proptest::prelude::*;
use steady_load::log;
use steady_model::*;

fn absent<T>() -> Reading<T> {
    Err(Absent::because("it was not read"))
}

/// A row of so many processes, measured as number `order`.
fn row(procs: u32, order: u64) -> LoadRow {
    let run = |index: u32| LoadRun {
        user: Nanos(49_000_001 + u64::from(index)),
        system: Nanos(1_000_003),
        wall: Nanos(50_500_007),
        run_delay: absent(),
        work: 400_000,
        overshoot: Ok(Nanos(4_567)),
        outcome: Outcome::Exited(0),
    };
    LoadRow {
        procs,
        started: Nanos(60_000_011 * order),
        elapsed: Nanos(51_000_001),
        runs: (0..procs).map(run).collect(),
        cpus: vec![CpuUse { cpu: 0, busy_ratio: Ok(0.1 + 0.2), ours_ratio: absent() }],
        others_cpu: Ok(Nanos(1_234_567)),
        own_cpu: absent(),
        activity: Activity {
            busy_ratio: Ok(1.0 / 3.0),
            steal_ratio: absent(),
            pressure: absent(),
            throttled_ratio: absent(),
        },
        rulers: vec![],
    }
}

/// An experiment of rows of 1 to 4 processes, measured in another order.
fn record() -> LoadRecord {
    LoadRecord {
        plan: LoadPlan {
            work: LoadWork::Hash { cpu_time: Nanos(50_000_000), poll: None },
            procs: vec![1, 2, 3, 4],
            cpus: None,
            seed: Seed(7),
        },
        started: Timestamp(1_795_171_242),
        host: Host {
            hostname: Ok("build-7".into()),
            kernel: absent(),
            cpu_model: absent(),
            cpus_allowed: 2,
            cpus_online: 2,
            cpu_quota: Ok(None),
            memory: absent(),
            hypervisor: Ok(None),
        },
        machine: Machine {
            online: vec![0, 1],
            offline: Ok(vec![]),
            allowed: vec![0, 1],
            cores: Ok(vec![vec![0], vec![1]]),
            packages: Ok(1),
            kinds: vec![],
            quota: Ok(None),
        },
        revision: absent(),
        poll_cost: absent(),
        rows: [3, 1, 4, 2].into_iter().zip(0..).map(|(procs, order)| row(procs, order)).collect(),
        elapsed: Nanos(240_000_000),
        ending: Ending::Spent,
        failure: None,
    }
}

/// The log of an experiment, its end included.
fn text(record: &LoadRecord) -> String {
    let begun = log::begun(&LoadRecord { rows: vec![], ..record.clone() });
    let lines = std::iter::once(begun).chain(record.rows.iter().map(log::row)).chain([log::ended(record)]);
    lines.map(|line| line + "\n").collect()
}

#[test]
fn a_log_with_its_end_is_the_record() {
    assert_eq!(log::read(&text(&record())), Some(record()));
    let failed = LoadRecord { failure: Some("no more processes".into()), ending: Ending::Interrupted, ..record() };
    assert_eq!(log::read(&text(&failed)), Some(failed));
}

#[test]
fn a_log_cut_anywhere_keeps_all_rows_that_were_whole() {
    let text = text(&record());
    let lines: Vec<&str> = text.lines().collect();
    for whole in 0..lines.len() {
        let torn = format!("{}\n{}", lines[..whole].join("\n"), &lines[whole][..lines[whole].len() / 2]);
        let rows = whole.saturating_sub(1);
        let found = log::read(&torn);
        assert_eq!(found.is_some(), rows > 0, "{whole} lines");
        let Some(found) = found else { continue };
        assert_eq!(found.rows[..], record().rows[..rows]);
        // Without its end, but with all of its rows, it lacks nothing.
        let ending = if rows == 4 { Ending::Spent } else { Ending::Interrupted };
        let last = &found.rows[rows - 1];
        assert_eq!((found.ending, found.elapsed), (ending, last.started + last.elapsed));
    }
}

#[test]
fn what_belongs_to_another_kind_ends_the_log() {
    let text = text(&record());
    let look = "{\"look\":{\"blocks\":1,\"fraction\":0.5,\"last\":false}}\n";
    assert_eq!(log::read(&format!("{text}{look}")), Some(record()));
    assert!(!log::is_line(look));
    assert!(log::read(&text.lines().skip(1).collect::<Vec<_>>().join("\n")).is_none());
}

proptest! {
    #[test]
    fn garbled_logs_never_panic(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text(&record()).into_bytes();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        let _ = log::read(&String::from_utf8_lossy(&bytes));
    }
}
