//! Splits requests into those above a multiple of the usual cost of their route and class and the others, to show which
//! of them changed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::record::{ChangeEstimate, ReleaseDesign, ReleaseTail};
use steady_model::{Absent, Interval, LevelSums, Reading, ReleaseRows};
use steady_stats::release::Estimated;

use super::effect::{Effect, Plain, estimate};
use super::groups::Groups;
use super::window::Line;

/// Most routes and classes that are split.
const MOST: usize = 10;
/// Share of the difference between the total and the usual request that the reported routes must explain: most of it,
/// and not so much that others must compensate for it.
const EXPLAINED: RangeInclusive<f64> = 0.5..=2.0;

/// One side of the split in one version. `mean` is CPU time per request of the route and class, and `variance` is that
/// of the mean.
#[derive(Clone, Copy)]
struct Part {
    mean: f64,
    variance: f64,
    /// Number of requests on this side of the split.
    requests: f64,
}

/// Changes of the total and of the usual request, whose difference is explained.
pub(crate) struct Changes {
    pub(crate) total: f64,
    pub(crate) usual: f64,
}

/// Returns the split of the routes and classes with the most CPU time, those that contribute most to the difference
/// between the total and the usual request first. Returns nothing if they do not explain it. The lines must be sorted.
pub(crate) fn tails(
    lines: &[Line],
    rows: &ReleaseRows,
    design: ReleaseDesign,
    alpha: f64,
    changes: &Changes,
    groups: &Groups,
) -> Vec<ReleaseTail> {
    let whole = Plain::of(lines);
    let all: f64 = whole.cpu.iter().sum();
    let strata = lines.chunk_by(|one, other| one.stratum() == other.stratum());
    // Pooled strata are left out, because the version influences which requests are in them.
    let own = strata.filter(|lines| !groups.is_pooled(lines[0].stratum()));
    let mut tails: Vec<(ReleaseTail, f64)> =
        own.filter_map(|lines| tail(lines, all, rows, design, alpha, changes.usual)).collect();
    tails.sort_by(|(one, _), (other, _)| {
        other.cpu_ratio.total_cmp(&one.cpu_ratio).then_with(|| one.route.cmp(&other.route))
    });
    tails.truncate(MOST);
    let [old, new] = whole.requests.map(|n| n as f64);
    let by_old = all * (old + new) / (old + new * (1.0 + changes.total));
    let difference = (changes.total - changes.usual) * by_old;
    let explained = tails.iter().map(|(_, own)| own).sum::<f64>() / difference;
    tails.sort_by(|(_, one), (_, other)| (other / difference).total_cmp(&(one / difference)));
    match EXPLAINED.contains(&explained) && are_unequal(tails.iter().map(|(tail, _)| tail)) {
        true => tails.into_iter().map(|(tail, _)| tail).collect(),
        false => Vec::new(),
    }
}

/// Returns whether the changes of the parts of the requests differ: two intervals are disjoint, or one version has too
/// many of the expensive requests to compare their change. Changes without intervals count as intervals without width.
fn are_unequal<'a>(tails: impl Iterator<Item = &'a ReleaseTail> + Clone) -> bool {
    if tails.clone().any(|tail| tail.above.change.is_err() && tail.has_above()) {
        return true;
    }
    let parts = tails.flat_map(|tail| [&tail.above, &tail.below]);
    let interval = |part: &ChangeEstimate| {
        let change = *part.change.as_ref().ok()?;
        Some(part.interval().unwrap_or(Interval { low: change, high: change }))
    };
    let all: Vec<Interval> = parts.filter_map(interval).collect();
    all.iter().any(|one| all.iter().any(|other| one.high < other.low))
}

