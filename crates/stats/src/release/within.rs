//! Versions drawn at random for each request: the change of the usual request within cells of time and place, from
//! sums.
//!
//! Within a cell (a host, a time interval, a route) both versions have the same load, so the cell's mean is subtracted
//! and the rest is compared. A covariate that is known before the random draw (the cost of the previous requests in the
//! same process) removes more of the load. The error is robust against unequal variances (White 1980, with the
//! correction HC3 of MacKinnon and White 1985). Its only assumption about the load is that it does not depend on the
//! random draws.

use std::ops::AddAssign;

use super::{Estimated, HostShare};

/// Sums over requests: of the logarithm of cost `y` and of a covariate `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of requests.
    pub n: f64,
    /// The sum of `y`.
    pub y: f64,
    /// The sum of squares of `y`.
    pub yy: f64,
    /// The sum of `b`; requests without a covariate add nothing.
    pub b: f64,
    /// The sum of squares of `b`.
    pub bb: f64,
    /// The sum of the products of `b` and `y`.
    pub by: f64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.n += other.n;
        self.y += other.y;
        self.yy += other.yy;
        self.b += other.b;
        self.bb += other.bb;
        self.by += other.by;
    }
}

impl Tally {
    /// Returns the sum of squares of `y - at - slope b`.
    fn squares_about(&self, at: f64, slope: f64) -> f64 {
        let plain = self.yy - 2.0 * at * self.y + self.n * at * at;
        let joint = self.by - at * self.b;
        (plain - 2.0 * slope * joint + slope * slope * self.bb).max(0.0)
    }
}

/// The effect from cells with both versions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// The estimated effect on `y`.
    pub estimated: Estimated,
    /// The estimated slope of the covariate.
    pub slope: f64,
    /// The numbers of requests used, of OLD and of NEW.
    pub requests: [f64; 2],
}

/// Estimates the effect within `cells`, each with the sums of OLD and NEW. `None` if no cell has both versions, or if
/// there are too few requests for an error.
pub fn within(cells: &[[Tally; 2]]) -> Option<Within> {
    let both = || cells.iter().filter(|[old, new]| old.n > 0.0 && new.n > 0.0);
    let mut sums = Products::default();
    both().for_each(|cell| sums.add(cell));
    let slope = sums.slope();
    let effect = (sums.dy - slope * sums.db) / sums.dd;
    if !effect.is_finite() {
        return None;
    }
    let mut sides = [Spread::default(); 2];
    for cell in both() {
        add_spread(cell, effect, slope, sums.dd, &mut sides);
    }
    let [old, new] = sides;
    let variance = (old.meat + new.meat) / (sums.dd * sums.dd);
    // Welch's and Satterthwaite's rule over the two sides.
    let freedom = (old.meat + new.meat).powi(2) / (old.meat.powi(2) / old.freedom() + new.meat.powi(2) / new.freedom());
    (variance > 0.0 && freedom > 1.0).then_some(Within {
        estimated: Estimated { effect, variance, freedom },
        slope,
        requests: [old.requests, new.requests],
    })
}

/// Returns the contribution of some of the cells, such as those of one host, to the effect of all: their weight, and
/// the weight times the distance of their own effect above the common one. Weights of cells sum up.
pub fn share(cells: &[[Tally; 2]], all: &Within) -> HostShare {
    let mut sums = Products::default();
    cells.iter().filter(|[old, new]| old.n > 0.0 && new.n > 0.0).for_each(|cell| sums.add(cell));
    HostShare { share: sums.dd, beyond: sums.dy - all.slope * sums.db - all.estimated.effect * sums.dd }
}

/// Sums of products of deviations from the cells' means, for the version `d`, the covariate `b` and the cost `y`.
#[derive(Default)]
struct Products {
    dd: f64,
    dy: f64,
    db: f64,
    bb: f64,
    by: f64,
    cells: f64,
    requests: f64,
}

impl Products {
    fn add(&mut self, [old, new]: &[Tally; 2]) {
        let n = old.n + new.n;
        let weight = old.n * new.n / n;
        let (b, y) = (old.b + new.b, old.y + new.y);
        self.dd += weight;
        self.dy += weight * (new.y / new.n - old.y / old.n);
        self.db += weight * (new.b / new.n - old.b / old.n);
        self.bb += (old.bb + new.bb) - b * b / n;
        self.by += (old.by + new.by) - b * y / n;
        self.cells += 1.0;
        self.requests += n;
    }

