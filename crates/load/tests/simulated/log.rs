//! The log of a load experiment, and what it contains after a kill at any point.

use proptest::prelude::*;
use steady_load::run::LoadContext;
use steady_load::{CpuUse, LoadPlan, LoadRecord, LoadRow, LoadRun, LoadWork, log};
use steady_model::*;
use steady_rulers::RulerReading;

fn absent<T>() -> Reading<T> {
    Err(Absent::because("it was not read"))
}

/// Returns a row of `procs` processes, at position `order` in the order of measurement.
fn row(procs: u32, order: usize) -> LoadRow {
    let run = |index: u32| LoadRun {
        user: Nanos(49_000_001 + u64::from(index)),
        system: Nanos(1_000_003),
        wall: Nanos(50_500_007),
        run_delay: absent(),
        work: 400_000,
        overshoot: Ok(Nanos(4_567)),
        outcome: Outcome::Exited(0),
        left_behind: 0,
    };
    let activity =
        Activity { busy_ratio: Ok(1.0 / 3.0), steal_ratio: absent(), pressure: absent(), throttled_ratio: absent() };
    let ruler = RulerReading {
        resource: Resource::L1,
        working_set: Some(Bytes(24_576)),
        seconds_per_unit: 1.7e-9,
        spread_ratio: 0.01,
        slowdown_ratio: 1.02,
        cost: Nanos(260_001),
    };
    LoadRow {
        order,
        runs: (0..procs).map(run).collect(),
        cpus: vec![CpuUse { cpu: 0, busy_ratio: Ok(0.1 + 0.2), ours_ratio: absent() }],
        others_cpu: Ok(Nanos(1_234_567)),
        own_cpu: absent(),
        rulers: vec![ruler],
        ..LoadRow::new(procs, Nanos(60_000_011 * order as u64), Nanos(51_000_001), activity)
    }
}

/// Returns an experiment with rows of 1 to 4 processes, measured in another order.
fn record() -> LoadRecord {
    let work = LoadWork::Hash { cpu_time: Nanos(50_000_000), poll: None };
    let host = Host {
        hostname: Ok("build-7".into()),
        kernel: absent(),
        cpu_model: absent(),
        cpus_allowed: 2,
        cpus_online: 2,
        cpu_quota: Ok(None),
        memory: Ok(Bytes(25_276_510_208)),
        hypervisor: Ok(None),
    };
    let machine = Machine {
        online: vec![0, 1],
        offline: Ok(vec![]),
        allowed: vec![0, 1],
        cores: Ok(vec![vec![0], vec![1]]),
        packages: Ok(1),
        kinds: vec![],
        quota: Ok(None),
    };
    let context = LoadContext { host, machine, started: Timestamp(1_795_171_242), revision: absent() };
    let plan = LoadPlan { work, procs: vec![1, 2, 3, 4], cpus: None };
    let rows = [(1, 1), (2, 3), (3, 0), (4, 2)].map(|(procs, order)| row(procs, order));
    let begun = LoadRecord::begun(plan, Seed(7), context, absent());
    LoadRecord { rows: rows.to_vec(), elapsed: Nanos(240_000_000), ending: Ending::Spent, ..begun }
}

/// Returns the rows in the order of measurement.
fn by_order(record: &LoadRecord) -> Vec<LoadRow> {
    let mut rows = record.rows.clone();
    rows.sort_by_key(|row| row.order);
    rows
}

/// Returns the log of an experiment, with its last line.
fn text(record: &LoadRecord) -> String {
    let rows = by_order(record);
    let lines = std::iter::once(log::begun(record)).chain(rows.iter().map(log::row)).chain([log::ended(record)]);
    lines.map(|line| line + "\n").collect()
}

#[test]
fn a_complete_log_gives_the_record() {
    assert_eq!(log::read(&text(&record())), Some(record()));
    let failed = LoadRecord { failure: Some("no more processes".into()), ending: Ending::Interrupted, ..record() };
    assert_eq!(log::read(&text(&failed)), Some(failed));
}

#[test]
fn a_truncated_log_gives_the_complete_rows() {
    let text = text(&record());
    let lines: Vec<&str> = text.lines().collect();
    for whole in 0..lines.len() {
        let torn = format!("{}\n{}", lines[..whole].join("\n"), &lines[whole][..lines[whole].len() / 2]);
        let rows = whole.saturating_sub(1);
        let found = log::read(&torn);
        assert_eq!(found.is_some(), rows > 0, "{whole} lines");
        let Some(found) = found else { continue };
        assert_eq!(by_order(&found)[..], by_order(&record())[..rows]);
        // A log with all rows but without its last line is complete.
        let ending = if rows == 4 { Ending::Spent } else { Ending::Interrupted };
        let last = &by_order(&found)[rows - 1];
        assert_eq!((found.ending, found.elapsed), (ending, last.started + last.elapsed));
    }
}

/// In the first version, names of fields had no units.
#[test]
fn logs_of_the_first_version_are_read() {
    let text = include_str!("../../../../testdata/history/load-1.log");
    assert!(text.lines().all(log::is_line));
    assert_eq!(log::read(text), Some(record()));
}

#[test]
fn a_line_of_another_kind_ends_the_log() {
    let text = text(&record());
    let look = "{\"look\":{\"blocks\":1,\"fraction\":0.5,\"last\":false}}\n";
    assert_eq!(log::read(&format!("{text}{look}")), Some(record()));
    assert!(!log::is_line(look));
    assert!(log::read(&text.lines().skip(1).collect::<Vec<_>>().join("\n")).is_none());
}

proptest! {
    #[test]
    fn garbled_logs_cause_no_panic(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text(&record()).into_bytes();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        let _ = log::read(&String::from_utf8_lossy(&bytes));
    }
}
