//! Versions drawn at random for each request: the change of the *total* CPU time, from sums of costs in levels.
//!
//! The estimand is the ratio of mean costs at equal load and mix. It needs no model of the costs: the mean of each
//! version is unbiased because the versions were drawn at random. Two measures make it more precise:
//!
//! - The part of each cost below a bound that does not depend on the version is compared within cells of time and
//!   place. It is adjusted by covariates known before the request, with separate slopes for each version (Lin 2013,
//!   Agnostic notes on regression adjustments).
//! - The part above the bound comes from few requests and is not related to the load. Its unadjusted means are compared
//!   within groups of cells, so that a change in the share of the versions is not mistaken for an effect.
//!
//! The error is Neyman's for a stratified experiment, with the covariance of both parts.

use std::collections::BTreeMap;

use steady_model::LevelSums;

use super::{Estimated, HostShare, linear};

/// The minimum number of requests in a cell, of both versions together.
const CELL_REQUESTS: f64 = 12.0;
/// The minimum number of requests of each version in a cell; with fewer there is no variance.
const CELL_REQUESTS_OF_EACH: f64 = 2.0;
/// The minimum number of requests of each version in a group of cells, in which the parts above the bound are compared.
const GROUP_REQUESTS_OF_EACH: f64 = 25.0;
/// The minimum degrees of freedom for the estimation of slopes.
const LEAST_FREEDOM: f64 = 60.0;

/// The requests of one stratum (a route and class) in one place and time interval.
#[derive(Clone, Copy, Debug)]
pub struct LevelCell {
    /// The place, such as a host.
    pub place: u32,
    /// The sums of OLD and NEW.
    pub sides: [LevelSums; 2],
}

/// The estimated change of the total.
#[derive(Clone, Debug)]
pub struct TotalChange {
    /// The logarithm of the ratio of the means, NEW / OLD.
    pub estimated: Estimated,
    /// The mean costs of OLD and NEW at equal load and mix.
    pub means: [f64; 2],
    /// The contribution of each place to the ratio. Places with too few requests for a cell of their own count as one
    /// place.
    pub places: Vec<HostShare>,
}

/// Estimates the change of the total over all strata. The cells of each stratum are in order of place and, within a
/// place, of time. `None` if a stratum has fewer than two requests of a version, or if costs do not vary.
pub fn total_change(strata: &[Vec<LevelCell>]) -> Option<TotalChange> {
    let strata: Vec<Stratum> = strata.iter().map(|cells| Stratum::new(cells)).collect::<Option<_>>()?;
    let all: f64 = strata.iter().flat_map(|stratum| &stratum.cells).map(Cell::requests).sum();
    let [old, new] = [0, 1].map(|side| {
        let mut version = Version::default();
        strata.iter().for_each(|stratum| version.add(stratum, side, all));
        version
    });
    let means = [old.mean, new.mean];
    if !means.iter().all(|mean| *mean > 0.0) {
        return None;
    }
    let relative = |version: &Version| version.variance / (version.mean * version.mean);
    let variance = relative(&old) + relative(&new);
    // Satterthwaite's rule over the parts of both variances.
    let freedom = variance * variance / (old.squares / old.mean.powi(4) + new.squares / new.mean.powi(4));
    let effect = new.mean.ln() - old.mean.ln();
    let place = |(place, own): (&Option<u32>, &f64)| {
        let (old, new) = (own / old.mean, new.places.get(place).copied().unwrap_or(0.0) / new.mean);
        HostShare { share: (old + new) / 2.0, beyond: new - old }
    };
    let places = old.places.iter().map(place).collect();
    let known = variance > 0.0 && freedom > 0.0;
    known.then_some(TotalChange { estimated: Estimated { effect, variance, freedom }, means, places })
}

/// Merged cells, of one place or, with `None`, of several places.
#[derive(Clone, Debug)]
struct Cell {
    place: Option<u32>,
    sides: [LevelSums; 2],
    /// The indexes of the merged cells.
    parts: Vec<usize>,
}

