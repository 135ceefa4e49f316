//! Made-up rows for the tests of the store.

use std::path::PathBuf;

use steady_agent::store::{Batch, Keep};
use steady_model::{
    Assignment, HostSecond, LevelSums, ProcessRow, ReleaseRow, ReleaseRows, ReleaseRulerRow, RequestRuler, RequestSums,
    RulerSums, WallRow,
};

/// Limits that no test reaches.
pub(crate) const PLENTY: Keep = Keep { seconds: 1 << 40, bytes: 1 << 40 };

/// Returns the path of a store that does not exist yet.
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
    RequestSums {
        requests,
        cpu,
        log: 14.0 * requests as f64,
        wall: 2.0 * cpu,
        wall_log: 0.1,
        levels: levels(requests),
        ..RequestSums::default()
    }
}

/// Sums in levels that add up without rounding, as those of requests in whole nanoseconds do.
pub(crate) fn levels(requests: u64) -> LevelSums {
    let values = [7e5, 5e11, 3e5, 9e10, 2e11, -4e4, 2e9, -3e10, -1e9, 5e3, 4e7, 8e9, 6e8, -7e8];
    LevelSums::from_values(requests, requests, values.map(|value| value * requests as f64))
}

pub(crate) fn process(second: u64, process: u64, version: Option<u32>, slot_seconds: u32) -> ProcessRow {
    ProcessRow { second, slot_seconds, host: 0, process, version, cpu: 9e8, requests_cpu: 7e8 }
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
        classes: texts(&["", "hit", "miss\n"]),
        requests,
        rulers: vec![ruler(second, 7, Some(1))],
        processes: vec![process(second, 7, Some(1), 0), process(second, 8, None, 0)],
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
