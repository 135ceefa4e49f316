//! Agent stores with generated requests, whose costs are known.

use std::fs;
use std::path::{Path, PathBuf};

use steady_agent::store::{Batch, Keep, Writer};
use steady_model::{Assignment, HostSecond, ReleaseRow, ReleaseRows, RequestSums, WALL_SECONDS, WallRow, wall_bucket};
use steady_stats::release::{Accumulator, RequestCost};

use crate::steady::scratch;

/// The first second of each store, in Unix time: 2026-11-21T09:05:00Z.
pub(crate) const FIRST_SECOND: u64 = 1_795_251_900;
/// The number of seconds in each store.
pub(crate) const SECONDS: u64 = 60;

const UNLIMITED: Keep = Keep { seconds: 1 << 40, bytes: 1 << 40 };
/// Requests per process and second.
const REQUESTS_PER_SECOND: u64 = 40;
const PROCESSES: u64 = 2;

/// The parameters of a generated service.
pub(crate) struct Service {
    pub(crate) name: &'static str,
    /// Each request runs one of these versions, chosen at random.
    pub(crate) versions: &'static [&'static str],
    /// The cost of a request of the last version, relative to one of the first.
    pub(crate) factor: f64,
}

/// Creates a store with these services, in a new file.
pub(crate) fn store(name: &str, services: &[Service]) -> PathBuf {
    store_from(FIRST_SECOND, 7, name, services)
}

/// Like [`store`], with the first row at the second `begun`, and another seed for the requests.
pub(crate) fn store_from(begun: u64, seed: u64, name: &str, services: &[Service]) -> PathBuf {
    let path = scratch(&format!("{name}.db"));
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let mut writer = Writer::open(Path::new(&path), UNLIMITED).unwrap();
    let mut generators: Vec<Generator> = services.iter().map(|service| Generator::new(service, begun, seed)).collect();
    for second in begun..begun + SECONDS {
        let busy =
            HostSecond { second, host: 0, cpus: 2, busy: Some(0.4), steal: None, pressure: Some(0.1), running: None };
        let services = generators.iter_mut().map(|generator| generator.second(second)).collect();
        let batch = Batch { second, host: "here".to_owned(), services, rulers: vec![], seconds: vec![busy] };
        writer.write(&batch).unwrap();
    }
    path
}

/// Generates the rows of a service.
struct Generator<'a> {
    service: &'a Service,
    fold: Accumulator,
    served: u64,
    state: u64,
    loaded_from: u64,
}

impl<'a> Generator<'a> {
    fn new(service: &'a Service, begun: u64, seed: u64) -> Self {
        Generator { service, fold: Accumulator::new(), served: 0, state: seed, loaded_from: begun + SECONDS / 2 }
    }

    /// Draws a number from 0 to 1 (the generator of Knuth's MMIX).
    fn uniform(&mut self) -> f64 {
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
            let mut row_of: Vec<ReleaseRow> =
                (0..versions).flat_map(|version| (0..routes).map(move |route| row(process, version, route))).collect();
            for _ in 0..REQUESTS_PER_SECOND {
                let version = ((self.uniform() * f64::from(versions)) as u32).min(versions - 1);
                let route = u32::from(self.uniform() < 0.3);
                let request = self.request(second, process, version, route);
                self.fold.add(&request, &mut row_of[(version * routes + route) as usize].sums);
                let (second, counts) = (second / WALL_SECONDS * WALL_SECONDS, vec![(wall_bucket(request.wall), 1)]);
                walls.push(WallRow { second, host: 0, version, route, counts });
            }
            rows.append(&mut row_of);
            self.served += REQUESTS_PER_SECOND;
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

    /// Generates a request. The load rises in the second half of the time.
    fn request(&mut self, second: u64, process: u64, version: u32, route: u32) -> RequestCost {
        let noise = ((self.uniform() + self.uniform() + self.uniform()) / 1.5 - 1.0) * 0.2;
        let load = if second >= self.loaded_from { 1.4 } else { 1.0 };
        let last = self.service.versions.len() as u32 - 1;
        let factor = if version == last { self.service.factor } else { 1.0 };
        let cpu = 2e6 * load * factor * (1.0 + f64::from(route)) * noise.exp();
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