impl Cell {
    fn requests(&self) -> f64 {
        self.counts().iter().sum()
    }

    fn counts(&self) -> [f64; 2] {
        self.sides.map(|side| side.requests as f64)
    }

    fn least(&self) -> f64 {
        let [old, new] = self.counts();
        old.min(new)
    }

    fn both(&self) -> Moments {
        let [mut both, new] = self.sides;
        both += new;
        Moments::of(&both)
    }

    fn absorb(&mut self, other: &Cell, at: usize) {
        self.sides[0] += other.sides[0];
        self.sides[1] += other.sides[1];
        self.parts.push(at);
    }
}

/// Merges neighbouring cells within a place until there are enough requests. The remainder of a place joins its last
/// cell. Places without any complete cell are merged with each other.
fn merged(cells: &[Cell], enough: impl Fn(&Cell) -> bool) -> Vec<Cell> {
    let mut all: Vec<Cell> = Vec::new();
    let mut rest: Option<Cell> = None;
    let mut open: Option<Cell> = None;
    for (at, cell) in cells.iter().enumerate() {
        let grown =
            open.get_or_insert_with(|| Cell { place: cell.place, sides: Default::default(), parts: Vec::new() });
        grown.absorb(cell, at);
        let ends = cells.get(at + 1).is_none_or(|next| next.place != cell.place);
        if enough(grown) {
            all.extend(open.take());
        } else if ends && let Some(left) = open.take() {
            match all.last_mut().filter(|last| last.place == left.place) {
                Some(last) => join(last, left),
                None => match &mut rest {
                    Some(rest) => {
                        rest.place = None;
                        join(rest, left);
                    }
                    None => rest = Some(left),
                },
            }
        }
    }
    if let Some(rest) = rest {
        match all.last_mut().filter(|_| !enough(&rest)) {
            Some(last) => {
                last.place = None;
                join(last, rest);
            }
            None => all.push(rest),
        }
    }
    all
}

fn join(cell: &mut Cell, other: Cell) {
    let [old, new] = other.sides;
    cell.sides[0] += old;
    cell.sides[1] += new;
    cell.parts.extend(other.parts);
}

/// One route and class, divided into cells.
struct Stratum {
    cells: Vec<Cell>,
    /// Groups of these cells, for the parts of costs above the bound.
    groups: Vec<Cell>,
}

impl Stratum {
    fn new(cells: &[LevelCell]) -> Option<Stratum> {
        let single = |cell: &LevelCell| Cell { place: Some(cell.place), sides: cell.sides, parts: Vec::new() };
        let singles: Vec<Cell> = cells.iter().map(single).collect();
        let cells = merged(&singles, |cell| cell.requests() >= CELL_REQUESTS && cell.least() >= CELL_REQUESTS_OF_EACH);
        let groups = merged(&cells, |cell| cell.least() >= GROUP_REQUESTS_OF_EACH);
        let whole = cells.iter().all(|cell| cell.least() >= CELL_REQUESTS_OF_EACH);
        (whole && !cells.is_empty()).then_some(Stratum { cells, groups })
    }
}

/// The estimate for one version over all strata.
#[derive(Default)]
struct Version {
    mean: f64,
    /// The variance of the mean.
    variance: f64,
    /// The sum of the squared parts of the variance, each divided by its degrees of freedom.
    squares: f64,
    /// The contribution of each place to the mean.
    places: BTreeMap<Option<u32>, f64>,
}

