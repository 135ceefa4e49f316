//! Builds rows of a window, as the agent would store them if the requests had these labels.

use std::collections::BTreeMap;

use steady_model::{
    Assignment, HostSecond, ReleaseRow, ReleaseRows, ReleaseRulerRow, RequestRuler, RequestSums, RulerSums,
    WALL_SECONDS, WallRow, wall_bucket,
};
use steady_release::ReleaseQuestion;
use steady_stats::release::{Accumulator, FIRST_REQUESTS, RequestCost};

use super::recording::{AgentReading, Recorded};

/// Label of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    /// 0 for OLD, 1 for NEW.
    pub(crate) version: u32,
    /// How the version was chosen.
    pub(crate) assignment: Assignment,
    /// Length of the slot in seconds; 0 if there are no slots.
    pub(crate) slot_seconds: u32,
    /// Factor on the CPU time. With 0 the request is left out, and only its ruler counts.
    pub(crate) factor: f64,
    /// Index of the class; 0 for requests without a class.
    pub(crate) class: u32,
}

/// Converts nanoseconds to seconds, rounded down.
pub(crate) fn second(nanoseconds: u64) -> u64 {
    nanoseconds / 1_000_000_000
}

/// Returns the question that all tests use, about a window.
pub(crate) fn question(from: u64, to: u64) -> ReleaseQuestion {
    ReleaseQuestion {
        service: "shop".into(),
        old: "v1".into(),
        new: "v2".into(),
        asked: None,
        from,
        to,
        by_route: false,
        confidence: 0.95,
        resolution: 0.01,
        fail_if: None,
        require_verdict: false,
    }
}

/// Returns the utilisation of the only host in each second.
pub(crate) fn seconds(busy: &[Option<f64>], from: u64, to: u64) -> Vec<HostSecond> {
    let second = |second: u64| HostSecond {
        second,
        host: 0,
        cpus: 2,
        busy: busy.get(second as usize).copied().flatten(),
        steal: None,
        pressure: None,
        running: None,
    };
    (from..to).map(second).collect()
}

/// Returns the part of a recording that ended within these seconds.
pub(crate) fn within<T>(all: &[T], from: u64, to: u64, end: impl Fn(&T) -> u64) -> &[T] {
    let first = all.partition_point(|one| second(end(one)) < from);
    let last = all.partition_point(|one| second(end(one)) < to);
    &all[first..last]
}

/// Builds the rows of requests with the labels that `label` returns, and the rows of workers' and agents' rulers.
pub(crate) fn rows(
    requests: &[Recorded],
    agent: &[AgentReading],
    mut label: impl FnMut(&Recorded) -> Label,
) -> ReleaseRows {
    let mut folds: BTreeMap<u32, Accumulator> = BTreeMap::new();
    let mut rows: BTreeMap<(u64, u32, u64, u32, u32, u32), ReleaseRow> = BTreeMap::new();
    let mut rulers: BTreeMap<(u64, u32, u64, u32, RequestRuler), RulerSums> = BTreeMap::new();
    let mut walls: BTreeMap<(u64, u32, u32, u32), BTreeMap<u16, u32>> = BTreeMap::new();
    for request in requests {
        let label = label(request);
        let slot = u64::from(label.slot_seconds);
        let began = second(request.end - request.wall);
        let at = began.checked_div(slot).map_or(second(request.end), |number| number * slot);
        let key = (at, request.host, request.process, label.version, request.route, label.class);
        if request.number <= FIRST_REQUESTS {
            continue;
        }
        if let Some((ruler, nanoseconds)) = request.ruler {
            add(rulers.entry((at, request.host, request.process + 1, label.version, ruler)).or_default(), nanoseconds);
        }
        if label.factor == 0.0 {
            continue;
        }
        let row = rows.entry(key).or_insert_with(|| ReleaseRow {
            second: at,
            host: request.host,
            process: request.process + 1,
            version: label.version,
            route: request.route,
            class: label.class,
            assignment: label.assignment,
            span_seconds: label.slot_seconds.max(1),
            slot_seconds: label.slot_seconds,
            second_of_pair: at.checked_div(slot).is_some_and(|number| number % 2 == 1),
            sums: RequestSums::default(),
        });
        let cpu = (request.cpu as f64 * label.factor) as u64;
        let wall = request.wall + cpu - request.cpu.min(cpu);
        folds.entry(request.host).or_default().add(
            &RequestCost {
                route: request.route,
                class: label.class,
                version: label.version,
                process: request.process + 1,
                number: request.number,
                failed: false,
                cpu,
                wall,
                delay: None,
                ruler: request.ruler.map(|(ruler, nanoseconds)| (ruler, nanoseconds as u64)),
            },
            &mut row.sums,
        );
        let stretch = second(request.end) / WALL_SECONDS * WALL_SECONDS;
        *walls
            .entry((stretch, request.host, label.version, request.route))
            .or_default()
            .entry(wall_bucket(wall))
            .or_default() += 1;
    }
    let mut agent_sums: BTreeMap<(u64, u32, RequestRuler), RulerSums> = BTreeMap::new();
    for reading in agent {
        *agent_sums.entry((second(reading.at), reading.host, reading.ruler)).or_default() += reading.sums;
    }
    let of_agent = agent_sums.into_iter().map(|((second, host, ruler), sums)| (second, host, 0, None, ruler, sums));
    let of_workers = rulers
        .into_iter()
        .map(|((at, host, process, version, ruler), sums)| (at, host, process, Some(version), ruler, sums));
    ReleaseRows {
        service: "shop".into(),
        hosts: (0..16).map(|host| format!("host {host}")).collect(),
        versions: vec!["v1".into(), "v2".into()],
        routes: vec!["page".into(), "cache".into(), "mixed".into()],
        classes: vec![String::new(), "a".into()],
        processes: Vec::new(),
        requests: rows.into_values().collect(),
        rulers: of_workers
            .chain(of_agent)
            .map(|(second, host, process, version, ruler, sums)| ReleaseRulerRow {
                second,
                host,
                process,
                version,
                ruler,
                sums,
            })
            .collect(),
        seconds: Vec::<HostSecond>::new(),
        walls: walls
            .into_iter()
            .map(|((second, host, version, route), counts)| WallRow {
                second,
                host,
                version,
                route,
                counts: counts.into_iter().collect(),
            })
            .collect(),
        folded: 0,
        lost: 0,
    }
}

fn add(sums: &mut RulerSums, nanoseconds: f64) {
    let log = nanoseconds.ln();
    *sums += RulerSums { readings: 1, log, log_squared: log * log };
}
