//! Stores as an agent would have kept them, of requests that are made up: their costs are known.

use std::fs;
use std::path::{Path, PathBuf};

use steady_agent::store::{Batch, Keep, Writer};
use steady_model::{Assignment, HostSecond, ReleaseRow, ReleaseRows, RequestSums, WALL_SECONDS, WallRow, wall_bucket};
use steady_stats::release::{Fold, RequestCost};

use crate::steady::scratch;

/// The first second of all stores: 2026-11-21T09:05:00Z.
pub(crate) const BEGUN: u64 = 1_795_251_900;
/// How many seconds there are.
pub(crate) const LONG: u64 = 60;

const PLENTY: Keep = Keep { seconds: 1 << 40, bytes: 1 << 40 };
/// Requests of a process in a second.
const EACH: u64 = 40;
const PROCESSES: u64 = 2;

/// What a made-up service does.
pub(crate) struct Service {
    pub(crate) name: &'static str,
    /// The versions that it has; a coin chooses among them.
    pub(crate) versions: &'static [&'static str],
    /// What requests of the last version cost beside those of the first.
    pub(crate) factor: f64,
}

/// A store with these services, in a file of its own.
pub(crate) fn store(name: &str, services: &[Service]) -> PathBuf {
    store_from(BEGUN, name, services)
}

/// The same with its rows from this second on.
pub(crate) fn store_from(begun: u64, name: &str, services: &[Service]) -> PathBuf {
    let path = scratch(&format!("{name}.db"));
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let mut writer = Writer::open(Path::new(&path), PLENTY).unwrap();
    let mut made: Vec<Made> = services.iter().map(|service| Made::new(service, begun)).collect();
    for second in begun..begun + LONG {
        let busy =
            HostSecond { second, host: 0, cpus: 2, busy: Some(0.4), steal: None, pressure: Some(0.1), running: None };
        let services = made.iter_mut().map(|one| one.second(second)).collect();
        let batch = Batch { second, host: "here".to_owned(), services, rulers: vec![], seconds: vec![busy] };
        writer.write(&batch).unwrap();
    }
    path
}

/// A service while it is made up.
struct Made<'a> {
    service: &'a Service,
    fold: Fold,
    served: u64,
    state: u64,
    dearer_from: u64,
}

impl<'a> Made<'a> {
    fn new(service: &'a Service, begun: u64) -> Self {
        Made { service, fold: Fold::new(), served: 0, state: 7, dearer_from: begun + LONG / 2 }
    }

    /// A share from 0 to 1 (the generator of Knuth's MMIX).
    fn share(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    fn second(&mut self, second: u64) -> ReleaseRows {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let (versions, routes) = (self.service.versions.len() as u32, 2);
        let row = |process, version, route| ReleaseRow {
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
            sums: RequestSums::default(),
        };
        let mut rows = Vec::new();
        let mut walls = Vec::new();
        for process in 1..=PROCESSES {
            let mut of: Vec<ReleaseRow> =
                (0..versions).flat_map(|version| (0..routes).map(move |route| row(process, version, route))).collect();
            for _ in 0..EACH {
                let version = ((self.share() * f64::from(versions)) as u32).min(versions - 1);
                let route = u32::from(self.share() < 0.3);
                let told = self.told(second, process, version, route);
                self.fold.add(&told, &mut of[(version * routes + route) as usize].sums);
                let (second, counts) = (second / WALL_SECONDS * WALL_SECONDS, vec![(wall_bucket(told.wall), 1)]);
                walls.push(WallRow { second, host: 0, version, route, counts });
            }
            rows.append(&mut of);
            self.served += EACH;
        }
        ReleaseRows {
            service: self.service.name.to_owned(),
            hosts: texts(&["here"]),
            versions: texts(self.service.versions),
            routes: texts(&["/item/<id>", "/search"]),
            requests: rows,
            walls,
            ..ReleaseRows::default()
        }
    }

    /// A request; the load rises in the second half of the time.
    fn told(&mut self, second: u64, process: u64, version: u32, route: u32) -> RequestCost {
        let noise = ((self.share() + self.share() + self.share()) / 1.5 - 1.0) * 0.2;
        let load = if second >= self.dearer_from { 1.4 } else { 1.0 };
        let last = self.service.versions.len() as u32 - 1;
        let own = if version == last { self.service.factor } else { 1.0 };
        let cpu = 2e6 * load * own * (1.0 + f64::from(route)) * noise.exp();
        let number = 1_000 + self.served;
        RequestCost {
            route,
            class: 0,
            version,
            process,
            number,
            failed: false,
            cpu: cpu as u64,
            wall: (3.0 * cpu) as u64,
            delay: None,
            ruler: None,
        }
    }
}