impl Version {
    /// Adds a stratum; `all` is the number of requests of all strata.
    fn add(&mut self, stratum: &Stratum, side: usize, all: f64) {
        let slopes = Slopes::learned(&stratum.cells, side);
        for cell in &stratum.cells {
            let (own, both) = (Moments::of(&cell.sides[side]), cell.both());
            let weight = both.n / all;
            let adjustment = slopes.times([0, 1].map(|at| own.covariates[at] - both.covariates[at]));
            self.add_mean(cell.place, weight * (own.base - adjustment));
            let variance = weight * weight * slopes.inflation * slopes.left(&own) / (own.n * (own.n - 1.0));
            self.variance += variance;
            self.squares += variance * variance / (own.n - 1.0);
        }
        let (mut of_excess, mut sums) = (0.0, LevelSums::default());
        for group in &stratum.groups {
            let own = Moments::of(&group.sides[side]);
            let weight = group.requests() / all;
            self.add_mean(group.place, weight * own.excess);
            of_excess += weight * weight * own.excess_squares / (own.n * (own.n - 1.0));
            sums += group.sides[side];
            for cell in group.parts.iter().map(|at| &stratum.cells[*at]) {
                let of_cell = Moments::of(&cell.sides[side]);
                let joint = of_cell.base_excess - slopes.times(of_cell.covariates_excess);
                self.variance += 2.0 * weight * cell.requests() / all * joint / (own.n * (of_cell.n - 1.0));
            }
        }
        self.variance += of_excess;
        if of_excess > 0.0 {
            // The sum of squares of `m` rare costs of equal size has a relative variance of 1 / m, which corresponds to
            // 2 m degrees of freedom. Costs of unequal size count as fewer.
            let counting = sums.excess * sums.excess / sums.excess_squared;
            self.squares += of_excess * of_excess / (2.0 * counting - 1.0).max(1.0);
        }
    }

    fn add_mean(&mut self, place: Option<u32>, part: f64) {
        self.mean += part;
        *self.places.entry(place).or_default() += part;
    }
}

/// Means, and sums of squares and products around them.
struct Moments {
    n: f64,
    base: f64,
    excess: f64,
    covariates: [f64; 2],
    base_squares: f64,
    excess_squares: f64,
    base_excess: f64,
    covariate_squares: [[f64; 2]; 2],
    covariates_base: [f64; 2],
    covariates_excess: [f64; 2],
}

impl Moments {
    fn of(sums: &LevelSums) -> Moments {
        let n = sums.requests as f64;
        let about = |product: f64, one: f64, other: f64| product - one * other / n;
        let (base, excess, recent, ruler) = (sums.base, sums.excess, sums.recent, sums.ruler);
        let joint = about(sums.recent_ruler, recent, ruler);
        Moments {
            n,
            base: base / n,
            excess: excess / n,
            covariates: [recent / n, ruler / n],
            base_squares: about(sums.base_squared, base, base).max(0.0),
            excess_squares: about(sums.excess_squared, excess, excess).max(0.0),
            base_excess: about(sums.base_excess, base, excess),
            covariate_squares: [
                [about(sums.recent_squared, recent, recent), joint],
                [joint, about(sums.ruler_squared, ruler, ruler)],
            ],
            covariates_base: [about(sums.recent_base, recent, base), about(sums.ruler_base, ruler, base)],
            covariates_excess: [about(sums.recent_excess, recent, excess), about(sums.ruler_excess, ruler, excess)],
        }
    }
}

/// The slopes of the part below the bound on the covariates, in one version.
struct Slopes {
    values: [f64; 2],
    /// The factor by which the estimation of the slopes inflates the variance.
    inflation: f64,
}

impl Slopes {
    fn learned(cells: &[Cell], side: usize) -> Slopes {
        let none = Slopes { values: [0.0; 2], inflation: 1.0 };
        let (mut squares, mut products, mut freedom) = ([[0.0; 2]; 2], [0.0; 2], 0.0);
        for own in cells.iter().map(|cell| Moments::of(&cell.sides[side])) {
            for one in 0..2 {
                products[one] += own.covariates_base[one];
                (0..2).for_each(|other| squares[one][other] += own.covariate_squares[one][other]);
            }
            freedom += own.n - 1.0;
        }
        if freedom < LEAST_FREEDOM {
            return none;
        }
        let solve = |used: &[usize]| {
            let matrix: Vec<Vec<f64>> =
                used.iter().map(|one| used.iter().map(|other| squares[*one][*other]).collect()).collect();
            let right: Vec<f64> = used.iter().map(|one| products[*one]).collect();
            let mut values = [0.0; 2];
            used.iter().zip(linear::solve(&matrix, &right)?).for_each(|(at, slope)| values[*at] = slope);
            Some(Slopes { values, inflation: freedom / (freedom - used.len() as f64) })
        };
        // A covariate that does not vary explains nothing and would make the system singular.
        solve(&[0, 1]).or_else(|| solve(&[0])).or_else(|| solve(&[1])).unwrap_or(none)
    }

