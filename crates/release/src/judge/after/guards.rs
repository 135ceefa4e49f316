//! Conditions under which the comparison is refused, and the advice for another design.

use std::collections::{HashMap, HashSet};

use crate::record::{Refusal, ReleaseDesign, ReleaseQuestion, Settling};
use steady_model::ReleaseRows;
use steady_stats::release::TimedCost;

use super::load::Load;
use super::{CLUSTER, Course};
use crate::judge::window::Line;

/// Largest difference of the CPU utilisation, in standard deviations. These four limits are measured; see
/// docs/releases.md.
const MOST_DEVIATIONS: f64 = 1.0;
/// Fewest rows of each version, in seconds of a process.
const LEAST_ROWS: u64 = 60;
/// Fewest stretches of [`CLUSTER`] seconds of each version.
const LEAST_CLUSTERS: u64 = 6;
/// Fewest readings of rulers per second.
pub(super) const LEAST_READINGS: f64 = 20.0;
/// Requests that a coin for each request needs in total, as a multiple of the relative variance of costs divided by the
/// squared effect.
const REQUESTS_NEEDED: f64 = 42.0;

impl Course<'_> {
    /// Returns refusals if rows, stretches or readings are too few on the side that has fewer.
    pub(super) fn too_little(&self, question: &ReleaseQuestion, load: &Load) -> Vec<Refusal> {
        // Rows are counted as seconds of a process, so a row of several seconds counts several times.
        let mut rows: [HashMap<(u32, u64, u64), u64>; 2] = Default::default();
        let mut clusters: [HashSet<u64>; 2] = Default::default();
        for line in self.lines {
            let place = (line.row.host, line.row.process, line.row.second);
            rows[line.side].insert(place, line.end() - line.row.second);
            clusters[line.side].insert(line.row.second / CLUSTER);
        }
        let (of_rows, rows) = fewer(question, rows.map(|rows| rows.into_values().sum()));
        let mut refused = Vec::new();
        if rows < LEAST_ROWS {
            refused.push(Refusal::TooFewRows { version: of_rows, rows, needed: LEAST_ROWS });
        }
        refused.extend(too_few_clusters(question, clusters));
        if load.per_second < LEAST_READINGS || load.kinds.is_empty() {
            refused.push(Refusal::TooFewReadings { per_second: load.per_second, needed: LEAST_READINGS });
        }
        refused
    }

    /// Recommends a coin for each request. The time follows from the variance of costs within a second, route and
    /// class.
    pub(super) fn settling(&self, resolution: f64) -> Option<Settling> {
        let (mut squares, mut freedom, mut requests, mut cpu) = (0.0, 0.0, 0.0, 0.0);
        for line in self.lines.iter().filter(|line| line.row.process != 0) {
            let sums = &line.row.sums;
            squares += (sums.cpu_squared - sums.cpu * sums.cpu / line.requests()).max(0.0);
            cpu += sums.cpu;
            freedom += line.requests() - 1.0;
            requests += line.requests();
        }
        let first = self.lines.iter().map(|line| line.row.second).min()?;
        let last = self.lines.iter().map(Line::end).max()?;
        let per_minute = requests / (last - first) as f64 * 60.0;
        let variance = squares / freedom / (cpu / requests).powi(2);
        let minutes = REQUESTS_NEEDED * variance / (resolution * resolution) / per_minute;
        minutes.is_finite().then_some(Settling { design: ReleaseDesign::RandomPerRequest, seconds: 60.0 * minutes })
    }
}

/// Returns the version with the smaller number, and the number.
fn fewer(question: &ReleaseQuestion, [old, new]: [u64; 2]) -> (Option<String>, u64) {
    let (name, count) = if new < old { (&question.new, new) } else { (&question.old, old) };
    (Some(name.clone()), count)
}

/// Returns a refusal if a version served in too few stretches.
fn too_few_clusters(question: &ReleaseQuestion, clusters: [HashSet<u64>; 2]) -> Option<Refusal> {
    let (version, clusters) = fewer(question, clusters.map(|clusters| clusters.len() as u64));
    (clusters < LEAST_CLUSTERS).then_some(Refusal::TooFewClusters { version, clusters, needed: LEAST_CLUSTERS })
}

/// Returns a refusal if a version served in too few stretches on the hosts that count, which served both versions.
pub(super) fn too_few_of_both(question: &ReleaseQuestion, costs: &[TimedCost]) -> Option<Refusal> {
    let of = |is_new: bool| costs.iter().filter(move |cost| cost.is_new == is_new).map(|cost| cost.at as u64 / CLUSTER);
    too_few_clusters(question, [false, true].map(|is_new| of(is_new).collect()))
}

/// Returns a refusal if the CPU utilisation differs between the versions.
pub(super) fn utilisation(question: &ReleaseQuestion, rows: &ReleaseRows, lines: &[Line]) -> Option<Refusal> {
    let mut served: HashMap<(u32, u64), [f64; 2]> = HashMap::new();
    for line in lines {
        served.entry((line.row.host, line.row.second)).or_default()[line.side] += line.requests();
    }
    let mut busy: Vec<(u64, u32, usize, f64)> = Vec::new();
    for host in rows.seconds.iter().filter(|host| (question.from..question.to).contains(&host.second)) {
        if let (Some([old, new]), Some(share)) = (served.get(&(host.host, host.second)), host.busy) {
            busy.push((host.second, host.host, usize::from(new > old), share));
        }
    }
    busy.sort_by(|one, other| (one.0, one.1, one.2).cmp(&(other.0, other.1, other.2)).then(one.3.total_cmp(&other.3)));
    let of = |side: usize| busy.iter().filter(move |one| one.2 == side).map(|one| one.3);
    let count = [0, 1].map(|side| of(side).count() as f64);
    let mean = [0, 1].map(|side| of(side).sum::<f64>() / count[side]);
    let squares: f64 = [0, 1].iter().map(|&side| of(side).map(|share| (share - mean[side]).powi(2)).sum::<f64>()).sum();
    let deviation = (squares / (count[0] + count[1] - 2.0)).sqrt();
    let deviations = (mean[1] - mean[0]).abs() / deviation;
    (deviations > MOST_DEVIATIONS).then_some(Refusal::UtilisationDiffers { deviations })
}
