//! The window as a time series, for charts.

use std::collections::{BTreeMap, HashMap};

use crate::record::{ReleaseCourse, ReleaseMoment};
use steady_model::{HostSecond, ReleaseRows, ReleaseRulerRow};

use super::effect::nanos;
use super::groups::Groups;
use super::window::{Line, longest};

/// Number of time steps that a chart should have at most, unless [`LENGTHS`] has no suitable length.
const STRETCHES: u64 = 150;
/// Round lengths of a time step, in seconds.
const LENGTHS: [u64; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 14_400];

/// Sums of one time step. CPU times are in nanoseconds.
#[derive(Clone, Copy, Default)]
struct StepSums {
    requests: [f64; 2],
    cpu: [f64; 2],
    /// CPU time divided by the load, and requests, where the load is known.
    adjusted: [(f64, f64); 2],
    /// Utilisation times CPUs, and CPUs.
    busy: (f64, f64),
    /// Sum of the logarithms of readings minus their mean, and the number of readings.
    ruler: (f64, f64),
}

/// Returns the length of a time step in seconds. It is a multiple of the longest row, and at least two slots.
pub(crate) fn step(lines: &[Line]) -> u64 {
    let seconds = || lines.iter().map(|line| line.row.second);
    let (Some(first), Some(last)) = (seconds().min(), seconds().max()) else { return 1 };
    let slot = lines.iter().map(|line| u64::from(line.row.slot_seconds)).max().unwrap_or(0);
    let wanted = ((last - first) / STRETCHES + 1).max(2 * slot);
    let row = longest(lines);
    let fits = |length: &u64| *length >= wanted && length.is_multiple_of(row);
    LENGTHS.into_iter().find(fits).unwrap_or_else(|| wanted.next_multiple_of(row))
}

/// Returns the factor by which load and mix changed the cost of each line relative to the window's mean.
///
/// The factor is the mean of the line's time step, host and route without the effect of the version, divided by that of
/// the window. It is not known if only one version served there: it would contain all differences in time, so the
/// adjusted cost of each version would be a constant.
pub(crate) fn loads_within(lines: &[Line], step: u64, effect: f64, groups: &Groups) -> Vec<Option<f64>> {
    let place = |line: &Line| (groups.of(line.stratum()), line.row.host, line.row.second / step);
    let mut costs: HashMap<_, (f64, [f64; 2])> = HashMap::new();
    let mut all = (0.0, 0.0);
    for line in lines {
        let (cpu, requests) = (line.row.sums.cpu * (-effect * line.side as f64).exp(), line.requests());
        let own = costs.entry(place(line)).or_default();
        own.0 += cpu;
        own.1[line.side] += requests;
        all = (all.0 + cpu, all.1 + requests);
    }
    let load = |line: &Line| {
        let (cpu, [old, new]) = costs[&place(line)];
        (old > 0.0 && new > 0.0).then(|| cpu / (old + new) / (all.0 / all.1))
    };
    lines.iter().map(load).collect()
}

/// Returns the time series of the window in steps of `step` seconds. `loads` are the factors of [`loads_within`].
pub(crate) fn course(lines: &[Line], rows: &ReleaseRows, step: u64, loads: &[Option<f64>]) -> ReleaseCourse {
    let mut stretches: BTreeMap<u64, StepSums> = BTreeMap::new();
    for (line, load) in lines.iter().zip(loads) {
        let sums = stretches.entry(line.row.second / step).or_default();
        sums.requests[line.side] += line.requests();
        sums.cpu[line.side] += line.row.sums.cpu;
        if let Some(load) = load {
            let adjusted = &mut sums.adjusted[line.side];
            *adjusted = (adjusted.0 + line.row.sums.cpu / load, adjusted.1 + line.requests());
        }
    }
    let mut hosts: Vec<&HostSecond> = rows.seconds.iter().collect();
    hosts.sort_by_key(|host| (host.second, host.host, host.busy.map(f64::to_bits)));
    for host in hosts {
        if let (Some(sums), Some(busy)) = (stretches.get_mut(&(host.second / step)), host.busy) {
            sums.busy.0 += busy * f64::from(host.cpus.max(1));
            sums.busy.1 += f64::from(host.cpus.max(1));
        }
    }
    let rulers = ruler_readings(rows, |second| stretches.contains_key(&(second / step)));
    for &(second, deviation, readings) in &rulers {
        if let Some(sums) = stretches.get_mut(&(second / step)) {
            sums.ruler.0 += deviation;
            sums.ruler.1 += readings;
        }
    }
    let moments = stretches.into_iter().map(|(at, sums)| moment(at * step, &sums)).collect();
    ReleaseCourse { step_seconds: step, moments }
}

fn moment(second: u64, sums: &StepSums) -> ReleaseMoment {
    let mean = |(cpu, requests): (f64, f64)| (requests > 0.0).then(|| nanos(cpu / requests));
    let raw = [0, 1].map(|side| mean((sums.cpu[side], sums.requests[side])));
    let busy = (sums.busy.1 > 0.0).then(|| sums.busy.0 / sums.busy.1);
    let rulers = (sums.ruler.1 > 0.0).then(|| (sums.ruler.0 / sums.ruler.1).exp());
    let requests = sums.requests.map(|requests| requests as u64);
    ReleaseMoment::new(second, requests, raw, sums.adjusted.map(mean)).with_load(busy, rulers)
}

/// Returns the second, the sum of logarithms minus their mean, and the number of readings of each ruler row: of the
/// workers if there are any, otherwise of the agents. The mean is that of the ruler on the host over the seconds in the
/// time series, as `is_shown` selects them.
fn ruler_readings(rows: &ReleaseRows, is_shown: impl Fn(u64) -> bool) -> Vec<(u64, f64, f64)> {
    let inside = rows.rulers.iter().any(|row| row.process != 0);
    let mut chosen: Vec<&ReleaseRulerRow> = rows
        .rulers
        .iter()
        .filter(|row| (row.process != 0) == inside && row.sums.readings > 0 && is_shown(row.second))
        .collect();
    chosen.sort_by_key(|row| (row.second, row.host, row.process, row.ruler, row.sums.log.to_bits()));
    let mut means: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for row in &chosen {
        let mean = means.entry((row.host, row.ruler)).or_default();
        mean.0 += row.sums.log;
        mean.1 += row.sums.readings as f64;
    }
    let centred = |row: &&ReleaseRulerRow| {
        let (log, readings) = means[&(row.host, row.ruler)];
        let own = row.sums.readings as f64;
        (row.second, row.sums.log - own * log / readings, own)
    };
    chosen.iter().map(centred).collect()
}