    fn times(&self, covariates: [f64; 2]) -> f64 {
        self.values.iter().zip(covariates).map(|(slope, value)| slope * value).sum()
    }

    /// Returns the residual sum of squares after the adjustment.
    fn left(&self, own: &Moments) -> f64 {
        let explained = self.times(own.covariate_squares.map(|row| self.times(row)));
        (own.base_squares - 2.0 * self.times(own.covariates_base) + explained).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn add(sums: &mut LevelSums, cost: f64, bound: f64, recent: f64, ruler: f64) {
        let base = cost.min(bound);
        let excess = cost - base;
        let values = [
            base,
            base * base,
            excess,
            excess * excess,
            base * excess,
            recent,
            recent * recent,
            recent * base,
            recent * excess,
            ruler,
            ruler * ruler,
            ruler * base,
            ruler * excess,
            recent * ruler,
        ];
        *sums += LevelSums::from_values(1, u64::from(excess > 0.0), values);
    }

    /// Returns costs of two strata over 40 seconds on some hosts: a load that covariates partly explain, and rare
    /// expensive requests that change by `tail`.
    fn cells(coin: &mut ChaCha8Rng, hosts: u32, share: f64, change: f64, tail: f64) -> Vec<Vec<LevelCell>> {
        let stratum = |level: f64, coin: &mut ChaCha8Rng| {
            let mut cells = Vec::new();
            for place in 0..hosts {
                for _ in 0..40 {
                    let load = 1.0 + 0.3 * coin.random::<f64>();
                    let mut sides = [LevelSums::default(); 2];
                    for _ in 0..30 {
                        let own = coin.random_range(-0.2..0.2);
                        let is_new = coin.random::<f64>() < share;
                        let rare = coin.random::<f64>() < 0.1;
                        let factor = match (is_new, rare) {
                            (false, false) => 1.0,
                            (false, true) => 16.0,
                            (true, false) => 1.0 + change,
                            (true, true) => 16.0 * (1.0 + tail),
                        };
                        let cost = level * load * (1.0 + own) * factor * coin.random_range(0.9..1.1);
                        let (recent, ruler) = (level * own, level * (own + coin.random_range(-0.1..0.1)));
                        add(&mut sides[usize::from(is_new)], cost, 3.0 * level, recent, ruler);
                    }
                    cells.push(LevelCell { place, sides });
                }
            }
            cells
        };
        vec![stratum(1e6, coin), stratum(3e6, coin)]
    }

    #[test]
    fn intervals_cover_the_total_and_not_the_usual_request() {
        let mut coin = ChaCha8Rng::seed_from_u64(1);
        for (share, change, tail) in [(0.5, 0.0, 0.0), (0.5, -0.04, 0.28), (0.2, 0.1, -0.3)] {
            let truth: f64 = (0.9 * (1.0 + change) + 1.6 * (1.0 + tail)) / 2.5;
            let trials = 400;
            let missed = (0..trials)
                .filter(|_| {
                    let found = total_change(&cells(&mut coin, 1, share, change, tail)).unwrap();
                    !found.estimated.interval(0.05).holds(truth.ln())
                })
                .count();
            assert!(missed < 34, "{share} {change} {tail}: {missed} of {trials}");
        }
    }

    #[test]
    fn covariates_reduce_the_error() {
        let mut coin = ChaCha8Rng::seed_from_u64(2);
        let with = cells(&mut coin, 1, 0.5, 0.0, 0.0);
        let without: Vec<Vec<LevelCell>> = with
            .iter()
            .map(|cells| {
                cells
                    .iter()
                    .map(|cell| {
                        let sides = cell.sides.map(|side| {
                            let mut values = side.values();
                            values[5..].fill(0.0);
                            LevelSums::from_values(side.requests, side.exceeding, values)
                        });
                        LevelCell { sides, ..*cell }
                    })
                    .collect()
            })
            .collect();
        let base = |strata: &[Vec<LevelCell>]| {
            let mut strata = strata.to_vec();
            for side in strata.iter_mut().flatten().flat_map(|cell| &mut cell.sides) {
                (side.excess, side.excess_squared, side.base_excess) = (0.0, 0.0, 0.0);
                (side.recent_excess, side.ruler_excess) = (0.0, 0.0);
            }
            total_change(&strata).unwrap().estimated.error()
        };
        assert!(base(&with) < 0.97 * base(&without), "{} {}", base(&with), base(&without));
    }

    /// The share of NEW grows half-way, while expensive requests become more frequent.
    #[test]
    fn a_change_of_the_share_is_not_an_effect() {
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        let trials = 200;
        let missed = (0..trials).filter(|_| {
            let mut cells = Vec::new();
            for second in 0..60 {
                let (share, rare) = if second < 30 { (0.2, 0.02) } else { (0.6, 0.2) };
                let mut sides = [LevelSums::default(); 2];
                for _ in 0..60 {
                    let cost = if coin.random::<f64>() < rare { 20e6 } else { 1e6 } * coin.random_range(0.9..1.1);
                    add(&mut sides[usize::from(coin.random::<f64>() < share)], cost, 3e6, 0.0, 0.0);
                }
                cells.push(LevelCell { place: 0, sides });
            }
            !total_change(&[cells]).unwrap().estimated.interval(0.05).holds(0.0)
        });
        let missed = missed.count();
        assert!(missed < 20, "{missed} of {trials}");
    }

    #[test]
    fn exchanging_the_versions_negates_the_effect_and_places_sum_up() {
        let mut coin = ChaCha8Rng::seed_from_u64(4);
        let strata = cells(&mut coin, 7, 0.3, 0.02, 0.1);
        let swapped: Vec<Vec<LevelCell>> = strata
            .iter()
            .map(|cells| {
                cells.iter().map(|cell| LevelCell { sides: [cell.sides[1], cell.sides[0]], ..*cell }).collect()
            })
            .collect();
        let (one, other) = (total_change(&strata).unwrap(), total_change(&swapped).unwrap());
        assert_eq!(one.estimated.effect, -other.estimated.effect);
        assert_eq!(
            (one.estimated.variance, one.estimated.freedom),
            (other.estimated.variance, other.estimated.freedom)
        );
        assert_eq!(one.places.len(), 7);
        let sums = one.places.iter().fold((0.0, 0.0), |(share, beyond), one| (share + one.share, beyond + one.beyond));
        assert!((sums.0 - 1.0).abs() < 1e-12 && sums.1.abs() < 1e-12, "{sums:?}");
    }

    #[test]
    fn cells_are_merged_within_their_place() {
        let cell = |place, old, new| LevelCell {
            place,
            sides: [old, new].map(|requests| LevelSums { requests, ..LevelSums::default() }),
        };
        let merge = |cells: &[LevelCell]| {
            let stratum = Stratum::new(cells)?;
            Some(stratum.cells.iter().map(|cell| (cell.place, cell.counts())).collect::<Vec<_>>())
        };
        let cells = [cell(0, 5, 5), cell(0, 3, 0), cell(0, 9, 9), cell(0, 1, 0), cell(1, 1, 1), cell(2, 8, 9)];
        let expected = [(Some(0), [8.0, 5.0]), (Some(0), [10.0, 9.0]), (Some(2), [8.0, 9.0])];
        let mut found = merge(&cells).unwrap();
        let last = found.pop().unwrap();
        assert_eq!(found, expected[..2]);
        assert_eq!(last, (None, [9.0, 10.0]), "a place with too few requests joins another one");
        assert_eq!(merge(&[cell(0, 20, 1)]), None);
        assert_eq!(merge(&[]), None);
    }
}