    /// Returns the slope of the covariate, adjusted for the version; zero if there are too few requests or the
    /// covariate hardly varies.
    fn slope(&self) -> f64 {
        const LEAST: f64 = 60.0;
        let left = self.bb - self.db * self.db / self.dd;
        let slope = (self.by - self.db * self.dy / self.dd) / left;
        if self.requests - self.cells >= LEAST && left > 1e-9 * self.bb && slope.is_finite() { slope } else { 0.0 }
    }
}

/// The contribution of one side to the middle term of the sandwich estimator of the variance.
#[derive(Clone, Copy, Default)]
struct Spread {
    meat: f64,
    requests: f64,
    squares: f64,
    fourths: f64,
}

impl Spread {
    /// Returns the effective number of requests minus one.
    fn freedom(&self) -> f64 {
        (self.squares * self.squares / self.fourths - 1.0).max(1e-3)
    }
}

fn add_spread(cell: &[Tally; 2], effect: f64, slope: f64, dd: f64, sides: &mut [Spread; 2]) {
    let [old, new] = cell;
    let n = old.n + new.n;
    let (y, b) = ((old.y + new.y) / n, (old.b + new.b) / n);
    let away = [-new.n / n, old.n / n];
    for ((tally, side), away) in cell.iter().zip(sides).zip(away) {
        let square = away * away;
        let leverage = (1.0 / n + square / dd).min(0.999);
        let left = tally.squares_about(y + effect * away - slope * b, slope);
        side.meat += square * left / (1.0 - leverage).powi(2);
        side.requests += tally.n;
        side.squares += square * tally.n;
        side.fourths += square * square * tally.n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Returns cells under a varying load. The covariate explains half of the remaining variation, and the costs of NEW
    /// vary more.
    fn cells(coin: &mut ChaCha8Rng, effect: f64, share: f64) -> Vec<[Tally; 2]> {
        let cell = |coin: &mut ChaCha8Rng| {
            let (load, mut cell) = (coin.random_range(14.0..15.0), [Tally::default(); 2]);
            for _ in 0..coin.random_range(1..20) {
                let is_new = coin.random::<f64>() < share;
                let b = coin.random_range(-0.1..0.1);
                let noise = coin.random_range(-0.1..0.1) * if is_new { 2.0 } else { 1.0 };
                let y = load + b + noise + if is_new { effect } else { 0.0 };
                cell[usize::from(is_new)] += Tally { n: 1.0, y, yy: y * y, b, bb: b * b, by: b * y };
            }
            cell
        };
        (0..30).map(|_| cell(coin)).collect()
    }

    #[test]
    fn intervals_cover_the_truth() {
        let mut coin = ChaCha8Rng::seed_from_u64(1);
        for (effect, share) in [(0.0, 0.5), (0.3, 0.5), (0.0, 0.1), (-0.2, 0.1)] {
            let trials = 3_000;
            let missed = (0..trials)
                .filter(|_| {
                    let found = within(&cells(&mut coin, effect, share)).unwrap();
                    !found.estimated.interval(0.05).holds(effect)
                })
                .count();
            let rate = missed as f64 / f64::from(trials);
            assert!(rate < 0.064 && rate > 0.02, "{effect} {share}: {rate}");
        }
    }

    #[test]
    fn the_covariate_reduces_the_variance() {
        let mut coin = ChaCha8Rng::seed_from_u64(2);
        let cells = cells(&mut coin, 0.1, 0.5);
        let blind: Vec<[Tally; 2]> =
            cells.iter().map(|cell| cell.map(|side| Tally { b: 0.0, bb: 0.0, by: 0.0, ..side })).collect();
        let (with, without) = (within(&cells).unwrap(), within(&blind).unwrap());
        assert!((with.slope - 1.0).abs() < 0.3 && without.slope == 0.0, "{with:?}");
        assert!(with.estimated.variance < 0.85 * without.estimated.variance);
    }

    #[test]
    fn too_few_requests_give_no_estimate() {
        assert_eq!(within(&[]), None);
        let one = Tally { n: 1.0, y: 14.0, yy: 196.0, ..Tally::default() };
        assert_eq!(within(&[[one, Tally::default()]]), None, "only one version");
        assert_eq!(within(&[[one, one]]), None, "no spread to estimate an error from");
    }
}
