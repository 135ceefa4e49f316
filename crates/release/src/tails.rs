//! Which requests changed: those above a multiple of the usual cost of their route and class, or the others.

use steady_model::{Absent, ChangeEstimate, LevelSums, Reading, ReleaseDesign, ReleaseRows, ReleaseTail};
use steady_stats::release::Estimated;

use crate::effect::{Effect, Plain, estimate};
use crate::window::Line;

/// At most this many routes and classes are split.
const MOST: usize = 10;

/// One side of the split in one version: the mean over all requests of the route and class, and its variance.
#[derive(Clone, Copy)]
struct Part {
    mean: f64,
    variance: f64,
    /// Requests on this side of the split.
    requests: f64,
}

/// The routes and classes with the most CPU time, each split. The lines are in order.
pub(crate) fn tails(lines: &[Line], rows: &ReleaseRows, design: ReleaseDesign, alpha: f64) -> Vec<ReleaseTail> {
    let all: f64 = Plain::of(lines).cpu.iter().sum();
    let strata = lines.chunk_by(|one, other| one.stratum() == other.stratum());
    let mut tails: Vec<ReleaseTail> = strata.filter_map(|lines| tail(lines, all, rows, design, alpha)).collect();
    tails.sort_by(|one, other| other.cpu_ratio.total_cmp(&one.cpu_ratio).then_with(|| one.route.cmp(&other.route)));
    tails.truncate(MOST);
    tails
}

fn tail(lines: &[Line], all: f64, rows: &ReleaseRows, design: ReleaseDesign, alpha: f64) -> Option<ReleaseTail> {
    let mut sums = [LevelSums::default(); 2];
    for line in lines.iter().filter(|line| line.has_levels()) {
        sums[line.side] += line.row.sums.levels;
    }
    if sums.iter().any(|sums| sums.requests < 2) {
        return None;
    }
    let [old, new] = sums.map(|sums| split(&sums));
    let compare = |side: usize| change(old[side], new[side], design, alpha);
    let count = sums.map(|sums| sums.requests as f64);
    let cpu = |side: usize| old[side].mean * count[0] + new[side].mean * count[1];
    let (route, class) = lines[0].stratum();
    let name = rows.routes.get(route as usize).cloned();
    Some(ReleaseTail {
        route: name.unwrap_or_else(|| format!("(route {route})")),
        class: rows.classes.get(class as usize).cloned().unwrap_or_default(),
        cpu_ratio: Plain::of(lines).cpu.iter().sum::<f64>() / all,
        above_ratio: sums.map(|sums| sums.exceeding as f64 / sums.requests as f64),
        above_cpu_ratio: cpu(0) / (cpu(0) + cpu(1)),
        above: compare(0),
        below: compare(1),
    })
}

/// Requests above the bound, and the others. The bound moves with the load; over the requests above it, its mean by their
/// excess is known.
fn split(sums: &LevelSums) -> [Part; 2] {
    let (n, above) = (sums.requests as f64, sums.exceeding as f64);
    let bound = if sums.excess > 0.0 { sums.base_excess / sums.excess } else { 0.0 };
    let part = |sum: f64, squares: f64, requests: f64| {
        let mean = sum / n;
        Part { mean, variance: (squares - n * mean * mean).max(0.0) / (n * (n - 1.0)), requests }
    };
    let squares = above * bound * bound + 2.0 * bound * sums.excess + sums.excess_squared;
    [
        part(above * bound + sums.excess, squares, above),
        part((sums.base - above * bound).max(0.0), (sums.base_squared - above * bound * bound).max(0.0), n - above),
    ]
}

fn change(old: Part, new: Part, design: ReleaseDesign, alpha: f64) -> ChangeEstimate {
    /// With fewer requests on one side their mean is not compared.
    const LEAST: f64 = 2.0;
    let few = || Absent::because("too few requests");
    let relative = |part: Part| part.variance / (part.mean * part.mean);
    let known = old.requests.min(new.requests) >= LEAST && old.mean > 0.0 && new.mean > 0.0;
    let variance = relative(old) + relative(new);
    let freedom = old.requests.min(new.requests) - 1.0;
    let estimated = Estimated { effect: new.mean.ln() - old.mean.ln(), variance, freedom };
    let effect: Reading<Effect> = known.then_some(Effect::Student(estimated, 0.0)).ok_or_else(few);
    let found = estimate(&effect, alpha);
    match design {
        ReleaseDesign::RandomPerRequest => found,
        _ => ChangeEstimate { interval: found.interval.and(Err(Absent::because("load is not taken off"))), ..found },
    }
}
