//! Groups lines into cells of one host, stretch of time and route.

use std::collections::BTreeMap;

use steady_model::{LevelSums, RequestSums};
use steady_stats::release::{LevelCell, Tally};

use super::window::Line;

/// Lengths that a cell may have, in seconds. Each is a multiple of the one before.
const LENGTHS: [u64; 7] = [1, 5, 10, 30, 60, 300, 3600];

/// Requests of OLD and NEW on a host within a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Index of the host in the rows.
    pub(crate) host: u32,
    second: u64,
    /// Sums of OLD and of NEW.
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

/// Returns the sums in levels of a line. Unless `adjusted`, they contain only the CPU time, without covariates.
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

/// Returns the sums in levels of strata that are compared as one, by host and second.
pub(crate) fn of_levels(strata: &[&[Line]], adjusted: bool) -> Vec<LevelCell> {
    let mut cells: BTreeMap<(u32, u64), [LevelSums; 2]> = BTreeMap::new();
    for line in strata.iter().copied().flatten() {
        cells.entry((line.row.host, line.row.second)).or_default()[line.side] += levels(line, adjusted);
    }
    cells.into_iter().map(|((place, _), sides)| LevelCell { place, sides }).collect()
}

/// Returns the sums of pooled strata like [`of_levels`], but without covariates. The covariates depend on the route,
/// and in pooled strata the version influences the route.
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

/// Returns cells of one second each. The lines must be sorted and have one route and class.
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

/// Merges cells to longer stretches.
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

/// Returns the length of cells with the smallest expected variance of the effect.
///
/// Short cells remove more of the load, but some of them have only one version. A length within which the share of NEW
/// changes, as in a rollout, is not used: the load of one part of a cell would be attributed to the version that served
/// more of it. The choice does not depend on which version is NEW.
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

/// Returns whether the share of NEW differs between the parts of longer cells by more than coins with one share
/// explain.
///
/// The statistic is Pearson's chi-squared with a correction that makes its mean exact for small counts.
fn share_changes(shorter: &[Cell], longer: &[Cell], length: u64) -> bool {
    /// Limit above the mean of chi-squared, in standard deviations.
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

/// Returns the expected variance of the effect: the variance within cells of both versions together, divided by the
/// information in the cells.
fn expected_variance(cells: &[Cell]) -> f64 {
    let (mut squares, mut freedom, mut information) = (0.0, 0.0, 0.0);
    for cell in cells {
        let [old, new] = cell.sides;
        let n = old.n + new.n;
        squares += old.yy + new.yy - (old.y + new.y).powi(2) / n;
        freedom += n - 1.0;
        information += old.n * new.n / n;
    }
    if freedom > 0.0 && information > 0.0 { squares.max(0.0) / freedom / information } else { f64::INFINITY }
}
