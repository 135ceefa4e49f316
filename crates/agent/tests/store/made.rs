//! Rows that are made up.

use std::path::PathBuf;

use steady_agent::store::{Batch, Keep};
use steady_model::{
    Assignment, HostSecond, ReleaseRow, ReleaseRows, ReleaseRulerRow, RequestRuler, RequestSums, RulerSums, WallRow,
};

/// More than any test needs.
pub(crate) const PLENTY: Keep = Keep { seconds: 1 << 40, bytes: 1 << 40 };

/// A file of its own; none is there yet.
pub(crate) fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}.db", std::process::id()));
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        let _ = std::fs::remove_file(file);
    }
    path
}

pub(crate) fn sums(requests: u64) -> RequestSums {
    let cpu = 1_234_567.0 * requests as f64;
    RequestSums { requests, cpu, log: 14.0 * requests as f64, wall: 2.0 * cpu, wall_log: 0.1, ..RequestSums::default() }
}

pub(crate) fn row(second: u64, process: u64, version: u32, route: u32, requests: u64) -> ReleaseRow {
    ReleaseRow {
        second,
        host: 0,
        process,
        version,
        route,
        class: 0,
        assignment: Assignment::Random,
        span_seconds: 1,
        slot_seconds: 0,
        second_of_pair: false,
        sums: sums(requests),
    }
}

pub(crate) fn ruler(second: u64, process: u64, version: Option<u32>) -> ReleaseRulerRow {
    let sums = RulerSums { readings: 3, log: 33.0, log_squared: 363.5 };
    ReleaseRulerRow { second, host: 0, process, version, ruler: RequestRuler::Syscall, sums }
}

pub(crate) fn host_second(second: u64, busy: f64) -> HostSecond {
    HostSecond { second, host: 0, cpus: 2, busy: Some(busy), steal: None, pressure: Some(0.25), running: None }
}

/// A batch of one service with two versions and some routes.
pub(crate) fn batch(second: u64, requests: Vec<ReleaseRow>) -> Batch {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let walls = vec![WallRow { second: second / 10 * 10, host: 0, version: 0, route: 1, counts: vec![(3, 1), (7, 2)] }];
    let rows = ReleaseRows {
        service: "shop".to_owned(),
        hosts: texts(&["here"]),
        versions: texts(&["v1", "v2\t\"\n\u{0}\u{1f40c}"]),
        routes: texts(&["/", "/item/<id>", "'; DROP TABLE blocks; --"]),
        requests,
        rulers: vec![ruler(second, 7, Some(1))],
        walls,
        folded: 2,
        lost: 3,
        ..ReleaseRows::default()
    };
    Batch {
        second,
        host: "here".to_owned(),
        services: vec![rows],
        rulers: vec![ruler(second, 0, None)],
        seconds: vec![host_second(second, (second % 10) as f64 / 10.0)],
    }
}
