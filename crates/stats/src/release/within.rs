//! Versions drawn by a coin for each request: the difference within cells of time and place, from sums.
//!
//! Within a cell (a host, a stretch of time, a route) both versions had the same load, so the cell's mean is taken out
//! and what is left is compared. A covariate that was fixed before the coin fell (what the request before in the same
//! process took) takes more of the load out. The error is robust against unequal variances (White 1980, with the
//! correction of MacKinnon and White 1985 known as HC3), which is exact enough where coins decide: it needs nothing of
//! the load but that it could not see the coin.

use std::ops::AddAssign;

use super::{Estimated, HostShare};

/// Sums over requests: of a logarithm of cost `y` and of a covariate `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Requests.
    pub n: f64,
    /// Sum of `y`.
    pub y: f64,
    /// Sum of its squares.
    pub yy: f64,
    /// Sum of `b`; of requests without one, nothing.
    pub b: f64,
    /// Sum of its squares.
    pub bb: f64,
    /// Sum of `b y`.
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
    /// The sum of squares of `y - at - slope b`.
    fn squares_about(&self, at: f64, slope: f64) -> f64 {
        let plain = self.yy - 2.0 * at * self.y + self.n * at * at;
        let joint = self.by - at * self.b;
        (plain - 2.0 * slope * joint + slope * slope * self.bb).max(0.0)
    }
}

/// What cells with both versions say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// The effect on `y`.
    pub estimated: Estimated,
    /// How much of the covariate was taken out.
    pub slope: f64,
    /// Requests that told of it, OLD and NEW.
    pub requests: [f64; 2],
}

/// The effect within `cells`, each with OLD and NEW. `None` where no cell has both, or too little is left to tell an
/// error.
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

/// What some of the cells, such as those of one host, say of what all of them found: their weight, and that times how
/// far their own effect lies above the common one. Weights of cells add up.
pub fn share(cells: &[[Tally; 2]], all: &Within) -> HostShare {
    let mut sums = Products::default();
    cells.iter().filter(|[old, new]| old.n > 0.0 && new.n > 0.0).for_each(|cell| sums.add(cell));
    HostShare { share: sums.dd, beyond: sums.dy - all.slope * sums.db - all.estimated.effect * sums.dd }
}

/// Sums of products of deviations from the cells' means: of the version `d`, the covariate `b` and the cost `y`.
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

    /// The covariate's slope beside the version's effect; none where there is hardly anything to learn it from.
    fn slope(&self) -> f64 {
        const LEAST: f64 = 60.0;
        let left = self.bb - self.db * self.db / self.dd;
        let slope = (self.by - self.db * self.dy / self.dd) / left;
        if self.requests - self.cells >= LEAST && left > 1e-9 * self.bb && slope.is_finite() { slope } else { 0.0 }
    }
}

/// What one side adds to the middle of the sandwich.
#[derive(Clone, Copy, Default)]
struct Spread {
    meat: f64,
    requests: f64,
    squares: f64,
    fourths: f64,
}

impl Spread {
    /// As many requests as would count alike, less one.
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

    /// Cells under a load that moves, with the covariate telling half of what is left, and costs that vary more under
    /// NEW.
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
    fn intervals_hold_the_truth() {
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
    fn the_covariate_is_taken_out() {
        let mut coin = ChaCha8Rng::seed_from_u64(2);
        let cells = cells(&mut coin, 0.1, 0.5);
        let blind: Vec<[Tally; 2]> =
            cells.iter().map(|cell| cell.map(|side| Tally { b: 0.0, bb: 0.0, by: 0.0, ..side })).collect();
        let (with, without) = (within(&cells).unwrap(), within(&blind).unwrap());
        assert!((with.slope - 1.0).abs() < 0.3 && without.slope == 0.0, "{with:?}");
        assert!(with.estimated.variance < 0.85 * without.estimated.variance);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(within(&[]), None);
        let one = Tally { n: 1.0, y: 14.0, yy: 196.0, ..Tally::default() };
        assert_eq!(within(&[[one, Tally::default()]]), None, "one version alone");
        assert_eq!(within(&[[one, one]]), None, "no spread to tell an error from");
    }
}