/// Returns the split of a stratum, and the CPU time that all its requests need beyond the change of the usual request.
fn tail(
    lines: &[Line],
    all: f64,
    rows: &ReleaseRows,
    design: ReleaseDesign,
    alpha: f64,
    usual: f64,
) -> Option<(ReleaseTail, f64)> {
    let mut sums = [LevelSums::default(); 2];
    for line in lines.iter().filter(|line| line.has_levels()) {
        sums[line.side] += line.row.sums.levels;
    }
    if sums.iter().any(|sums| sums.requests < 2) {
        return None;
    }
    let [old, new] = weighted(&cells(lines));
    let compare = |side: usize| change(old[side], new[side], design, alpha);
    let count = sums.map(|sums| sums.requests as f64);
    let cpu = |side: usize| old[side].mean * count[0] + new[side].mean * count[1];
    let mean = |parts: &[Part; 2]| parts[0].mean + parts[1].mean;
    let beyond = (count[0] + count[1]) * (mean(&new) - mean(&old) * (1.0 + usual));
    let (route, class) = lines[0].stratum();
    let name = rows.routes.get(route as usize).cloned();
    let tail = ReleaseTail {
        route: name.unwrap_or_else(|| format!("(route {route})")),
        class: rows.classes.get(class as usize).cloned().unwrap_or_default(),
        cpu_ratio: Plain::of(lines).cpu.iter().sum::<f64>() / all,
        above_ratio: sums.map(|sums| sums.exceeding as f64 / sums.requests as f64),
        above_cpu_ratio: cpu(0) / (cpu(0) + cpu(1)),
        above: compare(0),
        below: compare(1),
    };
    Some((tail, beyond))
}

/// Merges consecutive seconds until each cell has enough requests of both versions, so that both have the same load in
/// a cell. Returns one cell if the versions never served at the same time.
fn cells(lines: &[Line]) -> Vec<[LevelSums; 2]> {
    /// Fewest requests of each version in a cell.
    const ENOUGH: u64 = 25;
    let mut seconds: BTreeMap<(u32, u64), [LevelSums; 2]> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.has_levels()) {
        seconds.entry((line.row.host, line.row.second)).or_default()[line.side] += line.row.sums.levels;
    }
    let mut cells: Vec<[LevelSums; 2]> = Vec::new();
    let mut open = [LevelSums::default(); 2];
    for [old, new] in seconds.into_values() {
        open[0] += old;
        open[1] += new;
        if open.iter().all(|sums| sums.requests >= ENOUGH) {
            cells.push(std::mem::take(&mut open));
        }
    }
    match cells.last_mut() {
        Some(last) => (0..2).for_each(|side| last[side] += open[side]),
        None => cells.push(open),
    }
    cells
}

/// Returns both sides of the split for OLD and for NEW. Cells are weighted by their requests of both versions.
fn weighted(cells: &[[LevelSums; 2]]) -> [[Part; 2]; 2] {
    let requests = |cell: &[LevelSums; 2]| (cell[0].requests + cell[1].requests) as f64;
    let all: f64 = cells.iter().map(requests).sum();
    [0, 1].map(|side| {
        let mut sum = [Part { mean: 0.0, variance: 0.0, requests: 0.0 }; 2];
        for cell in cells {
            let weight = requests(cell) / all;
            for (sum, own) in sum.iter_mut().zip(split(&cell[side])) {
                sum.mean += weight * own.mean;
                sum.variance += weight * weight * own.variance;
                sum.requests += own.requests;
            }
        }
        sum
    })
}

/// Returns the requests above the bound, and the others. The bound changes with the load; its mean over the requests
/// above it, weighted by their excess, is known.
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
    /// Fewest requests of each version for a comparison of their means.
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
        _ => ChangeEstimate::new(
            found.change.clone(),
            found.interval().and(Err(Absent::because("the change is not adjusted for load"))),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_may_have_changed_equally_explain_nothing() {
        let part = |low: f64, high: f64| ChangeEstimate::new(Ok((low + high) / 2.0), Ok(Interval { low, high }));
        let few = || ChangeEstimate::new(Err(Absent::because("few")), Err(Absent::because("few")));
        let tail = |above: ChangeEstimate, below: ChangeEstimate| ReleaseTail {
            route: "/".to_owned(),
            class: String::new(),
            cpu_ratio: 1.0,
            above_ratio: [0.1; 2],
            above_cpu_ratio: 0.001,
            above,
            below,
        };
        let are = |tails: &[ReleaseTail]| are_unequal(tails.iter());
        assert!(!are(&[tail(few(), part(-0.18, -0.16))]), "a single part is the total itself");
        assert!(!are(&[tail(few(), part(-0.18, -0.16)), tail(few(), part(-0.19, -0.17))]));
        assert!(are(&[tail(part(0.2, 0.36), part(-0.044, -0.037))]));
        assert!(are(&[tail(few(), part(-0.18, -0.16)), tail(few(), part(-0.01, 0.01))]));
        assert!(are(&[ReleaseTail { above_cpu_ratio: 0.2, ..tail(few(), part(-0.01, 0.01)) }]), "only NEW has them");
    }
}
