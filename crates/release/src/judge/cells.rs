//! Lines into cells: a host, a stretch of time, a route.

use std::collections::BTreeMap;

use steady_model::{LevelSums, RequestSums};
use steady_stats::release::{LevelCell, Tally};

use super::window::Line;

/// Stretches that a cell may have, in seconds; each is a multiple of the one before.
const LENGTHS: [u64; 7] = [1, 5, 10, 30, 60, 300, 3600];

/// One cell: OLD and NEW of a host and a stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Where.
    pub(crate) host: u32,
    second: u64,
    /// The sums of both.
    pub(crate) sides: [Tally; 2],
}

fn tally(line: &Line) -> Tally {
    let sums: &RequestSums = &line.row.sums;
    Tally {
        n: sums.requests as f64,
        y: sums.log,
        yy: sums.log_squared,
        b: sums.before,
        bb: sums.before_squared,
        by: sums.before_log,
    }
}

/// The sums in levels of one line; if they are not `adjusted`, of the plain CPU time alone.
fn levels(line: &Line, adjusted: bool) -> LevelSums {
    let sums = &line.row.sums;
    match adjusted {
        true => sums.levels,
        false => LevelSums {
            requests: sums.requests,
            base: sums.cpu,
            base_squared: sums.cpu_squared,
            ..LevelSums::default()
        },
    }
}

/// The sums in levels of strata that are compared as one, by host and second.
pub(crate) fn of_levels(strata: &[&[Line]], adjusted: bool) -> Vec<LevelCell> {
    let mut cells: BTreeMap<(u32, u64), [LevelSums; 2]> = BTreeMap::new();
    for line in strata.iter().copied().flatten() {
        cells.entry((line.row.host, line.row.second)).or_default()[line.side] += levels(line, adjusted);
    }
    cells.into_iter().map(|((place, _), sides)| LevelCell { place, sides }).collect()
}

/// The same of strata of which the version decides which of them a request is in: without what was known of its route before
/// it, which is not the same in both versions then.
pub(crate) fn of_pooled(strata: &[&[Line]], adjusted: bool) -> Vec<LevelCell> {
    let mut cells = of_levels(strata, adjusted);
    for sums in cells.iter_mut().flat_map(|cell| &mut cell.sides) {
        *sums = LevelSums {
            requests: sums.requests,
            exceeding: sums.exceeding,
            base: sums.base,
            base_squared: sums.base_squared,
            excess: sums.excess,
            excess_squared: sums.excess_squared,
            base_excess: sums.base_excess,
            ..LevelSums::default()
        };
    }
    cells
}

/// The cells of one second each. The lines are those of one route and class, in order.
pub(crate) fn of_seconds(lines: &[Line]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for line in lines {
        let (host, second) = (line.row.host, line.row.second);
        if cells.last().is_none_or(|cell| (cell.host, cell.second) != (host, second)) {
            cells.push(Cell { host, second, sides: [Tally::default(); 2] });
        }
        if let Some(cell) = cells.last_mut() {
            cell.sides[line.side] += tally(line);
        }
    }
    cells
}

/// The same, in longer stretches.
pub(crate) fn of_stretches(cells: &[Cell], length: u64) -> Vec<Cell> {
    let mut longer: Vec<Cell> = Vec::new();
    for cell in cells {
        let second = cell.second / length * length;
        match longer.last_mut() {
            Some(last) if (last.host, last.second) == (cell.host, second) => {
                let [old, new] = cell.sides;
                last.sides[0] += old;
                last.sides[1] += new;
            }
            _ => longer.push(Cell { second, ..*cell }),
        }
    }
    longer
}

/// The stretch in which the cells will tell most: short ones take out more of the load, but leave some cells with one version
/// alone. None within which the share of NEW changes, as it does in a rollout: the load of the one part would pass for the
/// version that served more of it. What is looked at is the same whichever version is called NEW.
pub(crate) fn best_stretch(cells: &[Cell]) -> u64 {
    let mut longer = cells.to_vec();
    let mut best = (f64::INFINITY, LENGTHS[0]);
    for length in LENGTHS {
        let shorter = std::mem::take(&mut longer);
        longer = of_stretches(&shorter, length);
        if share_changes(&shorter, &longer, length) {
            break;
        }
        let variance = expected_variance(&longer);
        if variance < best.0 {
            best = (variance, length);
        }
    }
    best.1
}

/// Whether the share of NEW differs between the cells that make up a longer one, further than coins of one share would have it
/// (Pearson's chi-squared, whose mean is exact for small counts).
fn share_changes(shorter: &[Cell], longer: &[Cell], length: u64) -> bool {
    /// Standard deviations of chi-squared.
    const DEVIATIONS: f64 = 4.0;
    let (mut squares, mut freedom) = (0.0, 0.0);
    let mut parts = shorter.iter().peekable();
    for whole in longer {
        let [old, new] = whole.sides.map(|side| side.n);
        let (all, share) = (old + new, new / (old + new));
        let inside = |cell: &&Cell| (cell.host, cell.second / length * length) == (whole.host, whole.second);
        while let Some(part) = parts.next_if(|cell| inside(cell)) {
            let n = part.sides[0].n + part.sides[1].n;
            if old > 0.0 && new > 0.0 && all > n {
                squares += (part.sides[1].n - n * share).powi(2) / (n * share * (1.0 - share)) * (all - 1.0) / all;
                freedom += (all - n) / all;
            }
        }
    }
    squares > freedom + DEVIATIONS * (2.0 * freedom).sqrt()
}

/// The variance within cells, of both versions together, over how much the cells tell.
fn expected_variance(cells: &[Cell]) -> f64 {
    let (mut left, mut freedom, mut telling) = (0.0, 0.0, 0.0);
    for cell in cells {
        let [old, new] = cell.sides;
        let n = old.n + new.n;
        left += old.yy + new.yy - (old.y + new.y).powi(2) / n;
        freedom += n - 1.0;
        telling += old.n * new.n / n;
    }
    if freedom > 0.0 && telling > 0.0 { left.max(0.0) / freedom / telling } else { f64::INFINITY }
}
